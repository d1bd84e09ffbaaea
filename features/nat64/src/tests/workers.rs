// SPDX-License-Identifier: Apache-2.0
//! Several workers: each user has its bindings on one, whichever receives its packets.

use super::*;
use crate::control::Control;
use crate::key::spread_of;
use ::nat::drive::Threads;

const WORKERS: usize = 3;

fn threads() -> Threads {
    let lines = [
        "nat64 plugin enable",
        "set interface nat64 in p0",
        "set interface nat64 out p1",
        "nat64 add pool address 192.0.2.7",
    ];
    Threads::new(PLUGINS, PLUGIN.cli, WORKERS, &lines)
}

/// Receives a packet on a thread; returns what has left.
fn pass(all: &mut Threads, thread: usize, port: usize, packet: &Packet) -> Vec<Seen> {
    all.frames(thread, port, &packet.build()).iter().map(seen).collect()
}

/// Bindings of a thread.
fn bindings(all: &Threads, thread: usize) -> u64 {
    all.world.stats.simple("/nat64/total-bibs").of_thread(thread, 0)
}

/// The worker of a user, by VPP's formula.
fn worker(user: Ipv6Addr) -> usize {
    1 + spread_of(user) as usize % WORKERS
}

fn user(host: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host)
}

/// CRC-32C without first and last complement, of two addresses.
#[suite::test]
fn the_hash_is_the_processors() {
    // The check value of CRC-32C is that of "123456789" with both complements; without them it is
    // linear, so single bytes can be checked by hand: 0x80 as the last byte is the polynomial.
    let last = |byte: u8| {
        let mut octets = [0; 16];
        octets[15] = byte;
        spread_of(octets.into())
    };
    assert_eq!((last(0), last(0x80)), (0, 0x82f6_3b78));
    assert_eq!(last(0x81), last(0x80) ^ last(1));
}

#[suite::test]
fn users_have_one_worker() {
    let mut all = threads();
    let block = 64_512 / WORKERS;
    for n in 0..30_u16 {
        let (user, thread) = (user(2 + n), worker(user(2 + n)));
        let before = bindings(&all, thread);
        let from = user.to_string();
        let left =
            pass(&mut all, 1 + usize::from(n) % WORKERS, 0, &of_user(&from, HOST6).udp(5, 53));
        assert_eq!(left.len(), 1, "{user}");
        assert_eq!(bindings(&all, thread), before + 1, "{user}");
        let port = left[0].from.1;
        assert_eq!((usize::from(port) - 1024) / block, thread - 1, "{user} has {port}");
        for thread in 1..=WORKERS {
            let back = pass(&mut all, thread, 1, &of_world(HOST, PUBLIC).udp(53, port));
            assert_eq!((back.len(), back[0].to), (1, (user.into(), 5)));
        }
    }
    assert_eq!(bindings(&all, 0), 0, "the main thread has none");
    let node = "nat64-out2in-handoff";
    assert_eq!((all.count(node, "same worker"), all.count(node, "do handoff")), (30, 60));
}

/// A user reaches another one whose bindings are on another worker, and hears of errors.
#[suite::test]
fn users_reach_each_other_on_any_worker() {
    let mut all = threads();
    let mut crossed = 0;
    for n in 0..8_u16 {
        let (client, server) = (user(2 + n), user(40 + n));
        let line = format!("nat64 add static bib {server} 53 192.0.2.7 {} udp", 100 + n);
        all.cli(&line);
        crossed += usize::from(worker(client) != worker(server));
        let far = "64:ff9b::192.0.2.7";
        let ask = of_user(&client.to_string(), far).udp(5, 100 + n);
        let left = pass(&mut all, 1 + usize::from(n) % WORKERS, 0, &ask);
        assert_eq!((left.len(), left[0].to), (1, (server.into(), 53)));
        for thread in 1..=WORKERS {
            let answer = of_user(&server.to_string(), far).udp(53, left[0].from.1);
            let back = pass(&mut all, thread, 0, &answer);
            assert_eq!((back.len(), back[0].to), (1, (client.into(), 5)));
            assert_eq!(back[0].from, end(far, 100 + n));
        }
    }
    assert!(crossed > 2, "{crossed}");
}

/// A static binding has a port of the worker of its user, or one that no worker has.
#[suite::test]
fn static_bindings_are_on_the_worker_of_their_user() {
    let mut all = threads();
    let control = all.world.get::<Control>();
    for n in 0..6_u16 {
        let (server, thread) = (user(2 + n), worker(user(2 + n)));
        let block = 1024 + (thread as u16 - 1) * 21_504;
        let other = 1024 + (thread as u16 % WORKERS as u16) * 21_504;
        let name = crate::control::StaticName { vrf: 0, addr: server, port: 80, protocol: 6 };
        let end = |port| crate::key::End::new(Ipv4Addr::new(192, 0, 2, 7), port);
        let wrong = control.set_static(&all.world, (name, end(other + n)), true);
        assert_eq!(wrong.err().expect("refused").code(), -8);
        for port in [block + n, 80 + n] {
            let line =
                |del: &str| format!("nat64 add static bib {server} 80 192.0.2.7 {port} tcp{del}");
            all.cli(&line(""));
            for at in 1..=WORKERS {
                let left =
                    pass(&mut all, at, 1, &syn(of_world(HOST, PUBLIC), 4000 + at as u16, port));
                assert_eq!((left.len(), left[0].to), (1, (server.into(), 80)));
            }
            all.cli(&line(" del"));
        }
    }
}

/// Protocols without ports find their worker by the address.
#[suite::test]
fn other_protocols_find_their_worker() {
    let mut all = threads();
    all.cli("nat64 add pool address 192.0.2.8 - 192.0.2.9");
    for n in 0..3_u16 {
        let from = user(2 + n);
        let out = of_user(&from.to_string(), HOST6).gre().payload("some bytes");
        let left = pass(&mut all, 1, 0, &out);
        assert_eq!(left.len(), 1);
        for thread in 1..=WORKERS {
            let to = left[0].from.0.to_string();
            let back = pass(&mut all, thread, 1, &of_world(HOST, &to).gre().payload("more bytes"));
            assert_eq!((back.len(), back[0].to.0), (1, from.into()));
        }
    }
}
