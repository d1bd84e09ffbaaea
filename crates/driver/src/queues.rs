// SPDX-License-Identifier: Apache-2.0
//! Placement of receive queues: which thread polls which queue, and in which mode.
//!
//! Control writes the requested state of a queue and notifies all threads. The thread that has the
//! queue follows: polls it or not, hands it on to another thread, gives it back. So no thread waits
//! for another, and orders that cross end well.

use crate::aside::Aside;
use crate::input::{PollInput, RxQueue, Slot};
use crate::world_ref::WorldRef;
use cli::Error;
use graph::{InputMode, NodeIndex, Runtime, Shared, SwIfIndex, ThreadIndex, World};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The state of a queue that control has requested.
pub(crate) struct QueueRequest {
    pub sw_if: SwIfIndex,
    /// Packets begin with an IP header.
    pub ip: bool,
    number: u16,
    thread: AtomicU16,
    mode: AtomicU8,
    up: AtomicBool,
    gone: AtomicBool,
}

const MODES: [InputMode; 4] =
    [InputMode::Disabled, InputMode::Polling, InputMode::Interrupt, InputMode::Adaptive];

impl QueueRequest {
    pub fn mode(&self) -> InputMode {
        MODES.get(usize::from(self.mode.load(Ordering::Acquire))).copied().unwrap_or_default()
    }

    fn set_mode(&self, mode: InputMode) {
        self.mode
            .store(MODES.iter().position(|m| *m == mode).unwrap_or(0) as u8, Ordering::Release);
    }

    fn thread(&self) -> ThreadIndex {
        ThreadIndex(self.thread.load(Ordering::Acquire))
    }
}

/// Spreads queues over the workers, one after the other.
pub(crate) struct Placement(AtomicUsize);

impl Shared for Placement {
    fn make(_: &World) -> Self {
        Self(AtomicUsize::new(0))
    }
}

/// The thread for the next queue: the workers in turn, the main thread if there are none.
fn next_thread(world: &World) -> u16 {
    match world.threads() - 1 {
        0 => 0,
        workers => {
            1 + (world.get::<Placement>().0.fetch_add(1, Ordering::Relaxed) % workers) as u16
        }
    }
}

/// The receive queues of one interface.
pub struct RxQueues<Q> {
    requests: Mutex<Vec<Arc<QueueRequest>>>,
    queue: PhantomData<fn() -> Q>,
}

impl<Q> Default for RxQueues<Q> {
    fn default() -> Self {
        Self { requests: Mutex::default(), queue: PhantomData }
    }
}

impl<Q: RxQueue> RxQueues<Q> {
    fn node(world: &World) -> Result<NodeIndex, Error> {
        world
            .node(Q::NODE)
            .ok_or_else(|| Error::failed(format!("no plugin brings the node {}", Q::NODE)))
    }

    /// Gives each queue a thread. They are not polled before [`Self::set_up`]. Where there were
    /// queues before (see [`Self::close`]), the new ones take their places.
    ///
    /// # Errors
    /// The driver's input node is missing.
    pub fn open(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        ip: bool,
        queues: Vec<Q>,
    ) -> Result<(), Error> {
        let node = Self::node(world)?;
        let before = self.list();
        let mode = world.get::<net::Interfaces>().default_rx_mode();
        let mut requests = Vec::new();
        for (number, mut queue) in (0..).zip(queues) {
            queue.discard();
            let place = before.iter().find(|q| q.queue == number);
            let thread = place.map_or_else(|| next_thread(world), |q| q.thread.0);
            let request = Arc::new(QueueRequest {
                sw_if,
                ip,
                number,
                thread: AtomicU16::new(thread),
                mode: AtomicU8::new(0),
                up: AtomicBool::new(false),
                gone: AtomicBool::new(false),
            });
            request.set_mode(place.map_or(mode, |q| q.mode));
            requests.push(request.clone());
            let (world_ref, slot) = (
                world.get::<WorldRef>(),
                Slot { queue, request, up: false, watched: false, lent: None },
            );
            world.on_thread(ThreadIndex(thread), move |rt| arrive(rt, node, &world_ref, slot));
        }
        *self.requests.lock().expect("no panic inside") = requests;
        Ok(())
    }

    /// Gives each of `count` queues a thread, as [`Self::open`] does, before there are any: they
    /// come once the device is there.
    pub fn reserve(&self, world: &World, sw_if: SwIfIndex, ip: bool, count: u16) {
        let mode = world.get::<net::Interfaces>().default_rx_mode();
        let request = |number| {
            let thread = AtomicU16::new(next_thread(world));
            let (up, gone) = (AtomicBool::new(false), AtomicBool::new(true));
            let request =
                QueueRequest { sw_if, ip, number, thread, mode: AtomicU8::new(0), up, gone };
            request.set_mode(mode);
            Arc::new(request)
        };
        *self.requests.lock().expect("no panic inside") = (0..count).map(request).collect();
    }

