// SPDX-License-Identifier: Apache-2.0
//! Random traffic against a plain list of sessions.

use super::*;
use std::collections::BTreeMap;
use testkit::Rng;

#[suite::test]
fn random_traffic_is_translated_as_a_list_of_sessions_says() {
    let mut rig = router(&["dslite add pool address 192.0.2.7 - 192.0.2.9"]);
    let mut rng = Rng::new(11);
    // By B4, user's port and protocol: what the world sees.
    let mut sessions: BTreeMap<(usize, u16, bool), (Ipv4Addr, u16)> = BTreeMap::new();
    for _ in 0..1500 {
        let (b4, port, is_tcp) = (2 + rng.below(6), 5000 + rng.below(20) as u16, rng.one_in(2));
        let name = format!("2001:db8::{b4:x}");
        let of = |packet: Packet, from: u16, to: u16| match is_tcp {
            true => syn(packet, from, to),
            false => packet.udp(from, to),
        };
        let known = sessions.get(&(b4, port, is_tcp)).copied();
        if rng.one_in(2) {
            let seen = one(&mut rig, 0, &of(of_user(&name, USER, HOST), port, 80)).seen;
            assert_eq!(seen.to, end(HOST, 80));
            match known {
                Some(known) => assert_eq!(seen.from, known),
                None => {
                    let is_new = sessions
                        .iter()
                        .all(|((_, _, tcp), outside)| *tcp != is_tcp || *outside != seen.from);
                    assert!(is_new, "{seen:?}");
                    sessions.insert((b4, port, is_tcp), seen.from);
                }
            }
            continue;
        }
        let (to, to_port) = known.unwrap_or((addr("192.0.2.8"), 1000));
        let answer = of(of_world("10.0.1.9", &to.to_string()), 80, to_port);
        match known {
            Some(_) => {
                let seen = one(&mut rig, 1, &answer);
                assert_eq!(seen.tunnel, Some((addr6(AFTR), addr6(&name))));
                assert_eq!(seen.seen.to, end(USER, port));
            }
            None => assert!(is_dropped(&mut rig, 1, &answer)),
        }
        assert_eq!(total(&rig, "sessions"), sessions.len() as u64);
    }
    assert_eq!(total(&rig, "b4s"), 6);
}
