// SPDX-License-Identifier: Apache-2.0
//! Packets of the world to users.

use crate::engine::{Outcome, Reason, Work};
use crate::flows::NewSession;
use crate::session::{INWARD, outside_key};
use crate::settings::Mode;
use ::nat::key::{User, has_ports};
use ::nat::mapping::Mapping;
use buffer::Buffer;
use wire::{Icmp4Type, IpProtocol};

/// UDP port of DHCP clients.
const DHCP_CLIENT: u16 = 68;

impl Work<'_, '_> {
    /// Translates a packet of the world.
    #[inline(always)]
    pub fn inward(&mut self, b: &mut Buffer) -> Outcome {
        let p = &self.p;
        if has_ports(p.protocol) && !p.is_error() {
            let key = outside_key(p.to, self.fib, p.protocol);
            if let Some((at, INWARD)) = self.flows.live(&key, self.now) {
                return self.translate_inward(b, at);
            }
        }
        self.inward_unknown(b)
    }

    /// Decides about a packet of the world without a session.
    #[inline(never)]
    fn inward_unknown(&mut self, b: &mut Buffer) -> Outcome {
        let generation = self.engine.nat.generation();
        self.flows.follow(generation, self.settings, self.now);
        let p = self.p;
        if p.is_error() {
            return self.icmp_error(b);
        }
        let mappings = &self.engine.nat.mappings;
        let Some((number, mapping)) = mappings.by_external(p.to, p.protocol, self.turn) else {
            return self.unmapped(b);
        };
        if mapping.identity {
            return Outcome::Passed;
        }
        if p.protocol == IpProtocol::ICMP {
            let may_ask = p.kind == Icmp4Type::ECHO_REQUEST.0 && mapping.is_address_only();
            if !may_ask && p.kind != Icmp4Type::ECHO_REPLY.0 {
                return Outcome::Drop(Reason::IcmpType);
            }
        }
        if p.ttl <= 1 {
            return Outcome::TimeExpired;
        }
        if !has_ports(p.protocol) || self.settings.mode == Mode::Static {
            return self.mapped_inward(b, mapping);
        }
        match self.make_inward(number, mapping) {
            Ok(at) => self.translate_inward(b, at),
            // The host's port has a session in another table of the world.
            Err(Reason::OutOfPorts) => self.mapped_inward(b, mapping),
            Err(reason) => Outcome::Drop(reason),
        }
    }

    /// Translates a packet by a static mapping, without a session.
    fn mapped_inward(&self, b: &mut Buffer, mapping: &Mapping) -> Outcome {
        match mapping.local_of(self.p.to.port) {
            Some(local) => {
                self.put_inward(b, local.end, local.fib);
                Outcome::Mapped
            }
            None => Outcome::Drop(Reason::NoTranslation),
        }
    }

    /// Makes the session of a packet that a mapping lets in.
    fn make_inward(&mut self, number: u32, mapping: &Mapping) -> Result<u32, Reason> {
        let p = self.p;
        let local = mapping.local_of(p.to.port).ok_or(Reason::NoTranslation)?;
        let user = User { fib: local.fib, addr: local.end.addr };
        let sw_if = self.engine.interface_of(user, self.turn);
        self.flows.make_room((user, sw_if), (self.now, self.settings))?;
        let new = NewSession {
            inside: (local.end, local.fib),
            outside: (p.to, self.fib),
            protocol: p.protocol,
            external: p.from,
            mapping: Some(number),
            sw_if,
        };
        Ok(self.flows.make(&new, (self.now, self.settings))?)
    }

    /// Decides about a packet that nothing maps.
    fn unmapped(&mut self, b: &mut Buffer) -> Outcome {
        let p = &self.p;
        let is_dhcp = p.protocol == IpProtocol::UDP && p.to.port == DHCP_CLIENT;
        if self.settings.forwarding || is_dhcp || self.is_for_us(b) {
            return Outcome::Passed;
        }
        let is_known = has_ports(p.protocol);
        Outcome::Drop(if is_known { Reason::NoTranslation } else { Reason::Protocol })
    }

    /// True for a packet to this router itself. An address of the pool is the router's for ICMP
    /// only: what else comes there is for users.
    pub fn is_for_us(&self, b: &Buffer) -> bool {
        let p = &self.p;
        let is_free = p.protocol == IpProtocol::ICMP || !self.settings.is_pool(p.to.addr);
        is_free && self.engine.around.is_own(b.rx_if, p.to.addr, self.turn)
    }
}
