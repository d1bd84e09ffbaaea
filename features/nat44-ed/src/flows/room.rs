// SPDX-License-Identifier: Apache-2.0
//! Room for new sessions where a limit is reached. Each user has a share of the sessions of a
//! thread, of those of a table with a limit, and of the ports towards a remote end that has none
//! left: a user with less than an equal share gets what one who has most loses.
//!
//! The user of a session is the host inside. So a flood from the world uses up the share of the one
//! server that it is for.

use super::{Flows, GIVE_BACK, Refused, STALE};
use crate::key::{Key, User};
use crate::settings::{Settings, Timeout};
use ::nat::ports::PortKey as _;
use tables::{AgeList, SHARES, Share, Shares};

/// Lists of sessions whose time hasn't ended: two for each share.
pub const LISTS: u32 = 2 * SHARES as u32;
/// Ports of the user who has most that are compared: the one that is quiet for longest goes.
const SAMPLE: usize = 16;

/// The sessions of a share by age: TCP connections that aren't established, which go first, and all
/// others.
const fn of_share(share: Share, transient: bool) -> AgeList {
    AgeList::new(0, 1 + 2 * share as u32 + transient as u32)
}

/// Sessions that were ended for users who had fewer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Displaced {
    /// For room in the table.
    pub sessions: u32,
    /// For a port.
    pub ports: u32,
}

impl Flows {
    /// The share of a user.
    pub(super) fn share_of(&self, user: User) -> Share {
        Shares::index(self.mixer.add(u64::from(user.fib) << 32 | u64::from(user.addr.to_bits())))
    }

    /// Sessions that users have lost to others since the last call.
    pub fn take_displaced(&mut self) -> Displaced {
        std::mem::take(&mut self.displaced)
    }

    /// True if time ends a session soon: the other side hasn't agreed to it, or wants its end.
    fn is_transient(&self, at: u32) -> bool {
        let session = self.get(at);
        session.is_some_and(|(keys, session)| {
            session.timeout(keys[0].protocol()) == Timeout::TcpTransitory
        })
    }

    /// Makes a session the newest of its list.
    pub(super) fn enlist(&mut self, at: u32) {
        let transient = self.is_transient(at);
        if let Some(session) = self.table.get(at).filter(|session| !session.is_stale()) {
            self.table.renew(at, of_share(session.share, transient));
        }
    }

    /// Takes a session, whose time has ended or which is gone, out of the shares.
    pub(super) fn discount(&mut self, fib: u32, share: Share) {
        self.shares.remove(share);
        if let Some(of_table) = self.of_table.get_mut(&fib) {
            of_table.shares.remove(share);
        }
    }

    /// Makes sure that one more session of a user may be there: one whose time has ended may have
    /// to go, or else one of the user who has most.
    pub(super) fn make_room(
        &mut self,
        settings: &Settings,
        fib: u32,
        share: Share,
    ) -> Result<(), Refused> {
        if self.table.len() >= settings.sessions as usize {
            match self.table.oldest(STALE) {
                Some(oldest) => _ = self.remove(oldest),
                None if self.shares.is_below_equal(share) => {
                    self.displace(self.shares.largest().0, None)?;
                }
                None => return Err(Refused::TooMany),
            }
        }
        let Some(limit) = settings.limits.get(&fib) else { return Ok(()) };
        let full = |of: &super::OfTable| of.sessions >= *limit;
        if !self.of_table.get(&fib).map_or(*limit == 0, full) {
            return Ok(());
        }
        if let Some(at) = self.oldest_of(STALE, Some(fib)) {
            self.remove(at);
            return Ok(());
        }
        let of_table = self.of_table.get(&fib).map(|of_table| &of_table.shares);
        let below = of_table.filter(|shares| shares.is_below_equal(share));
        let (largest, _) = below.map(Shares::largest).ok_or(Refused::TooMany)?;
        self.displace(largest, Some(fib))
    }

    /// Ends the oldest session of a share, of users of this table only if there is one: one that is
    /// transient first.
    fn displace(&mut self, share: Share, fib: Option<u32>) -> Result<(), Refused> {
        let transient = self.oldest_of(of_share(share, true), fib);
        let oldest = transient.or_else(|| self.oldest_of(of_share(share, false), fib));
        self.remove(oldest.ok_or(Refused::TooMany)?);
        self.displaced.sessions += 1;
        Ok(())
    }

    /// The oldest session of a list, of users of this table only if there is one. Users of several
    /// tables have one share by chance only, so nearly always it is one of the first.
    fn oldest_of(&self, list: AgeList, fib: Option<u32>) -> Option<u32> {
        let mut first = self.table.iter(list).take(GIVE_BACK);
        first.find(|(_, key, _)| fib.is_none_or(|fib| key.fib() == fib)).map(|(at, ..)| at)
    }

    /// Where a remote end has no port left: ends a session of the user who has most of them, if
    /// this one has less than an equal part, and returns its port. `key` gives the key of answers
    /// to a port, `taken` tells of ports that mappings have.
    pub fn take_port(
        &mut self,
        user: User,
        key: impl Fn(u16) -> Key,
        taken: impl Fn(u16) -> bool,
    ) -> Option<u16> {
        let share = self.share_of(user);
        let ports = self.ports.of_largest(key(0).without_port(), share);
        let mut sample = [None; SAMPLE];
        let free_of_mappings = ports.filter(|port| !taken(*port));
        sample.iter_mut().zip(free_of_mappings).for_each(|(of, port)| *of = Some(port));
        let sampled = sample.into_iter().flatten();
        let sessions = sampled.filter_map(|port| Some((port, self.at(&key(port))?)));
        let quiet = |at: u32| (!self.is_transient(at), self.table.touched(at));
        let (port, at) = sessions.min_by_key(|(_, at)| quiet(*at))?;
        self.remove(at);
        self.displaced.ports += 1;
        Some(port)
    }

    /// Fails if shares don't add up to the sessions that are there.
    #[cfg(feature = "tests")]
    pub fn check(&self) {
        use std::collections::HashMap;
        let (mut users, mut tables) = (HashMap::new(), HashMap::<u32, (u32, usize)>::new());
        let mut lists = HashMap::new();
        for list in (0..SHARES as Share).flat_map(|share| [(share, false), (share, true)]) {
            let sessions = self.table.iter(of_share(list.0, list.1));
            lists.extend(sessions.map(|(at, ..)| (at, list)));
        }
        let (mut place, mut stale) = (0, 0);
        while let Some(at) = self.next(&mut place, &mut usize::MAX.clone()) {
            let (keys, session) = self.get(at).expect("it is there");
            let table = tables.entry(keys[0].fib()).or_default();
            table.0 += 1;
            if session.is_stale() {
                stale += 1;
                continue;
            }
            table.1 += 1;
            assert_eq!(session.share, self.share_of(keys[0].sender()));
            *users.entry(session.share).or_insert(0_u32) += 1;
            let list = (session.share, self.is_transient(at));
            assert_eq!(lists.remove(&at), Some(list), "in its list");
        }
        assert!(lists.is_empty(), "others are in none");
        assert_eq!((stale, self.shares.total()), (self.stale, self.table.len() - stale));
        assert_eq!(self.shares.used(), users.len());
        assert!(users.iter().all(|(share, n)| self.shares.of(*share) == *n));
        for (fib, of_table) in &self.of_table {
            let (sessions, live) = tables.remove(fib).unwrap_or_default();
            assert_eq!((of_table.sessions, of_table.shares.total()), (sessions, live));
        }
        assert!(tables.is_empty());
        self.ports.check();
    }
}
