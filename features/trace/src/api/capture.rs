// SPDX-License-Identifier: Apache-2.0
//! Captures into files: a part of the module `interface`.

use crate::function::Function;
use crate::pcap::{self, Directions, Limits, Plan};
use cli::{Error, Result};
use graph::World;
use msg::{Caller, Message, Messages, Module, Pending, Str, retval};
use net::api::InterfaceIndex;

/// This feature's part of the module.
pub static API: Module<World> = net::api::interface_module(messages);

fn messages(m: &mut Messages<World>) {
    m.call(start);
    m.call(|w: &World, _: &Caller<'_, World>, r: PcapSetFilterFunction| {
        pcap::set_function(w, Function::find(&r.filter_function_name)?);
        Ok(())
    });
    m.call_later(|w: &World, _: &Caller<'_, World>, _: PcapTraceOff| {
        Ok(Box::new(pcap::stop(w, Directions::PACKETS)?) as Box<dyn Pending<World, ()>>)
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
    /// Only those that the filter function takes.
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
    /// The file; a bare name lies in /tmp. An earlier capture of ours is replaced, anything else
    /// isn't.
    pub filename: Str<64>,
}

/// Chooses what decides which packets a capture with a filter takes.
#[derive(Message)]
pub struct PcapSetFilterFunction {
    /// Its name.
    pub filter_function_name: String,
}

/// Ends the capture: the answer comes when the file is complete. Without a packet there is none
/// (−6).
#[derive(Message)]
pub struct PcapTraceOff {}

fn start(w: &World, _: &Caller<'_, World>, r: PcapTraceOn) -> Result<()> {
    let filter = if r.filter { pcap::chosen_filter(w)? } else { None };
    if r.filename.as_str().is_empty() {
        return Err(Error::usage("a capture needs a file").retval(retval::INVALID_VALUE));
    }
    let on =
        Directions { rx: r.capture_rx, tx: r.capture_tx, drop: r.capture_drop, dispatch: false };
    let interface = match r.sw_if_index {
        InterfaceIndex(0) => None,
        one => one.existing_or_all(w)?,
    };
    let usual = Limits::default();
    let limits = Limits {
        packets: if r.max_packets == 0 { usual.packets } else { r.max_packets.into() },
        bytes: if r.max_bytes_per_packet == 0 {
            usual.bytes
        } else {
            r.max_bytes_per_packet as usize
        },
    };
    let reason = Some(r.error.as_str()).filter(|name| !name.is_empty()).map(String::from);
    let file = Some(r.filename.as_str().into());
    pcap::start(w, Plan { on, interface, limits, filter, reason, file }).map(drop)
}
