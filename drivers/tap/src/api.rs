// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `tapv2`.

use crate::control::{self, Create, Taps};
use crate::device::TapDevice;
use crate::{Config, Kind};
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, Module, Pending, Str, retval};
use net::Interfaces;
use net::api::{
    InterfaceIndex, Ip4Address, Ip4AddressWithPrefix, Ip4Prefix, Ip6Address, Ip6AddressWithPrefix,
    Ip6Prefix, MacAddress,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The module.
pub static API: Module<World> =
    Module { name: "tapv2", version: "4.0.0", crc: 0xc2f8_0dc7, core: true, messages };

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: TapCreateV3| {
        create(w, r).map(|sw_if| TapCreateV3Reply { sw_if_index: sw_if.into() })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: TapCreateV2| {
        create(w, r.into()).map(|sw_if| TapCreateV2Reply { sw_if_index: sw_if.into() })
    });
    m.call_later(|w: &World, _: &Caller<'_, World>, r: TapDeleteV2| {
        Ok(Box::new(control::delete(w, r.sw_if_index.existing(w)?)?) as Box<dyn Pending<World, ()>>)
    });
    m.dump(dump);
}

msg::flags! {
    /// The options of a tap.
    pub struct TapFlags: u32 = enum "tap_flags" {
        GSO = 1 => "TAP_API_FLAG_GSO",
        CSUM_OFFLOAD = 2 => "TAP_API_FLAG_CSUM_OFFLOAD",
        PERSIST = 4 => "TAP_API_FLAG_PERSIST",
        ATTACH = 8 => "TAP_API_FLAG_ATTACH",
        TUN = 16 => "TAP_API_FLAG_TUN",
        GRO_COALESCE = 32 => "TAP_API_FLAG_GRO_COALESCE";
        PACKED = 64 => "TAP_API_FLAG_PACKED",
        IN_ORDER = 128 => "TAP_API_FLAG_IN_ORDER",
        CONSISTENT_QP = 256 => "TAP_API_FLAG_CONSISTENT_QP",
    }
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

macro_rules! create {
    ($(#[$doc:meta])* $name:ident { $($queues:tt)* }) => {
        $(#[$doc])*
        #[derive(Message)]
        #[msg(reply)]
        pub struct $name {
            /// Its number; all bits set for the first that is free.
            #[wire(default = "4294967295")]
            pub id: u32,
            /// Its address isn't given.
            #[wire(default = "true")]
            pub use_random_mac: bool,
            /// Its address.
            pub mac_address: MacAddress,
            $($queues)*
            /// Accepted: there is no ring.
            #[wire(default = "256")]
            pub tx_ring_sz: u16,
            /// Length of the host's queue; 0 or 256 leave it as it is.
            #[wire(default = "256")]
            pub rx_ring_sz: u16,
            /// The MTU of the host's end is given.
            pub host_mtu_set: bool,
            /// The MTU of the host's end.
            pub host_mtu_size: u32,
            /// The address of the host's end is given.
            pub host_mac_addr_set: bool,
            /// The address of the host's end.
            pub host_mac_addr: MacAddress,
            /// The IPv4 address of the host's end is given.
            pub host_ip4_prefix_set: bool,
            /// The IPv4 address of the host's end.
            pub host_ip4_prefix: Ip4AddressWithPrefix,
            /// The IPv6 address of the host's end is given.
            pub host_ip6_prefix_set: bool,
            /// The IPv6 address of the host's end.
            pub host_ip6_prefix: Ip6AddressWithPrefix,
            /// The host's IPv4 gateway is given.
            pub host_ip4_gw_set: bool,
            /// The host's IPv4 gateway.
            pub host_ip4_gw: Ip4Address,
            /// The host's IPv6 gateway is given.
            pub host_ip6_gw_set: bool,
            /// The host's IPv6 gateway.
            pub host_ip6_gw: Ip6Address,
            /// Its options. Coalescing and consistent pairs of queues are refused: they aren't
            /// built.
            pub tap_flags: TapFlags,
            /// The network namespace of the host's end is given.
            pub host_namespace_set: bool,
            /// The network namespace of the host's end.
            pub host_namespace: Str<64>,
            /// The name of the host's end is given.
            pub host_if_name_set: bool,
            /// The name of the host's end.
            pub host_if_name: Str<64>,
            /// The bridge of the host's end is given.
            pub host_bridge_set: bool,
            /// The bridge that the host's end becomes a port of.
            pub host_bridge: Str<64>,
            /// A user's note.
            pub tag: String,
        }
    };
}

create! {
    /// Makes a tap and its end on the host.
    TapCreateV3 {
        /// Queues, each for both directions.
        #[wire(default = "1")]
        pub num_rx_queues: u16,
        /// Accepted: threads share the queues.
        #[wire(default = "1")]
        pub num_tx_queues: u16,
    }
}

create! {
    /// Makes a tap and its end on the host; `tap_create_v3` is newer.
    TapCreateV2 {
        /// Queues, each for both directions.
        #[wire(default = "1")]
        pub num_rx_queues: u8,
    }
}

macro_rules! same {
    ($from:ident, $($field:ident)*) => {
        TapCreateV3 { num_rx_queues: $from.num_rx_queues.into(), num_tx_queues: 1, $($field: $from.$field),* }
    };
}

impl From<TapCreateV2> for TapCreateV3 {
    fn from(r: TapCreateV2) -> Self {
        same!(r, id use_random_mac mac_address tx_ring_sz rx_ring_sz host_mtu_set host_mtu_size host_mac_addr_set
            host_mac_addr host_ip4_prefix_set host_ip4_prefix host_ip6_prefix_set host_ip6_prefix host_ip4_gw_set
            host_ip4_gw host_ip6_gw_set host_ip6_gw tap_flags host_namespace_set host_namespace host_if_name_set
            host_if_name host_bridge_set host_bridge tag)
    }
}

/// The new tap.
#[derive(Message)]
pub struct TapCreateV3Reply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

/// The new tap.
#[derive(Message)]
pub struct TapCreateV2Reply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

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
    let id = Some(r.id).filter(|id| *id != u32::MAX);
    let mac = (!r.use_random_mac).then(|| r.mac_address.into());
    control::create(w, Create { id, name: None, mac, tag: r.tag, is_owned: false, host })
}

fn prefix<A: Into<IpAddr> + Copy>(addr: A, len: u8, most: u8) -> Result<(A, u8)> {
    if len > most {
        let error = format!("{} has no network of {len} bits", addr.into());
        return Err(Error::parse(error).retval(retval::INVALID_VALUE));
    }
    Ok((addr, len))
}

/// Takes a tap away, and the host's end with it unless that is persistent.
#[derive(Message)]
pub struct TapDeleteV2 {
    /// The tap.
    pub sw_if_index: InterfaceIndex,
}

/// Asks for taps: one or all.
#[derive(Message)]
#[msg(details)]
pub struct SwInterfaceTapV2Dump {
    /// One; all bits set for all.
    #[wire(default = "4294967295")]
    pub sw_if_index: InterfaceIndex,
}

/// A tap.
#[derive(Message, Debug)]
pub struct SwInterfaceTapV2Details {
    /// Its interface.
    pub sw_if_index: u32,
    /// Its number.
    pub id: u32,
    /// There is no ring: 0.
    pub tx_ring_sz: u16,
    /// Length of the host's queue, if it was given.
    pub rx_ring_sz: u16,
    /// The MTU of the host's end.
    pub host_mtu_size: u32,
    /// The address of the host's end.
    pub host_mac_addr: MacAddress,
    /// The IPv4 address that the host's end was given.
    pub host_ip4_prefix: Ip4AddressWithPrefix,
    /// The IPv6 address that the host's end was given.
    pub host_ip6_prefix: Ip6AddressWithPrefix,
    /// Its options.
    pub tap_flags: TapFlags,
    /// The name of its interface.
    pub dev_name: Str<64>,
    /// The name of the host's end.
    pub host_if_name: Str<64>,
    /// The network namespace of the host's end.
    pub host_namespace: Str<64>,
    /// The bridge that the host's end was made a port of.
    pub host_bridge: Str<64>,
}

fn dump(
    w: &World,
    _: &Caller<'_, World>,
    r: SwInterfaceTapV2Dump,
) -> Result<Vec<SwInterfaceTapV2Details>> {
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
