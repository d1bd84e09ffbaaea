// SPDX-License-Identifier: Apache-2.0
//! The control side of transmit queues: gives them to the threads' nodes, and takes them back.

use super::{Tx, TxQueue};
use crate::aside::Aside;
use crate::given::Given;
use crate::offload::TxOffloads;
use crate::segment_queue::SegmentQueue;
use buffer::FRAME_SIZE;
use graph::{NodeIndex, SwIfIndex, ThreadIndex, World};
use net::IfLanes;
use std::marker::PhantomData;
use std::sync::{Mutex, OnceLock};
use wire::gso::MAX_HEADERS;

/// The transmit side of one interface: a queue for each thread.
pub struct TxQueues<Q> {
    node: OnceLock<NodeIndex>,
    queue: PhantomData<fn() -> Q>,
}

impl<Q> Default for TxQueues<Q> {
    fn default() -> Self {
        Self { node: OnceLock::new(), queue: PhantomData }
    }
}

impl<Q: TxQueue> TxQueues<Q> {
    /// Returns the constructor of the interface's transmit node, as [`net::Interfaces::create`]
    /// takes it. `queues` are by thread; a thread without one drops by name.
    pub fn make(
        queues: Vec<Q>,
        ip: bool,
        tx_offloads: TxOffloads,
    ) -> impl Fn(&World, ThreadIndex, SwIfIndex) -> Tx<Q> {
        let queues = Mutex::new(queues.into_iter().map(Some).collect::<Vec<_>>());
        move |world, thread, sw_if| Tx {
            sw_if,
            ip,
            tx_offloads: if Q::OWNS { TxOffloads::default() } else { tx_offloads.sane() },
            lanes: IfLanes::of(world, thread),
            headers: vec![[0; MAX_HEADERS]; FRAME_SIZE].into(),
            hold: SegmentQueue::new(world, thread),
            given: Given::new(world, thread, Q::OWNS),
            queue: queues
                .lock()
                .expect("no panic inside")
                .get_mut(thread.at())
                .and_then(Option::take),
            moved: false,
        }
    }

    /// Notes the interface's transmit node, once it exists.
    pub fn set_node(&self, node: NodeIndex) {
        // An interface has one for good.
        let _ = self.node.set(node);
    }

    fn tell(&self, world: &World, f: impl Fn(&mut Tx<Q>) + Send + Sync + 'static) {
        let Some(&node) = self.node.get() else { return };
        world.on_threads(move |rt| {
            if let Some(tx) = rt.node_mut::<Tx<Q>>(node) {
                f(tx);
            }
        });
    }

    /// Sets the offloads that are left to the device.
    pub fn set_tx_offloads(&self, world: &World, tx_offloads: TxOffloads) {
        if !Q::OWNS {
            self.tell(world, move |tx| tx.tx_offloads = tx_offloads.sane());
        }
    }

    /// Takes the queues from their threads and closes them. Packets are dropped by name from now
    /// on.
    pub fn close(&self, world: &World) {
        let aside = world.get::<Aside>();
        self.tell(world, move |tx| {
            tx.moved = false;
            if let Some(queue) = tx.queue.take() {
                tx.given.closed();
                aside.put(queue);
            }
        });
    }

    /// Gives the threads queues again.
    pub fn open(&self, world: &World, queues: Vec<Q>) {
        self.place(world, queues.into_iter().map(Some).collect());
    }

    /// Gives each thread another queue, or takes it away: then the thread drops packets by name.
    /// Packets that a thread has handed to its old queue stay there.
    pub fn place(&self, world: &World, queues: Vec<Option<Q>>) {
        let Some(&node) = self.node.get() else { return };
        for (thread, queue) in (0..).zip(queues).take(world.threads()) {
            let aside = world.get::<Aside>();
            world.on_thread(ThreadIndex(thread), move |rt| {
                let before = match rt.node_mut::<Tx<Q>>(node) {
                    Some(tx) => {
                        tx.moved = queue.is_none();
                        if tx.moved {
                            tx.given.closed();
                        }
                        std::mem::replace(&mut tx.queue, queue)
                    }
                    None => queue,
                };
                if let Some(queue) = before {
                    aside.put(queue);
                }
            });
        }
    }
}
