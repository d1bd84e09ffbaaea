// SPDX-License-Identifier: Apache-2.0
//! Users: hosts inside that have sessions. Each has a list of them.
//!
//! Each new host is a user, so spoofed hosts could use up all users that there may be. Interfaces
//! have equal parts of them: one with fewer users gets what the one with most loses. Behind the
//! same interface, a user that the world hasn't answered gives way after a while.

use super::{CANDIDATES, Flows, Refused, of_share, of_user};
use crate::session::SessionFlags;
use crate::settings::{Settings, TICKS, tick};
use ::nat::key::User;
use tables::{AgeList, Mixer, SHARES, SessionKey, Share, Shares};

/// Lists of users: two for each share of interfaces.
pub const LISTS: u32 = 2 * SHARES as u32;
/// Ticks for which a new user waits for an answer of the world before it may have to give way.
const PATIENCE: u32 = 5 * TICKS;
/// Sessions of a user that end at most for one packet of another one.
const AT_ONCE: usize = 64;

/// The users of a share of interfaces: those whom the world has answered, the one that was used
/// least lately first; all others in the order in which they came.
const fn of_interfaces(share: Share, answered: bool) -> AgeList {
    AgeList::new(0, 2 * share as u32 + answered as u32)
}

/// The share of an interface.
const fn behind(sw_if: u32) -> Share {
    (sw_if % SHARES as u32) as Share
}

/// The key of a user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserKey(pub User);

impl SessionKey for UserKey {
    fn mix(&self, mixer: Mixer) -> Mixer {
        mixer.add(u64::from(self.0.fib) << 32 | u64::from(self.0.addr.to_bits()))
    }
}

/// The state of a user.
#[derive(Clone, Copy, Default, Debug)]
pub struct UserState {
    /// Sessions of the user's own packets, and those of static mappings.
    sessions: [u32; 2],
    /// The tick of its first packet.
    since: u32,
    /// The share of the interface that it is behind.
    behind: Share,
    /// The world has sent a packet to one of its sessions.
    answered: bool,
}

impl UserState {
    fn total(&self) -> u32 {
        self.sessions[0] + self.sessions[1]
    }
}

impl Flows {
    /// The share of a user.
    pub(super) fn share_of(&self, user: User) -> Share {
        Shares::index(UserKey(user).mix(self.mixer))
    }

    /// Makes sure that one more session of a user, who is behind an interface, may be there. A user
    /// who has as many as a user may have loses the one that was used least lately. In a full
    /// table, it is one of the user who has most that goes, if this one has less than an equal
    /// part.
    ///
    /// # Errors
    /// There are too many users, or sessions.
    pub fn make_room(
        &mut self,
        (user, sw_if): (User, u32),
        (now, settings): (u64, &Settings),
    ) -> Result<(), Refused> {
        let at = self.users.find(&UserKey(user));
        if at.is_none()
            && self.users.len() >= settings.users
            && !self.displace_user(behind(sw_if), tick(now))
        {
            self.gauges.refused.add(0, 1);
            return Err(Refused::Users);
        }
        let total = at.and_then(|at| self.users.get(at)).map_or(0, UserState::total);
        if let Some(at) = at.filter(|_| total >= settings.user_sessions) {
            return self.recycle(of_user(at));
        }
        if self.table.len() < settings.sessions {
            return Ok(());
        }
        if !self.shares.is_below_equal(self.share_of(user)) {
            return Err(Refused::Sessions);
        }
        self.recycle(of_share(self.shares.largest().0))?;
        self.displaced += 1;
        Ok(())
    }

    /// Ends the sessions of a user, so that there is room for a new one behind these interfaces.
    /// Returns false if no user has to give way, or one had more sessions than end at once.
    fn displace_user(&mut self, behind: Share, now: u32) -> bool {
        let unanswered = |share| self.users.oldest(of_interfaces(share, false));
        let user = if self.interfaces.is_below_equal(behind) {
            let largest = self.interfaces.largest().0;
            unanswered(largest).or_else(|| self.users.oldest(of_interfaces(largest, true)))
        } else {
            let since = |at: u32| self.users.get(at).map_or(now, |user| user.since);
            unanswered(behind).filter(|at| now.wrapping_sub(since(*at)) >= PATIENCE)
        };
        let Some(user) = user else { return false };
        for _ in 0..AT_ONCE {
            let Some(at) = self.table.oldest(of_user(user)) else { break };
            self.remove(at);
            self.displaced += 1;
        }
        self.users.get(user).is_none()
    }

