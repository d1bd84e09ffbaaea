// SPDX-License-Identifier: Apache-2.0
//! What workers tell control: a bounded queue, and the process that reads it.

use crate::control;
use graph::{Process, Shared, Signal, Sleep, Wake, World};
use net::Evidence;
use std::net::Ipv4Addr;
use std::sync::Arc;
use sync::Mailbox;
use wire::MacAddr;

/// Notes that wait for control at most.
const NOTES: usize = 4096;

/// What a worker has seen or done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// It has asked for a neighbour.
    Asked { sw_if: u32, ip: Ipv4Addr },
    /// A neighbour has shown itself.
    Seen { sw_if: u32, ip: Ipv4Addr, mac: MacAddr, evidence: Evidence },
    /// Another station uses an address of ours.
    Conflict { sw_if: u32, ip: Ipv4Addr, mac: MacAddr },
}

/// The queue, shared by all nodes.
pub struct Notes {
    mailbox: Mailbox<Note>,
    signal: Signal,
}

impl Shared for Notes {
    fn make(world: &World) -> Self {
        let signal = world.processes.signal();
        Self { mailbox: Mailbox::new(NOTES, world.processes.waker().clone()), signal }
    }
}

impl Notes {
    /// Sends a note; false if control is so far behind that there is no room.
    #[inline(always)]
    #[must_use]
    pub fn post(&self, note: Note) -> bool {
        let posted = self.mailbox.post(note).is_ok();
        self.signal.raise();
        posted
    }

    /// Lets the process run without a note.
    pub fn wake(&self) {
        self.signal.raise();
    }

    /// Starts the process that reads the notes.
    pub fn start(world: &World) {
        let notes: Arc<Notes> = world.get();
        world.processes.spawn(Box::new(Reader(notes.clone())), &notes.signal);
    }
}

struct Reader(Arc<Notes>);

impl Process for Reader {
    fn name(&self) -> &'static str {
        "arp-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let mut learner = control::Learner::new(world);
        let read = self.0.mailbox.drain(|note| learner.take(note));
        learner.finish();
        // A queueful at a time: others want to run too.
        if read == NOTES { Sleep::Until(world.clock.now()) } else { Sleep::Event }
    }
}

/// What a thread told lately, so that a busy neighbour isn't told of all the time.
pub struct Lately {
    told: Box<[(Note, u64)]>,
}

impl Lately {
    const PLACES: usize = 512;
    /// Nanoseconds.
    const LONG_AGO: u64 = 1_000_000_000;

    pub fn new() -> Self {
        let none = Note::Asked { sw_if: u32::MAX, ip: Ipv4Addr::UNSPECIFIED };
        Self { told: vec![(none, 0); Self::PLACES].into() }
    }

    /// Posts the note, unless the same one was posted within the last second; false if there is no room.
    #[inline(always)]
    #[must_use]
    pub fn post(&mut self, notes: &Notes, note: Note, now: u64) -> bool {
        let (Note::Asked { sw_if, ip } | Note::Seen { sw_if, ip, .. } | Note::Conflict { sw_if, ip, .. }) =
            note;
        let key = u64::from(ip.to_bits()) | u64::from(sw_if) << 32;
        let place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % Self::PLACES;
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
