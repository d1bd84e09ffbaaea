// SPDX-License-Identifier: Apache-2.0
//! A driver whose device is a list.

use crate::*;
use buffer::{Buffer, Flags};
use cli::Error;
use graph::drive::Bench;
use graph::{
    Build, Cx, InputMode, Next, Node, NodeDef, Plugin, Shared, SwIfIndex, ThreadIndex, ThreadPlan, Threads,
    World, WorldConfig,
};
use net::{Device, IfCounters, IfKind, Interfaces, NewInterface};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use wire::MacAddr;
use wire::offload::{Csum, Gso, GsoKind, Offload};

/// What is on its way to or from a device.
#[derive(Clone, Debug, PartialEq)]
struct Item {
    bytes: Vec<u8>,
    offload: Offload,
    tag: Option<[u16; 2]>,
}

fn item(bytes: &[u8]) -> Item {
    Item { bytes: bytes.to_vec(), offload: Offload::NONE, tag: None }
}

#[derive(Default)]
struct Wire {
    items: Mutex<VecDeque<Item>>,
    closed: AtomicU64,
}

impl Wire {
    fn put(&self, bell: impl AsFd, items: impl IntoIterator<Item = Item>) {
        self.items.lock().expect("no panic inside").extend(items);
        rustix::io::write(bell, &1u64.to_ne_bytes()).expect("rung");
    }

    fn take(&self) -> Vec<Item> {
        self.items.lock().expect("no panic inside").drain(..).collect()
    }
}

struct FakeRx {
    wire: Arc<Wire>,
    bell: OwnedFd,
}

impl AsFd for FakeRx {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Drop for FakeRx {
    fn drop(&mut self) {
        self.wire.closed.fetch_add(1, Ordering::Relaxed);
    }
}

impl RxQueue for FakeRx {
    const NODE: &'static str = "fake-input";

    fn receive(&mut self, burst: &mut Burst<'_>) {
        let mut items = self.wire.items.lock().expect("no panic inside");
        while burst.room() > 0
            && let Some(item) = items.pop_front()
        {
            let len = item.bytes.len();
            if burst.reserve(len) {
                let mut left = &item.bytes[..];
                for part in burst.parts(len) {
                    let (now, later) = left.split_at(part.len().min(left.len()));
                    part[..now.len()].copy_from_slice(now);
                    left = later;
                }
                burst.push(len, item.offload, item.tag);
            } else {
                burst.lose(1);
            }
        }
        if items.is_empty() {
            // Fails if nobody has rung.
            let _ = rustix::io::read(&self.bell, &mut [0u8; 8]);
        }
    }

    fn discard(&mut self) {
        self.wire.take();
    }

    fn losses(&mut self) -> Losses {
        Losses { missed: 1, errors: 2 }
    }
}

/// Sends to a list; the first byte of a frame's payload may say why not.
struct FakeTx(Arc<Wire>);

impl TxQueue for FakeTx {
    const NODE: &'static str = "fake-tx";

    fn send<'d, P: Iterator<Item = &'d [u8]>>(
        &mut self,
        frames: impl Iterator<Item = (Offload, P)>,
        mut lost: impl FnMut(usize, Loss),
    ) {
        let mut items = self.0.items.lock().expect("no panic inside");
        for (i, (offload, parts)) in frames.enumerate() {
            assert!(i < 256, "more than a batch");
            let bytes = parts.collect::<Vec<_>>().concat();
            match bytes[0] {
                0xf0 => lost(i, Loss::Full),
                0xf1 => lost(i, Loss::Down),
                0xf2 => lost(i, Loss::TooLong),
                0xf3 => lost(i, Loss::Refused),
                _ => items.push_back(Item { bytes, offload, tag: None }),
            }
        }
    }
}

struct Nothing;
impl Device for Nothing {
    fn driver(&self) -> &'static str {
        "fake"
    }
}

/// What the graph got.
#[derive(Clone, Debug)]
struct Seen {
    bytes: Vec<u8>,
    flags: Flags,
    left: Offload,
    rx_if: u32,
    thread: ThreadIndex,
}

struct Log(Mutex<Vec<Seen>>);
impl Shared for Log {
    fn make(_: &World) -> Self {
        Self(Mutex::default())
    }
}

