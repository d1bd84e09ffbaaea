// SPDX-License-Identifier: Apache-2.0
//! The choice of ports.
//!
//! A port is free if nothing in the user's table has the key of answers to it: so there is no table
//! of ports beside that one, and a port is returned when its entry ends. Where a key has the remote
//! end in it, one port serves many hosts of the world at once.
//!
//! A user's own port is kept if it is free (RFC 4787 4.2.1). Otherwise ports are tried at random
//! (RFC 6056 3.3.1). Where a remote end has taken nearly all, tries would become many: it gets a
//! bitmap of its free ports, which is filled in portions and then follows the sessions. There the
//! ports are counted by the user who has them, so that those who have few can get one of those who
//! have most.

use crate::workers::PortSet;
use tables::{Mixer, Share, Shares};

/// Random ports that are tried before a remote end gets a bitmap.
const TRIES: usize = 24;
/// Remote ends with a bitmap at most: another one takes the place of the oldest.
const REMOTES: usize = 64;
/// Ports that are looked up in one go while a bitmap is filled.
const PORTION: u32 = 4096;
/// In the place of a port's owner: no user has it.
const NOBODY: Share = Share::MAX;

/// The use of a port towards a remote end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// None.
    Free,
    /// A session of a user with this share.
    Of(Share),
    /// Something that no user loses to another: a mapping, or any entry where ports have no owners.
    Mapped,
}

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
    /// The share of each port's user.
    owners: Box<[Share]>,
    shares: Shares,
    /// Ports below this, from the first on, are in the bitmap.
    filled: u32,
    /// Number of free ports in the bitmap.
    n: u32,
}

impl<K> Remote<K> {
    fn new(of: K, len: u32) -> Self {
        let free = vec![0; len.div_ceil(64) as usize].into_boxed_slice();
        let owners = vec![NOBODY; len as usize].into_boxed_slice();
        Self { of, free, owners, shares: Shares::default(), filled: 0, n: 0 }
    }

    fn set(&mut self, at: u32, new: Use) {
        let Some(owner) = self.owners.get_mut(at as usize) else { return };
        let new_owner = if let Use::Of(share) = new { share } else { NOBODY };
        match std::mem::replace(owner, new_owner) {
            NOBODY => {}
            old => self.shares.remove(old),
        }
        if new_owner != NOBODY {
            self.shares.add(new_owner);
        }
        let free = new == Use::Free;
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
    set: PortSet,
    remotes: Vec<Remote<K>>,
    /// The place of the next remote end.
    next: usize,
}

impl<K: PortKey> Ports<K> {
    /// Of a thread with all ports, and a secret.
    pub fn new(seed: u64) -> Self {
        let set = PortSet::default();
        Self { mixer: Mixer::new(seed), drawn: 0, set, remotes: Vec::new(), next: 0 }
    }

    /// Gives the thread other ports.
    pub fn set_block(&mut self, set: PortSet) {
        if self.set != set {
            self.set = set;
            self.forget();
        }
    }

