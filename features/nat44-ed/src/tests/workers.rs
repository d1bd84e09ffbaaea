// SPDX-License-Identifier: Apache-2.0
//! Several workers: each flow has its sessions on one, whichever receives its packets.

use super::*;
use crate::control::Control;
use ::nat::drive::{Threads, WORKERS, check_chosen_workers, check_workers_of_users};

fn threads(lines: &[&str]) -> Threads {
    let lines = [&["nat44 plugin enable"], lines].concat();
    Threads::new(PLUGINS, PLUGIN.cli, WORKERS, &lines)
}

#[suite::test]
fn flows_have_one_worker() {
    let mut all = threads(&["set interface nat44 in p0 out p1", "nat44 add address 192.0.2.7"]);
    check_workers_of_users(&mut all, ("nat44-ed", "nat44-out2in-worker-handoff"), 64_512 / WORKERS);
}

/// Between two users, both directions find the session, whoever has a mapping.
#[suite::test]
fn users_reach_each_other_on_any_worker() {
    for static_client in [false, true] {
        let mut all = threads(&["set interface nat44 in p0 out p1", "nat44 add address 192.0.2.7"]);
        all.cli("nat44 add static mapping udp local 10.0.0.30 53 external 192.0.2.7 53");
        if static_client {
            for n in 2..8 {
                all.cli(&format!(
                    "nat44 add static mapping local 10.0.0.{n} external 192.0.2.1{n}"
                ));
            }
        }
        for n in 2..8 {
            let user = Ipv4Addr::new(10, 0, 0, n);
            let ask = pkt::ether(peer_mac(0), port_mac(0)).ip4(user, PUBLIC).udp(5000, 53);
            let left = all.pass(1 + usize::from(n) % WORKERS, 0, &ask.build());
            assert_eq!((left.len(), left[0].to), (1, end("10.0.0.30", 53)), "{user}");
            for thread in 1..=WORKERS {
                let (to, port) = left[0].from;
                let answer =
                    pkt::ether(peer_mac(0), port_mac(0)).ip4("10.0.0.30", to).udp(53, port);
                let back = all.pass(thread, 0, &answer.build());
                assert_eq!(back.len(), 1, "{user}");
                assert_eq!((back[0].from, back[0].to), (end(PUBLIC, 53), (user, 5000)));
            }
        }
    }
}

/// The main thread's packets, and fewer workers.
#[suite::test]
fn workers_are_chosen() {
    let mut all = threads(&[
        "set nat workers 0,2",
        "set interface nat44 in p0 out p1",
        "nat44 add address 192.0.2.7",
    ]);
    check_chosen_workers(&mut all, "nat44-ed");
    let control = all.world.get::<Control>();
    assert_eq!(control.set_workers(&all.world, 8).expect_err("no such").code(), -89);
    assert_eq!(control.workers(&all.world), [1, 3]);
}
