// SPDX-License-Identifier: Apache-2.0
//! Packets of users to the world that no session is known for.

use crate::engine::{Outcome, Place, Reason, Work};
use crate::flows::{Found, Refused};
use crate::key::{End, Key};
use crate::session::{Session, SessionFlags};
use ::nat::egress::Egress;
use buffer::{Buffer, Flags};
use std::net::Ipv4Addr;
use wire::{Icmp4Type, IpProtocol};

/// UDP port of DHCP servers.
const DHCP_SERVER: u16 = 67;

/// The external end of a user, and what it was taken from.
struct External {
    end: End,
    flags: SessionFlags,
    mapping: u32,
}

/// A host that a user reaches by its external address.
struct Behind {
    end: End,
    fib: u32,
}

impl Work<'_, '_> {
    /// Decides about a packet of a user.
    pub fn outward(&mut self, b: &mut Buffer) -> Outcome {
        let p = self.p;
        // A packet of the same vector may have made the session.
        if let Found::Session(at, direction) = self.flows.find(&p.key(self.fib), self.now) {
            return self.translate(b, (at, direction));
        }
        if p.is_error() {
            return self.icmp_error(b);
        }
        if self.passes(b) {
            return Outcome::Passed;
        }
        // RFC 5508 3.2: queries alone make sessions.
        if p.protocol == IpProtocol::ICMP && p.kind != Icmp4Type::ECHO_REQUEST.0 {
            return Outcome::Drop(Reason::IcmpType);
        }
        if p.protocol == IpProtocol::TCP && !p.is_opening() {
            return Outcome::Drop(Reason::NonSyn);
        }
        if self.place != Place::Output && p.ttl <= 1 {
            return Outcome::TimeExpired;
        }
        match self.make_outward(b) {
            Ok(Some(at)) => self.translate(b, (at, crate::session::OUTWARD)),
            Ok(None) => Outcome::Passed,
            Err(reason) => Outcome::Drop(reason),
        }
    }

    /// True for a packet that isn't translated.
    pub fn passes(&mut self, b: &Buffer) -> bool {
        match self.place {
            Place::Output => self.passes_output(b),
            _ => self.passes_input(b),
        }
    }

    fn passes_input(&mut self, b: &Buffer) -> bool {
        let p = self.p;
        let reversed = p.reversed(self.settings.outside);
        let mappings = &self.engine.nat.mappings;
        if self.flows.live(&reversed, self.now).is_some()
            || mappings.by_external(p.to, p.protocol, self.turn).is_some()
        {
            return false;
        }
        self.settings.forwarding
            || self.engine.around.is_own(b.rx_if, p.to.addr, self.turn)
            || !self.leads_outside()
    }

    /// True if the packet would leave by an interface to the world, by the table that it came in by
    /// or by one that its users may send to.
    fn leads_outside(&self) -> bool {
        let egress = |fib: u32| self.engine.around.routes.egress(fib, self.p.to.addr, self.turn);
        if let Some(routes) = self.settings.routes.get(&self.fib) {
            return routes.iter().any(|fib| matches!(egress(*fib), Egress::By(_)));
        }
        let first = egress(self.fib);
        if first != Egress::None {
            return self.is_outside(first);
        }
        let mut others = self.settings.outsides.iter().map(|fib| egress(*fib));
        others.find(|egress| *egress != Egress::None).is_some_and(|e| self.is_outside(e))
    }

    fn passes_output(&mut self, b: &Buffer) -> bool {
        let (p, turn) = (self.p, self.turn);
        let to_servers = p.protocol == IpProtocol::UDP && p.to.port == DHCP_SERVER;
        if to_servers && p.to.addr == Ipv4Addr::BROADCAST {
            return true;
        }
        // This router's own packets have an address that the world knows.
        if b.flags.contains(Flags::LOCAL) && self.engine.around.is_own(b.tx_if, p.from.addr, turn) {
            return true;
        }
        let outside = self.engine.around.table_of_interface(b.tx_if, turn);
        if self.flows.live(&p.key(outside), self.now).is_some() {
            return true;
        }
        // Packets of sessions that the world began were translated as they came in.
        let reversed = self.flows.live(&p.reversed(self.fib), self.now);
        let session = reversed.and_then(|(at, _)| self.flows.get(at));
        session.is_some_and(|(_, session)| !session.is_bypass())
    }

    /// Makes the session of a user's packet; `None` if it passes as it is.
    fn make_outward(&mut self, b: &Buffer) -> Result<Option<u32>, Reason> {
        let p = self.p;
        let output = (self.place == Place::Output).then_some(b.tx_if);
        let outside = match output {
            Some(tx_if) => self.engine.around.table_of_interface(tx_if, self.turn),
            None => self.outside_table(),
        };
        let behind = if output.is_some() { None } else { self.behind() };
        let (to, back_fib) = behind.as_ref().map_or((p.to, outside), |of| (of.end, of.fib));
        let key = move |external: End| {
            // An ICMP query has one identifier for both ends.
            let is_icmp = p.protocol == IpProtocol::ICMP;
            let to = if is_icmp { End::new(to.addr, external.port) } else { to };
            Key::new(to, external, back_fib, p.protocol)
        };
        let Some(mut external) = self.external((output, outside), key)? else { return Ok(None) };
        if behind.is_some() {
            external.flags |= SessionFlags::HAIRPIN;
        }
        if output.is_some() {
            external.flags |= SessionFlags::OUTPUT;
        }
        let keys = [p.key(self.fib), key(external.end)];
        let session = Session::new(external.flags, external.mapping);
        match self.flows.make(keys, session, (self.now, self.settings)) {
            Ok(at) => Ok(Some(at)),
            Err(Refused::TooMany) => Err(Reason::TooManySessions),
            Err(Refused::Taken) => Err(Reason::Untranslatable),
        }
    }

    /// The host behind the mapping that the packet's destination is the external end of.
    fn behind(&mut self) -> Option<Behind> {
        let (p, turn) = (self.p, self.turn);
        let mappings = &self.engine.nat.mappings;
        let (_, mapping) = mappings.by_external(p.to, p.protocol, turn)?;
        if mapping.identity {
            return None;
        }
        let local = if mapping.is_balanced() {
            mapping.back_end(self.engine.thread.0, self.flows.ports.random())
        } else {
            mapping.local_of(p.to.port)
        };
        local.map(|local| Behind { end: local.end, fib: local.fib })
    }

    /// The external end of the packet's user: of a mapping, or of the pool. `None` if an identity
    /// mapping lets it pass.
    fn external(
        &mut self,
        (output, outside): (Option<u32>, u32),
        key: impl Fn(End) -> Key,
    ) -> Result<Option<External>, Reason> {
        let (p, turn) = (self.p, self.turn);
        let mappings = &self.engine.nat.mappings;
        let fibs = [self.fib, self.settings.inside, outside];
        if let Some((number, mapping)) = mappings.by_local(p.from, p.protocol, fibs, turn) {
            if mapping.identity {
                return Ok(None);
            }
            let balanced = mapping.is_balanced();
            let more = if balanced { SessionFlags::BALANCED } else { SessionFlags::empty() };
            return Ok(Some(External {
                end: mapping.external_of(p.from.port),
                flags: SessionFlags::STATIC | more,
                mapping: number,
            }));
        }
        let settings = self.settings;
        let wanted = Some(p.from.port);
        let user = p.key(self.fib).sender();
        let end = self.allocate(&settings.pool, (user, output), key, wanted);
        let end = end.ok_or(Reason::OutOfPorts)?;
        Ok(Some(External { end, flags: SessionFlags::empty(), mapping: u32::MAX }))
    }
}
