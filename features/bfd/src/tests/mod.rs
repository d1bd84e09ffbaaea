// SPDX-License-Identifier: Apache-2.0
mod api;
mod bytes;
mod frames;
mod machine;
mod mutated;
mod routes;

use crate::PLUGIN;
use crate::packet::{Control, MAX_LEN, State};
use graph::Plugin;
use net::drive::{Rig, peer, peer_mac, port_mac};
use std::net::IpAddr;
use testkit::pkt;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &ip_neighbor::PLUGIN,
    &arp::PLUGIN,
    &ip6_nd::PLUGIN,
    &PLUGIN,
    &trace::PLUGIN,
];

/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;

/// Ports with addresses and neighbours, and a clock that only tests move.
fn rig(ports: usize) -> Rig {
    let mut rig = Rig::new(PLUGINS, ports);
    rig.bench.world.clock.stop();
    rig.networks();
    rig.sent();
    rig
}

/// Our address on a port.
fn own(v6: bool, port: usize) -> IpAddr {
    match v6 {
        false => [10, 0, port as u8, 1].into(),
        true => [0x2001, 0xdb8, port as u16, 0, 0, 0, 0, 1].into(),
    }
}

/// The words that name the session with the neighbour of a port.
fn words(v6: bool, port: usize) -> String {
    format!("interface p{port} local-addr {} peer-addr {}", own(v6, port), peer(v6, port))
}

/// Adds the session with the neighbour of a port.
fn add(rig: &mut Rig, v6: bool, port: usize, more: &str) {
    let line = format!(
        "bfd udp session add {} desired-min-tx 50000 required-min-rx 60000 detect-mult 3 {more}",
        words(v6, port)
    );
    rig.cli(&line);
}

/// Lets the clock go on, in steps of a millisecond.
fn pass(rig: &mut Rig, milliseconds: u64) {
    for _ in 0..milliseconds {
        rig.bench.world.clock.adjust(MS);
        rig.bench.settle();
    }
}

/// A packet of the peer, without authentication.
fn packet(state: State, your_disc: u32) -> Control {
    Control {
        state,
        detect_mult: 3,
        my_disc: 0x1234,
        your_disc,
        desired_min_tx: 50_000,
        required_min_rx: 50_000,
        ..Control::default()
    }
}

/// The frame that carries a packet of the neighbour of a port.
fn frame(v6: bool, port: usize, control: &Control) -> Vec<u8> {
    let mut bytes = [0; MAX_LEN];
    let len = control.write(&mut bytes);
    framed(v6, port, &bytes[..len]).build()
}

fn framed(v6: bool, port: usize, payload: &[u8]) -> pkt::Packet {
    pkt::ether(peer_mac(port), port_mac(port))
        .ip(peer(v6, port), own(v6, port))
        .ttl(255)
        .udp(50_000, 3784)
        .payload(payload)
}

/// The control packets sent by a port, without their headers.
fn controls(rig: &Rig, v6: bool) -> Vec<(usize, Control)> {
    let at = if v6 { 14 + 40 + 8 } else { 14 + 20 + 8 };
    let read = |(port, frame): (usize, Vec<u8>)| {
        let is_ours = frame.len() >= at + 24 && frame[at - 6..at - 4] == 3784u16.to_be_bytes();
        is_ours.then(|| (port, Control::read(&frame[at..]).expect("a packet").0))
    };
    rig.sent().into_iter().filter_map(read).collect()
}

/// Brings the session of a port up; returns our discriminator.
fn up(rig: &mut Rig, v6: bool, port: usize) -> u32 {
    pass(rig, 1001);
    let sent = controls(rig, v6);
    let disc = sent.iter().rfind(|(of, _)| *of == port).expect("a packet").1.my_disc;
    rig.receive_all(port, &[frame(v6, port, &packet(State::Init, disc))]);
    assert_eq!(state(rig, v6, port), State::Up);
    rig.sent();
    disc
}

/// The state of the session of a port, as control knows it.
fn state(rig: &Rig, v6: bool, port: usize) -> State {
    let (_, session) = rig
        .bench
        .world
        .get::<crate::control::Bfd>()
        .list()
        .into_iter()
        .find(|(_, session)| session.key.peer == peer(v6, port))
        .expect("a session");
    session.state
}
