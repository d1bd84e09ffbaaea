// SPDX-License-Identifier: Apache-2.0
//! What workers tell control: a bounded queue, and the process that reads it.

use super::control::Learner;
use super::{Protocol, Target};
use graph::{Process, Shared, Signal, Sleep, Wake, World};
use net::{Evidence, Net};
use std::sync::Arc;
use sync::Mailbox;
use wire::{Address, Family, MacAddr};

/// Notes that wait for control at most.
const NOTES: usize = 4096;

/// What a worker has seen or done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note<A> {
    /// It has asked for a neighbour.
    Asked(Target<A>),
    /// A neighbour was asked for as often as is usual, and hasn't answered.
    Unanswered(Target<A>),
    /// A neighbour has shown itself.
    Seen(Seen<A>),
    /// Another station uses an address of ours.
    Conflict(Target<A>, MacAddr),
}

/// What a neighbour told of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen<A> {
    /// The neighbour.
    pub who: Target<A>,
    /// Where it is; `None` if that wasn't told, and is as it was.
    pub mac: Option<MacAddr>,
    /// How it was told.
    pub evidence: Evidence,
}

impl<A: Address> Note<A> {
    #[inline(always)]
    fn target(&self) -> Target<A> {
        match *self {
            Self::Asked(target)
            | Self::Unanswered(target)
            | Self::Seen(Seen { who: target, .. })
            | Self::Conflict(target, _) => target,
        }
    }
}

type NoteOf<P> = Note<<<P as Protocol>::Net as Family>::Addr>;

/// The queue, shared by all nodes of a protocol.
pub struct Notes<P: Protocol> {
    mailbox: Mailbox<NoteOf<P>>,
    signal: Signal,
}

impl<P: Protocol> Shared for Notes<P> {
    fn make(world: &World) -> Self {
        let signal = world.processes.signal();
        Self { mailbox: Mailbox::new(NOTES, world.processes.waker().clone()), signal }
    }
}

impl<P: Protocol> Notes<P> {
    /// Sends a note; false if control is so far behind that there is no room.
    #[inline(always)]
    #[must_use]
    pub fn post(&self, note: NoteOf<P>) -> bool {
        let posted = self.mailbox.post(note).is_ok();
        self.signal.raise();
        posted
    }

    /// Lets the process run without a note.
    pub(super) fn wake(&self) {
        self.signal.raise();
    }

    /// Starts the process that reads the notes.
    pub(super) fn start(world: &World) {
        let notes: Arc<Self> = world.get();
        world.processes.spawn(Box::new(Reader(notes.clone())), &notes.signal);
    }
}

struct Reader<P: Protocol>(Arc<Notes<P>>);

impl<P: Protocol> Process for Reader<P> {
    fn name(&self) -> &'static str {
        P::PROCESS
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let mut learner = Learner::<P>::new(world);
        let read = self.0.mailbox.drain(|note| learner.take(note));
        learner.finish();
        // A queueful at a time: others want to run too.
        if read == NOTES { Sleep::Until(world.clock.now()) } else { Sleep::Event }
    }
}

/// What a thread told lately, so that a busy neighbour isn't told of all the time.
pub struct Lately<F: Net> {
    told: Box<[(Note<F::Addr>, u64)]>,
}

impl<F: Net> Default for Lately<F> {
    fn default() -> Self {
        let none = Note::Asked(Target { sw_if: u32::MAX, ip: F::Addr::ZERO });
        Self { told: vec![(none, 0); Self::PLACES].into() }
    }
}

impl<F: Net> Lately<F> {
    const PLACES: usize = 512;
    /// Nanoseconds.
    const LONG_AGO: u64 = 1_000_000_000;

    /// Posts the note, unless the same one was posted within the last second; false if there is no room.
    #[inline(always)]
    #[must_use]
    pub fn post<P: Protocol<Net = F>>(&mut self, notes: &Notes<P>, note: Note<F::Addr>, now: u64) -> bool {
        let place = note.target().place(Self::PLACES);
        let (last, time) = self.told[place];
        if last == note && now.wrapping_sub(time) < Self::LONG_AGO {
            return true;
        }
        let posted = notes.post(note);
        if posted {
            self.told[place] = (note, now);
        }
        posted
    }
}
