// SPDX-License-Identifier: Apache-2.0
//! The control thread's loop: descriptors, timers and wake-ups from other threads, all on one
//! epoll.
//!
//! Handlers run one at a time on the thread that turns the loop. They get the context `C` that the
//! loop's owner passes in, and the loop itself, so that they can add and remove descriptors and
//! timers, their own too. Work that comes without a descriptor is looked for at every turn.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{Timespec, epoll};
use sync::Waker;

/// The events that a descriptor is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest {
    /// Input, or the end of input.
    pub read: bool,
    /// Room for output.
    pub write: bool,
}

impl Interest {
    /// Input only.
    pub const READ: Interest = Interest { read: true, write: false };
    /// Output only.
    pub const WRITE: Interest = Interest { read: false, write: true };
    /// Nothing but errors and hang-up, which are always reported.
    pub const NONE: Interest = Interest { read: false, write: false };

    fn flags(self) -> epoll::EventFlags {
        let mut flags = epoll::EventFlags::empty();
        flags.set(epoll::EventFlags::IN | epoll::EventFlags::RDHUP, self.read);
        flags.set(epoll::EventFlags::OUT, self.write);
        flags
    }
}

/// The operations that a descriptor is ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// There is input, or the peer has ended.
    pub read: bool,
    /// There is room for output.
    pub write: bool,
    /// The descriptor is broken or both directions are closed.
    pub closed: bool,
}

/// A descriptor in the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    index: u32,
    generation: u32,
}

/// A timer in the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(u64);

type Handler<C> = Box<dyn FnMut(&mut C, &mut EventLoop<C>, Ready)>;
type TimerHandler<C> = Box<dyn FnMut(&mut C, &mut EventLoop<C>) -> Option<Duration>>;

struct Watched<C> {
    fd: Rc<dyn AsFd>,
    interest: Interest,
    /// The handler; taken out while it runs.
    handler: Option<Handler<C>>,
}

struct Entry<C> {
    generation: u32,
    watched: Option<Watched<C>>,
}

const WAKER: u64 = u64::MAX;

/// Descriptors, timers and a waker.
pub struct EventLoop<C> {
    epoll: OwnedFd,
    waker: Arc<Waker>,
    entries: Vec<Entry<C>>,
    free: Vec<u32>,
    deadlines: BinaryHeap<Reverse<(Duration, TimerId)>>,
    timers: std::collections::HashMap<TimerId, TimerHandler<C>>,
    next_timer: u64,
    time: Box<dyn Fn() -> Duration>,
    stopped: bool,
}

