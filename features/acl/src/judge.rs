// SPDX-License-Identifier: Apache-2.0
//! Judgement of packets: by their session, or else by the rules.

use crate::list::{Direction, Hit, List, Listed};
use crate::packet::{PacketUpper, Part, Tuple};
use crate::policy::{Policies, Policy};
use crate::rule::Action;
use crate::session::{self, AllSessions, Flows, Key, Made, Session, ThreadSessions, begins};
use crate::settings::Settings;
use graph::{ThreadIndex, World};
use net::FlowOwners;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use sync::Turn;

/// The outcome for a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is dropped: by a rule, or because none matches.
    Deny(Option<Hit>),
    /// A rule lets it pass.
    Permit(Hit),
    /// A rule lets it pass, and it has made a session.
    New(Hit),
    /// It belongs to a session. `restarted` if that has another timeout now.
    Session {
        /// See there.
        restarted: bool,
    },
    /// There is no room for the session that a rule wants: it is dropped.
    Full(Hit),
    /// Another thread owns its flow.
    Elsewhere,
}

impl Verdict {
    /// By the first rule that matches, without sessions.
    #[inline(always)]
    pub fn of_rule(hit: Option<Hit>) -> Self {
        match hit {
            Some(hit) if hit.action == Action::Deny => Self::Deny(Some(hit)),
            Some(hit) => Self::Permit(hit),
            None => Self::Deny(None),
        }
    }

    /// The rule that has decided.
    #[inline(always)]
    pub fn hit(&self) -> Option<Hit> {
        match *self {
            Self::Deny(hit) => hit,
            Self::Permit(hit) | Self::New(hit) | Self::Full(hit) => Some(hit),
            Self::Session { .. } | Self::Elsewhere => None,
        }
    }

    /// Its word in traces.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Deny(_) => "deny",
            Self::Permit(_) => "permit",
            Self::New(_) => "permit, new session",
            Self::Session { .. } => "permit, existing session",
            Self::Full(_) => "deny, too many sessions",
            Self::Elsewhere => "handed off",
        }
    }
}

/// State of a thread that judges.
pub struct Judge<F> {
    thread: ThreadIndex,
    /// Threads that own flows.
    threads: usize,
    owners: Arc<FlowOwners>,
    pub policies: Arc<Policies>,
    pub settings: Arc<Settings>,
    pub sessions: Arc<AllSessions>,
    of: std::marker::PhantomData<fn() -> F>,
}

impl<F: Listed> Judge<F> {
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self {
            thread,
            threads: world.threads().saturating_sub(1).max(1),
            owners: world.get(),
            policies: world.get(),
            settings: world.get(),
            sessions: world.get(),
            of: std::marker::PhantomData,
        }
    }

    /// Counts a packet that a rule has decided, if matches are counted.
    #[inline(always)]
    pub fn count(&self, list: &List, hit: Hit, bytes: usize) {
        if self.settings.count_matches.load(Ordering::Relaxed) {
            list.count(self.thread.at(), hit, bytes);
        }
    }

    fn owner_of(&self, key: &Key<F::Addr>) -> ThreadIndex {
        self.owners.of([key.near(), key.far()], key.protocol, key.sw_if)
    }

    /// The thread that owns a packet's flow.
    pub fn owner(&self, tuple: &Tuple<F::Addr>, at: (u32, Direction)) -> Option<ThreadIndex> {
        Key::of(tuple, at.0, at.1).map(|key| self.owner_of(&key))
    }

    /// Judges a packet of an interface, whose list for this direction this is.
    #[inline(always)]
    pub fn judge(
        &self,
        (policy, list): (&Policy, &List),
        tuple: &Tuple<F::Addr>,
        at: (u32, Direction),
        (turn, now): (&Turn<'_>, u64),
    ) -> Verdict {
        if policy.reflects() {
            return self.with_sessions((policy, list), tuple, at, (turn, now));
        }
        Verdict::of_rule(list.find::<F>(tuple, turn))
    }

    fn with_sessions(
        &self,
        (policy, list): (&Policy, &List),
        tuple: &Tuple<F::Addr>,
        (sw_if, direction): (u32, Direction),
        (turn, now): (&Turn<'_>, u64),
    ) -> Verdict {
        let key = Key::of(tuple, sw_if, direction);
        if let Some(key) = &key
            && self.owner_of(key) != self.thread
        {
            return Verdict::Elsewhere;
        }
        let sessions = self.sessions.of(self.thread, turn);
        debug_assert!(sessions.is_some(), "nothing is judged while something is judged");
        let Some(mut sessions) = sessions else { return Verdict::Deny(None) };
        if let Some(key) = &key
            && let Some((at, session)) = sessions.of::<F>().find(key, now)
        {
            let flows = sessions.of::<F>();
            if session.generation == policy.generation
                || self.judge_again((at, session), key, policy, flows, turn)
            {
                let upper = (tuple.upper.protocol, tuple.upper.flags);
                let restarted = flows.note(at, upper, direction, (now, &self.settings));
                return Verdict::Session { restarted };
            }
            flows.remove(at);
        }
        let Some(hit) = list.find::<F>(tuple, turn) else { return Verdict::Deny(None) };
        match (hit.action, key) {
            (Action::Deny, _) => Verdict::Deny(Some(hit)),
            (Action::Reflect, Some(key)) if begins(&tuple.upper) => {
                let acl = list.acls.get(usize::from(hit.position)).copied().unwrap_or_default();
                let session = Session::new(policy.generation, acl, direction, tuple.upper.flags);
                match self.make(&mut sessions, key, session, now) {
                    Made::New => Verdict::New(hit),
                    Made::Full => Verdict::Full(hit),
                }
            }
            (Action::Permit | Action::Reflect, _) => Verdict::Permit(hit),
        }
    }

    fn make(
        &self,
        sessions: &mut ThreadSessions,
        key: Key<F::Addr>,
        session: Session,
        now: u64,
    ) -> Made {
        let limit = self.settings.limit(self.threads);
        session::make::<F>(sessions, key, session, (now, &self.settings), limit)
    }

    /// Judges a session by the list of the direction that made it, as the packet that made it
    /// would be judged now. Returns true if it stays.
    #[cold]
    fn judge_again(
        &self,
        (at, session): (u32, Session),
        key: &Key<F::Addr>,
        policy: &Policy,
        flows: &mut Flows<F::Addr>,
        turn: &Turn<'_>,
    ) -> bool {
        let (from, to) = match session.made_by() {
            Direction::Input => (key.near(), key.far()),
            Direction::Output => (key.far(), key.near()),
        };
        let upper = PacketUpper {
            protocol: key.protocol,
            part: Part::Whole,
            flags: session.first,
            source: from.1,
            destination: to.1,
        };
        let tuple = Tuple { source: from.0, destination: to.0, upper };
        let hit = policy.list(session.made_by()).and_then(|list| list.find::<F>(&tuple, turn));
        let stays = hit.is_some_and(|hit| hit.action == Action::Reflect);
        if stays {
            flows.keep(at, policy.generation);
        }
        stays
    }

    /// Ends sessions of this thread whose time has ended, as [`Flows::expire`].
    pub fn expire(&self, (turn, now): (&Turn<'_>, u64), budget: usize) -> bool {
        let sessions = self.sessions.of(self.thread, turn);
        sessions.is_some_and(|mut sessions| sessions.of::<F>().expire(now, budget))
    }
}
