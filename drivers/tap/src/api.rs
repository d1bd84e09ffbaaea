// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `tapv2`.

use crate::control::{self, Create, Taps};
use crate::device::TapDevice;
use crate::{Config, Kind};
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Messages, Module, Pending, Str, retval};
use net::Interfaces;
use net::api::{
    InterfaceIndex, Ip4Address, Ip4AddressWithPrefix, Ip4Prefix, Ip6Address, Ip6AddressWithPrefix,
    Ip6Prefix, MacAddress, given,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The module.
pub static API: Module<World> = Module::core("tapv2", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: TapCreateV3| create(w, r));
    m.call(|w, r: TapCreateV2| create(w, r.into()));
    m.call_later(|w, r: TapDeleteV2| {
        Ok(Box::new(control::delete(w, r.sw_if_index.existing(w)?)?) as Box<dyn Pending<World, ()>>)
    });
    m.dump(dump);
}

msg::messages! {
    /// Makes a tap and its end on the host.
    #[from(TapCreateV2)]
    TapCreateV3,
    /// Makes a tap and its end on the host; `tap_create_v3` is newer.
    TapCreateV2,
    /// The options of a tap.
    flags TapFlags,
    /// Takes a tap away, and the host's end with it unless that is persistent.
    TapDeleteV2,
    /// Asks for taps: one or all.
    SwInterfaceTapV2Dump,
    /// A tap.
    SwInterfaceTapV2Details,
}

impl TapFlags {
    fn of(c: &Config) -> Self {
        Self::GSO.when(c.gso)
            | Self::CSUM_OFFLOAD.when(c.csum_offload && !c.gso)
            | Self::PERSIST.when(c.persist)
            | Self::ATTACH.when(c.attach)
            | Self::TUN.when(c.kind == Kind::Tun)
    }
}

/// Clients' default for the length of the host's queue: it stays as the host makes it.
const RING: u16 = 256;

fn create(w: &World, r: TapCreateV3) -> Result<SwIfIndex> {
    let flags = r.tap_flags;
    for (flag, what) in [
        (TapFlags::GRO_COALESCE, "gro-coalesce"),
        (TapFlags::CONSISTENT_QP, "consistent queue pairs"),
    ] {
        if flags.has(flag) {
            return Err(
                Error::unsupported(format!("{what}: not built")).retval(retval::UNIMPLEMENTED)
            );
        }
    }
    let text = |set: bool, text: Str<64>| set.then_some(text.0).filter(|text| !text.is_empty());
    let ip4 = Some(r.host_ip4_prefix.0).filter(|_| r.host_ip4_prefix_set);
    let ip6 = Some(r.host_ip6_prefix.0).filter(|_| r.host_ip6_prefix_set);
    let host = Config {
        host_namespace: text(r.host_namespace_set, r.host_namespace),
        kind: if flags.has(TapFlags::TUN) { Kind::Tun } else { Kind::Tap },
        queues: r.num_rx_queues.max(1),
        csum_offload: flags.has(TapFlags::GSO) || flags.has(TapFlags::CSUM_OFFLOAD),
        gso: flags.has(TapFlags::GSO),
        host_mac: r.host_mac_addr_set.then(|| r.host_mac_addr.into()),
        host_mtu: r.host_mtu_set.then_some(r.host_mtu_size),
        host_bridge: text(r.host_bridge_set, r.host_bridge),
        host_ip4: ip4.map(|p| prefix(Ipv4Addr::from(p.address.0), p.len, 32)).transpose()?,
        host_ip6: ip6.map(|p| prefix(Ipv6Addr::from(p.address.0), p.len, 128)).transpose()?,
        host_ip4_gateway: r.host_ip4_gw_set.then(|| r.host_ip4_gw.0.into()),
        host_ip6_gateway: r.host_ip6_gw_set.then(|| r.host_ip6_gw.0.into()),
        host_queue_len: Some(r.rx_ring_sz).filter(|n| ![0, RING].contains(n)).map(u32::from),
        persist: flags.has(TapFlags::PERSIST),
        attach: flags.has(TapFlags::ATTACH),
        ..Config::new(text(r.host_if_name_set, r.host_if_name).unwrap_or_default())
    };
    let id = given(r.id);
    let mac = (!r.use_random_mac).then(|| r.mac_address.into());
    control::create(
        w,
        Create { id, name: None, mac, tag: r.tag, is_owned: false, above: None, host },
    )
}

fn prefix<A: Into<IpAddr> + Copy>(addr: A, len: u8, most: u8) -> Result<(A, u8)> {
    if len > most {
        let error = format!("{} has no network of {len} bits", addr.into());
        return Err(Error::parse(error).retval(retval::INVALID_VALUE));
    }
    Ok((addr, len))
}

fn dump(w: &World, r: SwInterfaceTapV2Dump) -> Result<Vec<SwInterfaceTapV2Details>> {
    let only = r.sw_if_index.existing_or_all(w)?;
    let taps = w.get::<Taps>();
    let all = [Kind::Tap, Kind::Tun].into_iter().flat_map(|kind| taps.numbered(kind));
    let wanted = all.filter(|(_, sw_if, _)| only.is_none_or(|only| only == *sw_if));
    Ok(wanted.map(|(id, sw_if, tap)| details(w, id, sw_if, &tap)).collect())
}

fn details(w: &World, id: u32, sw_if: SwIfIndex, tap: &TapDevice) -> SwInterfaceTapV2Details {
    let (c, (link, _)) = (&tap.config, tap.link());
    let text = |text: &Option<String>| text.clone().unwrap_or_default().into();
    let ip4 = c.host_ip4.map(|(ip, len)| Ip4Prefix { address: Ip4Address(ip.octets()), len });
    let ip6 = c.host_ip6.map(|(ip, len)| Ip6Prefix { address: Ip6Address(ip.octets()), len });
    SwInterfaceTapV2Details {
        sw_if_index: sw_if.0,
        id,
        tx_ring_sz: 0,
        rx_ring_sz: c.host_queue_len.map_or(0, |n| n.min(u16::MAX.into()) as u16),
        host_mtu_size: link.mtu,
        host_mac_addr: link.mac.map(MacAddress::from).unwrap_or_default(),
        host_ip4_prefix: Ip4AddressWithPrefix(ip4.unwrap_or_default()),
        host_ip6_prefix: Ip6AddressWithPrefix(ip6.unwrap_or_default()),
        tap_flags: TapFlags::of(c),
        dev_name: w.get::<Interfaces>().name(sw_if).into(),
        host_if_name: link.name.into(),
        host_namespace: text(&c.host_namespace),
        host_bridge: text(&c.host_bridge),
    }
}
