// SPDX-License-Identifier: Apache-2.0
mod api;
mod buffers;
mod full;
mod mutated;
mod oracle;
mod shallow;
mod six;
mod threads;

use crate::PLUGIN;
use ::graph::drive::{Bench, Outcome};
use ::graph::{Plugin, SwIfIndex};
use net::drive::{Recorded, Recorder, Tx, ethernet};
use net::{Addresses, Interfaces, Neighbor, Neighbors, NewInterface};
use std::sync::Arc;
use wire::{Header, Ip4, Ip6, IpHeader, Ipv4Header, MacAddr, U16};

static PLUGINS: &[&Plugin] =
    &[&interface::PLUGIN, &ethernet::PLUGIN, &fib::PLUGIN, &ip::PLUGIN, &icmp::PLUGIN, &PLUGIN];

/// An instance with an interface that has 10.0.0.1/24 and 2001:db8::1/64.
fn bench() -> (Bench, SwIfIndex) {
    let bench = Bench::new(PLUGINS);
    let sw_if = interface(&bench.world);
    (bench, sw_if)
}

fn interface(world: &Arc<::graph::World>) -> SwIfIndex {
    let new = ethernet("t0", MacAddr([2, 0, 0, 0, 0, 1]));
    let interfaces = world.get::<Interfaces>();
    let sw_if = interfaces.create(world, new, |_, _, _| Tx).expect("created");
    interfaces.set_admin(world, sw_if, true).expect("up");
    address(world, sw_if);
    sw_if
}

/// The same, up, for packets of 9000 bytes: what it sends to 10.0.0.9 and 2001:db8::9 is
/// [`Recorded`].
fn recording(world: &Arc<::graph::World>) -> SwIfIndex {
    let new = NewInterface { mtu: 9000, ..ethernet("t0", MacAddr([2, 0, 0, 0, 0, 1])) };
    let make = |world: &::graph::World, _, sw_if| Recorder::new(world, sw_if);
    let interfaces = world.get::<Interfaces>();
    let sw_if = interfaces.create(world, new, make).expect("created");
    interfaces.set_admin(world, sw_if, true).expect("up");
    address(world, sw_if);
    for host in ["10.0.0.9", "2001:db8::9"] {
        let known =
            Neighbor::new(sw_if, host.parse().expect("an address"), MacAddr([2, 0, 0, 0, 0, 9]));
        world.get::<Neighbors>().set(world, Neighbor { is_static: true, ..known }).expect("set");
    }
    sw_if
}

/// Returns the sent packets, without the Ethernet header.
fn sent(world: &::graph::World) -> Vec<Vec<u8>> {
    world.get::<Recorded>().take().into_iter().map(|(_, frame)| frame[14..].to_vec()).collect()
}

fn address(world: &Arc<::graph::World>, sw_if: SwIfIndex) {
    let prefix = "10.0.0.1/24".parse().expect("a prefix");
    world.get::<Addresses<Ip4>>().add(world, sw_if, prefix).expect("added");
    let prefix = "2001:db8::1/64".parse().expect("a prefix");
    world.get::<Addresses<Ip6>>().add(world, sw_if, prefix).expect("added");
}

fn run(bench: &mut Bench, line: &str) -> String {
    bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

/// Bytes `start .. end` of the payload of an IPv4 packet without options, as a fragment.
fn part(packet: &[u8], start: usize, end: usize) -> Vec<u8> {
    let mut bytes = [&packet[..20], &packet[20 + start..20 + end]].concat();
    let more = if end < packet.len() - 20 { Ipv4Header::MF } else { 0 };
    let ip = Ipv4Header::view_mut(&mut bytes).expect("a header");
    ip.total_len = U16::new((20 + end - start) as u16);
    ip.flags_fragment = U16::new(more | (start / 8) as u16);
    ip.set_checksum();
    bytes
}

/// A packet in fragments of `size` bytes of payload.
fn cut(packet: &[u8], size: usize) -> Vec<Vec<u8>> {
    let len = packet.len() - 20;
    (0..len).step_by(size).map(|at| part(packet, at, (at + size).min(len))).collect()
}

/// An IPv4 header with another field set, its checksum right.
fn with(mut packet: Vec<u8>, change: impl FnOnce(&mut Ipv4Header)) -> Vec<u8> {
    let ip = Ipv4Header::view_mut(&mut packet).expect("a header");
    change(ip);
    ip.set_checksum();
    packet
}

fn went<'a>(out: &'a [Outcome], node: &str) -> Vec<&'a Outcome> {
    out.iter().filter(|o| o.node == node).collect()
}

/// Lets so many milliseconds pass.
fn pass(bench: &mut Bench, ms: u64) {
    bench.world.clock.adjust(ms * 1_000_000);
    bench.rt.turn(true);
}
