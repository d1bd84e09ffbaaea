// SPDX-License-Identifier: Apache-2.0
//! The rings against a kernel that is simulated, and the bytes of the program.

use super::program::{self, Attach, Program};
use super::ring::{Consumer, Producer};
use super::shared::Shared;
use super::sys::{self, Desc, RingMemory};
use super::tx::Side;
use super::{CHUNK_OFFSET, RxQueue, TxQueue, XDP_HEADROOM};
use buffer::{Lent, SLOT_SIZE};
use driver::rig::WIRE;
use driver::{RxQueues, TxQueues};
use graph::drive::Bench;
use graph::{InputMode, Plugin, SwIfIndex, ThreadIndex};
use net::{Device, IfKind, Interfaces, NewInterface};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};
use wire::MacAddr;

const RING: u32 = 64;

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &crate::PLUGIN, &WIRE];

struct Nothing;
impl Device for Nothing {
    fn driver(&self) -> &'static str {
        "simulated"
    }
}

/// The other end of a socket's four rings, and the memory of packets.
struct Kernel {
    pool: &'static buffer::Pool,
    rx: Producer<Desc>,
    fill: Consumer<u64>,
    tx: Consumer<Desc>,
    done: Producer<u64>,
    descs: [RingMemory<Desc>; 2],
    addrs: [RingMemory<u64>; 2],
    /// Chunks that it may write to.
    empty: Vec<u64>,
    /// Buffers that it sends from.
    sending: Vec<u64>,
    sent: Vec<Vec<u8>>,
    /// Bytes of a packet whose last descriptor hasn't come.
    begun: Vec<u8>,
    seed: usize,
}

fn pick<T>(list: &mut Vec<T>, seed: &mut usize) -> Option<T> {
    *seed = seed.wrapping_mul(0x9e37_79b9).wrapping_add(7);
    if list.is_empty() { None } else { Some(list.swap_remove((*seed >> 8) % list.len())) }
}

impl Kernel {
    fn new(pool: &'static buffer::Pool, seed: usize) -> Self {
        let descs = [RingMemory::anonymous(RING), RingMemory::anonymous(RING)];
        let addrs = [RingMemory::anonymous(RING), RingMemory::anonymous(RING)];
        let ([rx, tx], [fill, done]) = (descs.clone(), addrs.clone());
        let (rx, fill, tx, done) =
            (Producer::new(rx), Consumer::new(fill), Consumer::new(tx), Producer::new(done));
        let (empty, sending, sent, begun) = Default::default();
        Self { pool, rx, fill, tx, done, descs, addrs, empty, sending, sent, begun, seed }
    }

    fn take_empty(&mut self) {
        for _ in 0..self.fill.waiting() {
            let chunk = self.fill.take();
            assert_eq!(chunk as usize % SLOT_SIZE, CHUNK_OFFSET);
            self.empty.push(chunk);
        }
        self.fill.release();
    }

    /// Delivers a packet as the kernel does, unless it has too few empty chunks.
    fn deliver(&mut self, bytes: &[u8]) -> bool {
        self.take_empty();
        let parts = bytes.chunks(buffer::DATA_SIZE);
        if parts.len() > self.empty.len() || parts.len() > self.rx.room() as usize {
            return false;
        }
        let count = parts.len();
        for (n, part) in parts.enumerate() {
            let chunk = pick(&mut self.empty, &mut self.seed).expect("counted");
            let at = chunk as usize + XDP_HEADROOM;
            sys::poke(self.pool.region(), at, part);
            // The kernel gives the offset in the upper bits.
            let addr = chunk | (XDP_HEADROOM as u64) << 48;
            let options = if n + 1 < count { libc::XDP_PKT_CONTD } else { 0 };
            self.rx.push(Desc { addr, len: part.len() as u32, options });
        }
        self.rx.publish();
        true
    }

    /// Takes what is to be sent.
    fn send(&mut self) {
        for _ in 0..self.tx.waiting() {
            let desc = self.tx.take();
            let (at, len) = (desc.addr as usize, desc.len as usize);
            assert!(len > 0 && at % SLOT_SIZE + len <= SLOT_SIZE, "outside of a slot: {desc:?}");
            self.begun.extend(sys::peek(self.pool.region(), at, len));
            self.sending.push(desc.addr);
            if desc.options & libc::XDP_PKT_CONTD == 0 {
                self.sent.push(std::mem::take(&mut self.begun));
            }
        }
        self.tx.release();
    }

    fn finish(&mut self, count: usize) {
        for _ in 0..count.min(self.done.room() as usize) {
            let Some(addr) = pick(&mut self.sending, &mut self.seed) else { break };
            self.done.push(addr);
        }
        self.done.publish();
    }
}

