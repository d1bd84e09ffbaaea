// SPDX-License-Identifier: Apache-2.0
//! A virtqueue that control starts and stops while threads use it.
//!
//! A thread has the lock for the packets of one vector. Control has it while a front-end starts the
//! ring, makes it anew or stops it: once it is stopped, nothing of the guest's memory is touched
//! any more, as the front-end's message requires.

use super::chain::Desc;
use super::{Event, Position, Queue, RingView};
use rustix::event::epoll;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

#[derive(Default)]
struct State {
    queue: Option<Queue>,
    /// The front-end has enabled it.
    enabled: bool,
    /// The guest is to wake this end.
    events: bool,
    /// The event that `wake` waits for.
    watched: Option<Arc<Event>>,
}

/// A ring of a connection.
pub struct Vring {
    state: Mutex<State>,
    /// Readable when the guest has kicked; the event itself may change while a thread waits.
    wake: OwnedFd,
}

/// A ring as commands show it.
#[derive(Default)]
pub struct VringInfo {
    pub enabled: bool,
    /// The state of one that was started.
    pub ring: Option<RingView>,
    /// Number and count of kick and call.
    pub events: [Option<(i32, u64)>; 2],
    pub descriptors: Vec<Desc>,
}

impl Vring {
    /// A ring that isn't started yet.
    ///
    /// # Errors
    /// Of epoll.
    pub fn new() -> io::Result<Arc<Self>> {
        let wake = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Arc::new(Self { state: Mutex::default(), wake }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs on the queue, if it is started and control doesn't change it now. The second argument
    /// is true if it is enabled.
    #[inline(always)]
    pub fn try_with<T>(&self, f: impl FnOnce(&mut Queue, bool) -> T) -> Option<T> {
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let State { queue, enabled, .. } = &mut *state;
        queue.as_mut().map(|queue| f(queue, *enabled))
    }

    /// As [`Self::try_with`], but waits: for a thread that sends its vector by the same ring, or
    /// for control, which makes the ring anew: packets for it aren't lost.
    #[inline(always)]
    pub fn with<T>(&self, f: impl FnOnce(&mut Queue, bool) -> T) -> Option<T> {
        let State { queue, enabled, .. } = &mut *self.state();
        queue.as_mut().map(|queue| f(queue, *enabled))
    }

    /// Starts it, or goes on with a queue made anew, whose maker gets the position of one that is
    /// used. A thread with packets for it waits meanwhile: none of them is lost.
    ///
    /// # Errors
    /// Of the maker, and then the ring is stopped; of epoll, if the guest's event can't be waited
    /// for.
    pub fn start(
        &self,
        make: impl FnOnce(Option<Position>) -> Result<Queue, String>,
    ) -> Result<(), String> {
        let mut state = self.state();
        let mut before = state.queue.take();
        let made = make(before.as_ref().map(Queue::position));
        let kick = made.as_ref().ok().and_then(|queue| queue.kick.clone());
        self.watch(&mut state, kick.clone()).map_err(|e| e.to_string())?;
        let mut queue = made?;
        if let Some(before) = &mut before {
            queue.take_losses(before);
        }
        queue.set_events(state.events);
        state.queue = Some(queue);
        // A new queue wants no events at first: the guest may have sent something without one.
        if state.events
            && let Some(kick) = kick
        {
            kick.raise();
        }
        Ok(())
    }

    fn watch(&self, state: &mut State, kick: Option<Arc<Event>>) -> io::Result<()> {
        if let Some(before) = state.watched.take() {
            // It is watched: it was added here.
            let _ = epoll::delete(&self.wake, before);
        }
        if let Some(kick) = kick {
            let data = epoll::EventData::new_u64(0);
            epoll::add(&self.wake, &kick, data, epoll::EventFlags::IN)?;
            state.watched = Some(kick);
        }
        Ok(())
    }

    /// Gives all of its chains that are in flight back, before the front-end asks where it is.
    pub fn finish(&self) {
        if let Some(queue) = &mut self.state().queue {
            queue.finish();
        }
    }

    /// Stops it; returns where it was, if it was started.
    pub fn stop(&self) -> Option<Position> {
        let queue = {
            let mut state = self.state();
            // Nothing is watched any more.
            let _ = self.watch(&mut state, None);
            state.queue.take()
        };
        queue.map(|queue| queue.position())
    }

    /// Lets packets pass, or discards them.
    pub fn enable(&self, enabled: bool) {
        self.state().enabled = enabled;
    }

    /// Asks the guest for events, or for none.
    pub fn set_events(&self, wanted: bool) {
        let mut state = self.state();
        state.events = wanted;
        if let Some(queue) = &mut state.queue {
            queue.set_events(wanted);
        }
    }

    /// Replaces the event by which the guest is woken.
    pub fn set_call(&self, call: Option<Arc<Event>>) {
        if let Some(queue) = &mut self.state().queue {
            queue.set_call(call);
        }
    }

    /// Clears an event that would keep the descriptor readable.
    pub fn clear(&self) {
        if let Some(kick) = &self.state().watched {
            kick.clear();
        }
    }

    /// Returns true if it is started and enabled.
    pub fn is_running(&self) -> bool {
        let state = self.state();
        state.enabled && state.queue.is_some()
    }

    /// Returns true if it is started and the guest can't wake this end.
    pub fn is_silent(&self) -> bool {
        self.state().queue.as_ref().is_some_and(|queue| !queue.has_kick())
    }

    /// The ring as commands show it.
    pub fn info(&self, descriptors: bool) -> VringInfo {
        let state = self.state();
        let Some(queue) = &state.queue else {
            return VringInfo { enabled: state.enabled, ..VringInfo::default() };
        };
        VringInfo {
            enabled: state.enabled,
            ring: Some(queue.view()),
            events: queue.events(),
            descriptors: if descriptors { queue.descriptors() } else { Vec::new() },
        }
    }
}

impl AsFd for Vring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