struct Sink(Arc<Log>);
#[derive(Next, Clone, Copy)]
enum SinkTo {
    #[free]
    Gone,
}
impl Build for Sink {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}
impl Node for Sink {
    const NAME: &'static str = "ethernet-input";
    type Next = SinkTo;
    type Trace = ();
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> SinkTo {
        let bytes = b.segments().flatten().copied().collect();
        let seen = Seen { bytes, flags: b.flags, left: left(b), rx_if: b.rx_if, thread: cx.thread() };
        self.0.0.lock().expect("no panic inside").push(seen);
        SinkTo::Gone
    }
}

static PLUGINS: &[&Plugin] = &[&Plugin {
    name: "fake",
    nodes: &[NodeDef::input::<PollInput<FakeRx>>(), NodeDef::of::<Sink>()],
    start: |world| {
        start(world);
        Ok(())
    },
    ..Plugin::EMPTY
}];

fn seen(world: &World) -> Vec<Seen> {
    std::mem::take(&mut *world.get::<Log>().0.lock().expect("no panic inside"))
}

/// An interface with one queue each way for each thread.
struct Fake {
    rx: Arc<Wire>,
    bell: OwnedFd,
    tx: Arc<Wire>,
    rxq: RxQueues<FakeRx>,
    txq: TxQueues<FakeTx>,
    sw_if: SwIfIndex,
}

fn fake(world: &World, ip: bool, takes: Takes) -> Result<Fake, Error> {
    let (rx, tx) = (Arc::new(Wire::default()), Arc::new(Wire::default()));
    let kind = if ip { IfKind::Ip } else { IfKind::Ethernet };
    let (mac, device) = (MacAddr([2, 0, 0, 0, 0, 1]), Arc::new(Nothing));
    let new = NewInterface { name: "f0".into(), kind, device, mac, mtu: 1500, link_up: true };
    let queues = (0..world.threads()).map(|_| FakeTx(tx.clone())).collect();
    let interfaces: Arc<Interfaces> = world.get();
    let sw_if = interfaces.create(world, new, TxQueues::make(queues, ip, takes))?;
    let txq = TxQueues::default();
    txq.set_node(interfaces.get(sw_if)?.tx);
    let bell = eventfd(0, EventfdFlags::NONBLOCK).expect("an eventfd");
    let queue = FakeRx { wire: rx.clone(), bell: bell.try_clone().expect("a copy") };
    let rxq = RxQueues::default();
    rxq.open(world, sw_if, ip, vec![queue])?;
    Ok(Fake { rx, bell, tx, rxq, txq, sw_if })
}

fn rig(ip: bool, takes: Takes) -> (Bench, Fake) {
    let mut bench = Bench::new(PLUGINS);
    let fake = fake(&bench.world, ip, takes).expect("created");
    bench.settle();
    (bench, fake)
}