#[derive(Clone, Debug)]
enum Op {
    Deliver(Vec<u16>),
    Finish(usize),
    /// A descriptor that no kernel writes. With `true` it names a chunk that the kernel has.
    Wrong(u64, u32, u32, bool),
    WrongDone(u64),
    /// An index that jumps: receive, fill, transmit, completion ring.
    Jump(usize, u32),
    Turn,
    Up(bool),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => prop::collection::vec(20u16..9000, 1..12).prop_map(Op::Deliver),
        4 => (0usize..64).prop_map(Op::Finish),
        1 => (any::<u64>(), any::<u32>(), 0u32..4, any::<bool>())
            .prop_map(|(a, b, c, d)| Op::Wrong(a, b, c, d)),
        1 => (0u64..200_000_000, any::<u32>(), 0u32..4, any::<bool>())
            .prop_map(|(a, b, c, d)| Op::Wrong(a, b % 4096, c, d)),
        1 => any::<u64>().prop_map(Op::WrongDone),
        1 => (0usize..4, any::<u32>()).prop_map(|(a, b)| Op::Jump(a, b)),
        3 => Just(Op::Turn),
        1 => any::<bool>().prop_map(Op::Up),
    ]
}

struct Sim {
    rx: RxQueues<RxQueue>,
    tx: TxQueues<TxQueue>,
    sw_if: SwIfIndex,
}

/// An interface on the simulated rings that sends what it receives.
fn simulated(bench: &mut Bench, kernel: &Kernel) -> Sim {
    let world = &bench.world;
    let null = std::fs::File::open("/dev/null").expect("opened");
    let shared = Arc::new(Shared::new(OwnedFd::from(null)));
    let ([rx, tx], [fill, done]) = (kernel.descs.clone(), kernel.addrs.clone());
    let rx = RxQueue::new(shared.clone(), rx, fill, Lent::new(world.pool));
    let mut side = Side::new(shared, tx, done, Lent::new(world.pool));
    side.set_multi_buffer(true);
    let tx = TxQueue::simulated(Arc::new(Mutex::new(side)));
    let interfaces: Arc<Interfaces> = world.get();
    let new = NewInterface {
        name: "x0".into(),
        kind: IfKind::Ethernet,
        device: Arc::new(Nothing),
        mac: MacAddr([2, 0, 0, 0, 0, 1]),
        mtu: 9000,
        link_up: true,
    };
    let make = TxQueues::make(vec![tx], false, driver::TxOffloads::default());
    let sw_if = interfaces.create(world, new, make).expect("created");
    let sim = Sim { rx: RxQueues::default(), tx: TxQueues::default(), sw_if };
    sim.tx.set_node(interfaces.get(sw_if).expect("there").tx);
    interfaces.set_admin(world, sw_if, true).expect("up");
    driver::rig::connect(world, "x0", "x0");
    sim.rx.open(world, sw_if, false, vec![rx]).expect("opened");
    let place = net::RxQueue { queue: 0, thread: ThreadIndex(0), mode: InputMode::Polling };
    sim.rx.place(world, place).expect("placed");
    sim.rx.set_up(world, true).expect("up");
    bench.settle();
    sim
}

/// A frame with its number, and bytes that follow from it.
fn numbered(n: u32, len: u16) -> Vec<u8> {
    let head = [&[2; 12][..], &[0x88, 0xb5], &n.to_be_bytes()].concat();
    let rest = (18..len.max(18)).map(|i| (u32::from(i) * 7 + n) as u8);
    head.into_iter().chain(rest).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    /// All that a kernel does right arrives and leaves with its bytes, in order; what it does wrong
    /// costs packets at most.
    #[suite::test]
    fn rings_carry_packets_whatever_the_kernel_writes(
        ops in prop::collection::vec(op(), 1..80), hostile: bool, seed: usize,
    ) {
        let mut bench = Bench::new(PLUGINS);
        let mut kernel = Kernel::new(bench.world.pool, seed);
        let sim = simulated(&mut bench, &kernel);
        let (mut delivered, mut n, mut up, mut wrong) = (VecDeque::new(), 0, true, false);
        for op in ops {
            match op {
                Op::Deliver(sizes) => for size in sizes {
                    n += 1;
                    let bytes = numbered(n, size);
                    if kernel.deliver(&bytes) && up {
                        delivered.push_back(bytes);
                    }
                },
                Op::Finish(count) => kernel.finish(count),
                Op::Wrong(addr, len, options, own) if hostile => {
                    wrong = true;
                    kernel.take_empty();
                    let chunk = if own { pick(&mut kernel.empty, &mut kernel.seed) } else { None };
                    let addr = chunk.map_or(addr, |chunk| chunk | addr << 48);
                    if kernel.rx.room() > 0 {
                        kernel.rx.push(Desc { addr, len, options });
                        kernel.rx.publish();
                    }
                }
                Op::WrongDone(addr) if hostile => {
                    if kernel.done.room() > 0 {
                        kernel.done.push(addr);
                        kernel.done.publish();
                    }
                }
                Op::Jump(ring, to) if hostile => {
                    wrong = true;
                    let by = to % 100_000 + RING + 1;
                    // Each index that the kernel writes, for the time of a turn.
                    let (descs, addrs) = (kernel.descs.clone(), kernel.addrs.clone());
                    let jump = |by: u32| match ring {
                        0 => descs[0].set_producer(descs[0].producer().wrapping_add(by)),
                        1 => addrs[0].set_consumer(addrs[0].consumer().wrapping_sub(by)),
                        2 => descs[1].set_consumer(descs[1].consumer().wrapping_sub(by)),
                        _ => addrs[1].set_producer(addrs[1].producer().wrapping_add(by)),
                    };
                    jump(by);
                    bench.rt.turn(true);
                    jump(by.wrapping_neg());
                }
                Op::Up(now) => {
                    bench.settle();
                    sim.rx.set_up(&bench.world, now).expect("set");
                    up = now;
                    bench.settle();
                }
                Op::Wrong(..) | Op::WrongDone(_) | Op::Jump(..) | Op::Turn => {}
            }
            bench.rt.turn(true);
            kernel.send();
            for sent in kernel.sent.drain(..) {
                let number = sent.get(14..18).map(|n| u32::from_be_bytes(n.try_into().expect("4")));
                let at = delivered.iter().position(|d: &Vec<u8>| *d == sent);
                match at {
                    // A packet may be lost, by a full ring at the latest, but none overtakes.
                    Some(at) => drop(delivered.drain(..=at)),
                    None => prop_assert!(wrong, "bytes that nobody has delivered: {number:?}"),
                }
            }
        }
        bench.world.get::<Interfaces>().delete(&bench.world, sim.sw_if).expect("deleted");
        sim.rx.close(&bench.world);
        sim.tx.close(&bench.world);
        bench.settle();
        driver::closing(&bench.world).wait();
        prop_assert_eq!(bench.buffers_out(), 0);
    }
}

