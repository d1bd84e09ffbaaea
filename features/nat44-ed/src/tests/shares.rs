// SPDX-License-Identifier: Apache-2.0
//! Users who make as many sessions as they can, beside others.

use super::*;
use crate::flows::AllFlows;
use crate::key::{End, Key};
use graph::ThreadIndex;
use testkit::Rng;

const SLOW: &str = "nat44-ed-in2out-slowpath";
const ENDED: &str = "sessions ended for users with fewer";
const TAKEN: &str = "ports taken for users with fewer";

fn limited(sessions: u32) -> Rig {
    let mut rig = bare(2);
    for line in [
        &*format!("nat44 plugin enable sessions {sessions}"),
        "set interface nat44 in p0 out p1",
        "nat44 add address 192.0.2.7",
    ] {
        rig.cli(line);
    }
    rig
}

fn user(host: usize) -> String {
    format!("10.0.0.{host}")
}

fn ask(host: usize, port: u16) -> Packet {
    packet(0, &user(host), "10.0.1.2").udp(port, 53)
}

/// Number of packets that are translated.
fn translated(rig: &mut Rig, packets: impl IntoIterator<Item = Packet>) -> usize {
    packets.into_iter().filter(|packet| !is_dropped(rig, 0, packet)).count()
}

/// Fails if shares don't add up to the sessions that are there.
#[track_caller]
fn check(rig: &mut Rig) {
    let (all, turn) = (rig.world().get::<AllFlows>(), rig.bench.rt.reading());
    all.of(ThreadIndex(0), &turn).expect("nobody has it").check();
}

/// Users whose hashes are equal have a share together, and the seed of hashes is random: nearly all
/// others get a session, one each.
#[suite::test]
fn a_user_with_all_sessions_makes_room_for_others() {
    let mut rig = limited(64);
    assert_eq!(translated(&mut rig, (1..=70).map(|port| ask(2, port))), 64);
    assert_eq!(rig.count(SLOW, "maximum sessions exceeded"), 6);
    let others = translated(&mut rig, (3..19).map(|host| ask(host, 1)));
    assert!(others >= 12, "{others} of 16 others");
    assert_eq!(rig.count(SLOW, ENDED), others as u64);
    check(&mut rig);
    // Which displaced nothing, and can't: it has most.
    assert_eq!(translated(&mut rig, (71..80).map(|port| ask(2, port))), 0);
    assert_eq!(rig.count(SLOW, ENDED), others as u64);
    // Its oldest have gone, none else.
    let key = |port| {
        let (from, to) = (End::new(addr("10.0.0.2"), port), End::new(addr("10.0.1.2"), 53));
        Key::new(from, to, 0, IpProtocol::UDP)
    };
    let (all, turn) = (rig.world().get::<AllFlows>(), rig.bench.rt.reading());
    let flows = all.of(ThreadIndex(0), &turn).expect("nobody has it");
    let known = (1..=64).filter(|port| flows.at(&key(*port)).is_some());
    assert!(known.eq(others as u16 + 1..=64));
}

/// A user gets as many as an equal share, whatever another one does meanwhile.
#[suite::test]
fn two_users_have_half_each() {
    let mut rig = limited(40);
    assert_eq!(translated(&mut rig, (1..=40).map(|port| ask(2, port))), 40);
    let second = (3..60).find(|host| translated(&mut rig, [ask(*host, 1)]) == 1).expect("differ");
    for port in 2..=50 {
        translated(&mut rig, [ask(second, port), ask(2, port + 100)]);
    }
    assert_eq!(rig.count(SLOW, ENDED), 20);
    for host in [2, second] {
        let said = rig.cli(&format!("clear nat44 ed sessions user {}", user(host)));
        assert_eq!(said, "ended sessions: 20\n");
    }
    check(&mut rig);
}

/// Connections that aren't established go before sessions that are older.
#[suite::test]
fn a_connection_that_begins_goes_first() {
    let mut rig = limited(6);
    let from = |port| packet(0, "10.0.0.2", "10.0.1.2").tcp(port, 80);
    assert_eq!(translated(&mut rig, (1..=2).map(|port| ask(2, port))), 2);
    // One is established, with the port 2001.
    for port in [2001, 2002, 2003, 2004] {
        one(&mut rig, 0, &from(port).segment(TcpFlags::SYN, 1, 0));
    }
    let answer = packet(1, "10.0.1.2", PUBLIC).tcp(80, 2001);
    one(&mut rig, 1, &answer.segment(TcpFlags::SYN | TcpFlags::ACK, 1, 2));
    one(&mut rig, 0, &from(2001).segment(TcpFlags::ACK, 2, 2));
    check(&mut rig);
    let other = (3..60).find(|host| translated(&mut rig, [ask(*host, 1)]) == 1).expect("differ");
    let summary = rig.cli("show nat44 summary");
    assert!(summary.contains("tcp established sessions: 1\n"), "{summary}");
    assert!(summary.contains("tcp transitory sessions: 2\n"), "{summary}");
    assert_eq!(translated(&mut rig, [ask(other, 2), ask(other, 3)]), 2);
    let summary = rig.cli("show nat44 summary");
    assert!(summary.contains("tcp established sessions: 1\n"), "{summary}");
    assert!(summary.contains("tcp transitory sessions: 0\n"), "{summary}");
    // One whose end has begun is as good as gone.
    one(&mut rig, 0, &from(2001).segment(TcpFlags::RST, 3, 2));
    check(&mut rig);
    let summary = rig.cli("show nat44 summary");
    assert!(summary.contains("tcp transitory sessions: 1\n"), "{summary}");
}