    /// The number of the thread's ports.
    pub fn capacity(&self) -> u32 {
        self.set.len()
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

    /// A random position.
    #[inline(always)]
    fn random_at(&mut self) -> u32 {
        (((self.random() >> 32) * u64::from(self.set.len())) >> 32) as u32
    }

    fn at(&self, port: u16) -> Option<u32> {
        self.set.at(port)
    }

    /// Notes that a session has this key of answers, or has it no longer.
    #[inline(always)]
    pub fn note(&mut self, key: &K, new: Use) {
        if !self.remotes.is_empty() {
            self.note_remote(key, new);
        }
    }

    fn note_remote(&mut self, key: &K, new: Use) {
        let Some(at) = self.at(key.port()) else { return };
        let of = key.without_port();
        let remote = self.remotes.iter_mut().find(|remote| remote.of == of);
        if let Some(remote) = remote.filter(|remote| at < remote.filled) {
            remote.set(at, new);
        }
    }

    /// Chooses a port: `wanted`, if it is one of this thread's and free. `key` gives the key of
    /// answers to a port, `look` its use.
    #[inline]
    pub fn choose(
        &mut self,
        wanted: Option<u16>,
        key: impl Fn(u16) -> K,
        look: impl Fn(u16) -> Use,
    ) -> Option<u16> {
        let is_free = |port| look(port) == Use::Free;
        if let Some(wanted) = wanted.filter(|port| self.at(*port).is_some())
            && is_free(wanted)
        {
            return Some(wanted);
        }
        let of = key(0).without_port();
        if !self.remotes.iter().any(|remote| remote.of == of) {
            for _ in 0..TRIES {
                let at = self.random_at();
                let port = self.set.port(at);
                if is_free(port) {
                    return Some(port);
                }
            }
        }
        self.choose_of_few(of, look)
    }

    #[cold]
    fn choose_of_few(&mut self, of: K, look: impl Fn(u16) -> Use) -> Option<u16> {
        let random = self.random_at();
        let (set, len) = (self.set, self.set.len());
        let port = |at: u32| set.port(at);
        let place = self.place(of);
        let remote = self.remotes.get_mut(place)?;
        loop {
            while let Some(at) = remote.behind(random).filter(|_| remote.n > 0) {
                match look(port(at)) {
                    Use::Free => return Some(port(at)),
                    // A mapping has got it meanwhile.
                    other => remote.set(at, other),
                }
            }
            if remote.filled >= len {
                return None;
            }
            for at in remote.filled..len.min(remote.filled + PORTION) {
                remote.set(at, look(port(at)));
                remote.filled = at + 1;
            }
        }
    }

    /// Where no port towards a remote end is left: the ports of the user who has most of them, from
    /// a random one on. None if the user with this share has as many as an equal part.
    pub fn of_largest(&mut self, of: K, share: Share) -> impl Iterator<Item = u16> {
        let random = self.random_at();
        let set = self.set;
        let full = |remote: &&Remote<K>| {
            remote.of == of && remote.filled >= set.len() && remote.shares.is_below_equal(share)
        };
        let remote = self.remotes.iter().find(full);
        remote.into_iter().flat_map(move |remote| {
            let (largest, _) = remote.shares.largest();
            let n = remote.owners.len();
            let all = (0..n).map(move |i| (random as usize + i) % n.max(1));
            all.filter(move |at| remote.owners.get(*at) == Some(&largest))
                .map(move |at| set.port(at as u32))
        })
    }

    /// The place of a remote end, which gets one now if it has none.
    fn place(&mut self, of: K) -> usize {
        if let Some(place) = self.remotes.iter().position(|remote| remote.of == of) {
            return place;
        }
        let new = Remote::new(of, self.set.len());
        if self.remotes.len() < REMOTES {
            self.remotes.push(new);
            return self.remotes.len() - 1;
        }
        self.next = (self.next + 1) % REMOTES;
        self.remotes[self.next] = new;
        self.next
    }

    /// Fails if users' ports don't add up.
    #[cfg(feature = "tests")]
    pub fn check(&self) {
        for remote in &self.remotes {
            let owned = |share| remote.owners.iter().filter(|owner| **owner == share).count();
            assert_eq!(remote.shares.total(), remote.owners.len() - owned(NOBODY));
            let (largest, n) = remote.shares.largest();
            assert!(n == 0 || owned(largest) == n as usize);
            let free: u32 = remote.free.iter().map(|word| word.count_ones()).sum();
            assert_eq!(free, remote.n);
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::key::{End, Key};
    use proptest::prelude::*;
    use std::cell::RefCell;
    use std::net::Ipv4Addr;
    use wire::IpProtocol;

    const BLOCK: PortSet = PortSet::range(2000, 70);

    fn key(port: u16) -> Key {
        let [remote, outside] = [1, 2].map(|n| Ipv4Addr::new(10, 0, 0, n));
        Key::new(End::new(remote, 53), End::new(outside, port), 0, IpProtocol::UDP)
    }

    proptest! {
        /// Users who get and return ports beside a list of who has which: no port is given twice,
        /// the last one is given, and one who has few gets a port of one who has most.
        #[suite::test]
        fn ports_have_one_user_each(
            steps in prop::collection::vec((0_u16..5, 0_usize..100, 0_u8..5), 0..600),
            mapped in prop::collection::btree_set(2000_u16..2070, 0..9),
        ) {
            let mut ports = Ports::new(5);
            ports.set_block(BLOCK);
            let users = RefCell::new([None::<Share>; 70]);
            let at = |port: u16| usize::from(port - 2000);
            let look = |port: u16| match users.borrow()[at(port)] {
                Some(share) => Use::Of(share),
                None if mapped.contains(&port) => Use::Mapped,
                None => Use::Free,
            };
            for (share, n, what) in steps {
                if what == 0 {
                    if let Some(share) = users.borrow_mut()[n % 70].take() {
                        ports.note(&key(2000 + (n % 70) as u16), Use::Free);
                        prop_assert!(share < 5);
                    }
                    continue;
                }
                let free = (2000..2070).filter(|port| look(*port) == Use::Free).count();
                let mut chosen = ports.choose(None, key, look);
                prop_assert_eq!(chosen.is_some(), free > 0);
                if chosen.is_none() {
                    let has = |of: Share| users.borrow().iter().filter(|u| **u == Some(of)).count();
                    let of_largest: Vec<_> = ports.of_largest(key(0).without_port(), share).collect();
                    let counts: Vec<_> = (0..5).map(has).collect();
                    let most = counts.iter().copied().max().unwrap_or(0);
                    let hosts = (0..5).filter(|of| *of == share || has(*of) > 0).count();
                    let below = has(share) < counts.iter().sum::<usize>() / hosts;
                    prop_assert_eq!(of_largest.len(), if below { most } else { 0 });
                    chosen = of_largest.first().copied();
                    if let Some(port) = chosen {
                        let old = users.borrow_mut()[at(port)].take();
                        prop_assert!(old.is_some_and(|old| old != share && has(old) + 1 == most));
                        ports.note(&key(port), Use::Free);
                    }
                }
                if let Some(port) = chosen {
                    users.borrow_mut()[at(port)] = Some(share);
                    ports.note(&key(port), Use::Of(share));
                }
                ports.check();
            }
        }
    }
}
