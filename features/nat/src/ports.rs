// SPDX-License-Identifier: Apache-2.0
//! The choice of ports.
//!
//! A port is free if nothing in the user's table has the key of answers to it: so there is no table
//! of ports beside that one, and a port is returned when its entry ends. Where a key has the remote
//! end in it, one port serves many hosts of the world at once.
//!
//! A user's own port is kept if it is free (RFC 4787 4.2.1). Otherwise ports are tried at random
//! (RFC 6056 3.3.1). Where a remote end has taken nearly all, tries would become many: it gets a
//! bitmap of its free ports, which is filled in portions and then follows the sessions.

use crate::timeouts::{FIRST_PORT, PORTS};
use tables::Mixer;

/// Random ports that are tried before a remote end gets a bitmap.
const TRIES: usize = 24;
/// Remote ends with a bitmap at most: another one takes the place of the oldest.
const REMOTES: usize = 64;
/// Ports that are looked up in one go while a bitmap is filled.
const PORTION: u32 = 4096;

/// A key of answers.
pub trait PortKey: Copy + PartialEq {
    /// The port that the router has chosen.
    fn port(&self) -> u16;
    /// The key without that port: what all ports that exclude each other have in common, here
    /// called a remote end.
    #[must_use]
    fn without_port(&self) -> Self;
}

/// The free ports towards one remote end.
struct Remote<K> {
    /// The key of answers, without the port.
    of: K,
    free: Box<[u64]>,
    /// Ports below this, from the first on, are in the bitmap.
    filled: u32,
    /// Number of free ports in the bitmap.
    n: u32,
}

impl<K> Remote<K> {
    fn new(of: K, len: u32) -> Self {
        let free = vec![0; len.div_ceil(64) as usize].into_boxed_slice();
        Self { of, free, filled: 0, n: 0 }
    }

    fn set(&mut self, at: u32, free: bool) {
        let Some(word) = self.free.get_mut((at / 64) as usize) else { return };
        let bit = 1 << (at % 64);
        if (*word & bit != 0) != free {
            *word ^= bit;
            self.n = if free { self.n + 1 } else { self.n - 1 };
        }
    }

    /// The first free port behind a position, round the end.
    fn behind(&self, from: u32) -> Option<u32> {
        let words = self.free.len();
        let first = (from / 64) as usize % words.max(1);
        let low = self.free.get(first)? & (!0 << (from % 64));
        if low != 0 {
            return Some(first as u32 * 64 + low.trailing_zeros());
        }
        let word = (1..=words).map(|n| (first + n) % words).find(|at| self.free[*at] != 0)?;
        Some(word as u32 * 64 + self.free[word].trailing_zeros())
    }
}

/// The ports of a thread.
pub struct Ports<K> {
    mixer: Mixer,
    /// Random numbers so far.
    drawn: u64,
    first: u32,
    len: u32,
    remotes: Vec<Remote<K>>,
    /// The place of the next remote end.
    next: usize,
}

impl<K: PortKey> Ports<K> {
    /// Of a thread with all ports, and a secret.
    pub fn new(seed: u64) -> Self {
        let (first, len) = (FIRST_PORT, PORTS);
        Self { mixer: Mixer::new(seed), drawn: 0, first, len, remotes: Vec::new(), next: 0 }
    }

    /// Gives the thread other ports.
    pub fn set_block(&mut self, (first, len): (u32, u32)) {
        if (self.first, self.len) != (first, len) {
            (self.first, self.len) = (first, len);
            self.forget();
        }
    }

    /// The number of the thread's ports.
    pub fn capacity(&self) -> u32 {
        self.len
    }

    /// Forgets what is known of ports that mappings have: they have changed.
    pub fn forget(&mut self) {
        self.remotes.clear();
    }

    /// A random number that nobody who doesn't know the secret can guess.
    #[inline(always)]
    pub fn random(&mut self) -> u64 {
        self.drawn += 1;
        self.mixer.add(self.drawn).hash()
    }

    fn at(&self, port: u16) -> Option<u32> {
        u32::from(port).checked_sub(self.first).filter(|at| *at < self.len)
    }

    /// Notes that a session has this key of answers, or has it no longer.
    #[inline(always)]
    pub fn note(&mut self, key: &K, free: bool) {
        if !self.remotes.is_empty() {
            self.note_remote(key, free);
        }
    }

    fn note_remote(&mut self, key: &K, free: bool) {
        let Some(at) = self.at(key.port()) else { return };
        let of = key.without_port();
        let remote = self.remotes.iter_mut().find(|remote| remote.of == of);
        if let Some(remote) = remote.filter(|remote| at < remote.filled) {
            remote.set(at, free);
        }
    }

    /// Chooses a port: `wanted`, if it is one of this thread's and free. `key` gives the key of
    /// answers to a port, `is_free` tells whether a port is free.
    #[inline]
    pub fn choose(
        &mut self,
        wanted: Option<u16>,
        key: impl Fn(u16) -> K,
        is_free: impl Fn(u16) -> bool,
    ) -> Option<u16> {
        if let Some(wanted) = wanted.filter(|port| self.at(*port).is_some())
            && is_free(wanted)
        {
            return Some(wanted);
        }
        let of = key(0).without_port();
        if !self.remotes.iter().any(|remote| remote.of == of) {
            for _ in 0..TRIES {
                let at = ((self.random() >> 32) * u64::from(self.len)) >> 32;
                let port = (u64::from(self.first) + at) as u16;
                if is_free(port) {
                    return Some(port);
                }
            }
        }
        self.choose_of_few(of, is_free)
    }

    #[cold]
    fn choose_of_few(&mut self, of: K, is_free: impl Fn(u16) -> bool) -> Option<u16> {
        let random = ((self.random() >> 32) * u64::from(self.len)) >> 32;
        let (first, len) = (self.first, self.len);
        let port = |at: u32| (first + at) as u16;
        let place = self.place(of);
        let remote = self.remotes.get_mut(place)?;
        loop {
            while let Some(at) = remote.behind(random as u32).filter(|_| remote.n > 0) {
                if is_free(port(at)) {
                    return Some(port(at));
                }
                // A mapping has it.
                remote.set(at, false);
            }
            if remote.filled >= len {
                return None;
            }
            for at in remote.filled..len.min(remote.filled + PORTION) {
                remote.set(at, is_free(port(at)));
                remote.filled = at + 1;
            }
        }
    }

    /// The place of a remote end, which gets one now if it has none.
    fn place(&mut self, of: K) -> usize {
        if let Some(place) = self.remotes.iter().position(|remote| remote.of == of) {
            return place;
        }
        let new = Remote::new(of, self.len);
        if self.remotes.len() < REMOTES {
            self.remotes.push(new);
            return self.remotes.len() - 1;
        }
        self.next = (self.next + 1) % REMOTES;
        self.remotes[self.next] = new;
        self.next
    }
}
