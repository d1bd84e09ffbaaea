// SPDX-License-Identifier: Apache-2.0
use super::tx::tcp;
use super::*;

#[suite::test]
fn frames_come_in_whole_with_what_is_known_of_them() {
    let (mut bench, f) = rig(false, TxOffloads::ALL);
    let long: Vec<u8> = (0..65_000u32).map(|n| n as u8).collect();
    let partial = Csum::Partial { start: 34, offset: 16 };
    let gso = Gso { kind: GsoKind::TcpV4, ecn: false, size: 1400, hdr_len: 54 };
    let (super_packet, packet) = (tcp(64_000), tcp(1995));
    let items = [
        item(&[1; 60]),
        item(&long[..2048]),
        Item { offload: Offload { csum: partial, gso: Some(gso) }, ..item(&super_packet) },
        Item {
            offload: Offload { csum: partial, gso: None },
            tag: Some([0x88a8, 0x6007]),
            ..item(&packet)
        },
        Item { offload: Offload { csum: Csum::Valid, gso: None }, ..item(&[2; 61]) },
    ];
    f.rxq.set_up(&bench.world, true).expect("up");
    f.rx.put(&f.bell, [item(&[9; 60])]);
    bench.settle();
    assert_eq!(seen(&bench.world).len(), 1);
    f.rx.put(&f.bell, [item(&[9; 60])]);
    f.rxq.set_up(&bench.world, false).expect("down");
    bench.settle();
    f.rxq.set_up(&bench.world, true).expect("up");
    bench.settle();
    assert!(seen(&bench.world).is_empty(), "what came before it went down is forgotten");
    f.rx.put(&f.bell, items.clone());
    bench.settle();
    let got = seen(&bench.world);
    assert_eq!(got.len(), 5);
    assert!(got.iter().all(|s| s.rx_if == f.sw_if.0));
    for i in [0, 1, 2, 4] {
        assert_eq!(got[i].bytes, items[i].bytes, "{i}");
    }
    assert_eq!((got[0].left, got[1].left), (Offload::NONE, Offload::NONE));
    assert_eq!(got[2].left.csum, partial);
    assert_eq!(got[2].left.gso.map(|g| (g.kind, g.size)), Some((GsoKind::TcpV4, 1400)));
    assert!(got[2].flags.contains(Flags::CSUM_PARTIAL | Flags::GSO) && got[2].chained);
    let tagged = [&packet[..12], &[0x88, 0xa8, 0x60, 7], &packet[12..]].concat();
    assert_eq!(
        (&got[3].bytes, got[3].left.csum),
        (&tagged, Csum::Partial { start: 38, offset: 16 })
    );
    assert!(got[3].flags.contains(Flags::VLAN) && got[4].flags.contains(Flags::L4_CSUM_OK));
    assert!(!got[4].flags.intersects(Flags::VLAN | Flags::CSUM_PARTIAL));
    let counters = bench.world.get::<IfCounters>();
    assert_eq!(counters.rx.sum(f.sw_if.at()), (6, 60 + 60 + 2048 + 64_054 + 2053 + 61));
    bench.world.clock.adjust(2_000_000_000);
    bench.settle();
    assert_eq!((counters.rx_miss.sum(f.sw_if.at()), counters.rx_error.sum(f.sw_if.at())), (1, 5));
    assert_eq!(bench.count("fake-input", "unknown_segmentation"), 3);
}

#[suite::test]
fn a_burst_is_bounded_and_buffers_may_run_out() {
    let (mut bench, f) = rig(false, TxOffloads::ALL);
    f.rxq.set_up(&bench.world, true).expect("up");
    bench.settle();
    f.rx.put(&f.bell, vec![item(&[1; 60]); 300]);
    assert_eq!((bench.rt.turn(true), bench.rt.turn(true)), (256, 44));
    f.rx.put(&f.bell, vec![item(&[1; 60_000]); 10]);
    assert_eq!((bench.rt.turn(true), bench.rt.turn(true)), (5, 5), "about 256 KiB");
    assert_eq!(seen(&bench.world).len(), 310);
    let held: Vec<_> = std::iter::from_fn(|| bench.rt.cache().alloc()).collect();
    f.rx.put(&f.bell, vec![item(&[1; 60_000]); 3]);
    bench.settle();
    let counters = bench.world.get::<IfCounters>();
    assert_eq!((seen(&bench.world).len(), counters.rx_no_buf.sum(f.sw_if.at())), (0, 3));
    drop(held);
    f.rx.put(&f.bell, [item(&[1; 60_000])]);
    bench.settle();
    assert_eq!(seen(&bench.world).len(), 1);
}

