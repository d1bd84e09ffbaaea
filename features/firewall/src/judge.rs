// SPDX-License-Identifier: Apache-2.0
//! Judgement of packets: by their session, or else by the policy of their zones. It has two steps,
//! so that the sessions of many packets are looked up together.

use crate::flows::{AllSessions, Flows, ThreadSessions};
use crate::limits::Sources;
use crate::model::Action;
use crate::packet::{Icmp, Malformed, Packet, quoted, read, segment};
use crate::record::{End, Record, Records, Ring};
use crate::rules::{Generation, NO_ZONE, Ruled, SELF};
use crate::session::Key;
use crate::settings::Settings;
use crate::tcp::Outcome;
use crate::verdict::{Reason, Verdict, Way};
use graph::{PerThread, Shared, ThreadIndex, World};
use net::{FlowOwners, L4, Net};
use stats::CombinedLane;
use std::sync::Arc;
use sync::{PerThreadGuard, Snapshot, Turn};
use wire::{Address, IpProtocol, TcpFlags};

/// The rules in force.
pub struct Rules(pub Snapshot<Generation>);

impl Shared for Rules {
    fn make(world: &World) -> Self {
        let nothing = Generation {
            number: 0,
            settles_at: 0,
            zones: Vec::new(),
            width: 0,
            policies: Vec::new(),
            sets: Arc::default(),
            limits: Vec::new(),
        };
        Self(Snapshot::new(world.qsbr.clone(), nothing))
    }
}

/// A protocol whose packets are judged.
pub trait Judged: Ruled + Net {}

impl<F: Ruled + Net> Judged for F {}

/// State of a thread that judges.
pub struct Judge<F> {
    pub(crate) thread: ThreadIndex,
    /// Threads that own flows.
    pub(crate) threads: usize,
    owners: Arc<FlowOwners>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) sessions: Arc<AllSessions>,
    pub(crate) sources: Arc<Sources>,
    pub(crate) records: Arc<Records>,
    ring: Arc<PerThread<Ring>>,
    pub(crate) hits: CombinedLane,
    of: std::marker::PhantomData<fn() -> F>,
}

/// The first step of a judgement: all that is known without the sessions.
#[derive(Clone, Copy)]
pub enum Question<A> {
    /// The verdict.
    Done(Verdict),
    /// A packet of a flow that this thread owns.
    Flow {
        /// The packet.
        packet: Packet<A>,
        /// Key of its session.
        key: Key<A>,
        /// The side of its source.
        side: usize,
        /// Its zones.
        zones: [u16; 2],
    },
    /// An ICMP error about a packet of such a flow.
    Quoted {
        /// Key of the session of the quoted packet.
        key: Key<A>,
        /// The side of its source.
        side: usize,
        /// TCP's sequence number.
        seq: Option<u32>,
    },
}

impl<A: Address> Question<A> {
    /// The key of the session that decides.
    #[inline(always)]
    pub fn key(&self) -> Option<&Key<A>> {
        match self {
            Self::Done(_) => None,
            Self::Flow { key, .. } | Self::Quoted { key, .. } => Some(key),
        }
    }
}

