// SPDX-License-Identifier: Apache-2.0
//! Captures into files: a part of the module `interface`.

use crate::function::Function;
use crate::pcap::{self, Directions, Limits, Plan};
use cli::{Error, Result};
use graph::World;
use msg::{Messages, Module, retval};
use net::api::InterfaceIndex;

/// This feature's part of the module.
pub static API: Module<World> = Module::core("interface", messages);

fn messages(m: &mut Messages<World>) {
    m.call(start);
    m.call(|w, r: PcapSetFilterFunction| {
        pcap::set_function(w, Function::find(&r.filter_function_name)?);
        Ok(())
    });
    m.call_later(|w, _: PcapTraceOff| pcap::stop(w, Directions::PACKETS));
}

msg::messages! {
    /// Writes packets that come in, leave or are dropped to a file.
    PcapTraceOn,
    /// Chooses what decides which packets a capture with a filter takes.
    PcapSetFilterFunction,
    /// Ends the capture: the answer comes when the file is complete. Without a packet there is none
    /// (−6).
    PcapTraceOff,
}

fn start(w: &World, r: PcapTraceOn) -> Result<()> {
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
