// SPDX-License-Identifier: Apache-2.0
use super::*;

const LINKS: u8 = 100;
const PACKETS: usize = 128;

fn wide() -> Bench {
    let mut bench = bench(LINKS);
    run(&mut bench, "ip mroute add 239.1.1.1 via t1 Accept");
    let paths: Vec<_> = (2..=LINKS).map(|i| format!("via t{i} Forward")).collect();
    run(&mut bench, &format!("ip mroute add 239.1.1.1 {}", paths.join(" ")));
    bench
}

fn inject(bench: &mut Bench, packets: usize) {
    let frame = packet("10.0.1.9", "239.1.1.1").udp(1, 2).payload_len(1000).build();
    let node = bench.index("ip4-mfib-forward-lookup");
    bench.rt.receive();
    for _ in 0..packets {
        let mut b = bench.buffer(&frame[14..]);
        b.rx_if = 1;
        bench.rt.inject(node, b);
    }
    bench.settle();
}

/// More copies than there are buffers: what was made leaves before there are more.
#[test]
fn many_copies_of_many_packets() {
    let mut bench = wide();
    inject(&mut bench, PACKETS);
    let got = bench.world.get::<Recorded>().take();
    assert_eq!(got.len(), PACKETS * usize::from(LINKS - 1));
    for i in 2..=LINKS {
        assert_eq!(got.iter().filter(|(tx_if, _)| *tx_if == u32::from(i)).count(), PACKETS);
    }
    assert_eq!(bench.count("ip4-replicate", "no_buffer"), 0);
    assert_eq!(bench.count("ip4-replicate", "copied"), got.len() as u64);
    assert!(bench.count("ip4-replicate", "again") > 0);
}

#[test]
fn copies_without_buffers_are_counted() {
    let mut bench = wide();
    let mut held = Vec::new();
    while let Some(b) = bench.rt.cache().alloc() {
        held.push(b);
    }
    for b in held.drain(..40) {
        bench.rt.cache().free(b);
    }
    inject(&mut bench, 1);
    let got = bench.world.get::<Recorded>().take().len();
    assert_eq!((got, bench.count("ip4-replicate", "no_buffer")), (39, u64::from(LINKS - 1) - 39));
    held.into_iter().for_each(|b| bench.rt.cache().free(b));
}