/// Facts that are the same for all that is done about one packet.
#[derive(Clone, Copy)]
pub(crate) struct Case<'t> {
    pub generation: &'t Generation,
    pub turn: &'t Turn<'t>,
    pub now: u64,
    pub interfaces: [u32; 2],
    pub zones: [u16; 2],
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
            ring: world.get(),
            hits: world.stats.combined(crate::hits::NAME).lane(thread.at()),
            of: std::marker::PhantomData,
        }
    }

    /// Posts a record to control.
    pub(crate) fn post(&self, record: Record, turn: &Turn<'_>) {
        if let Some(mut ring) = self.ring.of(self.thread, turn) {
            ring.0.post(record);
        }
    }

    /// The zones of a packet's way.
    #[inline(always)]
    fn zones(generation: &Generation, way: &Way) -> [u16; 2] {
        let [input, output] = way.interfaces;
        [
            if way.is_own { SELF } else { generation.zone(input) },
            if way.is_for_us { SELF } else { generation.zone(output) },
        ]
    }

    /// The first step of a judgement, which needs no session, of a packet that begins with its IP
    /// header.
    #[inline(always)]
    pub fn ask(
        &self,
        way: &Way,
        bytes: &[u8],
        l4: Option<L4>,
        (turn, now): (&Turn<'_>, u64),
    ) -> Question<F::Addr> {
        let done = Question::Done;
        let generation = self.rules.0.get(turn);
        let zones = Self::zones(generation, way);
        let [from, to] = zones;
        let (there, back) = (generation.policy(zones), generation.policy([to, from]));
        if from == NO_ZONE || to == NO_ZONE || from == to && there.is_none() {
            return done(Verdict::Unchecked);
        }
        let packet = match read::<F>(bytes, l4) {
            Ok(packet) => packet,
            Err(why) => return done(Verdict::Drop(Reason::Malformed(why))),
        };
        if is_of_router(zones, &packet) {
            return done(Verdict::Unchecked);
        }
        let case = Case { generation, turn, now, interfaces: way.interfaces, zones };
        if there.is_none() && back.is_none() {
            return done(self.no_policy(&packet, &case));
        }
        if packet.icmp == Some(Icmp::Error) {
            return self.about(&packet, bytes, zones);
        }
        let Some((key, side)) = Key::of(&packet, zones) else {
            return done(self.without_session(&packet, &case, there));
        };
        match self.elsewhere(&key) {
            Some(elsewhere) => done(elsewhere),
            None => Question::Flow { packet, key, side, zones },
        }
    }

    /// The question that an ICMP error asks: whether the packet that it quotes belongs to a session
    /// of the same two zones, in the other direction.
    #[cold]
    fn about(
        &self,
        packet: &Packet<F::Addr>,
        bytes: &[u8],
        [from, to]: [u16; 2],
    ) -> Question<F::Addr> {
        if packet.later {
            return Question::Done(Verdict::Drop(Reason::Malformed(Malformed::Fragment)));
        }
        let quoted = quoted::<F>(packet, bytes);
        let flow = quoted.and_then(|quoted| {
            Key::of(&quoted.packet, [to, from]).map(|(key, side)| (key, side, quoted.seq))
        });
        let Some((key, side, seq)) = flow else {
            return Question::Done(Verdict::Drop(Reason::IcmpError));
        };
        match self.elsewhere(&key) {
            Some(elsewhere) => Question::Done(elsewhere),
            None => Question::Quoted { key, side, seq },
        }
    }

    /// The key of the session that a packet belongs to, or that an ICMP error is about.
    #[cold]
    pub fn key_of(bytes: &[u8], l4: Option<L4>, [from, to]: [u16; 2]) -> Option<Key<F::Addr>> {
        let packet = read::<F>(bytes, l4).ok()?;
        let of = match packet.icmp {
            Some(Icmp::Error) => Key::of(&quoted::<F>(&packet, bytes)?.packet, [to, from]),
            _ => Key::of(&packet, [from, to]),
        };
        of.map(|(key, _)| key)
    }

    /// The verdict on packets of a flow that another thread owns.
    #[inline(always)]
    fn elsewhere(&self, key: &Key<F::Addr>) -> Option<Verdict> {
        let zones = u32::from(key.zones[0]) << 16 | u32::from(key.zones[1]);
        let owner = self.owners.of([key.end(0), key.end(1)], key.protocol, zones);
        (owner != self.thread).then_some(Verdict::Elsewhere(owner))
    }

    /// The sessions of this thread, for the second step.
    #[inline(always)]
    pub fn sessions<'a>(
        &'a self,
        turn: &'a Turn<'_>,
    ) -> Option<PerThreadGuard<'a, ThreadSessions>> {
        let sessions = self.sessions.of(self.thread, turn);
        debug_assert!(sessions.is_some(), "nothing is judged while something is judged");
        sessions
    }

    /// The second step: `found` is the index of the session of the question's key, if it was looked
    /// up before.
    #[inline(always)]
    pub fn answer(
        &self,
        question: &Question<F::Addr>,
        found: Option<u32>,
        (way, bytes): (&Way, &[u8]),
        sessions: &mut ThreadSessions,
        (turn, now): (&Turn<'_>, u64),
    ) -> Verdict {
        let generation = self.rules.0.get(turn);
        let case = |zones| Case { generation, turn, now, interfaces: way.interfaces, zones };
        match question {
            Question::Done(verdict) => *verdict,
            Question::Quoted { key, side, seq } => {
                self.error(sessions.of::<F>(), key, (*side, *seq), &case([SELF; 2]))
            }
            Question::Flow { packet, key, side, zones } => {
                let (flow, case) = ((*key, *side), case(*zones));
                let by_session = self.by_session(sessions, flow, found, (packet, bytes), &case);
                by_session.unwrap_or_else(|| self.begin(sessions, flow, (packet, bytes), &case))
            }
        }
    }

    /// Looks the sessions of many questions up together.
    #[inline(always)]
    pub fn find_many(
        &self,
        sessions: &mut ThreadSessions,
        keys: &[Key<F::Addr>],
        found: &mut [u32],
    ) {
        sessions.of::<F>().find_many(keys, found);
    }

    /// Judges a packet by the session of its flow, if there is one.
    #[inline(always)]
    fn by_session(
        &self,
        sessions: &mut ThreadSessions,
        (key, side): (Key<F::Addr>, usize),
        found: Option<u32>,
        (packet, bytes): (&Packet<F::Addr>, &[u8]),
        case: &Case<'_>,
    ) -> Option<Verdict> {
        let flows = sessions.of::<F>();
        // Packets between the lookup and this one may have made or ended the session.
        let found = found.filter(|at| flows.has_key(*at, &key));
        let at = found.or_else(|| flows.find(&key))?;
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
            let policy = case.generation.policy(session.first.zones);
            let loose = policy.is_some_and(|policy| policy.loose);
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
    /// those that it was judged by; and until they have settled.
    #[inline(always)]
    fn is_still_permitted(&self, flows: &mut Flows<F::Addr>, at: u32, case: &Case<'_>) -> bool {
        let generation = case.generation.number;
        flows.get(at).is_some_and(|session| session.generation == generation)
            || self.judge_again(flows, at, case)
            || case.now < case.generation.settles_at
    }

    #[cold]
    pub(crate) fn judge_again(&self, flows: &mut Flows<F::Addr>, at: u32, case: &Case<'_>) -> bool {
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

    /// The verdict on an ICMP error about a packet of this flow.
    #[cold]
    fn error(
        &self,
        flows: &mut Flows<F::Addr>,
        key: &Key<F::Addr>,
        (side, seq): (usize, Option<u32>),
        case: &Case<'_>,
    ) -> Verdict {
        let refused = Verdict::Drop(Reason::IcmpError);
        let Some(at) = flows.find(key) else { return refused };
        if flows.is_over(at, case.now) || !self.is_still_permitted(flows, at, case) {
            return refused;
        }
        let Some(session) = flows.get(at) else { return refused };
        // RFC 5927 4.1: a number that is under way.
        match seq {
            Some(seq) if !session.tcp.may_quote(side, seq) => refused,
            _ => Verdict::Session,
        }
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
