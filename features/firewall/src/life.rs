// SPDX-License-Identifier: Apache-2.0
//! Begin and end of sessions: limits, room, time, and the sweep after a change of the rules.

use crate::judge::{Case, Judge, Judged};
use crate::limits::HostLimits;
use crate::record::{End, Happened, Record};
use crate::rules::Generation;
use crate::session::{AT_ONCE, Flows, Key, Session, State, ThreadSessions};
use crate::settings::Limit;
use crate::verdict::Reason;
use sync::Turn;
use wire::Address;

/// Sessions that are judged again at most in one tick.
const JUDGED_AGAIN: usize = 256;

/// The choice of a session that makes room: the oldest of the first of these states.
#[derive(Clone, Copy)]
struct Pick(&'static [State]);

impl Pick {
    fn of<A: Address>(self, flows: &Flows<A>) -> Option<u32> {
        self.0.iter().find_map(|state| flows.oldest(*state))
    }
}

impl<F: Judged> Judge<F> {
    /// Removes a session.
    pub(crate) fn end<A: Address>(&self, flows: &mut Flows<A>, at: u32, why: End, case: &Case<'_>) {
        if let Some((key, session)) = flows.remove(at) {
            self.ended(&key, &session, why, (case.generation, case.now));
        }
    }

    /// Gives back what a session has used, and logs its end.
    fn ended<A: Address>(
        &self,
        key: &Key<A>,
        session: &Session,
        why: End,
        (generation, now): (&Generation, u64),
    ) {
        self.sources.0.end(session.source);
        if let Some(zone) = generation.limits(session.first.zones[0]) {
            zone.end();
        }
        if session.log {
            let record = Record::of_session(Happened::Ended(why), key, session, now);
            self.records.post(self.thread, record);
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
        let Some(source) = self.sources.0.begin(host, limits, case.now) else {
            give_back();
            return Err(Reason::Source);
        };
        session.source = source;
        if !self.make_room(sessions, &session, case) {
            self.sources.0.end(source);
            give_back();
            return Err(Reason::Full);
        }
        let flows = F::flows(sessions);
        let Some(at) = flows.make(key, session, (case.now, &self.settings)) else {
            self.sources.0.end(source);
            give_back();
            return Err(Reason::Full);
        };
        flows.note(at, from, key.protocol, (case.now, &self.settings));
        if session.log {
            let record = Record::of_session(Happened::Created, &key, &session, case.now);
            self.records.post(self.thread, record);
        }
        Ok(())
    }

    /// Makes room for a session; false if nothing may go.
    fn make_room(&self, sessions: &mut ThreadSessions, new: &Session, case: &Case<'_>) -> bool {
        let mut budget = AT_ONCE;
        while let Some((key, session)) = F::flows(sessions).expire(case.now, &mut budget) {
            self.ended(&key, &session, End::Time, (case.generation, case.now));
        }
        let half_open = self.settings.share(Limit::HalfOpen, self.threads);
        let has_many = new.state() == State::HalfOpen && sessions.half_open() >= half_open;
        if has_many && !self.evict(sessions, Pick(&[State::HalfOpen]), case) {
            return false;
        }
        sessions.count() < self.settings.share(Limit::Sessions, self.threads)
            || self.evict(sessions, Pick(&State::EXPENDABLE), case)
    }

    /// Ends the oldest session of the first state that has one: of this IP version, or else of the
    /// other. Returns false if there is none.
    #[cold]
    fn evict(&self, sessions: &mut ThreadSessions, pick: Pick, case: &Case<'_>) -> bool {
        if let Some(at) = pick.of(F::flows(sessions)) {
            self.end(F::flows(sessions), at, End::Room, case);
        } else if let Some(at) = pick.of(&sessions.ip4) {
            self.end(&mut sessions.ip4, at, End::Room, case);
        } else if let Some(at) = pick.of(&sessions.ip6) {
            self.end(&mut sessions.ip6, at, End::Room, case);
        } else {
            return false;
        }
        true
    }

    /// Ends the sessions of this thread that a filter takes; returns their number.
    pub fn clear(
        &self,
        (turn, now): (&Turn<'_>, u64),
        is_meant: impl Fn(&Key<F::Addr>, &Session) -> bool,
    ) -> usize {
        let Some(mut sessions) = self.sessions.of(self.thread, turn) else { return 0 };
        let flows = F::flows(&mut sessions);
        let meant = flows.iter().filter(|(_, key, session)| is_meant(key, session));
        let all: Vec<u32> = meant.map(|(at, _, _)| at).collect();
        self.rules.0.read(|generation| {
            for (key, session) in all.iter().filter_map(|at| flows.remove(*at)) {
                self.ended(&key, &session, End::Cleared, (generation, now));
            }
        });
        all.len()
    }

    /// Ends sessions of this thread whose time has ended, up to `budget`, and judges some again.
    /// Returns true if there is more to do.
    pub fn sweep(&self, (turn, now): (&Turn<'_>, u64), mut budget: usize) -> bool {
        let Some(mut sessions) = self.sessions.of(self.thread, turn) else { return false };
        let generation = self.rules.0.get(turn);
        let case = Case { generation, turn, now, interfaces: [0; 2], zones: [0; 2] };
        let flows = F::flows(&mut sessions);
        while let Some((key, session)) = flows.expire(now, &mut budget) {
            self.ended(&key, &session, End::Time, (generation, now));
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
