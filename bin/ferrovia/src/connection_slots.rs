// SPDX-License-Identifier: Apache-2.0
//! Connection slots of clients: their number is limited, some are kept for the owner, and idle
//! clients keep no other out.
//!
//! When all are taken, a client of the user, or of the host, with the most slots is removed: first
//! a client that never sent anything, then the one that has been idle for longest. So a flood of
//! one user's clients is at that user's own cost.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::net;

/// The user or host of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// A user of this host.
    User(u32),
    /// The host at this address.
    Host(IpAddr),
    /// Not known.
    Unknown,
}

impl Peer {
    /// Returns the user at the other end of a Unix socket's connection.
    pub fn of_unix(fd: impl AsFd) -> Peer {
        net::sockopt::socket_peercred(fd)
            .map_or(Peer::Unknown, |peer| Peer::User(peer.uid.as_raw()))
    }

    /// Returns the host at the other end of a TCP connection.
    pub fn of_tcp(fd: impl AsFd) -> Peer {
        let address = net::getpeername(fd)
            .ok()
            .flatten()
            .and_then(|a| std::net::SocketAddr::try_from(a).ok());
        address.map_or(Peer::Unknown, |a| Peer::Host(a.ip().to_canonical()))
    }

    /// Returns true for the user that the daemon runs as, and for root: both may end it anyway.
    pub fn is_owner(self) -> bool {
        matches!(self, Peer::User(uid) if uid == 0 || uid == rustix::process::geteuid().as_raw())
    }
}

/// Activity of a client, in the order in which clients are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It has sent nothing yet.
    Silent,
    /// It waits for its user.
    Idle,
    /// A command runs for it, or it waits for events.
    Busy,
}

impl State {
    /// Time that a client without traffic keeps its slot when another client of the same user or
    /// host needs one.
    fn patience(self) -> Duration {
        Duration::from_secs(match self {
            State::Silent => 1,
            State::Idle => 10,
            State::Busy => 60,
        })
    }
}

/// A slot that is taken.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionSlot {
    /// The client.
    pub id: u64,
    /// The client's user or host.
    pub peer: Peer,
    /// The client's activity.
    pub state: State,
    /// Time of the last byte from the client or to it.
    pub last: Duration,
}

/// Limits of the number of clients.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Number of all slots.
    pub all: usize,
    /// Number of these kept for the owner; with 0, owners have no privilege.
    pub kept: usize,
}

/// The decision about a new client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// There is room.
    Free,
    /// There is room once the client with this id is removed.
    Instead(u64),
    /// It is turned away.
    Full,
}

impl ConnectionLimits {
    /// Finds a slot for a client.
    pub fn enter(
        self,
        newcomer: Peer,
        now: Duration,
        taken: impl Iterator<Item = ConnectionSlot>,
    ) -> Entry {
        let is_owner = |peer: Peer| self.kept > 0 && peer.is_owner();
        let owner = is_owner(newcomer);
        let (mut n, mut others, mut by_peer) = (0, 0, BTreeMap::<Peer, Vec<ConnectionSlot>>::new());
        for slot in taken {
            n += 1;
            let is_owner = is_owner(slot.peer);
            others += usize::from(!is_owner);
            // An owner's slot is for owners.
            if owner || !is_owner {
                by_peer.entry(slot.peer).or_default().push(slot);
            }
        }
        if n < self.all && (owner || others < self.all - self.kept) {
            return Entry::Free;
        }
        let Some((peer, connection_slots)) =
            by_peer.into_iter().max_by_key(|(_, connection_slots)| connection_slots.len())
        else {
            return Entry::Full;
        };
        let Some(slot) = connection_slots.into_iter().min_by_key(|s| (s.state, s.last)) else {
            return Entry::Full;
        };
        let own = peer == newcomer && now.saturating_sub(slot.last) < slot.state.patience();
        if own { Entry::Full } else { Entry::Instead(slot.id) }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    const PLACES: ConnectionLimits = ConnectionLimits { all: 8, kept: 2 };
    const EVE: Peer = Peer::User(u32::MAX - 7);
    const BOB: Peer = Peer::User(u32::MAX - 8);
    const ROOT: Peer = Peer::User(0);

    fn connection_slots(all: &[(Peer, State, u64)]) -> Vec<ConnectionSlot> {
        let slot = |(id, (peer, state, last)): (u64, &(Peer, State, u64))| ConnectionSlot {
            id,
            peer: *peer,
            state: *state,
            last: Duration::from_secs(*last),
        };
        (0..).zip(all).map(slot).collect()
    }

    fn enter(newcomer: Peer, now: u64, all: &[(Peer, State, u64)]) -> Entry {
        PLACES.enter(newcomer, Duration::from_secs(now), connection_slots(all).into_iter())
    }

    #[suite::test]
    fn places_are_kept_for_the_owner() {
        let six = [(EVE, State::Busy, 100); 6];
        assert_eq!(enter(EVE, 100, &six), Entry::Full);
        assert_eq!(enter(EVE, 100, &six[1..]), Entry::Free);
        assert_eq!(enter(ROOT, 100, &six), Entry::Free);
        let mine = Peer::User(rustix::process::geteuid().as_raw());
        assert_eq!(enter(mine, 100, &six), Entry::Free);
        // Other users don't get an owner's slot.
        assert_eq!(enter(EVE, 100, &[(ROOT, State::Silent, 0); 8]), Entry::Full);
        assert_eq!(enter(ROOT, 100, &[(ROOT, State::Silent, 0); 8]), Entry::Instead(0));
    }

    #[suite::test]
    fn who_has_the_most_makes_room() {
        let mut all = vec![(BOB, State::Silent, 1)];
        all.extend([
            (EVE, State::Idle, 99),
            (EVE, State::Busy, 5),
            (EVE, State::Idle, 98),
            (EVE, State::Idle, 99),
        ]);
        all.push((EVE, State::Silent, 100));
        // The client of Eve's that never sent anything, for Bob at once and for Eve after a while.
        assert_eq!(enter(BOB, 100, &all), Entry::Instead(5));
        assert_eq!(enter(EVE, 100, &all), Entry::Full);
        assert_eq!(enter(EVE, 101, &all), Entry::Instead(5));
        all.pop();
        all.push((EVE, State::Idle, 97));
        assert_eq!(enter(BOB, 100, &all), Entry::Instead(5));
        all.pop();
        all.push((EVE, State::Busy, 97));
        assert_eq!(enter(BOB, 100, &all), Entry::Instead(3), "idle for longest");
    }
}