#[test]
fn frames_come_in_whole_with_what_is_known_of_them() {
    let (mut bench, f) = rig(false, Takes::ALL);
    let long: Vec<u8> = (0..65_000u32).map(|n| n as u8).collect();
    let partial = Csum::Partial { start: 34, offset: 16 };
    let gso = Gso { kind: GsoKind::TcpV6, ecn: false, size: 1400, hdr_len: 34 };
    let items = [
        item(&[1; 60]),
        item(&long[..2048]),
        Item { offload: Offload { csum: partial, gso: Some(gso) }, ..item(&long) },
        Item {
            offload: Offload { csum: partial, gso: None },
            tag: Some([0x88a8, 0x6007]),
            ..item(&long[..2049])
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
    assert_eq!(got[2].left.gso.map(|g| (g.kind, g.size)), Some((GsoKind::TcpV6, 1400)));
    assert!(got[2].flags.has(Flags::CSUM_PARTIAL.with(Flags::GSO).with(Flags::CHAINED)));
    let tagged = [&long[..12], &[0x88, 0xa8, 0x60, 7], &long[12..2049]].concat();
    assert_eq!((&got[3].bytes, got[3].left.csum), (&tagged, Csum::Partial { start: 38, offset: 16 }));
    assert!(got[3].flags.has(Flags::VLAN) && got[4].flags.has(Flags::L4_CSUM_OK));
    assert!(!got[4].flags.any(Flags::VLAN.with(Flags::CSUM_PARTIAL)));
    let counters = bench.world.get::<IfCounters>();
    assert_eq!(counters.rx.sum(f.sw_if.at()), (6, 60 + 60 + 2048 + 65_000 + 2053 + 61));
    bench.world.clock.adjust(2_000_000_000);
    bench.settle();
    assert_eq!((counters.rx_miss.sum(f.sw_if.at()), counters.rx_error.sum(f.sw_if.at())), (1, 2));
}

#[test]
fn a_burst_is_bounded_and_buffers_may_run_out() {
    let (mut bench, f) = rig(false, Takes::ALL);
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

#[test]
fn packets_without_a_link_layer_go_by_version() {
    let (mut bench, f) = rig(true, Takes::ALL);
    f.rxq.set_up(&bench.world, true).expect("up");
    bench.settle();
    f.rx.put(&f.bell, [0x45, 0x60, 0x45, 0x12].map(|first| item(&[first; 40])));
    bench.settle();
    let vectors = bench.world.stats.simple(graph::counters::VECTORS);
    let into = |name: &str| vectors.sum(bench.index(name).at());
    assert_eq!((into("ip4-input"), into("ip6-input"), into("error-drop")), (2, 1, 1));
    assert_eq!(bench.count("fake-input", "no_ip"), 1);
}

/// An Ethernet frame with a TCP packet of `len` payload bytes over IPv4 whose checksum is partial.
fn tcp(len: usize) -> Vec<u8> {
    let mut bytes = vec![2; 12];
    bytes.extend([8, 0]);
    let total = (40 + len) as u16;
    bytes.extend([
        0x45,
        0,
        (total >> 8) as u8,
        total as u8,
        1,
        2,
        0,
        0,
        64,
        6,
        0,
        0,
        10,
        0,
        0,
        1,
        10,
        0,
        0,
        2,
    ]);
    bytes.extend([0x12, 0x34, 0x56, 0x78, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
    bytes.extend((0..len).map(|n| (n * 7) as u8));
    wire::l4::set_partial(&mut bytes[14..]).expect("TCP");
    bytes
}

fn super_packet(b: &mut Buffer) {
    let gso = Gso { kind: GsoKind::TcpV4, ecn: false, size: 1000, hdr_len: 54 };
    note(b, Offload { csum: Csum::Partial { start: 34, offset: 16 }, gso: Some(gso) });
}

#[test]
fn devices_get_packets_with_the_work_that_they_take() {
    let sizes = [5, 60_000, 10, 1001, 62_000, 62_000, 62_000, 62_000, 62_000, 20];
    let packets: Vec<_> = sizes.map(tcp).to_vec();
    let is_valid = |i: &Item| wire::l4::verify(&i.bytes[14..]) == Ok(wire::l4::Verdict::Valid);
    for traced in [false, true] {
        let (mut bench, f) = rig(false, Takes::ALL);
        let prepare = |b: &mut Buffer| {
            super_packet(b);
            if traced {
                Bench::trace(b, 1);
            }
        };
        assert!(bench.node("f0-tx", &packets, prepare).is_empty(), "all are sent");
        let sent = f.tx.take();
        let gso = Gso { kind: GsoKind::TcpV4, ecn: false, size: 1000, hdr_len: 54 };
        let offload = Offload { csum: Csum::Partial { start: 34, offset: 16 }, gso: Some(gso) };
        assert_eq!(sent, packets.iter().map(|p| Item { offload, ..item(p) }).collect::<Vec<_>>());

        // Without segmentation: some 380 segments, in order.
        f.txq.set_takes(&bench.world, Takes { csum: true, gso: false });
        assert!(bench.node("f0-tx", &packets, prepare).is_empty());
        let sent = f.tx.take();
        assert_eq!(sent.len(), sizes.iter().map(|s| s.div_ceil(1000)).sum::<usize>());
        assert!(sent.iter().all(|i| i.offload == Offload::NONE && i.bytes.len() <= 1054 && is_valid(i)));
        let payload = |bytes: &[u8]| bytes[54..].to_vec();
        let all: Vec<u8> = sent.iter().flat_map(|i| payload(&i.bytes)).collect();
        assert_eq!(all, packets.iter().flat_map(|p| payload(p)).collect::<Vec<_>>());

        // Without checksums either, and no super-packets.
        f.txq.set_takes(&bench.world, Takes { csum: false, gso: true });
        let short = bench.node("f0-tx", &packets[..3], |b| {
            prepare(b);
            b.flags.clear(Flags::GSO);
        });
        assert!(short.is_empty());
        let sent = f.tx.take();
        assert!(sent.len() == 3 && sent.iter().all(|i| i.offload == Offload::NONE && is_valid(i)));
    }
}

#[test]
fn what_is_not_sent_is_dropped_by_name() {
    for takes in [Takes::ALL, Takes::default()] {
        let (mut bench, f) = rig(false, takes);
        let names = [
            "transmit queue is full",
            "link is down",
            "frame is longer than the link takes",
            "refused by the device",
        ];
        let mut packets = vec![tcp(100); 20];
        for (i, first) in [0xf0, 0xf1, 0xf2, 0xf3].into_iter().enumerate() {
            packets[i * 4 + 1][0] = first;
        }
        let out = bench.node("f0-tx", &packets, super_packet);
        let reasons: Vec<_> = out.iter().map(|o| (o.node.as_str(), o.reason)).collect();
        assert_eq!(reasons, names.map(|name| ("error-drop", Some(name))));
        assert_eq!(f.tx.take().len(), 16);
        // A super-packet of which a segment is lost, in the middle of others that take more than one batch.
        let mut packets = vec![tcp(62_000); 9];
        packets[4][0] = 0xf0;
        let out = bench.node("f0-tx", &packets, super_packet);
        assert_eq!(out.iter().map(|o| o.reason).collect::<Vec<_>>(), [Some(names[0])]);
        let each = if takes.gso { 1 } else { 62 };
        assert_eq!(f.tx.take().len(), 8 * each);
        let errors = bench.world.get::<IfCounters>().tx_error.sum(f.sw_if.at());
        assert_eq!(errors, 5);
    }
    let (mut bench, f) = rig(false, Takes::default());
    let out = bench.node("f0-tx", &[vec![1; 60], tcp(4000)], super_packet);
    assert_eq!(
        out.iter().map(|o| o.reason).collect::<Vec<_>>(),
        [Some("checksum or segmentation can't be done for it")]
    );
    assert_eq!(f.tx.take().len(), 4);
    f.txq.close(&bench.world);
    let out = bench.node("f0-tx", &[tcp(1), tcp(2)], |_| {});
    assert!(out.len() == 2 && out.iter().all(|o| o.reason == Some("device is closed")));
    f.txq.open(&bench.world, vec![FakeTx(f.tx.clone())]);
    assert!(bench.node("f0-tx", &[tcp(1)], |_| {}).is_empty());
    assert_eq!(f.tx.take().len(), 1);
}

#[test]
fn queues_move_between_threads_that_run() {
    let config = WorldConfig { threads: 3, buffers: 4096, ..WorldConfig::default() };
    let (world, runtimes) = World::new(&config, PLUGINS).expect("an instance");
    let pool = world.pool;
    let f = fake(&world, false, Takes::ALL).expect("created");
    let threads = Threads::start(runtimes, &ThreadPlan::default()).expect("threads");
    f.rxq.set_up(&world, true).expect("up");
    assert_eq!(f.rxq.list(), [net::RxQueue { queue: 0, thread: ThreadIndex(1), mode: InputMode::Adaptive }]);
    world.ask(|_| ()).wait();
    let mut used = [0; 3];
    for turn in 0..60u16 {
        let mode = [InputMode::Adaptive, InputMode::Interrupt, InputMode::Polling][usize::from(turn / 3 % 3)];
        let place = net::RxQueue { queue: 0, thread: ThreadIndex(turn % 3), mode };
        f.rxq.place(&world, place).expect("placed");
        if turn % 2 == 0 {
            // Orders that cross on their way.
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
            .place(&world, net::RxQueue { queue: 1, thread: ThreadIndex(0), mode: InputMode::Polling })
            .is_err()
    );
    assert!(
        f.rxq
            .place(&world, net::RxQueue { queue: 0, thread: ThreadIndex(3), mode: InputMode::Polling })
            .is_err()
    );
    f.rxq.close(&world);
    for _ in 0..3 {
        // Whoever has it at last gives it back.
        world.ask(|_| ()).wait();
    }
    assert_eq!(f.rx.closed.load(Ordering::Relaxed), 0, "control closes it");
    world.processes.run(&world);
    assert_eq!(f.rx.closed.load(Ordering::Relaxed), 1);
    let modes = world.ask(|rt| rt.input_modes().all(|(_, mode)| mode == InputMode::Disabled)).wait();
    assert_eq!(modes, [Some(true); 3], "nobody polls");
    drop(threads.stop(&world));
    drop((threads, f, world));
    assert_eq!(pool.release(), Ok(()));
}