#[suite::test]
fn a_frame_that_comes_while_its_event_is_cleared_is_received_at_once() {
    let (mut bench, f) = rig(false, TxOffloads::ALL);
    f.rxq.set_up(&bench.world, true).expect("up");
    bench.settle();
    *f.rx.late.lock().expect("no panic inside") = Some(item(&[1; 60]));
    let is_late = || f.rx.late.lock().expect("no panic inside").is_some();
    let packets = (0..1_000).map(|_| bench.rt.turn(true)).find(|_| !is_late());
    assert_eq!(packets, Some(1), "its event is gone: nothing else would wake the thread");
}

#[suite::test]
fn work_that_makes_no_sense_is_refused_by_name() {
    let (mut bench, f) = rig(false, TxOffloads::ALL);
    f.rxq.set_up(&bench.world, true).expect("up");
    bench.settle();
    let partial = |start, offset| Csum::Partial { start, offset };
    let segments = |kind, size| Some(Gso { kind, ecn: false, size, hdr_len: 54 });
    let long = tcp(64_000);
    let of = |csum, gso| Item { offload: Offload { csum, gso }, ..item(&long) };
    let good = [
        of(partial(34, 16), segments(GsoKind::TcpV4, 48)),
        // Behind a tag that the device took out.
        Item { tag: Some([0x8100, 5]), ..of(partial(34, 16), None) },
    ];
    f.rx.put(
        &f.bell,
        [
            // The destination address, a port, beyond the end.
            of(partial(14, 16), None),
            of(partial(34, 2), None),
            of(partial(34, 65_000), None),
            good[0].clone(),
            of(partial(34, 16), segments(GsoKind::TcpV4, 1)),
        ],
    );
    bench.settle();
    f.rx.put(
        &f.bell,
        [
            of(partial(34, 16), segments(GsoKind::UdpL4, 1448)),
            of(partial(34, 16), segments(GsoKind::TcpV6, 1448)),
            good[1].clone(),
        ],
    );
    bench.settle();
    let got: Vec<_> = seen(&bench.world).into_iter().map(|s| (s.bytes, s.left.csum)).collect();
    let tagged = [&long[..12], &[0x81, 0, 0, 5], &long[12..]].concat();
    assert_eq!(got, [(long.clone(), partial(34, 16)), (tagged, partial(38, 16))]);
    let count = |reason| bench.count("fake-input", reason);
    let counts = ["bad_checksum_offset", "bad_segmentation", "segment_too_small"].map(count);
    assert_eq!(counts, [3, 2, 1]);
    // All were received: the interface counts them, and the packets that were dropped.
    let counters = bench.world.get::<IfCounters>();
    assert_eq!(counters.rx.sum(f.sw_if.at()).0, 8);
}

#[suite::test]
fn packets_without_a_link_layer_go_by_version() {
    let (mut bench, f) = rig(true, TxOffloads::ALL);
    f.rxq.set_up(&bench.world, true).expect("up");
    bench.settle();
    f.rx.put(&f.bell, [0x45, 0x60, 0x45, 0x12].map(|first| item(&[first; 40])));
    bench.settle();
    let vectors = bench.world.stats.simple(graph::counters::VECTORS);
    let into = |name: &str| vectors.sum(bench.index(name).at());
    assert_eq!((into("ip4-input"), into("ip6-input"), into("error-drop")), (2, 1, 1));
    assert_eq!(bench.count("fake-input", "no_ip"), 1);
}

