// SPDX-License-Identifier: Apache-2.0
//! Packets without a session: the rules of their zones decide, and those that they accept begin
//! one.

use crate::flows::ThreadSessions;
use crate::judge::{Case, Judge, Judged};
use crate::model::Action;
use crate::packet::{Icmp, Malformed, Packet, segment};
use crate::record::{Happened, Record};
use crate::rules::{Compiled, Decision};
use crate::session::{First, Key, Session};
use crate::tcp::{Connection, Invalid};
use crate::verdict::{Reason, Verdict};
use std::sync::atomic::Ordering;
use wire::{IpProtocol, TcpFlags};

impl<F: Judged> Judge<F> {
    /// A message that neither asks nor answers: by the rules alone.
    #[cold]
    pub(crate) fn without_session(
        &self,
        packet: &Packet<F::Addr>,
        case: &Case<'_>,
        policy: Option<&Compiled>,
    ) -> Verdict {
        let Some(policy) = policy else {
            return self.no_policy(packet, case);
        };
        match self.decide(policy, packet, case) {
            Ok(decision) => Verdict::Permit(decision.number),
            Err(refused) => refused,
        }
    }

    #[cold]
    pub(crate) fn no_policy(&self, packet: &Packet<F::Addr>, case: &Case<'_>) -> Verdict {
        if self.records.no_policy.load(Ordering::Relaxed) {
            self.deny(packet, case, None, Reason::NoPolicy);
        }
        Verdict::Drop(Reason::NoPolicy)
    }

    /// The decision of a policy that accepts the packet, which is counted.
    ///
    /// # Errors
    /// The verdict on a packet that it doesn't accept.
    fn decide<'t>(
        &self,
        policy: &'t Compiled,
        packet: &Packet<F::Addr>,
        case: &Case<'t>,
    ) -> Result<&'t Decision, Verdict> {
        let sets = (&*case.generation.sets, case.turn);
        let decision = policy.decide::<F>(packet, case.interfaces, sets);
        decision.hits.note(&self.hits, packet.length.into(), case.now);
        let has_room = |rate| decision.hits.accept(rate, case.now);
        let why = match decision.action {
            Action::Accept if decision.rate.is_none_or(has_room) => return Ok(decision),
            Action::Accept => Reason::Rate(decision.number),
            Action::Drop | Action::Reject => Reason::Rule(decision.number),
        };
        if decision.log {
            self.deny(packet, case, Some(decision.hits.cell), why);
        }
        Err(match decision.action {
            Action::Reject => Verdict::Reject(decision.number),
            Action::Accept | Action::Drop => Verdict::Drop(why),
        })
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
        self.post(record, case.turn);
    }

    /// Judges a packet of a flow without a session, and makes one.
    #[inline(never)]
    pub(crate) fn begin(
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
        let decision = match self.decide(policy, packet, case) {
            Ok(decision) => decision,
            Err(refused) => return refused,
        };
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
}
