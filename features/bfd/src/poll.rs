// SPDX-License-Identifier: Apache-2.0
//! Poll sequences: the peer's answer shows that it knows the new intervals (RFC 5880 6.5).

/// The poll sequence of a session. Times are in nanoseconds of the instance's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Poll {
    /// None.
    Idle,
    /// Packets have the P bit.
    Active {
        /// Time at which it began.
        since: u64,
        /// Intervals have changed again: another sequence follows.
        again: bool,
    },
    /// Another sequence begins at this time, a round trip after the end of the last one: a late
    /// answer to the last one must not end it.
    Queued(u64),
}

impl Poll {
    /// Begins a sequence, or queues one behind that which is active.
    pub fn request(&mut self, now: u64) {
        match self {
            Self::Idle => *self = Self::Active { since: now, again: false },
            Self::Active { again, .. } => *again = true,
            Self::Queued(_) => {}
        }
    }

    /// Returns true if packets have the P bit.
    pub const fn is_active(&self) -> bool {
        matches!(self, Self::Active { .. })
    }

    /// Ends the active sequence: the peer has answered. Returns true if it knows the last change.
    pub fn finish(&mut self, now: u64) -> bool {
        match *self {
            Self::Active { again: false, .. } => {
                *self = Self::Idle;
                true
            }
            Self::Active { since, again: true } => {
                *self = Self::Queued(now + now.saturating_sub(since));
                false
            }
            // An answer without a poll.
            Self::Idle | Self::Queued(_) => false,
        }
    }

    /// The time at which a queued sequence begins.
    pub const fn begins(&self) -> Option<u64> {
        match *self {
            Self::Queued(at) => Some(at),
            _ => None,
        }
    }

    /// Begins a queued sequence whose time has come.
    pub fn step(&mut self, now: u64) {
        if self.begins().is_some_and(|at| at <= now) {
            *self = Self::Active { since: now, again: false };
        }
    }

    /// The state in words.
    pub const fn text(&self) -> &'static str {
        match self {
            Self::Idle => "not needed",
            Self::Active { again: false, .. } => "in progress",
            Self::Active { again: true, .. } => "in progress, another one queued",
            Self::Queued(_) => "queued",
        }
    }
}
