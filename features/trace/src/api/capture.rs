// SPDX-License-Identifier: Apache-2.0
//! Captures into files: a part of the module `interface`.

use crate::pcap::{self, Directions, Limits, Plan};
use cli::{Error, Result};
use graph::World;
use msg::{Caller, Message, Messages, Module, Pending, Str, retval};
use net::api::InterfaceIndex;

/// This feature's part of the module.
pub static API: Module<World> = net::api::interface_module(messages);

fn messages(m: &mut Messages<World>) {
    m.call(start);
    m.call_later(|w: &World, _: &Caller<'_, World>, _: PcapTraceOff| {
        Ok(Box::new(pcap::stop(w)?) as Box<dyn Pending<World, ()>>)
    });
}

/// Writes packets that come in, leave or are dropped to a file.
#[derive(Message)]
pub struct PcapTraceOn {
    /// Packets as they come in.
    pub capture_rx: bool,
    /// Packets as they leave.
    pub capture_tx: bool,
    /// Packets that are dropped.
    pub capture_drop: bool,
    /// Only those that a classifier takes: refused, it isn't built yet.
    pub filter: bool,
    /// Accepted: memory is set aside in any case.
    pub preallocate_data: bool,
    /// Accepted: memory is given back in any case.
    pub free_data: bool,
    /// So many at most; 0 for 1000.
    #[wire(default = "1000")]
    pub max_packets: u32,
    /// Bytes of each; 0 for 512.
    #[wire(default = "512")]
    pub max_bytes_per_packet: u32,
    /// Of an interface; 0, or all bits set, for all.
    pub sw_if_index: InterfaceIndex,
    /// Of dropped packets, those of this reason only: `{node}.{reason}`.
    pub error: Str<128>,
    /// The file, which mustn't be there; a bare name lies in /tmp.
    pub filename: Str<64>,
}

/// Ends the capture: the answer comes when the file is complete.
#[derive(Message)]
pub struct PcapTraceOff {}

fn start(w: &World, _: &Caller<'_, World>, r: PcapTraceOn) -> Result<()> {
    if r.filter {
        let error = "captures by a classifier aren't built yet";
        return Err(Error::unsupported(error).retval(retval::UNIMPLEMENTED));
    }
    if r.filename.as_str().is_empty() {
        return Err(Error::usage("a capture needs a file").retval(retval::INVALID_VALUE));
    }
    let on = Directions { rx: r.capture_rx, tx: r.capture_tx, drop: r.capture_drop };
    let interface = match r.sw_if_index {
        InterfaceIndex(0) => None,
        one => one.existing_or_all(w)?,
    };
    let usual = Limits::default();
    let limits = Limits {
        packets: if r.max_packets == 0 { usual.packets } else { r.max_packets.into() },
        bytes: if r.max_bytes_per_packet == 0 { usual.bytes } else { r.max_bytes_per_packet as usize },
    };
    let reason = Some(r.error.as_str()).filter(|name| !name.is_empty()).map(String::from);
    let file = Some(r.filename.as_str().into());
    pcap::start(w, Plan { on, interface, limits, filter: None, reason, file }).map(drop)
}