#[suite::test]
fn every_packet_passes_while_the_kernel_keeps_up() {
    let mut bench = Bench::new(PLUGINS);
    let mut kernel = Kernel::new(bench.world.pool, 1);
    let sim = simulated(&mut bench, &kernel);
    let mut want = Vec::new();
    for n in 0..5000 {
        let bytes = numbered(n, (n * 37 % 8000) as u16);
        assert!(kernel.deliver(&bytes), "{n}");
        want.push(bytes);
        if n % 3 == 0 {
            bench.rt.turn(true);
            kernel.send();
            kernel.finish(64);
        }
    }
    bench.settle();
    kernel.send();
    assert!(kernel.sent == want, "{} of {}", kernel.sent.len(), want.len());
    assert_eq!(bench.drops(), 0);
    kernel.finish(64);
    bench.world.clock.adjust(2_000_000_000);
    bench.settle();
    let shares = bench.world.pool.shares();
    let held = |name| shares.iter().filter(|s| s.name == name).map(|s| s.held).sum::<u32>();
    assert_eq!((held("transmit queues"), held("receive queues") >= 60), (0, true), "{shares:?}");
    sim.rx.close(&bench.world);
    sim.tx.close(&bench.world);
    bench.settle();
}

#[suite::test]
fn the_program_is_six_instructions() {
    let bytes = program::instructions(0x0403_0201).concat();
    if cfg!(target_endian = "little") {
        let want = [
            [0x61, 0x12, 16, 0, 0, 0, 0, 0],
            [0x18, 0x11, 0, 0, 1, 2, 3, 4],
            [0; 8],
            [0xb7, 0x03, 0, 0, 2, 0, 0, 0],
            [0x85, 0, 0, 0, 51, 0, 0, 0],
            [0x95, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(bytes, want.concat());
    }
}

#[suite::test]
fn the_kernel_takes_the_program_and_finds_it_pinned() {
    let Some(lab) = testkit::lab::require(&["root", "mount"]) else { return };
    let own = testkit::or_skip("load an XDP program", Program::own(4));
    let Some(own) = own else { return };
    let folder = std::env::temp_dir().join(format!("ferrovia-bpf-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let name = folder.to_str().expect("UTF-8").to_string();
    lab.command("mount").args(["-t", "bpf", "bpf", &name]).ok();
    let (path, map) = (format!("{name}/program"), format!("{name}/map"));
    own.pin(&path, &map).expect("pinned");
    let found = Program::pinned(&path).map(|program| program.set(9, lab_fd().as_fd()));
    let no_program = Program::pinned(&map).err().map(|error| error.to_string());
    let absent = Program::pinned(&format!("{name}/absent")).err().map(|error| error.kind());
    lab.command("umount").args([&name]).ok();
    std::fs::remove_dir(&folder).expect("removed");
    // Its map is found: it has four entries, so a fifth is refused.
    let refused = found.expect("found").expect_err("no such entry");
    assert_eq!(refused.raw_os_error(), Some(libc::E2BIG));
    assert!(no_program.is_some_and(|text| text.contains("no XDP program")), "a map");
    assert_eq!(absent, Some(std::io::ErrorKind::NotFound));
    assert_eq!([Attach::Native, Attach::Generic].map(Attach::name), ["native", "generic"]);
}

fn lab_fd() -> OwnedFd {
    sys::xdp_socket().expect("a socket")
}
