// SPDX-License-Identifier: Apache-2.0
//! The nodes: `{ip}-firewall-output` for packets that leave, `{ip}-firewall-local` for those to the
//! router.

use crate::filter::Filter;
use crate::flows::AT_A_TICK;
use crate::judge::{Judge, Judged, Question};
use crate::packet::{Malformed, Packet, read};
use crate::session::Key;
use crate::tcp::Invalid;
use crate::verdict::{Reason, Verdict, Way};
use buffer::{Buffer, Field, Flags, Owned};
use graph::{Build, Cx, Next, Node, NodeIndex, Runtime, ThreadIndex, Trace, Vector, World};
use ip::Ip;
use net::{IpMeta, L4};
use simd::Isa;
use std::fmt;
use std::net::IpAddr;
use std::ops::Range;
use sync::Turn;
use wire::IpProtocol;

/// Code of ICMP destination unreachable: communication administratively prohibited (RFC 1812
/// 5.2.7.1).
const PROHIBITED4: (u8, u8) = (3, 13);
/// Its like in ICMPv6 (RFC 4443 3.1).
const PROHIBITED6: (u8, u8) = (1, 1);

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next_feature]
    Next,
    /// {ip} packets that a rule drops, or the default of a policy
    #[drop]
    Policy,
    /// {ip} packets between zones without a policy
    #[drop]
    NoPolicy,
    /// {ip} packets that are rejected: their sender is told
    #[next("{ip}-icmp-error", reason)]
    Rejected,
    /// {ip} TCP segments that are answered by a reset
    #[next("tcp{4|6}-reset", count)]
    Reset,
    /// {ip} packets that are rejected without an answer: they are the router's own
    #[drop]
    RejectedOwn,
    /// {ip} headers that are cut or contradict each other
    #[drop]
    Malformed,
    /// {ip} fragments without a session, or whose first fragment isn't known
    #[drop]
    Fragment,
    /// {ip} TCP flags that no host sends together
    #[drop]
    TcpFlags,
    /// {ip} TCP segments outside of the window
    #[drop]
    TcpWindow,
    /// {ip} TCP segments that acknowledge what was never sent
    #[drop]
    TcpAcknowledgment,
    /// {ip} TCP resets outside of the window
    #[drop]
    TcpReset,
    /// {ip} TCP segments of a connection whose request wasn't answered
    #[drop]
    TcpHandshake,
    /// {ip} packets that neither begin a flow nor belong to a session
    #[drop]
    NoSession,
    /// ICMP errors about packets of no session
    #[drop]
    IcmpError,
    /// {ip} packets for whose session there is no room
    #[drop]
    Full,
    /// {ip} packets of hosts with as many sessions as they may have
    #[drop]
    SourceLimit,
    /// {ip} packets from zones with as many sessions as they may have
    #[drop]
    ZoneLimit,
    /// {ip} packets beyond the rate of a rule
    #[drop]
    RuleRate,
    /// To the thread that owns the flow.
    #[keep]
    Elsewhere,
    /// {ip} packets of sessions
    #[count]
    Session,
    /// {ip} sessions made
    #[count]
    New,
    /// {ip} packets that pass without a session
    #[count]
    Permit,
}

impl To {
    fn of(reason: Reason) -> Self {
        match reason {
            Reason::Rule(_) => Self::Policy,
            Reason::NoPolicy => Self::NoPolicy,
            Reason::Malformed(Malformed::Header) => Self::Malformed,
            Reason::Malformed(Malformed::Fragment) => Self::Fragment,
            Reason::Tcp(Invalid::Flags) => Self::TcpFlags,
            Reason::Tcp(Invalid::Window) => Self::TcpWindow,
            Reason::Tcp(Invalid::Acknowledgment) => Self::TcpAcknowledgment,
            Reason::Tcp(Invalid::Reset) => Self::TcpReset,
            Reason::Tcp(Invalid::Handshake) => Self::TcpHandshake,
            Reason::NoSession => Self::NoSession,
            Reason::IcmpError => Self::IcmpError,
            Reason::Full => Self::Full,
            Reason::Source => Self::SourceLimit,
            Reason::Zone => Self::ZoneLimit,
            Reason::Rate(_) => Self::RuleRate,
        }
    }
}

