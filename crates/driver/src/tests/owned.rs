// SPDX-License-Identifier: Apache-2.0
//! A device that reads and writes buffers where they are, and is done with them in any order.

use super::tx::tcp;
use super::*;
use buffer::{Cache, DATA_SIZE, Lent, Owned};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Empty buffers that it wants, and those that it sends from at once.
const RING: usize = 24;
const SEGMENTS: usize = 4;

#[derive(Default)]
struct State {
    /// Packets for the next poll.
    arriving: VecDeque<Vec<u8>>,
    /// Offsets of empty buffers.
    fill: Vec<usize>,
    /// Offsets of buffers that it reads.
    posted: Vec<usize>,
    /// Offsets of buffers that it has read.
    done: Vec<usize>,
    sent: Vec<Vec<u8>>,
    /// Takes no packet.
    stalls: bool,
    seed: usize,
}

type Ring = Arc<Mutex<State>>;

fn state(of: &Ring) -> std::sync::MutexGuard<'_, State> {
    of.lock().expect("no panic inside")
}

/// Takes some element out.
fn pick(list: &mut Vec<usize>, seed: &mut usize) -> usize {
    *seed = seed.wrapping_mul(0x9e37_79b9).wrapping_add(7);
    list.swap_remove((*seed >> 8) % list.len())
}

pub struct OwnRx {
    device: Ring,
    lent: Lent,
    bell: OwnedFd,
}

impl OwnRx {
    fn take(&mut self, device: &mut State) -> Owned {
        let offset = pick(&mut device.fill, &mut device.seed);
        let buffer = self.lent.take(offset + 300).expect("the device has it");
        assert!(self.lent.take(offset).is_none(), "the device returns it twice");
        buffer
    }
}

impl RxQueue for OwnRx {
    const NODE: &'static str = "own-input";

    fn receive(&mut self, burst: &mut Burst<'_>) {
        let shared = self.device.clone();
        let device = &mut *state(&shared);
        while device.fill.len() < RING
            && let Some(buffer) = burst.empty()
        {
            let fresh = buffer.is_empty() && !buffer.is_chained();
            assert!(fresh, "a buffer that has been used");
            device.fill.push(self.lent.lend(buffer).expect("a buffer of this pool"));
        }
        while burst.room() > 0
            && let Some(bytes) = device.arriving.pop_front()
        {
            if bytes.len().div_ceil(DATA_SIZE) > device.fill.len() {
                burst.lose(1);
                continue;
            }
            let mut packet: Option<Owned> = None;
            for part in bytes.chunks(DATA_SIZE) {
                let mut segment = self.take(device);
                assert!(segment.set_filled(buffer::DATA_OFFSET, part.len()));
                segment.data_mut().copy_from_slice(part);
                match &mut packet {
                    None => packet = Some(segment),
                    Some(packet) => packet.append_segment(segment).expect("of one pool"),
                }
            }
            burst.push_filled(packet.expect("no packet is empty"), Offload::NONE, None);
        }
        if !device.fill.is_empty() && device.seed.is_multiple_of(3) {
            let buffer = self.take(device);
            burst.put_back(buffer);
        }
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        Some(self.bell.as_fd())
    }

    fn discard(&mut self) {
        state(&self.device).arriving.clear();
    }

    fn lent(&self) -> usize {
        self.lent.len()
    }
}

/// The device ends before its buffers are freed.
impl Drop for OwnRx {
    fn drop(&mut self) {
        state(&self.device).fill.clear();
    }
}

struct OwnTx {
    device: Ring,
    lent: Lent,
}

impl TxQueue for OwnTx {
    const NODE: &'static str = "own-tx";
    const OWNS: bool = true;

    fn most_segments(&self) -> usize {
        SEGMENTS
    }

    fn hand_over(&mut self, packets: &mut VecDeque<Owned>, cache: &mut Cache) -> Handed {
        let device = &mut *state(&self.device);
        for offset in std::mem::take(&mut device.done) {
            cache.free(self.lent.take(offset).expect("the device has it"));
        }
        while !device.stalls
            && let Some(packet) = packets.front()
            && device.posted.len() + packet.segment_count() <= RING
            && let Some(packet) = packets.pop_front()
        {
            assert!(packet.segment_count() <= SEGMENTS && !packet.is_shared());
            assert_eq!(left(&packet), Offload::NONE);
            device.sent.push(packet.segments().flatten().copied().collect());
            let mut next = Some(packet);
            while let Some(mut segment) = next {
                next = segment.split_first();
                device.posted.push(self.lent.lend(segment).expect("a buffer of this pool"));
            }
        }
        let again = !device.posted.is_empty() && device.seed.is_multiple_of(2);
        Handed { lent: self.lent.len(), again, loss: Loss::Full }
    }
}