/// The limit of a table is shared by its users in the same way.
#[suite::test]
fn the_limit_of_a_table_is_shared() {
    let mut rig = limited(100);
    rig.cli("set nat44 session limit 10 vrf 0");
    assert_eq!(translated(&mut rig, (1..=12).map(|port| ask(2, port))), 10);
    let others = translated(&mut rig, (3..8).map(|host| ask(host, 1)));
    assert!(others >= 2, "{others} of 5 others");
    assert_eq!(rig.count(SLOW, ENDED), others as u64);
    assert!(rig.cli("show nat44 summary").contains("total sessions: 10 "));
    check(&mut rig);
}

/// A user who has all ports towards a remote end leaves some to others; ports that mappings have
/// are not among them.
#[suite::test]
fn a_user_with_all_ports_leaves_some_to_others() {
    let mut rig = limited(200_000);
    rig.cli("nat44 add static mapping udp local 10.0.0.9 53 external 192.0.2.7 7777");
    let all = usize::from(u16::MAX) - 1024;
    for first in (0..all).step_by(256) {
        let ports = first..all.min(first + 256);
        let frames: Vec<_> = ports.map(|n| ask(2, n as u16 + 1).build()).collect();
        assert_eq!(rig.pass_all(0, &frames).len(), frames.len(), "at {first}");
    }
    assert_eq!(translated(&mut rig, [ask(2, u16::MAX)]), 0);
    assert_eq!(rig.count(SLOW, "out of ports"), 1);
    check(&mut rig);
    let others: Vec<_> =
        (3..9).flat_map(|host| sent(&mut rig, 0, &ask(host, 7777)).into_iter().next()).collect();
    assert!(others.len() >= 3, "{} of 6 others", others.len());
    assert!(others.iter().all(|seen| seen.from.1 >= 1024 && seen.from.1 != 7777), "{others:?}");
    assert_eq!(rig.count(SLOW, TAKEN), others.len() as u64);
    assert_eq!(rig.count(SLOW, ENDED), 0);
    assert!(rig.cli("show nat44 summary").contains(&format!("total sessions: {all} ")));
    check(&mut rig);
    // Answers to the port reach the new user.
    let first = others[0];
    let back = one(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).udp(53, first.from.1));
    assert_eq!(back.to.1, 7777);
    assert_eq!(translated(&mut rig, [ask(2, u16::MAX)]), 0);
}

/// Random sessions, answers, pauses and commands: shares always add up to the sessions, no limit is
/// passed, and nothing is left in the end.
#[suite::test]
fn shares_are_sums_of_sessions() {
    let mut rng = Rng::new(77);
    let mut rig = limited(30);
    rig.cli("set nat timeout udp 9 tcp-established 20 tcp-transitory 7 icmp 5");
    rig.cli("nat44 add static mapping tcp local 10.0.0.4 80 external 192.0.2.7 80");
    for step in 0..4000 {
        let host = 2 + rng.below(6);
        let port = 1024 + rng.below(20) as u16;
        let tcp = packet(0, &user(host), "10.0.1.2").tcp(port, 80);
        let from_world = packet(1, "10.0.1.2", PUBLIC);
        let flags = *rng.pick(&[TcpFlags::SYN, TcpFlags::ACK, TcpFlags::FIN, TcpFlags::RST]);
        match rng.below(12) {
            0..3 => _ = sent(&mut rig, 0, &ask(host, port)),
            3 => _ = sent(&mut rig, 0, &packet(0, &user(host), "10.0.1.2").icmp_echo(port, 1)),
            4..7 => _ = sent(&mut rig, 0, &tcp.segment(flags, 1, 1)),
            7 => {
                let both = TcpFlags::SYN | TcpFlags::ACK;
                _ = sent(&mut rig, 1, &from_world.tcp(80, port).segment(both, 1, 1));
            }
            8 => _ = sent(&mut rig, 1, &syn(packet(1, "10.0.1.3", PUBLIC), port, 80)),
            9 => rig.seconds(rng.below(3) as u64),
            10 if rng.one_in(4) => {
                rig.cli(&format!("clear nat44 ed sessions user {}", user(host)));
            }
            11 if rng.one_in(9) => {
                let limit = rng.pick(&[5, 25, 99]);
                rig.cli(&format!("set nat44 session limit {limit} vrf 0"));
            }
            _ => {}
        }
        check(&mut rig);
        let total = rig.bench.world.stats.simple("/nat44-ed/total-sessions").sum(0);
        assert!(total <= 30, "{total} sessions after {step} steps");
    }
    assert!(rig.count(SLOW, ENDED) > 20, "{}", rig.count(SLOW, ENDED));
    rig.seconds(100);
    check(&mut rig);
    let total = rig.bench.world.stats.simple("/nat44-ed/total-sessions").sum(0);
    assert_eq!(total, 0);
}