impl<C> EventLoop<C> {
    /// An empty loop. `time` is the clock that timers follow; it may jump forward, but not back.
    /// `waker` ends a wait from any thread.
    pub fn new(
        waker: Arc<Waker>,
        time: impl Fn() -> Duration + 'static,
    ) -> io::Result<EventLoop<C>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*waker, epoll::EventData::new_u64(WAKER), epoll::EventFlags::IN)?;
        Ok(EventLoop {
            epoll,
            waker,
            entries: Vec::new(),
            free: Vec::new(),
            deadlines: BinaryHeap::new(),
            timers: Default::default(),
            next_timer: 0,
            time: Box::new(time),
            stopped: false,
        })
    }

    /// Time on the clock that timers follow.
    pub fn now(&self) -> Duration {
        (self.time)()
    }

    /// Watches `fd`, which has to be non-blocking, and calls `handler` whenever it is ready
    /// (level-triggered).
    pub fn add(
        &mut self,
        fd: Rc<dyn AsFd>,
        interest: Interest,
        handler: impl FnMut(&mut C, &mut EventLoop<C>, Ready) + 'static,
    ) -> io::Result<Token> {
        let index = match self.free.last() {
            Some(index) => *index,
            None => self.entries.len() as u32,
        };
        let generation = self.entries.get(index as usize).map_or(0, |e| e.generation);
        let token = Token { index, generation };
        epoll::add(&self.epoll, fd.as_fd(), data(token), interest.flags())?;
        let watched = Some(Watched { fd, interest, handler: Some(Box::new(handler)) });
        match self.free.pop() {
            Some(_) => self.entries[index as usize].watched = watched,
            None => self.entries.push(Entry { generation, watched }),
        }
        Ok(token)
    }

    fn watched(&mut self, token: Token) -> Option<&mut Watched<C>> {
        let entry = self.entries.get_mut(token.index as usize)?;
        if entry.generation == token.generation { entry.watched.as_mut() } else { None }
    }

    /// Changes the events that a descriptor is watched for. A token that was removed is ignored.
    pub fn set_interest(&mut self, token: Token, interest: Interest) -> io::Result<()> {
        let Some(watched) = self.watched(token) else { return Ok(()) };
        if watched.interest == interest {
            return Ok(());
        }
        watched.interest = interest;
        let fd = Rc::clone(&watched.fd);
        Ok(epoll::modify(&self.epoll, (*fd).as_fd(), data(token), interest.flags())?)
    }

    /// Forgets a descriptor and its handler. A token that was removed is ignored.
    pub fn remove(&mut self, token: Token) {
        if self.watched(token).is_none() {
            return;
        }
        let entry = &mut self.entries[token.index as usize];
        entry.generation = entry.generation.wrapping_add(1);
        if let Some(watched) = entry.watched.take() {
            self.free.push(token.index);
            // It fails only for a descriptor that is gone already.
            let _ = epoll::delete(&self.epoll, (*watched.fd).as_fd());
        }
    }

    /// Calls `handler` after `delay`, and again for as long as it returns a further delay.
    pub fn timer(
        &mut self,
        delay: Duration,
        handler: impl FnMut(&mut C, &mut EventLoop<C>) -> Option<Duration> + 'static,
    ) -> TimerId {
        let id = TimerId(self.next_timer);
        self.next_timer += 1;
        self.timers.insert(id, Box::new(handler));
        self.deadlines.push(Reverse((self.now().saturating_add(delay), id)));
        id
    }

    /// Forgets a timer. One that has ended is ignored.
    pub fn cancel(&mut self, id: TimerId) {
        self.timers.remove(&id);
        if self.deadlines.len() > 64 && self.deadlines.len() > 2 * self.timers.len() {
            let live = &self.timers;
            self.deadlines.retain(|Reverse((_, id))| live.contains_key(id));
        }
    }

    /// Stops watching a descriptor's input for a while: it would be ready all the time. `None` is
    /// ignored.
    pub fn pause(&mut self, token: Option<Token>, length: Duration) {
        let Some(token) = token else { return };
        if self.set_interest(token, Interest::NONE).is_ok() {
            self.timer(length, move |_, events| {
                // It fails only for a descriptor that is gone, and then there is nothing to watch.
                let _ = events.set_interest(token, Interest::READ);
                None
            });
        }
    }

    /// Time until the next timer is due.
    pub fn next_timer(&self) -> Option<Duration> {
        self.deadlines.peek().map(|Reverse((at, _))| at.saturating_sub(self.now()))
    }

    /// Asks the owner to turn no more.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Returns true if [`EventLoop::stop`] was called.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// Runs one turn: `look` does work that comes without a descriptor, and returns how long it can
    /// wait for more (`None`: for ever). Work that other threads hand over before they call the
    /// waker is either seen by `look` or ends the wait. Returns true if any handler ran.
    pub fn turn(
        &mut self,
        context: &mut C,
        look: impl FnOnce(&mut C, &mut EventLoop<C>) -> Option<Duration>,
    ) -> io::Result<bool> {
        let waker = Arc::clone(&self.waker);
        waker.prepare_sleep();
        let limit = look(context, self);
        let waited = self.wait(context, limit);
        waker.awake();
        Ok(waited? | self.expire(context))
    }

    fn wait(&mut self, context: &mut C, limit: Option<Duration>) -> io::Result<bool> {
        let wait = match (limit, self.next_timer()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let wait = wait.map(|d| Timespec {
            tv_sec: i64::try_from(d.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(d.subsec_nanos()),
        });
        let mut buffer = [epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        }; 64];
        let n = match epoll::wait(&self.epoll, &mut buffer[..], wait.as_ref()) {
            Ok(n) => n,
            Err(rustix::io::Errno::INTR) => 0,
            Err(e) => return Err(e.into()),
        };
        for event in &buffer[..n] {
            let data = event.data.u64();
            if data == WAKER {
                continue;
            }
            let token = Token { index: data as u32, generation: (data >> 32) as u32 };
            self.dispatch(context, token, event.flags);
        }
        Ok(n > 0)
    }

    fn dispatch(&mut self, context: &mut C, token: Token, flags: epoll::EventFlags) {
        use epoll::EventFlags as F;
        let Some(watched) = self.watched(token) else { return };
        let ready = Ready {
            read: flags.intersects(F::IN | F::RDHUP | F::HUP | F::ERR),
            write: flags.intersects(F::OUT | F::HUP | F::ERR),
            closed: flags.intersects(F::HUP | F::ERR),
        };
        let Some(mut handler) = watched.handler.take() else { return };
        handler(context, self, ready);
        if let Some(watched) = self.watched(token) {
            watched.handler = Some(handler);
        }
    }

    fn expire(&mut self, context: &mut C) -> bool {
        let now = self.now();
        let mut any = false;
        while let Some(Reverse((at, id))) = self.deadlines.peek().copied() {
            if at > now {
                break;
            }
            self.deadlines.pop();
            let Some(mut handler) = self.timers.remove(&id) else { continue };
            any = true;
            // A handler may cancel itself: it has to find itself in the table.
            self.timers.insert(id, Box::new(|_, _| None));
            let again = handler(context, self);
            match (again, self.timers.remove(&id)) {
                (Some(delay), Some(_)) => {
                    self.timers.insert(id, handler);
                    // From now, not from `at`: a late timer doesn't run in a burst. It comes after
                    // `now` in any case, so that this loop ends.
                    let at = self.now().saturating_add(delay.max(Duration::from_nanos(1)));
                    self.deadlines.push(Reverse((at, id)));
                }
                _ => continue,
            }
        }
        any
    }
}

fn data(token: Token) -> epoll::EventData {
    epoll::EventData::new_u64(u64::from(token.generation) << 32 | u64::from(token.index))
}

#[cfg(feature = "tests")]
mod tests;