impl Drop for OwnTx {
    fn drop(&mut self) {
        let device = &mut *state(&self.device);
        (device.posted, device.done) = (Vec::new(), Vec::new());
    }
}

struct Own {
    device: Ring,
    rxq: RxQueues<OwnRx>,
    txq: TxQueues<OwnTx>,
    sw_if: SwIfIndex,
}

fn queues(device: &Ring, world: &World) -> (Vec<OwnRx>, Vec<OwnTx>) {
    let bell = eventfd(0, EventfdFlags::NONBLOCK).expect("an eventfd");
    let lent = || Lent::new(world.pool);
    let rx = OwnRx { device: device.clone(), lent: lent(), bell };
    (vec![rx], vec![OwnTx { device: device.clone(), lent: lent() }])
}

fn own(bench: &mut Bench) -> Own {
    let world = &bench.world;
    let device = Ring::default();
    let (rx, tx) = queues(&device, world);
    let (mac, kind) = (MacAddr([2, 0, 0, 0, 0, 1]), IfKind::Ethernet);
    let nothing = Arc::new(Nothing);
    let new =
        NewInterface { name: "o0".into(), kind, device: nothing, mac, mtu: 1500, link_up: true };
    let interfaces: Arc<Interfaces> = world.get();
    // It gets no work that it can't do, whatever is asked for.
    let make = TxQueues::make(tx, false, TxOffloads::ALL);
    let sw_if = interfaces.create(world, new, make).expect("created");
    let (rxq, txq) = (RxQueues::default(), TxQueues::default());
    txq.set_node(interfaces.get(sw_if).expect("there").tx);
    rxq.open(world, sw_if, false, rx).expect("opened");
    rxq.place(world, net::RxQueue { queue: 0, thread: ThreadIndex(0), mode: InputMode::Polling })
        .expect("placed");
    rxq.set_up(world, true).expect("up");
    bench.settle();
    Own { device, rxq, txq, sw_if }
}

fn held(bench: &Bench, name: &str) -> u32 {
    bench.world.pool.shares().iter().filter(|s| s.name == name).map(|s| s.held).sum()
}

#[derive(Clone, Debug)]
enum Op {
    /// Packets of so many bytes are sent: as they are, with segments that others have too, with a
    /// checksum to complete, to be cut.
    Send(Vec<(u16, u8)>),
    Arrive(Vec<u16>),
    Finish(usize),
    Stall(bool),
    Up(bool),
    Reopen,
    Turn,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => prop::collection::vec((60u16..12_000, 0u8..4), 1..30).prop_map(Op::Send),
        3 => prop::collection::vec(60u16..9000, 1..30).prop_map(Op::Arrive),
        3 => (0usize..40).prop_map(Op::Finish),
        1 => any::<bool>().prop_map(Op::Stall),
        1 => any::<bool>().prop_map(Op::Up),
        1 => Just(Op::Reopen),
        3 => Just(Op::Turn),
    ]
}

