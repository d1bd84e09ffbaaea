// SPDX-License-Identifier: Apache-2.0
//! Sessions that begin and end, as collectors learn of them.

use super::*;
use ::nat::drive::{Logs, log_all, received};
use std::collections::BTreeSet;

fn logged(lines: &[&str]) -> Rig {
    let mut rig = router(lines);
    log_all(&mut rig);
    rig
}

/// Receives a packet, and leaves what has left to [`received`].
fn receive(rig: &mut Rig, port: usize, packet: &Packet) {
    rig.receive_all(port, &[packet.build()]);
}

fn kinds(logs: &Logs) -> Vec<&str> {
    logs.messages.iter().map(|message| message.split(' ').next().unwrap_or_default()).collect()
}

#[suite::test]
fn a_session_is_told_when_it_begins_and_when_its_time_ends() {
    let mut rig = logged(&[&format!("nat44 add address {PUBLIC}"), "set nat timeout udp 5"]);
    let ask = packet(0, "10.0.0.2", "10.0.1.2").udp(5000, 53);
    receive(&mut rig, 0, &ask);
    let seen = received(&mut rig);
    let record = |event| {
        let source = [10, 0, 0, 2, 192, 0, 2, 7, 17, 0x13, 0x88, 0x13, 0x88];
        (256, [&[event][..], &source, &[0; 4]].concat())
    };
    assert_eq!((seen.templates.len(), &seen.records[..]), (6, &[record(4)][..]));
    let text = "[nsess SSUBIX=\"0\" SVLAN=\"0\" IATYP=\"IPv4\" ISADDR=\"10.0.0.2\" ISPORT=\"5000\" \
                XATYP=\"IPv4\" XSADDR=\"192.0.2.7\" XSPORT=\"5000\" PROTO=\"17\" \
                XDADDR=\"10.0.1.2\" XDPORT=\"53\"]";
    assert_eq!(seen.messages, [format!("SADD {text}")]);
    // Later packets tell nothing.
    receive(&mut rig, 0, &ask);
    assert_eq!(received(&mut rig), Logs::default());
    rig.seconds(8);
    let seen = received(&mut rig);
    assert_eq!(
        (&seen.records[..], &seen.messages[..]),
        (&[record(5)][..], &[format!("SDEL {text}")][..])
    );
    // It is shown for a while yet, and goes without a word.
    rig.seconds(30);
    assert_eq!(received(&mut rig), Logs::default());
    assert!(
        rig.cli("show nat logging")
            .contains("IPFIX domain 1 source port 4739, syslog on\nevents 2, lost 0")
    );
}

