// SPDX-License-Identifier: Apache-2.0
//! Several workers: a user's sessions lie on one, whichever receives its packets.

use super::*;
use ::nat::drive::Threads;
use ::nat::key::spread_of;
use wire::Icmp4Type;

const WORKERS: usize = 3;

/// Sessions of a thread.
fn sessions(all: &Threads, thread: usize) -> u64 {
    all.world.stats.simple("/det44/total-sessions").of_thread(thread, 0)
}

#[suite::test]
fn users_have_one_worker() {
    let mut all = Threads::new(
        PLUGINS,
        PLUGIN.cli,
        WORKERS,
        &[
            "det44 plugin enable",
            "det44 add in 10.0.0.0/24 out 192.0.2.7/32",
            "set interface det44 inside p0 outside p1",
        ],
    );
    for n in 0..30 {
        let host = 2 + n as u8;
        let user = Ipv4Addr::new(10, 0, 0, host);
        let worker = 1 + spread_of(user) as usize % WORKERS;
        let before = sessions(&all, worker);
        let ask = packet(0, &user.to_string(), "10.0.1.2").udp(5000, 53);
        let left = all.pass(1 + n % WORKERS, 0, &ask.build());
        assert_eq!(left.len(), 1, "{user}");
        assert_eq!(left[0].from, end(PUBLIC, port_of(host, 5000)));
        assert_eq!(sessions(&all, worker), before + 1, "{user}");
        let about = pkt::ip4(PUBLIC, "10.0.1.2").udp(left[0].from.1, 53).build();
        for thread in 0..=WORKERS {
            let answer = packet(1, "10.0.1.2", PUBLIC).udp(53, left[0].from.1);
            let back = all.pass(thread, 1, &answer.build());
            assert_eq!((back.len(), back[0].to), (1, (user, 5000)));
            let error = packet(1, "10.0.1.9", PUBLIC).icmp(Icmp4Type::UNREACHABLE, 3, 0);
            let back = all.pass(thread, 1, &error.payload(&about).build());
            assert_eq!((back.len(), back[0].to.0), (1, user));
        }
    }
    assert_eq!((0..=WORKERS).map(|thread| sessions(&all, thread)).sum::<u64>(), 30);
    assert_eq!(sessions(&all, 0), 0, "the main thread has none");
    all.cli("det44 add in 10.0.0.0/24 out 192.0.2.7/32 del");
    all.turns();
    assert_eq!((0..=WORKERS).map(|thread| sessions(&all, thread)).sum::<u64>(), 0);
}
