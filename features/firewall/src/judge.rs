// SPDX-License-Identifier: Apache-2.0
//! Judgement of packets: by their session, or else by the policy of their zones.

use crate::limits::{HostLimits, Sources};
use crate::model::Action;
use crate::packet::{Icmp, Malformed, Packet, quoted, read, segment};
use crate::record::{End, Happened, Record, Records};
use crate::rules::{Compiled, Decision, Generation, Ruled, SELF};
use crate::session::{
    AT_ONCE, AllSessions, First, Flows, Key, Session, State, ThreadSessions, Tracked,
};
use crate::settings::{Limit, Settings};
use crate::tcp::{Connection, Invalid, Outcome};
use crate::verdict::{Reason, Verdict, Way};
use graph::{Shared, ThreadIndex, World};
use net::{FlowOwners, L4};
use stats::CombinedLane;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use sync::{Snapshot, Turn};
use wire::{IpProtocol, TcpFlags};

/// The rules in force.
pub struct Rules(pub Snapshot<Generation>);

impl Shared for Rules {
    fn make(world: &World) -> Self {
        let nothing = Generation {
            number: 0,
            zones: Vec::new(),
            width: 0,
            policies: Vec::new(),
            sets: Arc::default(),
            limits: Vec::new(),
        };
        Self(Snapshot::new(world.qsbr.clone(), nothing))
    }
}

/// The hosts that began sessions, for all threads.
#[derive(Default)]
pub struct AllSources(pub Sources);

impl Shared for AllSources {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

/// A protocol whose packets are judged.
pub trait Judged: Ruled + Tracked {}

impl<F: Ruled + Tracked> Judged for F {}

/// State of a thread that judges.
pub struct Judge<F> {
    thread: ThreadIndex,
    /// Threads that own flows.
    threads: usize,
    owners: Arc<FlowOwners>,
    rules: Arc<Rules>,
    settings: Arc<Settings>,
    sessions: Arc<AllSessions>,
    sources: Arc<AllSources>,
    records: Arc<Records>,
    hits: CombinedLane,
    of: std::marker::PhantomData<fn() -> F>,
}

/// Facts that are the same for all that is done about one packet.
#[derive(Clone, Copy)]
struct Case<'t> {
    generation: &'t Generation,
    turn: &'t Turn<'t>,
    now: u64,
    interfaces: [u32; 2],
    zones: [u16; 2],
}

