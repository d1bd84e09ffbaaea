// SPDX-License-Identifier: Apache-2.0
mod answers;
mod link;
mod machine;
mod mutated;
mod packets;
mod requests;
mod takeover;

use crate::PLUGIN;
use crate::control::Vrrp;
use crate::machine::State;
use crate::model::VrKey;
use crate::packet::Content;
use graph::Plugin;
use net::drive::{Recorded, Rig, peer_mac};
use std::net::IpAddr;
use std::sync::Arc;
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &mfib::PLUGIN,
    &icmp::PLUGIN,
    &ip_neighbor::PLUGIN,
    &arp::PLUGIN,
    &ip6_nd::PLUGIN,
    &PLUGIN,
];
const MS: u64 = 1_000_000;
const CS: u64 = 10 * MS;

/// An instance with ports of the networks of [`Rig::networks`], whose own packets of the start
/// were sent.
fn rig(ports: usize) -> Rig {
    let mut rig = Rig::new(PLUGINS, ports);
    rig.networks();
    rig.seconds(10);
    rig.sent();
    rig
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Lets time go by, in steps of a centisecond.
fn pass(rig: &mut Rig, centiseconds: u64) {
    for _ in 0..centiseconds {
        rig.bench.world.clock.adjust(CS);
        rig.bench.settle();
    }
}

/// The frames that were sent, in order.
fn sent(rig: &Rig) -> Vec<Vec<u8>> {
    rig.world().get::<Recorded>().take().into_iter().map(|(_, bytes)| bytes).collect()
}

fn vrrp(rig: &Rig) -> Arc<Vrrp> {
    rig.world().get()
}

/// The state of the only virtual router of a number on port 0.
fn state(rig: &Rig, id: u8, v6: bool) -> State {
    let key = VrKey { sw_if: rig.ports[0], v6, id };
    let index = vrrp(rig).find(key).expect("it is there");
    vrrp(rig).get(&rig.world(), index).expect("it is there").state
}

/// An advertisement of another router for virtual router `id` of one address.
fn advertisement(id: u8, priority: u8, from: &str, address: &str) -> Vec<u8> {
    let content =
        Content { id, priority, interval: 100, addresses: &[ip(address)], is_plain: false };
    let last = if ip(address).is_ipv6() { 2 } else { 1 };
    content.frame(MacAddr([0, 0, 0x5e, 0, last, id]), ip(from))
}
