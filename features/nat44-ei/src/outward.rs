// SPDX-License-Identifier: Apache-2.0
//! Packets of users to the world that no session is known for.

use crate::engine::{Outcome, Place, Reason, Work};
use crate::flows::NewSession;
use crate::hairpin::Behind;
use crate::session::{OUTWARD, inside_key, outside_key};
use crate::settings::{Mode, OUTPUT_INSIDE, PoolAddress};
use ::nat::egress::Egress;
use ::nat::key::{End, Key, User, has_ports};
use buffer::{Buffer, Flags};
use std::net::Ipv4Addr;
use wire::{Icmp4Type, IpProtocol};

/// UDP port of DHCP servers.
const DHCP_SERVER: u16 = 67;
/// Addresses of a pool that are tried for a user whose own has no port left.
const ADDRESSES: usize = 64;

impl Work<'_, '_> {
    /// Decides about a packet of a user.
    #[inline(never)]
    pub fn outward(&mut self, b: &mut Buffer) -> Outcome {
        let generation = self.engine.nat.generation();
        self.flows.follow(generation, self.settings, self.now);
        let p = self.p;
        if p.is_error() {
            return self.icmp_error(b);
        }
        if self.passes(b) {
            return Outcome::Passed;
        }
        if !has_ports(p.protocol) || self.settings.mode == Mode::Static {
            return self.mapped_outward(b);
        }
        let key = inside_key(p.from, self.fib, p.protocol);
        if let Some((at, OUTWARD)) = self.flows.live(&key, self.now) {
            return self.translate_outward(b, at);
        }
        // RFC 5508 3.2: queries alone make sessions.
        if p.protocol == IpProtocol::ICMP && p.kind != Icmp4Type::ECHO_REQUEST.0 {
            return Outcome::Drop(Reason::IcmpType);
        }
        if self.place != Place::Output && p.ttl <= 1 {
            return Outcome::TimeExpired;
        }
        match self.make_outward(b) {
            Ok(Some(at)) => self.translate_outward(b, at),
            Ok(None) => Outcome::Passed,
            Err(reason) => Outcome::Drop(reason),
        }
    }

    /// True for a packet that isn't translated.
    pub fn passes(&self, b: &Buffer) -> bool {
        match self.place {
            Place::Output => self.passes_output(b),
            _ => self.passes_input(b),
        }
    }

    fn passes_input(&self, b: &Buffer) -> bool {
        let p = &self.p;
        if self.behind() != Behind::Nobody {
            return false;
        }
        if self.settings.forwarding || self.engine.around.is_own(b.rx_if, p.to.addr, self.turn) {
            return true;
        }
        // Without interfaces to the world, all that users send is for it.
        !self.settings.dpo && !self.leads_outside()
    }

    /// True if the route alone tells that the packet is translated: a user's other packets may go
    /// from the same port to users, or to this router.
    #[inline(always)]
    pub fn is_for_the_world(&self) -> bool {
        self.place == Place::Output || self.settings.dpo || self.leads_outside()
    }

    /// True if the packet would leave by an interface to the world.
    fn leads_outside(&self) -> bool {
        let routes = &self.engine.around.routes;
        let egress = |fib: u32| routes.egress(fib, self.p.to.addr, self.turn);
        let first = egress(self.fib);
        if first != Egress::None {
            return self.is_outside(first);
        }
        let mut others = self.settings.outsides.iter().map(|fib| egress(*fib));
        others.find(|egress| *egress != Egress::None).is_some_and(|e| self.is_outside(e))
    }

    fn passes_output(&self, b: &Buffer) -> bool {
        let (p, turn) = (&self.p, self.turn);
        let around = &self.engine.around;
        let to_servers = p.protocol == IpProtocol::UDP && p.to.port == DHCP_SERVER;
        if to_servers && p.to.addr == Ipv4Addr::BROADCAST {
            return true;
        }
        // This router's own packets have an address that the world knows.
        if b.flags.contains(Flags::LOCAL) && around.is_own(b.tx_if, p.from.addr, turn) {
            return true;
        }
        let outside = around.table_of_interface(b.tx_if, turn);
        if self.flows.live(&outside_key(p.from, outside, p.protocol), self.now).is_some() {
            return true;
        }
        // Packets to users were translated as they came in; those of other users still need a
        // source.
        let is_of_user = b.rx_if == b.tx_if || self.settings.role(b.rx_if) & OUTPUT_INSIDE != 0;
        let is_user = |fib| self.flows.live(&inside_key(p.to, fib, p.protocol), self.now).is_some();
        !is_of_user && (is_user(self.fib) || is_user(outside))
    }