/// A TCP packet with a number of its own in its payload; its checksum is complete or partial.
fn numbered(n: usize, len: u16, partial: bool) -> Vec<u8> {
    let mut bytes = tcp(usize::from(len));
    bytes[54..58].copy_from_slice(&(n as u32).to_be_bytes());
    wire::l4::set_partial(&mut bytes[14..]).expect("TCP");
    if !partial {
        wire::l4::finish(&mut bytes[14..]).expect("TCP");
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[suite::test]
    fn no_buffer_is_lost_or_has_two_owners(ops in prop::collection::vec(op(), 1..60), seed: usize) {
        let mut bench = Bench::new(PLUGINS);
        let f = own(&mut bench);
        state(&f.device).seed = seed;
        // Bytes of each packet that may leave, with the number of times.
        let mut may = BTreeMap::<Vec<u8>, usize>::new();
        let (mut arrived, mut sent, mut given, mut up, mut n) = (Vec::new(), 0, 0, true, 0);
        let others = Mutex::new((Cache::new(bench.world.pool), Vec::new()));
        for op in ops {
            match op {
                Op::Send(packets) => for (len, kind) in packets {
                    n += 1;
                    let bytes = numbered(n, len, kind >= 2);
                    let mut whole = bytes.clone();
                    let offload = match kind {
                        3 => {
                            wire::gso::segment(&bytes, 14, 1000, |head, payload| {
                                *may.entry([head, payload].concat()).or_default() += 1;
                                given += 1;
                            }).expect("cut");
                            let gso =
                                Gso { kind: GsoKind::TcpV4, ecn: false, size: 1000, hdr_len: 54 };
                            let csum = Csum::Partial { start: 34, offset: 16 };
                            Offload { csum, gso: Some(gso) }
                        }
                        2 => {
                            wire::l4::finish(&mut whole[14..]).expect("TCP");
                            Offload { csum: Csum::Partial { start: 34, offset: 16 }, gso: None }
                        }
                        _ => Offload::NONE,
                    };
                    if kind < 3 {
                        *may.entry(whole).or_default() += 1;
                        given += 1;
                    }
                    let index = bench.index("o0-tx");
                    let mut b = bench.buffer(&bytes);
                    note(&mut b, offload);
                    if kind == 1 {
                        let (cache, copies) = &mut *others.lock().expect("no panic inside");
                        copies.extend(b.duplicate(cache));
                        // Some of them go while the device has the packet.
                        copies.truncate(8);
                    }
                    bench.rt.inject(index, b);
                },
                Op::Arrive(sizes) => {
                    for size in sizes {
                        n += 1;
                        let mut bytes = vec![n as u8; usize::from(size)];
                        bytes[..4].copy_from_slice(&(n as u32).to_be_bytes());
                        if up {
                            state(&f.device).arriving.push_back(bytes.clone());
                            arrived.push(bytes);
                        }
                    }
                }
                Op::Finish(count) => {
                    let device = &mut *state(&f.device);
                    for _ in 0..count.min(device.posted.len()) {
                        let offset = pick(&mut device.posted, &mut device.seed);
                        device.done.push(offset);
                    }
                }
                Op::Stall(stalls) => state(&f.device).stalls = stalls,
                Op::Up(now) => {
                    f.rxq.set_up(&bench.world, now).expect("set");
                    up = now;
                    bench.settle();
                }
                Op::Reopen => {
                    f.rxq.close(&bench.world);
                    f.txq.close(&bench.world);
                    bench.settle();
                    prop_assert_eq!(held(&bench, "transmit queues"), 0);
                    // It is the same device.
                    closing(&bench.world).wait();
                    let (rx, tx) = queues(&f.device, &bench.world);
                    f.rxq.open(&bench.world, f.sw_if, false, rx).expect("opened");
                    f.txq.open(&bench.world, tx);
                    f.rxq.set_up(&bench.world, up).expect("set");
                    bench.settle();
                }
                Op::Turn => { bench.rt.turn(true); }
            }
            bench.rt.turn(true);
            let device = &mut *state(&f.device);
            prop_assert!(device.posted.len() <= RING && device.fill.len() <= RING);
            for bytes in device.sent.drain(..) {
                sent += 1;
                let left = may.get_mut(&bytes);
                prop_assert!(left.is_some(), "bytes that nobody has sent");
                let left = left.expect("there");
                prop_assert!(*left > 0, "a packet is sent twice");
                *left -= 1;
            }
        }
        bench.settle();
        sent += state(&f.device).sent.len();
        prop_assert!(sent <= given, "{sent} of {given}");
        let seen: Vec<_> = seen(&bench.world).into_iter().map(|s| s.bytes).collect();
        let mut rest = arrived.iter();
        prop_assert!(seen.iter().all(|s| rest.any(|a| a == s)), "other bytes, or out of order");
        {
            let device = state(&f.device);
            let busy = device.posted.len() + device.done.len();
            prop_assert_eq!(held(&bench, "transmit queues") as usize, busy);
        }
        drop(others);
        bench.world.get::<Interfaces>().delete(&bench.world, f.sw_if).expect("deleted");
        f.rxq.close(&bench.world);
        f.txq.close(&bench.world);
        bench.settle();
        closing(&bench.world).wait();
        prop_assert_eq!(bench.buffers_out(), 0);
    }
}

#[suite::test]
fn a_device_that_never_finishes_holds_its_ring_and_no_more() {
    let mut bench = Bench::new(PLUGINS);
    let f = own(&mut bench);
    let packets: Vec<_> = (0..100).map(|n| numbered(n, 100, false)).collect();
    for round in 0..10 {
        let out = bench.node("o0-tx", &packets, |_| {});
        assert_eq!(out.len(), if round == 0 { 100 - RING } else { 100 });
        assert!(out.iter().all(|o| o.reason == Some("no free tx slots")));
    }
    assert_eq!(held(&bench, "transmit queues") as usize, RING);
    bench.settle();
    // Buffers come back by the tick of an idle thread.
    let posted = std::mem::take(&mut state(&f.device).posted);
    state(&f.device).done = posted;
    bench.world.clock.adjust(2_000_000_000);
    bench.settle();
    assert_eq!(held(&bench, "transmit queues"), 0);
    // A chain that is too long is dropped by name; one that fits is sent.
    let out = bench.node("o0-tx", &[tcp(9000), tcp(8000)], |_| {});
    let reasons: Vec<_> = out.iter().map(|o| o.reason).collect();
    assert_eq!(reasons, [Some("frame is longer than the link takes")]);
    assert_eq!(state(&f.device).posted.len(), SEGMENTS);
    f.txq.close(&bench.world);
    bench.settle();
    assert_eq!(held(&bench, "transmit queues"), 0);
}