#[suite::test]
fn sessions_end_with_their_address() {
    let mut rig = logged(&[&format!("nat44 add address {PUBLIC}")]);
    receive(&mut rig, 0, &syn(packet(0, "10.0.0.2", "10.0.1.2"), 5000, 80));
    receive(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").icmp_echo(7, 1));
    assert_eq!(kinds(&received(&mut rig)), ["SADD", "SADD"]);
    rig.cli(&format!("nat44 add address {PUBLIC} del"));
    let seen = received(&mut rig);
    assert_eq!((kinds(&seen), seen.events()), (vec!["SDEL", "SDEL"], vec![5, 5]));
}

#[suite::test]
fn a_connection_that_begins_again_ends_and_begins() {
    let mut rig = logged(&[&format!("nat44 add address {PUBLIC}")]);
    let out = || packet(0, "10.0.0.2", "10.0.1.2").tcp(5000, 80);
    let back = || packet(1, "10.0.1.2", PUBLIC).tcp(80, 5000);
    let both = TcpFlags::SYN | TcpFlags::ACK;
    let handshake = |rig: &mut Rig| {
        receive(rig, 0, &out().segment(TcpFlags::SYN, 1, 0));
        receive(rig, 1, &back().segment(both, 1, 2));
        receive(rig, 0, &out().segment(TcpFlags::ACK, 2, 2));
    };
    handshake(&mut rig);
    assert_eq!(kinds(&received(&mut rig)), ["SADD"]);
    receive(&mut rig, 0, &out().segment(TcpFlags::FIN, 2, 2));
    receive(&mut rig, 1, &back().segment(TcpFlags::FIN, 2, 3));
    assert_eq!(received(&mut rig), Logs::default());
    handshake(&mut rig);
    let seen = received(&mut rig);
    assert_eq!((kinds(&seen), seen.events()), (vec!["SDEL", "SADD"], vec![5, 4]));
}

#[suite::test]
fn the_other_address_of_the_world_is_told() {
    let mut rig = logged(&[
        "nat44 add address 10.9.0.1 twice-nat",
        &format!("nat44 add address {PUBLIC}"),
        &format!("nat44 add static mapping tcp local 10.0.0.2 22 external {PUBLIC} 2222 twice-nat"),
    ]);
    receive(&mut rig, 1, &syn(packet(1, "10.0.1.2", PUBLIC), 4000, 2222));
    let seen = received(&mut rig);
    assert!(seen.messages[0].starts_with("SADD "), "{seen:?}");
    assert!(
        seen.messages[0]
            .contains("XDADDR=\"10.0.1.2\" XDPORT=\"4000\" IDADDR=\"10.9.0.1\" IDPORT=")
    );
}

#[suite::test]
fn packets_that_pass_as_they_are_tell_nothing() {
    let mut rig = logged(&["nat44 forwarding enable"]);
    let way_in = packet(1, "10.0.1.2", "10.0.0.2").udp(53, 5000);
    receive(&mut rig, 1, &way_in);
    assert!(rig.cli("show nat44 sessions").contains("forwarding-bypass"));
    rig.cli("clear nat44 ed sessions");
    let seen = received(&mut rig);
    assert_eq!((seen.messages, seen.records), (vec![], vec![]));
}

#[suite::test]
fn lacks_are_told_once_a_second() {
    let mut rig = bare(2);
    for line in ["nat44 plugin enable sessions 2", "set interface nat44 in p0 out p1"] {
        rig.cli(line);
    }
    log_all(&mut rig);
    let ask = |port| packet(0, "10.0.0.2", "10.0.1.2").udp(port, 53);
    // No address at all: three packets, one record.
    (0..3).for_each(|port| receive(&mut rig, 0, &ask(5000 + port)));
    let seen = received(&mut rig);
    assert_eq!(seen.records, [(257, vec![3, 0, 0, 0, 0])]);
    rig.cli(&format!("nat44 add address {PUBLIC}"));
    (0..5).for_each(|port| receive(&mut rig, 0, &ask(5000 + port)));
    let seen = received(&mut rig);
    let records: Vec<_> = seen.records.iter().filter(|(id, _)| *id == 258).collect();
    assert_eq!(records, [&(258, vec![13, 0, 0, 0, 1, 0, 0, 0, 2])]);
}

/// The history that collectors have is that of the table: after any traffic, sessions that were
/// made and haven't ended are those that are there.
#[suite::test]
fn the_history_is_that_of_the_table() {
    let mut rig = logged(&[&format!("nat44 add address {PUBLIC}"), "set nat timeout udp 7"]);
    let mut rng = testkit::Rng::new(7);
    let mut open = BTreeSet::new();
    for _ in 0..60 {
        for _ in 0..rng.below(8) {
            let user = format!("10.0.0.{}", 2 + rng.below(6));
            let host = format!("10.0.1.{}", 2 + rng.below(3));
            let port = 5000 + rng.below(4) as u16;
            receive(&mut rig, 0, &packet(0, &user, &host).udp(port, 53));
        }
        if rng.below(10) == 0 {
            rig.cli("clear nat44 ed sessions");
        }
        rig.seconds(rng.below(4) as u64);
        let seen = received(&mut rig);
        for message in &seen.messages {
            let (kind, session) = message.split_once(' ').expect("a kind");
            let is_news = match kind {
                "SADD" => open.insert(session.to_string()),
                _ => open.remove(session),
            };
            assert!(is_news, "{message}");
        }
        let created = seen.events().iter().filter(|event| **event == 4).count();
        assert_eq!(created, kinds(&seen).iter().filter(|kind| **kind == "SADD").count());
        let summary = rig.cli("show nat44 sessions");
        let live = summary.matches("  i2o 10.").count() - summary.matches("timed out").count();
        assert_eq!(open.len(), live, "{summary}");
    }
}

/// The export is saved, also while NAT44-ED is disabled.
#[suite::test]
fn the_export_is_saved() {
    let mut rig = bare(2);
    let line = "nat ipfix logging enable domain 3 src-port 4740";
    rig.cli(line);
    let world = rig.world();
    let lines = world.config_lines().all(&world);
    let saved: Vec<_> = lines.iter().filter(|of| of.text.contains("ipfix logging")).collect();
    assert_eq!(saved.len(), 1);
    assert_eq!((&saved[0].text[..], &saved[0].undo[..]), (line, "nat ipfix logging disable"));
}
