// SPDX-License-Identifier: Apache-2.0
//! Users: hosts inside that have sessions. Each has a list of them.

use super::{CANDIDATES, Flows, Refused, of_share, of_user};
use crate::settings::Settings;
use ::nat::key::User;
use tables::{AgeList, Mixer, SessionKey, Share, Shares};

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

    /// Makes sure that one more session of a user may be there. A user who has as many as a user
    /// may have loses the one that was used least lately. In a full table, it is one of the user
    /// who has most that goes, if this one has less than an equal part.
    ///
    /// # Errors
    /// There are too many users, or sessions.
    pub fn make_room(&mut self, user: User, settings: &Settings) -> Result<(), Refused> {
        let at = self.users.find(&UserKey(user));
        if at.is_none() && self.users.len() >= settings.users {
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

    /// Ends the oldest session of a list: not one of a static mapping, unless these are all.
    fn recycle(&mut self, list: AgeList) -> Result<(), Refused> {
        let first = self.table.iter(list).take(CANDIDATES);
        let dynamic = { first }.find(|(_, _, session)| !session.is_static()).map(|(at, ..)| at);
        let oldest = dynamic.or_else(|| self.table.oldest(list));
        self.remove(oldest.ok_or(Refused::Sessions)?);
        Ok(())
    }

    /// Counts a new session of a user, who may be new; returns the user's index.
    pub(super) fn count_user(
        &mut self,
        name: User,
        fixed: bool,
        settings: &Settings,
    ) -> Result<u32, Refused> {
        let at = match self.users.find(&UserKey(name)) {
            Some(at) => at,
            None if self.users.len() >= settings.users => return Err(Refused::Users),
            None => {
                let new = self.users.insert_untimed(UserKey(name), UserState::default());
                let at = new.ok_or(Refused::Users)?;
                while self.table.lists() <= at {
                    self.table.add_list();
                }
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
            self.users.remove(at);
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
        for (at, sessions) in by_user {
            assert_eq!(self.user(at).expect("a user").1, sessions);
        }
        self.ports.check();
    }
}
