// SPDX-License-Identifier: Apache-2.0
//! Packets of the world that no session is known for.

use crate::engine::{Outcome, Reason, Work};
use crate::flows::{Client, Found, Refused};
use crate::key::{End, Key, User, has_ports};
use crate::session::{INWARD, Session, SessionFlags};
use crate::settings::PoolAddress;
use ::nat::mapping::{Local, Mapping, Twice};
use buffer::Buffer;
use wire::{Icmp4Type, IpProtocol};

/// UDP port of DHCP clients.
const DHCP_CLIENT: u16 = 68;

impl Work<'_, '_> {
    /// Decides about a packet of the world.
    pub fn inward(&mut self, b: &mut Buffer) -> Outcome {
        let p = self.p;
        match self.flows.find(&p.key(self.fib), self.now) {
            Found::Session(at, direction) => return self.translate(b, (at, direction)),
            Found::Ended(_, IpProtocol::TCP) if !p.is_opening() => {
                return Outcome::Drop(Reason::TcpClosed);
            }
            _ => {}
        }
        if p.is_error() {
            return self.icmp_error(b);
        }
        let nat = self.engine.nat.clone();
        let Some((number, mapping)) = nat.mappings.by_external(p.to, p.protocol, self.turn) else {
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
        if p.protocol == IpProtocol::TCP && !p.is_opening() {
            return Outcome::Drop(Reason::NonSyn);
        }
        if p.ttl <= 1 {
            return Outcome::TimeExpired;
        }
        match self.make_inward(number, mapping) {
            Ok(at) => self.translate(b, (at, INWARD)),
            Err(reason) => Outcome::Drop(reason),
        }
    }

    /// Makes the session of a packet that a mapping lets in.
    fn make_inward(&mut self, number: u32, mapping: &Mapping) -> Result<u32, Reason> {
        let p = self.p;
        let mut local = self.local(mapping).ok_or(Reason::Untranslatable)?;
        let mut flags = SessionFlags::STATIC;
        flags.set(SessionFlags::BALANCED, mapping.is_balanced());
        let mut from = p.from;
        if p.protocol == IpProtocol::ICMP {
            // An ICMP query has one identifier for both ends.
            from.port = local.end.port;
        }
        if !has_ports(p.protocol) {
            local.end.port = 0;
        }
        let to_itself = mapping.twice == Twice::ToItself && local.end.addr == p.from.addr;
        if mapping.twice == Twice::Always || to_itself {
            from = self.twice(mapping, local).ok_or(Reason::OutOfPorts)?;
            flags |= SessionFlags::TWICE;
        }
        let keys = [Key::new(local.end, from, local.fib, p.protocol), p.key(self.fib)];
        let session = Session::new(flags, number);
        match self.flows.make(keys, session, (self.now, self.settings)) {
            Ok(at) => Ok(at),
            Err(Refused::TooMany) => Err(Reason::TooManySessions),
            Err(Refused::Taken) => Err(Reason::KeyTaken),
        }
    }

    /// The host inside that gets the packet.
    fn local(&mut self, mapping: &Mapping) -> Option<Local> {
        let p = self.p;
        if !mapping.is_balanced() {
            return mapping.local_of(p.to.port);
        }
        let client = Client { addr: p.from.addr, service: mapping.external, protocol: p.protocol };
        if mapping.affinity != 0
            && let Some(end) = self.flows.back_end(&client, self.now)
            && let Some(local) = mapping.locals.iter().find(|local| local.end == end)
        {
            return Some(*local);
        }
        let random = self.flows.ports.random();
        let local = mapping.back_end(self.engine.thread.0, random)?;
        if mapping.affinity != 0 {
            let now = (self.now, self.settings);
            self.flows.hold(client, local.end, now, mapping.affinity);
        }
        Some(local)
    }

    /// The source that a host of the world gets.
    fn twice(&mut self, mapping: &Mapping, local: Local) -> Option<End> {
        let p = self.p;
        let key = move |from: End| Key::new(local.end, from, local.fib, p.protocol);
        let settings = self.settings;
        let of = (User { fib: local.fib, addr: local.end.addr }, None);
        match mapping.twice_address {
            None => self.allocate(&settings.twice, of, key, None),
            Some(addr) => {
                let one = settings.twice.iter().find(|address| address.addr == addr)?;
                let one = [PoolAddress { fib: None, of: None, ..*one }];
                self.allocate(&one, of, key, None)
            }
        }
    }

    /// Decides about a packet that nothing maps.
    fn unmapped(&mut self, b: &mut Buffer) -> Outcome {
        let p = self.p;
        if self.settings.forwarding {
            return self.bypass(b);
        }
        if p.protocol == IpProtocol::UDP && p.to.port == DHCP_CLIENT {
            return Outcome::Passed;
        }
        if self.is_for_us(b) {
            return Outcome::Passed;
        }
        Outcome::Drop(Reason::NoTranslation)
    }

    /// True for a packet to this router itself. An address of the pool is the router's for ICMP
    /// only: what else comes there is for users.
    pub fn is_for_us(&self, b: &Buffer) -> bool {
        let p = self.p;
        let is_free = p.protocol == IpProtocol::ICMP || !self.settings.is_pool(p.to.addr);
        is_free && self.engine.around.is_own(b.rx_if, p.to.addr, self.turn)
    }

    /// Lets a packet pass as it is, by a session, so that answers pass too.
    fn bypass(&mut self, b: &mut Buffer) -> Outcome {
        let p = self.p;
        if !has_ports(p.protocol) || p.protocol == IpProtocol::ICMP && !p.is_echo() {
            return Outcome::Passed;
        }
        let key = p.reversed(self.fib);
        if let Found::Session(at, _) = self.flows.find(&key, self.now) {
            let is_bypass = self.flows.get(at).is_some_and(|(_, session)| session.is_bypass());
            return if is_bypass { self.translate(b, (at, INWARD)) } else { Outcome::Passed };
        }
        let session = Session::new(SessionFlags::BYPASS, u32::MAX);
        match self.flows.make([key; 2], session, (self.now, self.settings)) {
            Ok(at) => self.translate(b, (at, INWARD)),
            Err(_) => Outcome::Passed,
        }
    }
}
