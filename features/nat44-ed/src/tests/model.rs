// SPDX-License-Identifier: Apache-2.0
//! Translation beside a plain model: a list of what was translated to what.

use super::*;
use std::collections::HashMap;
use testkit::Rng;

/// Rounds of the test.
const ROUNDS: usize = 6_000;
/// Seconds after which a session of UDP ends.
const TIMEOUT: u64 = 20;
/// Seconds for which a session's time may be wrong: a tick, and the rounding of the clock.
const SLACK: u64 = 1;

/// Both ends of a packet, and its protocol.
type Flow = ((Ipv4Addr, u16), (Ipv4Addr, u16), u8);

#[derive(Default)]
struct Model {
    /// By what the user sends: what the world sees, and the second of the last packet.
    out: HashMap<Flow, (Flow, u64)>,
}

impl Model {
    /// Live flows that answers with these ends would belong to.
    fn owners(&self, seen: &Flow, now: u64) -> Vec<Flow> {
        let live = self
            .out
            .iter()
            .filter(|(_, (other, last))| other == seen && now < last + TIMEOUT - SLACK);
        live.map(|(flow, _)| *flow).collect()
    }
}

fn build(port: usize, (from, to, protocol): Flow) -> Packet {
    let packet = pkt::ether(peer_mac(port), port_mac(port)).ip4(from.0, to.0);
    match protocol {
        17 => packet.udp(from.1, to.1).payload("some bytes"),
        // The identifier stands in for both ports.
        _ if port == 0 => packet.icmp_echo(from.1, 1).payload("some bytes"),
        _ => packet.icmp_echo_reply(from.1, 1).payload("some bytes"),
    }
}

/// Random users, ports, remote ends and pauses: a live flow keeps its translation, no two live
/// flows have one that answers would confuse, and each answer gives the user's own ends back.
#[suite::test]
fn translation_is_as_a_list_has_it() {
    for seed in [3, 4] {
        let mut rng = Rng::new(seed);
        let mut rig = router(&["nat44 add address 192.0.2.7 - 192.0.2.8"]);
        rig.cli(&format!("set nat timeout udp {TIMEOUT} icmp {TIMEOUT}"));
        let (mut model, mut now) = (Model::default(), 0);
        let mut new = 0;
        for _ in 0..ROUNDS {
            if rng.one_in(40) {
                let n = 1 + rng.below(8) as u64;
                now += n;
                rig.seconds(n);
            }
            let user = Ipv4Addr::new(10, 0, 0, 2 + rng.below(9) as u8);
            let remote = Ipv4Addr::new(10, 0, 1, 2 + rng.below(2) as u8);
            let protocol = *rng.pick(&[17, 17, 1]);
            let port = *rng.pick(&[80, 1024, 5000, 5001, 65535]);
            let far = if protocol == 1 { port } else { *rng.pick(&[53, 54]) };
            let flow: Flow = ((user, port), (remote, far), protocol);
            let left = one(&mut rig, 0, &build(0, flow));
            let seen: Flow = (left.from, left.to, protocol);
            let known = model.out.get(&flow).copied();
            let live = known.filter(|(_, last)| now < last + TIMEOUT - SLACK);
            if let Some((before, _)) = live {
                assert_eq!(seen, before, "a live flow keeps its translation");
            } else {
                new += 1;
                let others = model.owners(&seen, now);
                assert!(
                    others.iter().all(|other| *other == flow),
                    "{flow:?} and {others:?}: {seen:?}"
                );
                assert!(left.from.1 >= 1024 && left.from.0.octets()[3] >= 7);
            }
            model.out.insert(flow, (seen, now));
            let answer: Flow = (seen.1, seen.0, protocol);
            let back = one(&mut rig, 1, &build(1, answer));
            let far = if protocol == 1 { port } else { flow.1.1 };
            assert_eq!((back.from, back.to), ((remote, far), flow.0));
        }
        assert!(new > 500, "{new}");
        // No session and no port is left.
        rig.seconds(TIMEOUT + 30);
        assert_eq!(
            rig.cli("show nat44 summary").lines().nth(1),
            Some("total sessions: 0 (timed out: 0)")
        );
    }
}
