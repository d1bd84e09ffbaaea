// SPDX-License-Identifier: Apache-2.0
//! Translation beside a plain model of RFC 6146: lists of bindings and sessions.

use super::*;
use crate::session::{INWARD, OUTWARD, Phase};
use std::collections::HashMap;
use testkit::Rng;

/// Rounds of the test.
const ROUNDS: usize = 6_000;
/// Seconds after which a session of UDP or ICMP ends.
const TIMEOUT: u64 = 20;
/// Seconds for which a session's time may be wrong: a tick, and the rounding of the clock.
const SLACK: u64 = 1;

type End = (IpAddr, u16);
/// A user's end with the protocol.
type Inside = (End, u8);

#[derive(Default)]
struct Model {
    /// The end that the world sees, by the user's.
    bindings: HashMap<Inside, End>,
    /// The second of a session's last packet, by the user's end and the host.
    sessions: HashMap<(Inside, End), u64>,
}

impl Model {
    /// The end of the newest session of a user's end: until when the binding lives.
    fn last(&self, user: &Inside) -> Option<u64> {
        let of = self.sessions.iter().filter(|((other, _), _)| other == user);
        of.map(|(_, last)| last + TIMEOUT).max()
    }

    /// True if a binding certainly lives, false if it certainly doesn't.
    fn lives(&self, user: &Inside, now: u64) -> Option<bool> {
        match self.last(user) {
            Some(end) if now + SLACK < end => Some(true),
            Some(end) if now <= end + SLACK => None,
            _ => Some(false),
        }
    }
}

fn out(((addr, port), protocol): Inside, (host, far): End) -> Packet {
    let packet = of_user(&addr.to_string(), &format!("64:ff9b::{host}"));
    match protocol {
        17 => packet.udp(port, far).payload("some bytes"),
        _ => packet.icmp6_echo(port, 1).payload("some bytes"),
    }
}

fn back((host, far): End, (addr, port): End, protocol: u8) -> Packet {
    let packet = of_world(&host.to_string(), &addr.to_string());
    match protocol {
        17 => packet.udp(far, port).payload("some bytes"),
        _ => packet.icmp_echo_reply(port, 1).payload("some bytes"),
    }
}

/// Random users, ports, hosts and pauses, packets of both sides: a live binding is one for all
/// hosts, no two users have the same end, the world reaches users by live bindings alone, and
/// translating a packet and its answer gives the user's own ends back.
#[suite::test]
fn translation_is_as_lists_have_it() {
    for seed in [3, 4] {
        let mut rng = Rng::new(seed);
        let mut rig = router(&["nat64 add pool address 192.0.2.7 - 192.0.2.8"]);
        rig.cli(&format!("set nat64 timeout udp {TIMEOUT} icmp {TIMEOUT}"));
        let (mut model, mut now) = (Model::default(), 0);
        let (mut new, mut refused, mut inward) = (0, 0, 0);
        for _ in 0..ROUNDS {
            if rng.one_in(40) {
                let n = 1 + rng.below(12) as u64;
                now += n;
                rig.seconds(n);
            }
            let user = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2 + rng.below(9) as u16);
            let host = Ipv4Addr::new(10, 0, 1, 2 + rng.below(3) as u8);
            let protocol = *rng.pick(&[17, 17, 1]);
            let port = *rng.pick(&[80, 1024, 5000, 5001, 65535]);
            let far = if protocol == 1 { 0 } else { *rng.pick(&[53, 54]) };
            let (inside, remote) = (((user.into(), port), protocol), (host.into(), far));
            let lives = model.lives(&inside, now);
            if rng.one_in(3) {
                // The world begins, at an end that was given at some time.
                let Some(end) = model.bindings.get(&inside).copied() else { continue };
                let owners = model.bindings.iter().filter(|(of, there)| {
                    **there == end && of.1 == protocol && model.lives(of, now) != Some(false)
                });
                if owners.count() > usize::from(lives != Some(false)) {
                    continue;
                }
                let left = sent(&mut rig, 1, &back(remote, end, protocol));
                match lives {
                    Some(true) => assert_eq!(left.len(), 1, "{inside:?}"),
                    Some(false) => assert!(left.is_empty(), "{inside:?}: {left:?}"),
                    None => {}
                }
                refused += usize::from(left.is_empty());
                if let Some(seen) = left.first() {
                    inward += 1;
                    assert_eq!(seen.to, inside.0);
                    model.sessions.insert((inside, remote), now);
                }
                continue;
            }
            let left = one(&mut rig, 0, &out(inside, remote));
            let host6 = addr(&format!("64:ff9b::{host}"));
            assert_eq!(left.to.0, IpAddr::from(host));
            match lives {
                Some(true) => assert_eq!(model.bindings[&inside], left.from, "a live binding"),
                _ => new += 1,
            }
            for (other, end) in &model.bindings {
                let same = *end == left.from && other.1 == protocol && *other != inside;
                assert!(!same || model.lives(other, now) != Some(true), "{inside:?} {other:?}");
            }
            model.bindings.insert(inside, left.from);
            model.sessions.insert((inside, remote), now);
            let seen = one(&mut rig, 1, &back(remote, left.from, protocol));
            assert_eq!((seen.from.0, seen.to), (host6, inside.0));
        }
        assert!(new > 300 && refused > 50 && inward > 200, "{new} {refused} {inward}");
        // No binding and no session is left.
        rig.seconds(TIMEOUT + 2);
        assert_eq!((total(&rig, "bibs"), total(&rig, "sessions")), (0, 0));
    }
}

