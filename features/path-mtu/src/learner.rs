// SPDX-License-Identifier: Apache-2.0
//! Takes the path MTUs that routers report from the threads to control.

use graph::{Process, Shared, Signal, Sleep, Wake, World};
use net::{Net, PathMtus, TooBig};
use std::marker::PhantomData;
use std::sync::Arc;
use sync::Mailbox;

/// Errors queued for the control thread at most.
const QUEUE: usize = 256;

/// Mailbox of errors for the control thread.
pub struct Learner<F: Net> {
    reported: Mailbox<TooBig<F::Addr>>,
    signal: Signal,
}

impl<F: Net> Shared for Learner<F> {
    fn make(world: &World) -> Self {
        Self {
            reported: Mailbox::new(QUEUE, world.processes.waker().clone()),
            signal: world.processes.signal(),
        }
    }
}

impl<F: Net> Learner<F> {
    /// Reports an error about a packet that the caller knows to be ours. If the mailbox is full,
    /// the next packet causes another.
    #[inline(always)]
    pub fn post(&self, reported: TooBig<F::Addr>) {
        let _ = self.reported.post(reported);
        self.signal.raise();
    }

    /// Learns errors at once, on the control thread. The caller knows them to be about our packets.
    pub fn learn(&self, world: &World, reported: &[TooBig<F::Addr>]) {
        if !reported.is_empty() {
            world.get::<PathMtus<F>>().learn(reported, world.clock.now());
            // The process notes when they expire.
            self.signal.raise();
        }
    }

    /// Starts the process.
    pub(crate) fn start(world: &World) {
        let learner: Arc<Self> = world.get();
        world
            .processes
            .spawn(Box::new(Learning::<F>(learner.clone(), PhantomData)), &learner.signal);
    }
}

struct Learning<F: Net>(Arc<Learner<F>>, PhantomData<F>);

impl<F: Net> Process for Learning<F> {
    fn name(&self) -> &'static str {
        if F::IS_V6 { "ip6-path-mtu-process" } else { "ip4-path-mtu-process" }
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let mut reported = Vec::new();
        self.0.reported.drain(|one| reported.push(one));
        let next = world.get::<PathMtus<F>>().learn(&reported, world.clock.now());
        next.map_or(Sleep::Event, Sleep::Until)
    }
}