/// A node; with `LOCAL`, that of packets to the router.
pub struct Firewall<F: Judged + Ip, const LOCAL: bool> {
    judge: Judge<F>,
    l4: Field<L4>,
}

impl<F: Judged + Ip, const LOCAL: bool> Build for Firewall<F, LOCAL> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { judge: Judge::new(world, thread), l4: world.field() }
    }
}

/// The interface by which packets to the router leave.
const NOWHERE: u32 = u32::MAX;
/// Packets that are judged together.
const BLOCK: usize = 64;

/// Bytes in front of the packet's IP header.
#[inline(always)]
fn start<const LOCAL: bool>(b: &Buffer) -> usize {
    if LOCAL { 0 } else { b.l3_at() }
}

impl<F: Judged + Ip, const LOCAL: bool> Firewall<F, LOCAL> {
    /// Ends sessions of a thread that a filter takes, as [`Judge::clear`].
    pub fn clear(
        rt: &mut Runtime,
        filter: &Filter,
        (node, now): (NodeIndex, u64),
        part: (&mut u32, &mut usize),
    ) -> usize {
        let Some((node, turn)) = rt.node_reading::<Self>(node) else { return 0 };
        node.judge.clear((&turn, now), |key, session| filter.takes(key, session), part)
    }

    #[inline(always)]
    fn way(b: &Buffer) -> Way {
        Way {
            interfaces: [b.rx_if, if LOCAL { NOWHERE } else { b.tx_if }],
            is_own: b.flags.contains(Flags::LOCAL),
            is_for_us: LOCAL,
        }
    }

    #[inline(always)]
    fn bytes(b: &Buffer) -> &[u8] {
        b.data().get(start::<LOCAL>(b)..).unwrap_or_default()
    }

