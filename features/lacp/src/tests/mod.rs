// SPDX-License-Identifier: Apache-2.0
mod broken;
mod hostile;
mod machine;
mod pair;

use crate::PLUGIN;
use crate::pdu::{self, Participant, Pdu, State};
use graph::Plugin;
use net::drive::{Rig, port_mac};
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &ip_neighbor::PLUGIN,
    &arp::PLUGIN,
    &ip6_nd::PLUGIN,
    &l2::PLUGIN,
    &span::PLUGIN,
    &bond::PLUGIN,
    &PLUGIN,
    &trace::PLUGIN,
];

const SECOND: u64 = 1_000_000_000;

/// A system that isn't this one.
const PEER: MacAddr = MacAddr([2, 0xbb, 0, 0, 0, 1]);

/// The other end of a link, in this state.
fn peer(port: u16, state: u8) -> Participant {
    Participant {
        system_priority: 0x8000,
        system: PEER,
        key: 17,
        port_priority: 128,
        port,
        state: State::from_bits_retain(state),
    }
}