    /// Translates a packet by a static mapping, without a session.
    fn mapped_outward(&mut self, b: &mut Buffer) -> Outcome {
        let p = self.p;
        let mappings = &self.engine.nat.mappings;
        let found = mappings.by_local(p.from, p.protocol, [self.fib; 3], self.turn);
        let Some((_, mapping)) = found else {
            let is_known = has_ports(p.protocol);
            let reason = if is_known { Reason::NoTranslation } else { Reason::Protocol };
            return Outcome::Drop(reason);
        };
        if mapping.identity {
            return Outcome::Passed;
        }
        if self.place != Place::Output && p.ttl <= 1 {
            return Outcome::TimeExpired;
        }
        let outside = mapping.external_of(p.from.port);
        self.put_outward(b, outside, Outcome::Mapped)
    }

    /// Makes the session of a user's packet; `None` if an identity mapping lets it pass.
    fn make_outward(&mut self, b: &Buffer) -> Result<Option<u32>, Reason> {
        let p = self.p;
        let outside = match self.place {
            Place::Output => Some(self.engine.around.table_of_interface(b.tx_if, self.turn)),
            _ => self.outside_table(),
        };
        let fib = outside.ok_or(Reason::NoOutsideTable)?;
        let user = User { fib: self.fib, addr: p.from.addr };
        let mappings = &self.engine.nat.mappings;
        let found = mappings.by_local(p.from, p.protocol, [self.fib; 3], self.turn);
        let (end, mapping) = match found {
            Some((_, mapping)) if mapping.identity => return Ok(None),
            Some((number, mapping)) => {
                self.flows.make_room((user, b.rx_if), (self.now, self.settings))?;
                (mapping.external_of(p.from.port), Some(number))
            }
            None if self.settings.mode != Mode::Dynamic => return Err(Reason::NoTranslation),
            None => {
                self.flows.make_room((user, b.rx_if), (self.now, self.settings))?;
                let Some(end) = self.allocate(user, fib) else {
                    self.flows.log_lack_of_ports();
                    return Err(Reason::OutOfPorts);
                };
                (end, None)
            }
        };
        let new = NewSession {
            inside: (p.from, self.fib),
            outside: (end, fib),
            protocol: p.protocol,
            external: p.to,
            mapping,
            sw_if: b.rx_if,
        };
        Ok(Some(self.flows.make(&new, (self.now, self.settings))?))
    }

    /// An address with a port for a user, whom the world sees in this table.
    fn allocate(&mut self, user: User, fib: u32) -> Option<End> {
        let settings = self.settings;
        let protocol = self.p.protocol;
        let free = |work: &mut Self, addr| {
            let key = |port| outside_key(End::new(addr, port), fib, protocol);
            let mappings = &work.engine.nat.mappings;
            let turn = work.turn;
            let taken = |port| mappings.by_port(End::new(addr, port), protocol, turn).is_some();
            work.flows.choose_port(key, taken, work.now).map(|port| End::new(addr, port))
        };
        if let Some(end) = self.first_of(&settings.pool, user, free) {
            return Some(end);
        }
        self.flows.expire(self.now, crate::flows::AT_A_TICK);
        self.first_of(&settings.pool, user, |work, addr| {
            let key = |port| -> Key { outside_key(End::new(addr, port), fib, protocol) };
            let mappings = &work.engine.nat.mappings;
            let turn = work.turn;
            let taken = |port| mappings.by_port(End::new(addr, port), protocol, turn).is_some();
            let port = work.flows.choose_port(key, taken, work.now);
            let port = port.or_else(|| work.flows.take_port(user, key, taken))?;
            Some(End::new(addr, port))
        })
    }

    /// The first result of `get` for addresses of the pool, in the order in which a user gets them:
    /// those of the user's table from position s mod n on (s is the user's address as a
    /// little-endian word), then those of no table back from position s − 1.
    fn first_of(
        &mut self,
        pool: &[PoolAddress],
        user: User,
        mut get: impl FnMut(&mut Self, Ipv4Addr) -> Option<End>,
    ) -> Option<End> {
        let n = pool.len();
        let usable = |of: &&PoolAddress| of.fib.is_none_or(|fib| fib == user.fib);
        if self.settings.first_alone {
            let first = pool.iter().find(usable)?;
            return get(self, first.addr);
        }
        let first = u32::from_le_bytes(user.addr.octets()) as usize % n.max(1);
        let own = (0..n).map(|i| &pool[(first + i) % n]).filter(|of| of.fib == Some(user.fib));
        let any = (0..n).rev().map(|i| &pool[(first + i) % n]).filter(|of| of.fib.is_none());
        own.chain(any).take(ADDRESSES).find_map(|of| get(self, of.addr))
    }
}
