// SPDX-License-Identifier: Apache-2.0
//! Admission of packets that other threads hand over to the thread of the sessions: a host that
//! floods one of these threads must not take the place of the peers' packets in the queue between
//! both threads.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use sync::{Limit, SharedTokenBucket};

/// Number of buckets: as many as sessions at most.
const BUCKETS: usize = crate::packet::PORTS as usize;
/// Packets of a bucket: twenty times what a session sends at most.
const PACKETS: Limit = Limit::new(20_000, 512);

/// The reason why a packet isn't handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Excluded {
    /// No session has these addresses.
    Unknown,
    /// Too many packets arrive with these addresses.
    Flood,
}

/// Sessions whose addresses have the same hash.
#[derive(Default)]
struct Bucket {
    sessions: AtomicU32,
    packets: SharedTokenBucket,
}

/// The sessions by a keyed hash of interface and addresses.
#[derive(Default)]
pub struct Peers {
    /// Made for the first session.
    buckets: OnceLock<Box<[Bucket]>>,
    secret: RandomState,
}

impl Peers {
    fn of<'a>(&self, buckets: &'a [Bucket], key: &impl Hash) -> &'a Bucket {
        &buckets[self.secret.hash_one(key) as usize % BUCKETS]
    }

    /// Admits packets of a new session.
    pub fn add(&self, key: &impl Hash) {
        let make = || std::iter::repeat_with(Bucket::default).take(BUCKETS).collect();
        let bucket = self.of(self.buckets.get_or_init(make), key);
        bucket.sessions.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the admission for a session that was added.
    pub fn remove(&self, key: &impl Hash) {
        if let Some(buckets) = self.buckets.get() {
            self.of(buckets, key).sessions.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Decides on a packet that arrived with these addresses.
    ///
    /// # Errors
    /// The packet isn't handed over.
    pub fn admit(&self, key: &impl Hash, now: u64) -> Result<(), Excluded> {
        let bucket = self.buckets.get().map(|buckets| self.of(buckets, key));
        let is_known = |bucket: &&Bucket| bucket.sessions.load(Ordering::Relaxed) > 0;
        let bucket = bucket.filter(is_known).ok_or(Excluded::Unknown)?;
        bucket.packets.take(now, PACKETS).then_some(()).ok_or(Excluded::Flood)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn packets_of_sessions_are_admitted_up_to_a_rate() {
        // A key is anything with a hash.
        let peers = Peers::default();
        assert_eq!(peers.admit(&2, 0), Err(Excluded::Unknown));
        (2..5).for_each(|last| peers.add(&last));
        // Few of the others share one of three buckets among 16,384.
        let admitted = (5..=255).filter(|last| peers.admit(last, 0).is_ok()).count();
        assert!(admitted < 5, "{admitted}");
        let second = 1_000_000_000;
        let flood = |at: u64| (0..5000).filter(|_| peers.admit(&2, at).is_ok()).count();
        assert_eq!([flood(second), flood(second), flood(second + second / 1000)], [512, 0, 20]);
        assert_eq!(peers.admit(&2, second), Err(Excluded::Flood));
        peers.remove(&2);
        peers.add(&2);
        peers.remove(&2);
        (3..5).for_each(|last| peers.remove(&last));
        assert_eq!(peers.admit(&2, 3 * second), Err(Excluded::Unknown));
    }
}
