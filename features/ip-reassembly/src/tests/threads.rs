// SPDX-License-Identifier: Apache-2.0
//! Fragments that come in on different threads.

use super::*;
use ::graph::{World, WorldConfig};
use testkit::pkt;

#[suite::test]
fn fragments_of_one_datagram_meet_on_one_worker() {
    let config = WorldConfig { threads: 4, buffers: 4096, ..WorldConfig::default() };
    let (world, mut threads) = World::new(&config, PLUGINS).expect("an instance");
    let sw_if = recording(&world);
    crate::control::enable(&world, sw_if, crate::Kind::Full, false, true).expect("there");
    let input = world.node("ip4-input").expect("there");
    let node = "ip4-full-reassembly-feature";
    let count = |reason: &str| -> u64 {
        let errors = world.stats.simple(::graph::counters::ERRORS);
        let all = world.reasons().into_iter().enumerate();
        all.filter(|(_, r)| &*r.node == node && r.reason == reason)
            .map(|(i, _)| errors.sum(i))
            .sum()
    };
    for id in 0..40 {
        let payload: Vec<u8> = (0..5000u32).map(|i| (i * 7 + i / 251) as u8 ^ id as u8).collect();
        let packet =
            pkt::ip4([192, 0, 2, id as u8], "10.0.0.9").id(id).udp(1, 2).payload(payload).build();
        for (i, bytes) in cut(&packet, 800).into_iter().enumerate() {
            let rt = &mut threads[(i + usize::from(id)) % 4];
            let mut b = rt.cache().alloc().expect("a buffer");
            assert!(b.set_data(&bytes));
            b.rx_if = sw_if.0;
            rt.inject(input, b);
        }
        for _ in 0..3 {
            threads.iter_mut().for_each(|rt| _ = rt.turn(true));
            world.processes.run(&world);
        }
        // To where it came from, so there may be a redirect as well.
        let out = sent(&world);
        let whole: Vec<_> = out.iter().filter(|b| b[9] == 17).collect();
        assert!(whole.len() == 1 && whole[0][12..] == packet[12..], "bytes of datagram {id}");
    }
    assert_eq!((count("reass_success"), count("reass_fragments_rcvd")), (40, 40 * 7));
    let calls = world.stats.simple(::graph::counters::HANDED);
    assert!((0..4).map(|to| calls.sum(to)).sum::<u64>() > 40 * 3, "some were handed over");
    assert_eq!(crate::control::under_way(&world, crate::Kind::Full, false), 0);
    // Half of one waits, and goes when its time has come, without a further packet.
    crate::control::configure(
        &world,
        crate::Kind::Full,
        false,
        crate::Settings { timeout_ms: 20, expire_walk_interval_ms: 5, ..crate::Settings::FULL },
    );
    let packet = pkt::ip4("192.0.2.9", "10.0.0.99").udp(1, 2).payload_len(5000).build();
    let mut b = threads[3].cache().alloc().expect("a buffer");
    assert!(b.set_data(&part(&packet, 800, 1600)));
    b.rx_if = sw_if.0;
    threads[3].inject(input, b);
    let mut turns = |ms: u64| {
        world.clock.adjust(ms * 1_000_000);
        for _ in 0..3 {
            world.processes.run(&world);
            threads.iter_mut().for_each(|rt| _ = rt.turn(true));
        }
    };
    turns(0);
    assert_eq!(crate::control::under_way(&world, crate::Kind::Full, false), 1);
    turns(25);
    assert_eq!(
        (crate::control::under_way(&world, crate::Kind::Full, false), count("reass_timeout")),
        (0, 1)
    );
    drop(threads);
    assert_eq!(world.pool.release(), Ok(()), "no buffer leaks");
}
