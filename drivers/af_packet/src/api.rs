// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `af_packet`. They have no word to force: an interface that the host needs
//! itself is refused (−155).

use crate::control::{self, Create, Hosts};
use crate::device::NewHost;
use crate::{Config, Mode};
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, Module, Pending, Str, Wire};
use net::Interfaces;
use net::api::{InterfaceIndex, MacAddress};
use wire::MacAddr;

/// The module.
pub static API: Module<World> =
    Module { name: "af_packet", version: "2.0.0", crc: 0x5b12_de21, core: false, messages };

type Made<R> = Result<Box<dyn Pending<World, R>>>;

fn messages(m: &mut Messages<World>) {
    m.call_later(|w: &World, _: &Caller<'_, World>, r: AfPacketCreate| -> Made<_> {
        let mac = given(r.hw_addr, r.use_random_hw_addr);
        let new =
            Create { config: Config::new(r.host_if_name.0), mac, offloads: true, force: false };
        Ok(Box::new(control::create(w, new)?))
    });
    m.call_later(|w: &World, _: &Caller<'_, World>, r: AfPacketCreateV2| -> Made<_> {
        let mac = given(r.hw_addr, r.use_random_hw_addr);
        let config = Config { rx_queues: r.num_rx_queues.max(1), ..Config::new(r.host_if_name.0) };
        Ok(Box::new(create(w, config, mac, AfPacketFlags(r.flags))?))
    });
    m.call_later(|w: &World, _: &Caller<'_, World>, r: AfPacketCreateV3| -> Made<_> {
        let mac = given(r.hw_addr, r.use_random_hw_addr);
        let mode = if r.mode == AfPacketMode::Ip { Mode::Ip } else { Mode::Ethernet };
        let config =
            Config { rx_queues: r.num_rx_queues.max(1), mode, ..Config::new(r.host_if_name.0) };
        Ok(Box::new(create(w, config, mac, r.flags)?))
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: AfPacketDelete| {
        control::delete(w, r.host_if_name.as_str())
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: AfPacketSetL4CksumOffload| {
        let name = w.get::<Interfaces>().name(r.sw_if_index.existing(w)?);
        control::set_l4_checksum_offload(w, &name, r.set)
    });
    m.dump(|w: &World, _: &Caller<'_, World>, _: AfPacketDump| {
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
) -> Result<NewHost> {
    let qdisc_bypass = flags.has(AfPacketFlags::QDISC_BYPASS);
    let new = Create {
        config: Config { qdisc_bypass, ..config },
        mac,
        offloads: flags.has(AfPacketFlags::CKSUM_GSO),
        force: false,
    };
    control::create(w, new)
}

/// The header that frames begin with.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[wire(prefix = "AF_PACKET_API_MODE_")]
pub enum AfPacketMode {
    /// An Ethernet header.
    Ethernet = 1,
    /// An IP header.
    Ip = 2,
}

msg::flags! {
    /// The options of a host interface.
    pub struct AfPacketFlags: u32 = enum "af_packet_flags" {
        QDISC_BYPASS = 1 => "AF_PACKET_API_FLAG_QDISC_BYPASS",
        CKSUM_GSO = 2 => "AF_PACKET_API_FLAG_CKSUM_GSO";
        VERSION_2 = 8 => "AF_PACKET_API_FLAG_VERSION_2",
    }
}

/// Makes an interface of an interface of the Linux kernel; `af_packet_create_v3` is newer. Offloads
/// are on.
#[derive(Message)]
#[msg(reply)]
pub struct AfPacketCreate {
    /// Its address.
    pub hw_addr: MacAddress,
    /// Its address isn't given.
    pub use_random_hw_addr: bool,
    /// The kernel's interface.
    pub host_if_name: Str<64>,
}

/// The new interface.
#[derive(Message)]
pub struct AfPacketCreateReply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

impl From<SwIfIndex> for AfPacketCreateReply {
    fn from(sw_if: SwIfIndex) -> Self {
        Self { sw_if_index: sw_if.into() }
    }
}

/// Makes an interface of an interface of the Linux kernel; `af_packet_create_v3` is newer.
#[derive(Message)]
#[msg(reply)]
pub struct AfPacketCreateV2 {
    /// Its address.
    pub hw_addr: MacAddress,
    /// Its address isn't given.
    pub use_random_hw_addr: bool,
    /// The kernel's interface.
    pub host_if_name: Str<64>,
    /// Accepted: rings have the size that they need.
    pub rx_frame_size: u32,
    /// See `rx_frame_size`.
    pub tx_frame_size: u32,
    /// See `rx_frame_size`.
    pub rx_frames_per_block: u32,
    /// See `rx_frame_size`.
    pub tx_frames_per_block: u32,
    /// As in `af_packet_create_v3`.
    pub flags: u32,
    /// Receive queues.
    #[wire(default = "1")]
    pub num_rx_queues: u16,
}

/// The new interface.
#[derive(Message)]
pub struct AfPacketCreateV2Reply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

impl From<SwIfIndex> for AfPacketCreateV2Reply {
    fn from(sw_if: SwIfIndex) -> Self {
        Self { sw_if_index: sw_if.into() }
    }
}

/// Makes an interface of an interface of the Linux kernel.
#[derive(Message)]
#[msg(reply)]
pub struct AfPacketCreateV3 {
    /// The header that frames begin with.
    pub mode: AfPacketMode,
    /// Its address.
    pub hw_addr: MacAddress,
    /// Its address isn't given.
    pub use_random_hw_addr: bool,
    /// The kernel's interface.
    pub host_if_name: Str<64>,
    /// Accepted: rings have the size that they need.
    pub rx_frame_size: u32,
    /// See `rx_frame_size`.
    pub tx_frame_size: u32,
    /// See `rx_frame_size`.
    pub rx_frames_per_block: u32,
    /// See `rx_frame_size`.
    pub tx_frames_per_block: u32,
    /// Past the kernel's queueing discipline; checksums and segmentation left to the kernel. Rings
    /// are of version 2 in any case.
    pub flags: AfPacketFlags,
    /// Receive queues.
    #[wire(default = "1")]
    pub num_rx_queues: u16,
    /// Accepted: every thread has a queue of its own.
    #[wire(default = "1")]
    pub num_tx_queues: u16,
}

/// The new interface.
#[derive(Message)]
pub struct AfPacketCreateV3Reply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

impl From<SwIfIndex> for AfPacketCreateV3Reply {
    fn from(sw_if: SwIfIndex) -> Self {
        Self { sw_if_index: sw_if.into() }
    }
}

/// Takes a host interface away; the kernel's stays.
#[derive(Message)]
pub struct AfPacketDelete {
    /// The kernel's interface.
    pub host_if_name: Str<64>,
}

/// Leaves checksums of what is sent to the kernel, or completes them here.
#[derive(Message)]
pub struct AfPacketSetL4CksumOffload {
    /// The host interface.
    pub sw_if_index: InterfaceIndex,
    /// Leave them.
    pub set: bool,
}

/// Asks for the host interfaces.
#[derive(Message)]
#[msg(details)]
pub struct AfPacketDump {}

/// A host interface.
#[derive(Message, Debug)]
pub struct AfPacketDetails {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
    /// The kernel's interface.
    pub host_if_name: Str<64>,
}