    /// The queues and where they are.
    pub fn list(&self) -> Vec<net::RxQueue> {
        let requests = self.requests.lock().expect("no panic inside");
        let queue = |w: &Arc<QueueRequest>| net::RxQueue {
            queue: w.number,
            thread: w.thread(),
            mode: w.mode(),
        };
        requests.iter().map(queue).collect()
    }

    /// Moves a queue to another thread, or changes how it is polled.
    ///
    /// # Errors
    /// A queue or a thread that doesn't exist.
    pub fn place(&self, world: &World, place: net::RxQueue) -> Result<(), Error> {
        if place.thread.at() >= world.threads() {
            return Err(Error::not_found(format!("there is no thread {}", place.thread))
                .retval(msg::retval::INVALID_WORKER));
        }
        let request =
            self.requests.lock().expect("no panic inside").get(usize::from(place.queue)).cloned();
        let request = request.ok_or_else(|| {
            Error::not_found(format!("no receive queue {}", place.queue))
                .retval(msg::retval::INVALID_QUEUE)
        })?;
        request.set_mode(place.mode);
        request.thread.store(place.thread.0, Ordering::Release);
        Self::tell(world)
    }

    /// Starts polling the queues, or stops it and discards waiting packets: the device has to be
    /// stopped before.
    ///
    /// # Errors
    /// The driver's input node is missing.
    pub fn set_up(&self, world: &World, up: bool) -> Result<(), Error> {
        self.requests
            .lock()
            .expect("no panic inside")
            .iter()
            .for_each(|w| w.up.store(up, Ordering::Release));
        Self::tell(world)
    }

    /// Takes the queues from their threads and closes them; their places are kept.
    pub fn close(&self, world: &World) {
        self.requests
            .lock()
            .expect("no panic inside")
            .iter()
            .for_each(|w| w.gone.store(true, Ordering::Release));
        // Without the node there are no queues.
        let _ = Self::tell(world);
    }

    fn tell(world: &World) -> Result<(), Error> {
        let (node, world_ref) = (Self::node(world)?, world.get::<WorldRef>());
        world.on_threads(move |rt| follow::<Q>(rt, node, &world_ref));
        Ok(())
    }
}

fn arrive<Q: RxQueue>(rt: &mut Runtime, node: NodeIndex, world_ref: &Arc<WorldRef>, slot: Slot<Q>) {
    if let Some(input) = rt.input_mut::<PollInput<Q>>(node) {
        input.slots.push(slot);
        follow::<Q>(rt, node, world_ref);
    }
}

/// Applies the state that control requests to the queues on this thread.
fn follow<Q: RxQueue>(rt: &mut Runtime, node: NodeIndex, world_ref: &Arc<WorldRef>) {
    let here = rt.thread();
    let Some(input) = rt.input_mut::<PollInput<Q>>(node) else { return };
    let mut stay = Vec::with_capacity(input.slots.len() + 1);
    for mut slot in std::mem::take(&mut input.slots) {
        let (request, gone) = (slot.request.clone(), slot.request.gone.load(Ordering::Acquire));
        let leaves = gone || request.thread() != here;
        let up = request.up.load(Ordering::Acquire) && !gone;
        if slot.up && !up {
            // The device sends nothing more; what it has sent is not for later.
            slot.queue.discard();
        }
        if up && !slot.up {
            slot.queue.begin();
        }
        slot.up = up;
        if !gone {
            slot.queue.set_mode(request.mode());
        }
        watch(rt, &mut slot, up && !leaves);
        if !leaves {
            stay.push(slot);
            continue;
        }
        // The next thread has a share of its own.
        slot.lent = None;
        let Some(world) = world_ref.world() else { continue };
        if gone {
            world.get::<Aside>().put(slot);
        } else {
            let world_ref = world_ref.clone();
            world.on_thread(request.thread(), move |rt| arrive(rt, node, &world_ref, slot));
        }
    }
    let Some(input) = rt.input_mut::<PollInput<Q>>(node) else { return };
    input.slots = stay;
    let mode = input.mode();
    rt.set_input_mode(node, mode);
}

fn watch<Q: RxQueue>(rt: &mut Runtime, slot: &mut Slot<Q>, wanted: bool) {
    let Some(fd) = slot.queue.wake() else { return };
    if slot.watched && !wanted {
        rt.unwatch(fd);
    } else if wanted
        && !slot.watched
        && let Err(error) = rt.watch(fd)
    {
        log::error!(target: "driver", "{}: a queue can't be waited for: {error}", Q::NODE);
        return;
    }
    slot.watched = wanted;
}
