// SPDX-License-Identifier: Apache-2.0
//! A driver whose device is a list.

mod owned;
mod rx;
mod tx;

use crate::*;
use buffer::{Buffer, Flags};
use cli::Error;
use graph::drive::Bench;
use graph::{
    Build, Cx, InputMode, Next, Node, NodeDef, Plugin, Shared, StateDef, SwIfIndex, ThreadIndex,
    ThreadPlan, Threads, World, WorldConfig,
};
use net::{Device, IfCounters, IfKind, Interfaces, NewInterface};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use wire::MacAddr;
use wire::offload::{Csum, Gso, GsoKind, Offload};

/// A frame that is sent to or received from a device.
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
    /// Comes while its event is cleared.
    late: Mutex<Option<Item>>,
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
            // Fails if the bell hasn't been rung.
            let _ = rustix::io::read(&self.bell, &mut [0u8; 8]);
        }
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        Some(self.bell.as_fd())
    }

    fn discard(&mut self) {
        self.wire.take();
    }

    fn idle(&mut self) {
        let late = self.wire.late.lock().expect("no panic inside").take();
        self.wire.items.lock().expect("no panic inside").extend(late);
        let _ = rustix::io::read(&self.bell, &mut [0u8; 8]);
    }

    fn losses(&mut self) -> Losses {
        Losses { missed: 1, errors: 2, unknown_offload: 3, ..Losses::default() }
    }
}

/// Sends to a list; the first byte of a frame's payload may give the reason of a loss.
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

/// A packet that the graph received.
#[derive(Clone, Debug)]
struct Seen {
    bytes: Vec<u8>,
    flags: Flags,
    chained: bool,
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
        let seen = Seen {
            bytes,
            flags: b.flags,
            chained: b.is_chained(),
            left: left(b),
            rx_if: b.rx_if,
            thread: cx.thread(),
        };
        self.0.0.lock().expect("no panic inside").push(seen);
        SinkTo::Gone
    }
}

static PLUGINS: &[&Plugin] = &[&Plugin {
    name: "fake",
    state: &[net::STATE, STATE, StateDef::of::<Log>()],
    counters: net::COUNTERS,
    nodes: &[
        NodeDef::input::<PollInput<FakeRx>>(),
        NodeDef::input::<PollInput<owned::OwnRx>>(),
        NodeDef::of::<Sink>(),
    ],
    start: |world| {
        start(world);
        Ok(())
    },
    ..Plugin::EMPTY
}];

fn seen(world: &World) -> Vec<Seen> {
    std::mem::take(&mut *world.get::<Log>().0.lock().expect("no panic inside"))
}

/// An interface with a receive and a transmit queue for each thread.
struct Fake {
    rx: Arc<Wire>,
    bell: OwnedFd,
    tx: Arc<Wire>,
    rxq: RxQueues<FakeRx>,
    txq: TxQueues<FakeTx>,
    sw_if: SwIfIndex,
}

fn fake(world: &World, ip: bool, tx_offloads: TxOffloads) -> Result<Fake, Error> {
    let (rx, tx) = (Arc::new(Wire::default()), Arc::new(Wire::default()));
    let kind = if ip { IfKind::Ip } else { IfKind::Ethernet };
    let (mac, device) = (MacAddr([2, 0, 0, 0, 0, 1]), Arc::new(Nothing));
    let new = NewInterface { name: "f0".into(), kind, device, mac, mtu: 1500, link_up: true };
    let queues = (0..world.threads()).map(|_| FakeTx(tx.clone())).collect();
    let interfaces: Arc<Interfaces> = world.get();
    let sw_if = interfaces.create(world, new, TxQueues::make(queues, ip, tx_offloads))?;
    let txq = TxQueues::default();
    txq.set_node(interfaces.get(sw_if)?.tx);
    let bell = eventfd(0, EventfdFlags::NONBLOCK).expect("an eventfd");
    let queue = FakeRx { wire: rx.clone(), bell: bell.try_clone().expect("a copy") };
    let rxq = RxQueues::default();
    rxq.open(world, sw_if, ip, vec![queue])?;
    Ok(Fake { rx, bell, tx, rxq, txq, sw_if })
}

fn rig(ip: bool, tx_offloads: TxOffloads) -> (Bench, Fake) {
    let mut bench = Bench::new(PLUGINS);
    let fake = fake(&bench.world, ip, tx_offloads).expect("created");
    bench.settle();
    (bench, fake)
}
