// SPDX-License-Identifier: Apache-2.0
//! Several workers: each flow has its sessions on one, whichever receives its packets.

use super::*;
use crate::control::Control;
use crate::key::{spread, spread_of};
use ::nat::drive::Threads;

const WORKERS: usize = 3;

fn threads(lines: &[&str]) -> Threads {
    let lines = [&["nat44 plugin enable"], lines].concat();
    Threads::new(PLUGINS, PLUGIN.cli, WORKERS, &lines)
}

/// Sessions of a thread.
fn sessions(all: &Threads, thread: usize) -> u64 {
    all.world.stats.simple("/nat44-ed/total-sessions").of_thread(thread, 0)
}

/// The worker of a user, by VPP's formula.
fn worker(user: Ipv4Addr) -> usize {
    1 + (spread_of(user).wrapping_add(spread(0)) as usize) % WORKERS
}

#[suite::test]
fn flows_have_one_worker() {
    let mut all = threads(&["set interface nat44 in p0 out p1", "nat44 add address 192.0.2.7"]);
    let block = (65_536 - 1024) / WORKERS as u16 as usize;
    for n in 0..30 {
        let user = Ipv4Addr::new(10, 0, 0, 2 + n as u8);
        let before = sessions(&all, worker(user));
        let ask = pkt::ether(peer_mac(0), port_mac(0)).ip4(user, "10.0.1.2").udp(5000, 53);
        let left = all.pass(1 + n % WORKERS, 0, &ask.build());
        assert_eq!(left.len(), 1, "{user}");
        assert_eq!(sessions(&all, worker(user)), before + 1, "{user}");
        let port = usize::from(left[0].from.1);
        assert_eq!((port - 1024) / block, worker(user) - 1, "{user} has {port}");
        for thread in 1..=WORKERS {
            let answer = packet(1, "10.0.1.2", PUBLIC).udp(53, left[0].from.1);
            let back = all.pass(thread, 1, &answer.build());
            assert_eq!(back.len(), 1);
            assert_eq!(back[0].to, (user, 5000));
        }
    }
    assert_eq!((0..=WORKERS).map(|thread| sessions(&all, thread)).sum::<u64>(), 30);
    assert_eq!(sessions(&all, 0), 0, "the main thread has none");
    let same = all.count("nat44-out2in-worker-handoff", "same worker");
    let handed = all.count("nat44-out2in-worker-handoff", "do handoff");
    assert_eq!((same, handed), (30, 60));
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
    for n in 0..20 {
        let user = Ipv4Addr::new(10, 0, 0, 2 + n);
        let ask = pkt::ether(peer_mac(0), port_mac(0)).ip4(user, "10.0.1.2").icmp_echo(5000, 53);
        assert_eq!(all.pass(usize::from(n) % 4, 0, &ask.build()).len(), 1);
    }
    assert_eq!((sessions(&all, 0), sessions(&all, 2)), (0, 0));
    assert_eq!(sessions(&all, 1) + sessions(&all, 3), 20);
    let control = all.world.get::<Control>();
    assert_eq!(control.set_workers(&all.world, 8).expect_err("no such").code(), -89);
    assert_eq!(control.workers(&all.world), [1, 3]);
}
