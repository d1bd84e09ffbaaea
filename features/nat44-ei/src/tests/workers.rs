// SPDX-License-Identifier: Apache-2.0
//! Several workers: each user has its sessions on one, whichever receives its packets.

use super::*;
use crate::control::Control;
use ::nat::drive::{Threads, WORKERS, check_chosen_workers, check_workers_of_users};

fn threads(lines: &[&str]) -> Threads {
    let start = ["nat44 ei plugin enable", "set interface nat44 ei in p0 out p1"];
    let lines = [&start[..], lines].concat();
    Threads::new(PLUGINS, PLUGIN.cli, WORKERS, &lines)
}

#[suite::test]
fn users_have_one_worker() {
    let mut all = threads(&["nat44 ei add address 192.0.2.7"]);
    check_workers_of_users(
        &mut all,
        ("nat44-ei", "nat44-ei-out2in-worker-handoff"),
        64_511 / WORKERS,
    );
}

/// Between two users, both directions find both sessions, on whichever threads they are.
#[suite::test]
fn users_of_two_workers_reach_each_other() {
    let mut all = threads(&[
        "nat44 ei add address 192.0.2.7",
        "nat44 ei add static mapping udp local 10.0.0.30 53 external 192.0.2.7 53",
    ]);
    for n in 2..14 {
        let user = Ipv4Addr::new(10, 0, 0, n);
        let ask = pkt::ether(peer_mac(0), port_mac(0)).ip4(user, PUBLIC).udp(5000, 53);
        let left = all.pass(1 + usize::from(n) % WORKERS, 0, &ask.build());
        assert_eq!((left.len(), left[0].to), (1, end("10.0.0.30", 53)), "{user}");
        let (to, port) = left[0].from;
        for thread in 1..=WORKERS {
            let answer = pkt::ether(peer_mac(0), port_mac(0)).ip4("10.0.0.30", to).udp(53, port);
            let back = all.pass(thread, 0, &answer.build());
            assert_eq!(back.len(), 1, "{user}");
            assert_eq!((back[0].from, back[0].to), (end(PUBLIC, 53), (user, 5000)));
        }
    }
}

/// The ports of a plan are divided among the workers.
#[suite::test]
fn workers_share_the_ports_of_a_plan() {
    let mut all = threads(&["nat44 ei add address 192.0.2.7"]);
    for plan in ["map-e psid 10 psid-offset 6 psid-len 6", "port-range 2000 - 2999"] {
        all.cli(&format!("nat44 ei addr-port-assignment-alg {plan}"));
        all.turns();
        for n in 2..20 {
            let user = Ipv4Addr::new(10, 0, 0, n);
            let ask = pkt::ether(peer_mac(0), port_mac(0)).ip4(user, "10.0.1.2").udp(5000, 53);
            let left = all.pass(1, 0, &ask.build());
            for thread in 1..=WORKERS {
                let answer = packet(1, "10.0.1.2", PUBLIC).udp(53, left[0].from.1);
                let back = all.pass(thread, 1, &answer.build());
                assert_eq!((back.len(), back[0].to), (1, (user, 5000)), "{plan}");
            }
        }
    }
}

/// The main thread's packets, and fewer workers.
#[suite::test]
fn workers_are_chosen() {
    let mut all = threads(&["set nat44 ei workers 0,2", "nat44 ei add address 192.0.2.7"]);
    check_chosen_workers(&mut all, "nat44-ei");
    let control = all.world.get::<Control>();
    assert_eq!(control.set_workers(&all.world, 8).expect_err("no such").code(), -89);
    assert_eq!(control.workers(&all.world), [1, 3]);
}