/// The states of a connection, as the flags that were seen tell them (RFC 6146 3.5.2.2).
#[suite::test]
fn connections_go_through_their_states() {
    let flags = [TcpFlags::SYN, TcpFlags::ACK, TcpFlags::FIN, TcpFlags::RST];
    let mut rng = Rng::new(8);
    for _ in 0..2000 {
        let first = rng.below(2);
        let mut phase = Phase::opened_by(first);
        // SYN, FIN of each side, and whether the last segment was a RST.
        let (mut syn, mut fin, mut reset) = ([false; 2], [false; 2], false);
        syn[first] = true;
        for _ in 0..12 {
            let (side, flag) = (rng.below(2), *rng.pick(&flags));
            phase = phase.after(side, flag);
            let is_open = syn == [true; 2];
            match flag {
                _ if fin == [true; 2] => {}
                TcpFlags::SYN if !is_open => syn[side] = true,
                TcpFlags::RST if is_open => reset = true,
                _ if reset => (reset, fin) = (false, [false; 2]),
                TcpFlags::FIN if is_open => fin[side] = true,
                _ => {}
            }
            let want = match (syn, reset, fin) {
                ([true, true], true, _) => Phase::Reset,
                ([true, true], _, [true, true]) => Phase::Closed,
                ([true, true], _, [true, _]) => Phase::UserCloses,
                ([true, true], _, [_, true]) => Phase::WorldCloses,
                ([true, true], ..) => Phase::Established,
                ([true, false], ..) => Phase::UserOpens,
                _ => Phase::WorldOpens,
            };
            assert_eq!(phase, want, "{flag:?} of {side}");
        }
    }
    assert_eq!((OUTWARD, INWARD), (0, 1), "the sides of this test");
}

/// Connections that are established last longer than others, and ended ones aren't prolonged.
#[suite::test]
fn connections_have_their_timeouts() {
    let mut rig = with_pool();
    rig.cli("set nat64 timeout tcp-established 100 tcp-transitory 10");
    let out = |flags| of_user(USER, HOST6).tcp(5000, 80).segment(flags, 1, 1);
    let port = one(&mut rig, 0, &out(TcpFlags::SYN)).from.1;
    let back = |flags| of_world(HOST, PUBLIC).tcp(80, port).segment(flags, 1, 1);
    rig.seconds(8);
    one(&mut rig, 1, &back(TcpFlags::SYN | TcpFlags::ACK));
    rig.seconds(90);
    one(&mut rig, 0, &out(TcpFlags::ACK));
    rig.seconds(90);
    one(&mut rig, 0, &out(TcpFlags::FIN | TcpFlags::ACK));
    rig.seconds(20);
    one(&mut rig, 1, &back(TcpFlags::FIN | TcpFlags::ACK));
    rig.seconds(6);
    one(&mut rig, 0, &out(TcpFlags::ACK));
    rig.seconds(6);
    assert!(is_dropped(&mut rig, 0, &out(TcpFlags::ACK)), "its time began with the last FIN");
    // A new connection between the same ends.
    one(&mut rig, 0, &out(TcpFlags::SYN));
}
