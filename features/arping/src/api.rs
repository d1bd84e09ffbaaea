// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `arping`.

use crate::request::{Request, interval};
use crate::run::{Answers, Reply, Run};
use cli::Result;
use graph::World;
use msg::{Messages, Module};
use net::api::{Address, InterfaceIndex, MacAddress};

/// The module.
pub static API: Module<World> = Module::plugin("arping", messages);

fn messages(m: &mut Messages<World>) {
    m.call_later(|w, r: Arping| {
        let of = (r.address, r.sw_if_index, r.is_garp);
        start(w, of, r.repeat, r.interval, false)
    });
    m.call_later(|w, r: ArpingAcd| {
        let of = (r.address, r.sw_if_index, r.is_garp);
        start(w, of, r.repeat, r.interval, true)
    });
}

msg::messages! {
    /// Sends ARP requests or neighbour solicitations for an address, or announces it; the reply
    /// comes when the last one was waited for.
    Arping,
    /// The number of replies.
    ArpingReply,
    /// As `arping`, to detect another user of the address: without another address on the
    /// interface, the sender is unspecified; requests and announcements from the address and probes
    /// for it count, too.
    ArpingAcd,
    /// The number of replies, and the first station that uses the address.
    ArpingAcdReply,
}

fn start(
    w: &World,
    (address, sw_if, gratuitous): (Address, InterfaceIndex, bool),
    repeat: u32,
    seconds: f64,
    detects_conflicts: bool,
) -> Result<Reply> {
    let request = Request {
        address: address.into(),
        sw_if: sw_if.existing(w)?,
        gratuitous,
        detects_conflicts,
        repeat,
        interval: interval(seconds)?,
    };
    Run::new(w, request).map(Reply)
}

impl From<Answers> for ArpingReply {
    fn from(answers: Answers) -> Self {
        Self { reply_count: answers.replies }
    }
}

impl From<Answers> for ArpingAcdReply {
    fn from(answers: Answers) -> Self {
        let mac = answers.stations.first().map_or(MacAddress([0; 6]), |(mac, _)| MacAddress(mac.0));
        Self { reply_count: answers.replies, mac_address: mac }
    }
}
