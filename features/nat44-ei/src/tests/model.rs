// SPDX-License-Identifier: Apache-2.0
//! Translation beside a plain model: a list of users' ports and the ports that the world sees.

use super::*;
use std::collections::HashMap;
use testkit::Rng;

/// Rounds of the test.
const ROUNDS: usize = 6_000;
/// Seconds after which a session ends.
const TIMEOUT: u64 = 20;
/// Seconds for which a session's time may be wrong: a tick, and the rounding of the clock.
const SLACK: u64 = 1;

/// An end with its protocol.
type End = ((Ipv4Addr, u16), u8);

#[derive(Default)]
struct Model {
    /// By the user's end: what the world sees, and the second of the last packet.
    out: HashMap<End, (End, u64)>,
}

impl Model {
    /// Users that the world reaches by an end for certain.
    fn owners(&self, seen: &End, now: u64) -> Vec<End> {
        let live = self
            .out
            .iter()
            .filter(|(_, (other, last))| other == seen && now < last + TIMEOUT - SLACK);
        live.map(|(user, _)| *user).collect()
    }
}

fn build(port: usize, from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), protocol: u8) -> Packet {
    let packet = pkt::ether(peer_mac(port), port_mac(port)).ip4(from.0, to.0);
    match protocol {
        17 => packet.udp(from.1, to.1).payload("some bytes"),
        6 => packet.tcp(from.1, to.1).segment(TcpFlags::ACK, 1, 1),
        // The identifier stands in for both ports.
        _ if port == 0 => packet.icmp_echo(from.1, 1).payload("some bytes"),
        _ => packet.icmp_echo_reply(to.1, 1).payload("some bytes"),
    }
}

/// Random users, ports, remote ends and pauses: a user's port keeps its mapping for all remote
/// ends, no two have one port of the world, any host reaches the user by it, and all ports return.
#[suite::test]
fn translation_is_as_a_list_has_it() {
    for (seed, plan) in [(3, "default"), (4, "port-range 2000 - 2099"), (5, "default")] {
        let mut rng = Rng::new(seed);
        let mut rig = router(&["nat44 ei add address 192.0.2.7 - 192.0.2.8"]);
        rig.cli(&format!("nat44 ei addr-port-assignment-alg {plan}"));
        rig.cli(&format!(
            "set nat44 ei timeout udp {TIMEOUT} icmp {TIMEOUT} tcp-established {TIMEOUT} tcp-transitory {TIMEOUT}"
        ));
        let (mut model, mut now) = (Model::default(), 0);
        let mut new = 0;
        for round in 0..ROUNDS {
            if rng.one_in(40) {
                let n = 1 + rng.below(8) as u64;
                now += n;
                rig.seconds(n);
            }
            let protocol = *rng.pick(&[17, 17, 6, 1]);
            let user = Ipv4Addr::new(10, 0, 0, 2 + rng.below(9) as u8);
            let inside = (user, *rng.pick(&[80, 1024, 5000, 5001, 65535]));
            let host = |rng: &mut Rng| {
                let host = Ipv4Addr::new(10, 0, 1, 2 + rng.below(5) as u8);
                (host, 50 + rng.below(3) as u16)
            };
            let remote = host(&mut rng);
            let left = one(&mut rig, 0, &build(0, inside, remote, protocol));
            let seen = (left.from, protocol);
            let known = model.out.get(&(inside, protocol)).copied();
            let live = known.filter(|(_, last)| now < last + TIMEOUT - SLACK);
            if let Some((before, _)) = live {
                assert_eq!(seen, before, "a port keeps its mapping");
            } else {
                new += 1;
                let others = model.owners(&seen, now);
                let own = others.iter().all(|other| *other == (inside, protocol));
                assert!(own, "{inside:?} and {others:?}: {seen:?}");
                assert!(left.from.1 >= 1024 && left.from.0.octets()[3] >= 7);
            }
            model.out.insert((inside, protocol), (seen, now));
            let anybody = host(&mut rng);
            let back = one(&mut rig, 1, &build(1, anybody, seen.0, protocol));
            assert_eq!((back.from.0, back.to), (anybody.0, inside));
            if round % 500 == 0 {
                check(&mut rig);
            }
        }
        assert!(new > 300, "{new}");
        rig.seconds(TIMEOUT + 5);
        assert_eq!((stat(&rig, "total-users", 0), stat(&rig, "total-sessions", 0)), (0, 0));
        check(&mut rig);
    }
}
