// SPDX-License-Identifier: Apache-2.0
//! Shares of a full table: nobody who makes sessions can use up the room of all others.
//!
//! Sessions are counted by the host that has made them and the interface. A table that is full
//! takes a new session of a host that has less than an equal share, and the host that has most
//! loses its oldest one. Hosts whose hashes are equal have a share together.

use crate::Mixer;
use wire::Address;

/// Shares that are told apart.
pub const SHARES: usize = 256;

/// The sessions of each share.
pub struct Shares {
    of: Box<[u32; SHARES]>,
    used: usize,
}

impl Default for Shares {
    fn default() -> Self {
        Self { of: Box::new([0; SHARES]), used: 0 }
    }
}

impl Shares {
    /// The share of a host behind an interface. Hosts can't choose theirs without the mixer's seed.
    pub fn index<A: Address>(mixer: Mixer, host: A, sw_if: u32) -> u8 {
        mixer.add_bytes(host.to_octets().as_ref()).add(sw_if.into()).hash() as u8
    }

    /// Counts a new session.
    pub fn add(&mut self, share: u8) {
        let of = &mut self.of[usize::from(share)];
        self.used += usize::from(*of == 0);
        *of += 1;
    }

    /// Counts a session that has ended.
    pub fn remove(&mut self, share: u8) {
        let of = &mut self.of[usize::from(share)];
        *of -= 1;
        self.used -= usize::from(*of == 0);
    }

    /// Sessions of a share.
    pub fn of(&self, share: u8) -> u32 {
        self.of[usize::from(share)]
    }

    /// Shares that have sessions.
    pub fn used(&self) -> usize {
        self.used
    }

    /// The share that has most sessions, with their number.
    pub fn largest(&self) -> (u8, u32) {
        let all = (0..=u8::MAX).zip(self.of.iter().copied());
        all.max_by_key(|(_, sessions)| *sessions).unwrap_or_default()
    }
}
