// SPDX-License-Identifier: Apache-2.0
//! Begin and end of sessions: limits, room, time, and the sweep after a change of the rules.

use crate::flows::{AT_ONCE, Flows, Place, State, ThreadSessions, first_to_go, has_share};
use crate::judge::{Case, Judge, Judged};
use crate::limits::HostLimits;
use crate::record::{End, Happened, Record};
use crate::rules::Generation;
use crate::session::{Key, Session};
use crate::settings::Limit;
use crate::verdict::Reason;
use sync::Turn;
use wire::Address;

/// Sessions that are judged again at most in one tick.
const JUDGED_AGAIN: usize = 256;

/// Sessions that make room for one at most: more than one where the limit is lower than before.
const GO_AT_ONCE: usize = 2;

impl<F: Judged> Judge<F> {
    /// Removes a session.
    pub(crate) fn end<A: Address>(&self, flows: &mut Flows<A>, at: u32, why: End, case: &Case<'_>) {
        if let Some((key, session)) = flows.remove(at) {
            self.ended(&key, &session, why, (case.generation, case.turn, case.now));
        }
    }

    /// Gives back what a session has used, and logs its end.
    fn ended<A: Address>(
        &self,
        key: &Key<A>,
        session: &Session,
        why: End,
        (generation, turn, now): (&Generation, &Turn<'_>, u64),
    ) {
        self.sources.end(session.source);
        if let Some(zone) = generation.limits(session.first.zones[0]) {
            zone.end();
        }
        if session.log {
            let record = Record::of_session(Happened::Ended(why), key, session, now);
            self.post(record, turn);
        }
    }

    pub(crate) fn make(
        &self,
        sessions: &mut ThreadSessions,
        key: Key<F::Addr>,
        mut session: Session,
        from: (usize, u16),
        case: &Case<'_>,
    ) -> Result<(), Reason> {
        let zone = case.generation.limits(case.zones[0]);
        if zone.is_some_and(|zone| !zone.begin(case.now)) {
            return Err(Reason::Zone);
        }
        let give_back = || zone.into_iter().for_each(|zone| zone.end());
        let limits = HostLimits {
            sessions: self.settings.limit(Limit::SourceSessions),
            rate: self.settings.limit(Limit::SourceRate),
        };
        let (host, _) = key.end(from.0);
        let Some(source) = self.sources.begin(host, limits, case.now) else {
            give_back();
            return Err(Reason::Source);
        };
        session.source = source;
        session.timer = session.wanted(key.protocol);
        if !self.make_room(sessions, (&key, &session), case) {
            self.sources.end(source);
            give_back();
            return Err(Reason::Full);
        }
        let flows = sessions.of::<F>();
        let Some(at) = flows.make(key, session, (case.now, &self.settings)) else {
            self.sources.end(source);
            give_back();
            return Err(Reason::Full);
        };
        flows.note(at, from, key.protocol, (case.now, &self.settings));
        if session.log {
            let record = Record::of_session(Happened::Created, &key, &session, case.now);
            self.post(record, case.turn);
        }
        Ok(())
    }

    /// Makes room for a session; false if nothing may go. Sessions that don't last make room for
    /// all others, those of the host that has most of them first. One that lasts makes room only
    /// for a host that has less than an equal share.
    fn make_room(
        &self,
        sessions: &mut ThreadSessions,
        (key, new): (&Key<F::Addr>, &Session),
        case: &Case<'_>,
    ) -> bool {
        let mut budget = AT_ONCE;
        while let Some((key, session)) = sessions.of::<F>().expire(case.now, &mut budget) {
            self.ended(&key, &session, End::Time, (case.generation, case.turn, case.now));
        }
        if State::of(new.timer) == State::HalfOpen {
            let most = self.settings.share(Limit::HalfOpen, self.threads);
            for _ in 0..GO_AT_ONCE {
                if sessions.ip4.half_open() + sessions.ip6.half_open() >= most
                    && !self.evict(sessions, &[State::HalfOpen], case)
                {
                    return false;
                }
            }
        }
        let most = self.settings.share(Limit::Sessions, self.threads);
        for _ in 0..GO_AT_ONCE {
            if sessions.ip4.count() + sessions.ip6.count() >= most
                && !self.evict(sessions, &State::EXPENDABLE, case)
                && !(has_share::<F>(sessions, key, new, most)
                    && self.evict(sessions, &[State::Lasting], case))
            {
                return false;
            }
        }
        true
    }

    /// Ends a session of the first of these states that has one. Returns false if there is none.
    #[cold]
    fn evict(&self, sessions: &mut ThreadSessions, of: &[State], case: &Case<'_>) -> bool {
        match of.iter().find_map(|state| first_to_go(sessions, *state)) {
            Some(Place::Ip4(at)) => self.end(&mut sessions.ip4, at, End::Room, case),
            Some(Place::Ip6(at)) => self.end(&mut sessions.ip6, at, End::Room, case),
            None => return false,
        }
        true
    }

    /// Ends the sessions of this thread that a filter takes, from the place of a walk on and as far
    /// as the budget goes. Returns their number.
    pub fn clear(
        &self,
        (turn, now): (&Turn<'_>, u64),
        is_meant: impl Fn(&Key<F::Addr>, &Session) -> bool,
        (place, budget): (&mut u32, &mut usize),
    ) -> usize {
        let Some(mut sessions) = self.sessions.of(self.thread, turn) else { return 0 };
        let (flows, generation) = (sessions.of::<F>(), self.rules.0.get(turn));
        let mut n = 0;
        while let Some(at) = flows.walk(place, budget) {
            let meant = flows.entry(at).is_some_and(|(key, session)| is_meant(key, session));
            if meant && let Some((key, session)) = flows.remove(at) {
                self.ended(&key, &session, End::Cleared, (generation, turn, now));
                n += 1;
            }
        }
        n
    }

    /// Ends sessions of this thread whose time has ended, up to `budget`, and judges some again.
    /// Returns true if there is more to do.
    pub fn sweep(&self, (turn, now): (&Turn<'_>, u64), mut budget: usize) -> bool {
        let Some(mut sessions) = self.sessions.of(self.thread, turn) else { return false };
        let generation = self.rules.0.get(turn);
        let case = Case { generation, turn, now, interfaces: [0; 2], zones: [0; 2] };
        let flows = sessions.of::<F>();
        while let Some((key, session)) = flows.expire(now, &mut budget) {
            self.ended(&key, &session, End::Time, (generation, turn, now));
        }
        let more = budget == 0;
        for _ in 0..JUDGED_AGAIN {
            let Some(at) = flows.longest_unjudged() else { return more };
            let session = flows.get(at);
            if session.is_none_or(|session| session.generation == generation.number) {
                return more;
            }
            if !self.judge_again(flows, at, &case) {
                if now < generation.settles_at {
                    return more;
                }
                self.end(flows, at, End::Revoked, &case);
            }
        }
        true
    }
}