impl<F: Judged> Judge<F> {
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self {
            thread,
            threads: world.threads().saturating_sub(1).max(1),
            owners: world.get(),
            rules: world.get(),
            settings: world.get(),
            sessions: world.get(),
            sources: world.get(),
            records: world.get(),
            hits: world.stats.combined(crate::hits::NAME).lane(thread.at()),
            of: std::marker::PhantomData,
        }
    }

    /// The zones of a packet's way.
    fn zones(generation: &Generation, way: &Way) -> [u16; 2] {
        let [input, output] = way.interfaces;
        [
            if way.is_own { SELF } else { generation.zone(input) },
            if way.is_for_us { SELF } else { generation.zone(output) },
        ]
    }

    /// Judges a packet that begins with its IP header.
    pub fn judge(
        &self,
        way: &Way,
        bytes: &[u8],
        l4: Option<L4>,
        (turn, now): (&Turn<'_>, u64),
    ) -> Verdict {
        let generation = self.rules.0.get(turn);
        let zones = Self::zones(generation, way);
        let [from, to] = zones;
        let (there, back) = (generation.policy(zones), generation.policy([to, from]));
        if from == crate::rules::NO_ZONE
            || to == crate::rules::NO_ZONE
            || from == to && there.is_none()
        {
            return Verdict::Unchecked;
        }
        let packet = match read::<F>(bytes, l4) {
            Ok(packet) => packet,
            Err(why) => return Verdict::Drop(Reason::Malformed(why)),
        };
        if is_of_router(zones, &packet) {
            return Verdict::Unchecked;
        }
        let case = Case { generation, turn, now, interfaces: way.interfaces, zones };
        if there.is_none() && back.is_none() {
            return self.no_policy(&packet, &case);
        }
        if packet.icmp == Some(Icmp::Error) {
            return self.error(&packet, bytes, &case);
        }
        let Some((key, side)) = Key::of(&packet, zones) else {
            return self.without_session(&packet, &case, there);
        };
        let owner = self.owner_of(&key);
        if owner != self.thread {
            return Verdict::Elsewhere(owner);
        }
        let sessions = self.sessions.of(self.thread);
        debug_assert!(sessions.is_some(), "nothing is judged while something is judged");
        let Some(mut sessions) = sessions else { return Verdict::Drop(Reason::Full) };
        let sessions = &mut *sessions;
        if let Some(verdict) = self.by_session(sessions, &key, side, (&packet, bytes), &case) {
            return verdict;
        }
        self.begin(sessions, (key, side), (&packet, bytes), &case)
    }

    fn owner_of(&self, key: &Key<F::Addr>) -> ThreadIndex {
        let zones = u32::from(key.zones[0]) << 16 | u32::from(key.zones[1]);
        self.owners.of([key.end(0), key.end(1)], key.protocol, zones)
    }

    /// Judges a packet by the session of its flow, if there is one.
    fn by_session(
        &self,
        sessions: &mut ThreadSessions,
        key: &Key<F::Addr>,
        side: usize,
        (packet, bytes): (&Packet<F::Addr>, &[u8]),
        case: &Case<'_>,
    ) -> Option<Verdict> {
        let flows = F::flows(sessions);
        let at = flows.find(key)?;
        if flows.is_over(at, case.now) {
            self.end(flows, at, End::Time, case);
            return None;
        }
        if !self.is_still_permitted(flows, at, case) {
            self.end(flows, at, End::Revoked, case);
            return None;
        }
        let session = flows.get_mut(at)?;
        if session.is_tcp && !packet.later {
            let Some(segment) = segment(packet, bytes) else {
                return Some(Verdict::Drop(Reason::Malformed(Malformed::Header)));
            };
            let loose = case.generation.policy(session.first.zones);
            let loose = loose.is_some_and(|policy| policy.loose);
            match session.tcp.segment(side, &segment, loose) {
                Outcome::Pass => {}
                Outcome::Drop(why) => return Some(Verdict::Drop(Reason::Tcp(why))),
                Outcome::Again => {
                    self.end(flows, at, End::Again, case);
                    return None;
                }
            }
        }
        let protocol = key.protocol;
        flows.note(at, (side, packet.length), protocol, (case.now, &self.settings));
        Some(Verdict::Session)
    }

    /// True if the rules of now accept the packet that made a session, if they are others than
    /// those that it was judged by.
    #[inline(always)]
    fn is_still_permitted(&self, flows: &mut Flows<F::Addr>, at: u32, case: &Case<'_>) -> bool {
        let generation = case.generation.number;
        flows.get(at).is_some_and(|session| session.generation == generation)
            || self.judge_again(flows, at, case)
    }

    #[cold]
    fn judge_again(&self, flows: &mut Flows<F::Addr>, at: u32, case: &Case<'_>) -> bool {
        let (Some(key), Some(session)) = (flows.key(at), flows.get(at)) else { return false };
        let (packet, first) = (session.first_packet(&key), session.first);
        // Interfaces may be in other zones now.
        let zone = |of: usize| {
            let is_self = first.zones[of] == SELF;
            is_self || case.generation.zone(first.interfaces[of]) == first.zones[of]
        };
        let policy = case.generation.policy(first.zones).filter(|_| zone(0) && zone(1));
        let Some(policy) = policy else { return false };
        let sets = (&*case.generation.sets, case.turn);
        let decision = policy.decide::<F>(&packet, first.interfaces, sets);
        let stays = decision.action == Action::Accept;
        if stays {
            if let Some(session) = flows.get_mut(at) {
                (session.rule, session.log) = (decision.hits.cell, decision.log);
            }
            flows.judged(at, case.generation.number);
        }
        stays
    }

    /// Removes a session.
    fn end(&self, flows: &mut Flows<F::Addr>, at: u32, why: End, case: &Case<'_>) {
        if let Some((key, session)) = flows.remove(at) {
            self.ended(&key, &session, why, (case.generation, case.now));
        }
    }

    /// Gives back what a session has used, and logs its end.
    fn ended(
        &self,
        key: &Key<F::Addr>,
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

    /// An ICMP error passes if the packet that it quotes belongs to a session of the same two
    /// zones, in the other direction.
    #[cold]
    fn error(&self, packet: &Packet<F::Addr>, bytes: &[u8], case: &Case<'_>) -> Verdict {
        let refused = Verdict::Drop(Reason::IcmpError);
        if packet.later {
            return Verdict::Drop(Reason::Malformed(Malformed::Fragment));
        }
        let Some(quoted) = quoted::<F>(packet, bytes) else { return refused };
        let [from, to] = case.zones;
        let Some((key, side)) = Key::of(&quoted.packet, [to, from]) else { return refused };
        let owner = self.owner_of(&key);
        if owner != self.thread {
            return Verdict::Elsewhere(owner);
        }
        let Some(mut sessions) = self.sessions.of(self.thread) else { return refused };
        let flows = F::flows(&mut sessions);
        let Some(at) = flows.find(&key) else { return refused };
        if flows.is_over(at, case.now) || !self.is_still_permitted(flows, at, case) {
            return refused;
        }
        let Some(session) = flows.get(at) else { return refused };
        // RFC 5927 4.1: a number that is under way.
        match quoted.seq {
            Some(seq) if !session.tcp.may_quote(side, seq) => refused,
            _ => Verdict::Session,
        }
    }

    /// A message that neither asks nor answers: by the rules alone.
    #[cold]
    fn without_session(
        &self,
        packet: &Packet<F::Addr>,
        case: &Case<'_>,
        policy: Option<&Compiled>,
    ) -> Verdict {
        let Some(policy) = policy else {
            return self.no_policy(packet, case);
        };
        let decision = self.decide(policy, packet, case);
        match decision.action {
            Action::Accept => Verdict::Permit(decision.number),
            action => self.refuse(action, decision, packet, case),
        }
    }

    #[cold]
    fn no_policy(&self, packet: &Packet<F::Addr>, case: &Case<'_>) -> Verdict {
        if self.records.no_policy.load(Ordering::Relaxed) {
            self.deny(packet, case, None, Reason::NoPolicy);
        }
        Verdict::Drop(Reason::NoPolicy)
    }

    /// The decision of a policy, which is counted.
    fn decide<'t>(
        &self,
        policy: &'t Compiled,
        packet: &Packet<F::Addr>,
        case: &Case<'t>,
    ) -> &'t Decision {
        let sets = (&*case.generation.sets, case.turn);
        let decision = policy.decide::<F>(packet, case.interfaces, sets);
        decision.hits.note(&self.hits, packet.length.into(), case.now);
        decision
    }

    fn refuse(
        &self,
        action: Action,
        decision: &Decision,
        packet: &Packet<F::Addr>,
        case: &Case<'_>,
    ) -> Verdict {
        if decision.log {
            self.deny(packet, case, Some(decision.hits.cell), Reason::Rule(decision.number));
        }
        match action {
            Action::Reject => Verdict::Reject(decision.number),
            _ => Verdict::Drop(Reason::Rule(decision.number)),
        }
    }

    /// Logs a packet that is dropped.
    fn deny(&self, packet: &Packet<F::Addr>, case: &Case<'_>, rule: Option<u32>, reason: Reason) {
        let upper = packet.tuple.upper;
        let record = Record {
            happened: Happened::Denied(reason.words()),
            at: case.now,
            zones: case.zones,
            ends: [
                (packet.tuple.source.into(), upper.source),
                (packet.tuple.destination.into(), upper.destination),
            ],
            protocol: upper.protocol,
            rule,
            counts: [(1, packet.length.into()), (0, 0)],
            seconds: 0,
        };
        self.records.post(self.thread, record);
    }

    /// Judges a packet of a flow without a session, and makes one.
    fn begin(
        &self,
        sessions: &mut ThreadSessions,
        (key, side): (Key<F::Addr>, usize),
        (packet, bytes): (&Packet<F::Addr>, &[u8]),
        case: &Case<'_>,
    ) -> Verdict {
        let Some(policy) = case.generation.policy(case.zones) else {
            return self.no_policy(packet, case);
        };
        if packet.later {
            return Verdict::Drop(Reason::Malformed(Malformed::Fragment));
        }
        if packet.icmp == Some(Icmp::Query { asks: false }) {
            return Verdict::Drop(Reason::NoSession);
        }
        let tcp = match self.connection(policy, side, packet, bytes) {
            Ok(tcp) => tcp,
            Err(why) => return Verdict::Drop(why),
        };
        let decision = self.decide(policy, packet, case);
        if decision.action != Action::Accept {
            return self.refuse(decision.action, decision, packet, case);
        }
        let session = Session {
            generation: case.generation.number,
            origin: side as u8,
            is_tcp: tcp.is_some(),
            log: decision.log,
            tcp: tcp.unwrap_or_default(),
            first: First {
                zones: case.zones,
                interfaces: case.interfaces,
                length: packet.length,
                dscp: packet.dscp,
                flags: packet.tuple.upper.flags,
                code: if packet.icmp.is_some() { packet.tuple.upper.destination as u8 } else { 0 },
            },
            rule: decision.hits.cell,
            ..Session::default()
        };
        match self.make(sessions, key, session, (side, packet.length), case) {
            Ok(()) => Verdict::New(decision.number),
            Err(why) => {
                if decision.log {
                    self.deny(packet, case, Some(decision.hits.cell), why);
                }
                Verdict::Drop(why)
            }
        }
    }

    /// The connection that a segment begins; `None` for other protocols.
    fn connection(
        &self,
        policy: &Compiled,
        side: usize,
        packet: &Packet<F::Addr>,
        bytes: &[u8],
    ) -> Result<Option<Connection>, Reason> {
        if packet.protocol() != IpProtocol::TCP {
            return Ok(None);
        }
        let malformed = Reason::Malformed(Malformed::Header);
        let segment = segment(packet, bytes).ok_or(malformed)?;
        if segment.is_nonsense() {
            return Err(Reason::Tcp(Invalid::Flags));
        }
        if segment.is_request() {
            return Ok(Some(Connection::begin(side, &segment)));
        }
        let is_reset = segment.flags.contains(TcpFlags::RST);
        if !policy.loose || is_reset {
            return Err(Reason::NoSession);
        }
        Ok(Some(Connection::pick_up(side, &segment)))
    }

    fn make(
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
        let flows = F::flows(sessions);
        let mut budget = AT_ONCE;
        while let Some((key, session)) = flows.expire(case.now, &mut budget) {
            self.ended(&key, &session, End::Time, (case.generation, case.now));
        }
        let half_open = self.settings.share(Limit::HalfOpen, self.threads);
        if new.state() == State::HalfOpen && sessions.half_open() >= half_open {
            let flows = F::flows(sessions);
            // The other IP version may have all of them.
            let Some(oldest) = flows.oldest(State::HalfOpen) else { return false };
            self.end(flows, oldest, End::Room, case);
        }
        if sessions.count() >= self.settings.share(Limit::Sessions, self.threads) {
            let flows = F::flows(sessions);
            let Some(oldest) = flows.expendable() else { return false };
            self.end(flows, oldest, End::Room, case);
        }
        true
    }

    /// Ends the sessions of this thread that a filter takes; returns their number.
    pub fn clear(&self, now: u64, is_meant: impl Fn(&Key<F::Addr>, &Session) -> bool) -> usize {
        let Some(mut sessions) = self.sessions.of(self.thread) else { return 0 };
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

    /// Ends sessions of this thread whose time has ended, and judges others again, each up to
    /// `budget`. Returns true if there is more to do.
    pub fn sweep(&self, (turn, now): (&Turn<'_>, u64), mut budget: usize) -> bool {
        let Some(mut sessions) = self.sessions.of(self.thread) else { return false };
        let generation = self.rules.0.get(turn);
        let case = Case { generation, turn, now, interfaces: [0; 2], zones: [0; 2] };
        let (flows, most) = (F::flows(&mut sessions), budget);
        while let Some((key, session)) = flows.expire(now, &mut budget) {
            self.ended(&key, &session, End::Time, (generation, now));
        }
        let more = budget == 0;
        for _ in 0..most {
            let Some(at) = flows.longest_unjudged() else { return more };
            let session = flows.get(at);
            if session.is_none_or(|session| session.generation == generation.number) {
                return more;
            }
            if !self.judge_again(flows, at, &case) {
                self.end(flows, at, End::Revoked, &case);
            }
        }
        true
    }
}

/// Packets that policies can't stop: the router's own answers to what it got (errors of ICMP,
/// resets), and what keeps links going, as ARP does (RFC 4890 4.4.1): neighbour discovery, MLD and
/// IGMP.
fn is_of_router<A>([from, to]: [u16; 2], packet: &Packet<A>) -> bool {
    let upper = packet.tuple.upper;
    let answers = from == SELF
        && (packet.icmp == Some(Icmp::Error)
            || packet.protocol() == IpProtocol::TCP
                && TcpFlags(upper.flags).contains(TcpFlags::RST));
    let keeps_links = match packet.protocol() {
        IpProtocol::ICMP6 => matches!(upper.source, 130..=137 | 143),
        protocol => protocol == IpProtocol::IGMP,
    };
    answers || keeps_links && (from == SELF || to == SELF)
}
