// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `af_packet`. They have no word to force: an interface that the host needs
//! itself is refused (−155).

use crate::control::{self, Create, Hosts};
use crate::{Config, Mode};
use cli::Result;
use driver::NewPort;
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::Interfaces;
use net::api::{InterfaceIndex, MacAddress};
use wire::MacAddr;

/// The module.
pub static API: Module<World> = Module::plugin("af_packet", messages);

fn messages(m: &mut Messages<World>) {
    m.call_later(|w, r: AfPacketCreate| {
        let mac = given(r.hw_addr, r.use_random_hw_addr);
        let new =
            Create { config: Config::new(r.host_if_name.0), mac, offloads: true, force: false };
        control::create(w, new)
    });
    m.call_later(|w, r: AfPacketCreateV2| {
        let mac = given(r.hw_addr, r.use_random_hw_addr);
        let config = Config { rx_queues: r.num_rx_queues.max(1), ..Config::new(r.host_if_name.0) };
        create(w, config, mac, AfPacketFlags(r.flags))
    });
    m.call_later(|w, r: AfPacketCreateV3| {
        let mac = given(r.hw_addr, r.use_random_hw_addr);
        let mode = if r.mode == AfPacketMode::Ip { Mode::Ip } else { Mode::Ethernet };
        let config =
            Config { rx_queues: r.num_rx_queues.max(1), mode, ..Config::new(r.host_if_name.0) };
        create(w, config, mac, r.flags)
    });
    m.call(|w, r: AfPacketDelete| control::delete(w, r.host_if_name.as_str()));
    m.call(|w, r: AfPacketSetL4CksumOffload| {
        let name = w.get::<Interfaces>().name(r.sw_if_index.existing(w)?);
        control::set_l4_checksum_offload(w, &name, r.set)
    });
    m.dump(|w, _: AfPacketDump| {
        let details = |(sw_if, name): (SwIfIndex, String)| AfPacketDetails {
            sw_if_index: sw_if.into(),
            host_if_name: name.into(),
        };
        Ok(w.get::<Hosts>().list().into_iter().map(details).collect::<Vec<_>>())
    });
}

fn given(mac: MacAddress, random: bool) -> Option<MacAddr> {
    (!random).then(|| mac.into())
}

fn create(
    w: &World,
    config: Config,
    mac: Option<MacAddr>,
    flags: AfPacketFlags,
) -> Result<NewPort> {
    let qdisc_bypass = flags.has(AfPacketFlags::QDISC_BYPASS);
    let new = Create {
        config: Config { qdisc_bypass, ..config },
        mac,
        offloads: flags.has(AfPacketFlags::CKSUM_GSO),
        force: false,
    };
    control::create(w, new)
}

msg::messages! {
    /// The header that frames begin with.
    AfPacketMode,
    /// The options of a host interface.
    flags AfPacketFlags,
    /// Makes an interface of an interface of the Linux kernel; `af_packet_create_v3` is newer.
    /// Offloads are on.
    AfPacketCreate,
    /// Makes an interface of an interface of the Linux kernel; `af_packet_create_v3` is newer.
    AfPacketCreateV2,
    /// Makes an interface of an interface of the Linux kernel.
    AfPacketCreateV3,
    /// Takes a host interface away; the kernel's stays.
    AfPacketDelete,
    /// Leaves checksums of what is sent to the kernel, or completes them here.
    AfPacketSetL4CksumOffload,
    /// Asks for the host interfaces.
    AfPacketDump,
    /// A host interface.
    AfPacketDetails,
}