#[suite::test]
fn queues_move_between_threads_that_run() {
    let config = WorldConfig { threads: 3, buffers: 4096, ..WorldConfig::default() };
    let (world, runtimes) = World::new(&config, PLUGINS).expect("an instance");
    let pool = world.pool;
    let f = fake(&world, false, TxOffloads::ALL).expect("created");
    let threads = Threads::start(runtimes, &ThreadPlan::default()).expect("threads");
    f.rxq.set_up(&world, true).expect("up");
    assert_eq!(
        f.rxq.list(),
        [net::RxQueue { queue: 0, thread: ThreadIndex(1), mode: InputMode::Adaptive }]
    );
    world.query(|_| ()).wait();
    let mut used = [0; 3];
    for turn in 0..60u16 {
        let mode = [InputMode::Adaptive, InputMode::Interrupt, InputMode::Polling]
            [usize::from(turn / 3 % 3)];
        let place = net::RxQueue { queue: 0, thread: ThreadIndex(turn % 3), mode };
        f.rxq.place(&world, place).expect("placed");
        if turn % 2 == 0 {
            // Concurrent orders.
            f.rxq
                .place(&world, net::RxQueue { thread: ThreadIndex((turn + 1) % 3), ..place })
                .expect("placed");
            f.rxq.place(&world, place).expect("placed");
        }
        f.rx.put(&f.bell, vec![item(&[turn as u8; 60]); 10]);
        let mut got = Vec::new();
        while got.len() < 10 {
            got.extend(seen(&world));
            std::thread::yield_now();
        }
        assert!(got.iter().all(|s| s.bytes[0] == turn as u8));
        got.iter().for_each(|s| used[s.thread.at()] += 1);
        assert_eq!(f.rxq.list(), [place]);
    }
    assert!(used.iter().all(|n| *n > 0), "{used:?}");
    assert!(
        f.rxq
            .place(
                &world,
                net::RxQueue { queue: 1, thread: ThreadIndex(0), mode: InputMode::Polling }
            )
            .is_err()
    );
    assert!(
        f.rxq
            .place(
                &world,
                net::RxQueue { queue: 0, thread: ThreadIndex(3), mode: InputMode::Polling }
            )
            .is_err()
    );
    f.rxq.close(&world);
    for _ in 0..3 {
        // The thread that has it at last gives it back.
        world.query(|_| ()).wait();
    }
    assert_eq!(f.rx.closed.load(Ordering::Relaxed), 0, "another thread closes it");
    closing(&world).wait();
    assert_eq!(f.rx.closed.load(Ordering::Relaxed), 1);
    let modes =
        world.query(|rt| rt.input_modes().all(|(_, mode)| mode == InputMode::Disabled)).wait();
    assert_eq!(modes, [Some(true); 3], "nobody polls");
    drop(threads.stop(&world));
    drop((threads, f, world));
    assert_eq!(pool.release(), Ok(()));
}

/// Control and openings go on while something is closed or opened that takes the kernel long.
#[suite::test]
fn nothing_waits_while_something_is_closed_or_opened() {
    struct Slow(Arc<AtomicU64>, std::sync::mpsc::Receiver<()>);
    impl Drop for Slow {
        fn drop(&mut self) {
            self.1.recv().expect("the test lets it go on");
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let bench = Bench::new(PLUGINS);
    let (closed, (go, waits)) = (Arc::default(), std::sync::mpsc::channel());
    close(&bench.world, Slow(Arc::clone(&closed), waits));
    bench.world.processes.run(&bench.world);
    // An opening that hangs, and more behind it than there are threads.
    let (open, hangs) = std::sync::mpsc::channel();
    let opened = Arc::new(AtomicU64::new(0));
    let done = |count| {
        let opened = Arc::clone(&opened);
        move |_: &World, _| _ = opened.fetch_add(count, Ordering::Relaxed)
    };
    let until = |count| {
        let is_done = || opened.load(Ordering::Relaxed) == count;
        (0..10_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            bench.world.processes.run(&bench.world);
            is_done()
        })
    };
    aside(&bench.world, move || hangs.recv(), done(100));
    for _ in 0..20 {
        aside(&bench.world, || Ok(()), done(1));
    }
    assert_eq!(opened.load(Ordering::Relaxed), 0, "control's part is control's");
    assert!(until(20), "{opened:?}");
    assert_eq!(closed.load(Ordering::Relaxed), 0);
    go.send(()).expect("it waits");
    closing(&bench.world).wait();
    assert_eq!(closed.load(Ordering::Relaxed), 1, "what is waited for is closed");
    open.send(()).expect("it waits");
    assert!(until(120), "{opened:?}");
}
