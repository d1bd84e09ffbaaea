// SPDX-License-Identifier: Apache-2.0
//! Several workers: the sessions of a B4 are on one, whichever thread receives its packets.

use super::*;
use nat::drive::Threads;

const WORKERS: usize = 3;

#[suite::test]
fn packets_go_to_the_thread_of_their_sessions() {
    let lines = [
        "dslite set aftr-tunnel-endpoint-address 2001:db8:ffff::1",
        "dslite add pool address 192.0.2.7",
    ];
    let mut threads = Threads::new(PLUGINS, PLUGIN.cli, WORKERS, &lines);
    let total = threads.world.stats.simple("/dslite/total-sessions");
    let mut used = [0; WORKERS + 1];
    for host in 2..32 {
        let b4 = format!("2001:db8::{host:x}");
        let ask = of_user(&b4, USER, HOST).udp(5000, 53);
        let before: Vec<_> = (0..=WORKERS).map(|thread| total.lane(thread).get(0)).collect();
        // Whichever thread receives a packet, there is one session.
        let mut ports = Vec::new();
        for thread in 0..=WORKERS {
            let sent = threads.frames(thread, 0, &ask.build());
            assert_eq!(sent.len(), 1);
            ports.push(left(&sent[0]).seen.from.1);
        }
        assert!(ports.iter().all(|port| *port == ports[0]), "{ports:?}");
        let has_more = |thread: &usize| total.lane(*thread).get(0) > before[*thread];
        let owner = (0..=WORKERS).find(has_more).expect("a session");
        used[owner] += 1;
        // The port is of the owner's block.
        let block = (ports[0] - 1024) / (64_512 / WORKERS as u16);
        assert_eq!(usize::from(block) + 1, owner);
        for thread in 0..=WORKERS {
            let answer = of_world(HOST, PUBLIC).udp(53, ports[0]);
            let sent = threads.frames(thread, 1, &answer.build());
            let seen = left(&sent[0]);
            assert_eq!(seen.tunnel, Some((addr6(AFTR), addr6(&b4))));
            assert_eq!(seen.seen.to, end(USER, 5000));
        }
    }
    assert!(used[0] == 0 && used[1..].iter().all(|n| *n > 3), "{used:?}");
}