    /// Notes that the world has answered a session, and so its user.
    #[cold]
    pub(super) fn note_answer(&mut self, at: u32) {
        let Some(session) = self.table.get_mut(at) else { return };
        session.flags.insert(SessionFlags::ANSWERED);
        let at = session.user;
        if let Some(user) = self.users.get_mut(at) {
            user.answered = true;
            self.renew_user(at);
        }
    }

    /// Makes a user whom the world has answered the newest of its list.
    pub(super) fn renew_user(&mut self, at: u32) {
        if let Some(user) = self.users.get(at).filter(|user| user.answered) {
            let list = of_interfaces(user.behind, true);
            self.users.renew(at, list);
        }
    }

    /// Ends the oldest session of a list: not one of a static mapping, unless these are all.
    fn recycle(&mut self, list: AgeList) -> Result<(), Refused> {
        let first = self.table.iter(list).take(CANDIDATES);
        let dynamic = { first }.find(|(_, _, session)| !session.is_static()).map(|(at, ..)| at);
        let oldest = dynamic.or_else(|| self.table.oldest(list));
        self.remove(oldest.ok_or(Refused::Sessions)?);
        Ok(())
    }

    /// Counts a new session of a user, who may be new behind an interface; returns the user's
    /// index.
    pub(super) fn count_user(
        &mut self,
        (name, sw_if): (User, u32),
        fixed: bool,
        (now, settings): (u64, &Settings),
    ) -> Result<u32, Refused> {
        let at = match self.users.find(&UserKey(name)) {
            Some(at) => at,
            None if self.users.len() >= settings.users => return Err(Refused::Users),
            None => {
                let behind = behind(sw_if);
                let new = UserState { since: tick(now), behind, ..UserState::default() };
                let new = self.users.insert_untimed(UserKey(name), new);
                let at = new.ok_or(Refused::Users)?;
                while self.table.lists() <= at {
                    self.table.add_list();
                }
                self.users.renew(at, of_interfaces(behind, false));
                self.interfaces.add(behind);
                self.gauges.users.set(0, self.users.len() as u64);
                at
            }
        };
        if let Some(user) = self.users.get_mut(at) {
            user.sessions[usize::from(fixed)] += 1;
        }
        Ok(at)
    }

    /// Counts one session of a user less. Without any the user goes.
    pub(super) fn discount_user(&mut self, at: u32, fixed: bool) {
        let Some(user) = self.users.get_mut(at) else { return };
        user.sessions[usize::from(fixed)] -= 1;
        if user.total() == 0 {
            let behind = user.behind;
            self.users.remove(at);
            self.interfaces.remove(behind);
            self.gauges.users.set(0, self.users.len() as u64);
        }
    }

    /// The next user of a walk.
    pub fn next_user(&self, place: &mut u32, budget: &mut usize) -> Option<u32> {
        self.users.walk(place, budget)
    }

    /// A user, with the numbers of dynamic and static sessions.
    pub fn user(&self, at: u32) -> Option<(User, [u32; 2])> {
        Some((self.users.key(at)?.0, self.users.get(at)?.sessions))
    }

    /// The oldest session of a user.
    pub fn session_of(&self, user: User) -> Option<u32> {
        self.table.oldest(of_user(self.users.find(&UserKey(user))?))
    }

    /// Fails if users, shares and lists don't add up to the sessions that are there.
    #[cfg(feature = "tests")]
    pub fn check(&self) {
        use std::collections::BTreeMap;
        let (mut by_user, mut outside) = (BTreeMap::new(), std::collections::HashSet::new());
        let mut place = 0;
        while let Some(at) = self.next(&mut place, &mut usize::MAX.clone()) {
            let (keys, session) = self.get(at).expect("it is there");
            let user = crate::session::user_of(keys);
            assert_eq!(session.user, self.users.find(&UserKey(user)).expect("its user"));
            assert_eq!(session.share, self.share_of(user));
            by_user.entry(session.user).or_insert([0_u32; 2])[usize::from(session.is_static())] +=
                1;
            assert!(outside.insert(keys[1]), "one mapping for each port of the world");
            assert!(self.table.iter(of_user(session.user)).any(|(of, ..)| of == at));
            assert!(self.table.iter(of_share(session.share)).any(|(of, ..)| of == at));
        }
        assert_eq!((self.users.len(), self.shares.total()), (by_user.len(), self.table.len()));
        assert_eq!(self.interfaces.total(), self.users.len());
        for (at, sessions) in by_user {
            let user = self.users.get(at).expect("a user");
            assert_eq!(user.sessions, sessions);
            let mut listed = self.users.iter(of_interfaces(user.behind, user.answered));
            assert!(listed.any(|(of, ..)| of == at), "in its list");
        }
        self.ports.check();
    }
}
