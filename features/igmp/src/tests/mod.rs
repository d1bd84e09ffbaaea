// SPDX-License-Identifier: Apache-2.0
mod hosts;
mod links;
mod mutated;
mod packets;
mod proxies;
mod requests;
mod routers;
mod tables;

use crate::PLUGIN;
use crate::control::Igmp;
use crate::filter::Sources;
use crate::host::Record;
use crate::packet::{self, From};
use graph::Plugin;
use net::drive::{Recorded, Rig, peer_mac};
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::igmp::Igmp3Record as Kind;

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
const SECOND: u64 = 1_000_000_000;

/// An instance with ports of the networks of [`Rig::networks`].
fn rig(ports: usize) -> Rig {
    let mut rig = Rig::new(PLUGINS, ports);
    rig.networks();
    rig.seconds(10);
    rig.sent();
    rig
}

fn ip(text: &str) -> Ipv4Addr {
    text.parse().expect("an address")
}

fn set(sources: &[&str]) -> Sources {
    sources.iter().map(|text| ip(text)).collect()
}

fn record(kind: u8, group: &str, sources: &[&str]) -> Record {
    Record { kind, group: ip(group), sources: set(sources) }
}

/// The other end of port `i`.
fn peer(i: usize) -> From {
    From { mac: peer_mac(i), ip: Ipv4Addr::new(10, 0, i as u8, 2) }
}

/// Our end of port `i`.
fn own(i: usize) -> From {
    From { mac: net::drive::port_mac(i), ip: Ipv4Addr::new(10, 0, i as u8, 1) }
}

/// The report of a host behind port `i`, as one frame.
fn report(i: usize, records: &[Record]) -> Vec<u8> {
    packet::reports(peer(i), 1500, records).remove(0)
}

/// The frames that were sent, in order.
fn sent(rig: &Rig) -> Vec<Vec<u8>> {
    rig.world().get::<Recorded>().take().into_iter().map(|(_, bytes)| bytes).collect()
}

fn igmp(rig: &Rig) -> Arc<Igmp> {
    rig.world().get()
}

/// The sources and groups of port `i`, as clients see them.
fn listed(rig: &Rig, i: usize) -> Vec<(Ipv4Addr, Ipv4Addr)> {
    igmp(rig).list(rig.ports[i])
}