    #[inline(always)]
    fn ask(&self, b: &Buffer, now: (&Turn<'_>, u64)) -> Question<F::Addr> {
        self.judge.ask(&Self::way(b), Self::bytes(b), b.find_field(self.l4), now)
    }

    /// Judges one packet.
    #[inline(never)]
    fn verdict(&self, b: &Buffer, now: (&Turn<'_>, u64)) -> Verdict {
        let question = self.ask(b, now);
        if let Question::Done(verdict) = question {
            return verdict;
        }
        let Some(mut sessions) = self.judge.sessions(now.0) else {
            return Verdict::Drop(Reason::Full);
        };
        let of = (&Self::way(b), Self::bytes(b));
        self.judge.answer(&question, None, of, &mut sessions, now)
    }

    /// The edge of a packet, for which all is counted. What another thread judges is counted there.
    #[inline(always)]
    fn conclude<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        verdict: Verdict,
        cx: &mut Cx<'_, TRACED>,
    ) -> To {
        match verdict {
            Verdict::Unchecked => return To::Next,
            Verdict::Drop(reason) => return To::of(reason),
            Verdict::Reject(_) => return self.reject(b),
            Verdict::Elsewhere(_) => return To::Elsewhere,
            Verdict::Session => cx.count(To::Session, 1),
            Verdict::New(_) => cx.count(To::New, 1),
            Verdict::Permit(_) => cx.count(To::Permit, 1),
        }
        To::Next
    }

    /// Judges packets, [`BLOCK`] at most: their sessions are looked up together.
    #[inline(never)]
    fn block(&self, v: &mut Vector<'_, To>, range: Range<usize>, cx: &mut Cx<'_, false>) {
        let now = (cx.turn, cx.now());
        let mut questions = [Question::Done(Verdict::Unchecked); BLOCK];
        let (mut keys, mut found) = ([Key::NOTHING; BLOCK], [u32::MAX; BLOCK]);
        let n = range.len().min(BLOCK);
        let mut has_keys = false;
        let packets = v.range_mut_ahead(range.start, range.end);
        for (b, (question, key)) in packets.zip(questions.iter_mut().zip(&mut keys)) {
            *question = self.ask(b, now);
            if let Some(of) = question.key() {
                (*key, has_keys) = (*of, true);
            }
        }
        let mut sessions = if has_keys { self.judge.sessions(cx.turn) } else { None };
        if let Some(sessions) = &mut sessions {
            self.judge.find_many(sessions, &keys[..n], &mut found[..n]);
        }
        for (i, (question, found)) in range.zip(questions.iter().zip(&found)) {
            let b = v.get_mut(i);
            let verdict = match (question, &mut sessions) {
                (Question::Done(verdict), _) => *verdict,
                (question, Some(sessions)) => {
                    let of = (&Self::way(b), Self::bytes(b));
                    self.judge.answer(question, Some(*found), of, sessions, now)
                }
                (_, None) => Verdict::Drop(Reason::Full),
            };
            let to = self.conclude(b, verdict, cx);
            v.set(i, to);
        }
    }

    /// Leads a rejected packet to the node that answers it.
    #[cold]
    fn reject(&self, b: &mut Buffer) -> To {
        if b.flags.contains(Flags::LOCAL) || !b.pull(start::<LOCAL>(b)) {
            return To::RejectedOwn;
        }
        let tcp = read::<F>(b.data(), None);
        if tcp.is_ok_and(|packet| packet.protocol() == IpProtocol::TCP) {
            return To::Reset;
        }
        let (kind, code) = if F::IS_V6 { PROHIBITED6 } else { PROHIBITED4 };
        b.set_scratch(IpMeta::error(kind, code, 0).on_the_way());
        To::Rejected
    }
}

impl<F: Judged + Ip, const LOCAL: bool> Node for Firewall<F, LOCAL> {
    const NAME: &'static str = if LOCAL { "{ip}-firewall-local" } else { "{ip}-firewall-output" };
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = To;
    type Trace = FirewallTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let verdict = self.verdict(b, (cx.turn, cx.now()));
        if TRACED && !matches!(verdict, Verdict::Elsewhere(_)) {
            let packet = read::<F>(Self::bytes(b), b.find_field(self.l4)).ok();
            cx.trace(b, FirewallTrace::new(&verdict, Self::way(b), packet));
        }
        self.conclude(b, verdict, cx)
    }

    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        let mut from = 0;
        while from < v.len() {
            let to = v.len().min(from + BLOCK);
            self.block(v, from..to, cx);
            from = to;
        }
    }

    fn keep(&mut self, mut b: Owned, cx: &mut Cx<'_, false>) {
        match self.verdict(&b, (cx.turn, cx.now())) {
            Verdict::Elsewhere(thread) => cx.handoff(thread, cx.node(), b),
            // The rules have changed since.
            verdict => {
                let to = self.conclude(&mut b, verdict, cx);
                cx.emit(to, b);
            }
        }
    }

    fn tick(&mut self, cx: &mut Cx<'_, false>) {
        if !LOCAL && self.judge.sweep((cx.turn, cx.now()), AT_A_TICK) {
            cx.again();
        }
    }
}

/// A record of a judgement.
#[derive(Clone, Copy)]
pub struct FirewallTrace {
    way: Way,
    words: &'static str,
    /// Number of the rule that has decided.
    rule: Option<u32>,
    ends: Option<[(IpAddr, u16); 2]>,
    protocol: u8,
}

impl FirewallTrace {
    fn new<A: Into<IpAddr>>(verdict: &Verdict, way: Way, packet: Option<Packet<A>>) -> Self {
        let protocol = packet.as_ref().map_or(0, |packet| packet.protocol().0);
        let ends = packet.map(|packet| {
            let tuple = packet.tuple;
            [
                (tuple.source.into(), tuple.upper.source),
                (tuple.destination.into(), tuple.upper.destination),
            ]
        });
        Self { way, words: verdict.words(), rule: verdict.rule(), ends, protocol }
    }
}

impl Trace for FirewallTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [input, output] = self.way.interfaces;
        f.write_str(self.words)?;
        if let Some(rule) = self.rule {
            write!(f, " by rule {rule}")?;
        }
        match self.way.is_own {
            true => f.write_str(": from self")?,
            false => write!(f, ": from sw_if_index {input}")?,
        }
        match self.way.is_for_us {
            true => f.write_str(" to self")?,
            false => write!(f, " to sw_if_index {output}")?,
        }
        let Some([(source, from), (destination, to)]) = self.ends else {
            return f.write_str("\nheaders cut");
        };
        write!(f, "\n{source} {from} -> {destination} {to}, protocol {}", self.protocol)
    }
}
