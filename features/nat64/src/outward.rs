// SPDX-License-Identifier: Apache-2.0
//! Packets of users to the world (RFC 6146 3.5, RFC 7915 5).

use crate::engine::{Outcome, Reason, Work, quoted6, remote};
use crate::flows::Refused;
use crate::icmp;
use crate::key::{End, Key, User, has_ports};
use crate::packet::{HEADER4, HEADER6, Packet, is_echo6};
use crate::session::{INWARD, OUTWARD};
use crate::translate::{Ends, MAY_FRAGMENT, ends4, query4, to4};
use buffer::{Buffer, Flags};
use ip::segment_len;
use std::net::Ipv6Addr;
use wire::icmp::code6;
use wire::{Icmp6Type, Ip4, Ip6, IpProtocol};

/// The first bits of link-local addresses.
const LINK_LOCAL: u128 = 0xfe80 << 112;

impl From<Refused> for Reason {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Bindings => Self::TooManyBindings,
            Refused::Sessions => Self::TooManySessions,
            Refused::Ports => Self::OutOfPorts,
            Refused::Exists | Refused::Taken => Self::NoTranslation,
        }
    }
}

/// A packet of a user, with the host of the world that it goes to.
#[derive(Clone, Copy)]
struct Outward {
    p: Packet<Ipv6Addr>,
    /// Index of the user's table.
    fib: u32,
    to: End,
}

impl Outward {
    fn user(&self) -> User {
        User { fib: self.fib, addr: self.p.from, port: self.p.ports.0 }
    }

    fn key(&self) -> Key {
        let to = remote(self.to.addr, self.to.port, self.p.protocol);
        Key::inside(self.user(), to, self.p.protocol)
    }
}

impl Work<'_, '_> {
    /// Reads a packet of a user; what isn't for a host of the world passes.
    #[inline(always)]
    fn read_outward(&self, b: &Buffer) -> Result<Outward, Outcome> {
        let fib = self.engine.table::<Ip6>(b, self.turn);
        let to = b.bytes::<HEADER6>(0).and_then(|header| header.last_chunk::<16>());
        let to = to.map(|to| Ipv6Addr::from_octets(*to)).ok_or(Outcome::Drop(Reason::Unknown))?;
        let addr = self.settings.prefix_of(fib).extract(to).ok_or(Outcome::Passed)?;
        let p = Packet::<Ipv6Addr>::read(b.data(), self.engine.l4(b), false)
            .map_err(|fault| Outcome::Drop(fault.into()))?;
        Ok(Outward { p, fib, to: End::new(addr, p.ports.1) })
    }

    /// Translates a packet of a known session; all others are for the slow path.
    #[inline(always)]
    pub fn fast_outward(&mut self, b: &mut Buffer) -> Outcome {
        let out = match self.read_outward(b) {
            Ok(out) => out,
            Err(outcome) => return outcome,
        };
        if out.p.protocol == IpProtocol::ICMP && (out.p.part.is_some() || !is_echo6(out.p.kind)) {
            return Outcome::Slow;
        }
        match self.flows.live(&out.key(), self.now) {
            Some((at, OUTWARD)) => self.translate_outward(b, out, at),
            _ => Outcome::Slow,
        }
    }

    /// Decides about a packet without a session.
    #[inline(never)]
    pub fn slow_outward(&mut self, b: &mut Buffer) -> Outcome {
        let out = match self.read_outward(b) {
            Ok(out) => out,
            Err(outcome) => return outcome,
        };
        let p = &out.p;
        if self.engine.is_own(b.rx_if, p.to, self.turn) {
            return Outcome::Passed;
        }
        // RFC 6146 3.5: nobody pretends to be the world.
        let prefix = self.settings.prefix_of(out.fib);
        let is_link_local = p.from.to_bits() >> 118 == LINK_LOCAL >> 118;
        if prefix.extract(p.from).is_some() || p.from.is_unspecified() || is_link_local {
            return Outcome::Drop(Reason::NoTranslation);
        }
        let generation = self.engine.nat.generation();
        self.flows.follow(generation, self.settings, self.now);
        if p.protocol == IpProtocol::ICMP {
            // Their checksum covers the length of the datagram, which fragments don't tell.
            if p.part.is_some() {
                return Outcome::Drop(Reason::Protocol);
            }
            if p.is_error() {
                return self.error_outward(b, &out);
            }
            if !is_echo6(p.kind) {
                return Outcome::Drop(Reason::Protocol);
            }
        }
        // A packet of the same vector may have made the session.
        if let Some((at, OUTWARD)) = self.flows.live(&out.key(), self.now) {
            return self.translate_outward(b, out, at);
        }
        // A connection, or a query, begins with its first message (RFC 6146 3.5.2, 3.5.3).
        let begins = match p.protocol {
            IpProtocol::TCP => p.is_opening(),
            IpProtocol::ICMP => p.kind == Icmp6Type::ECHO_REQUEST.0,
            _ => true,
        };
        if !begins {
            return Outcome::Drop(Reason::NoTranslation);
        }
        match self.make_outward(&out) {
            Ok(at) => self.translate_outward(b, out, at),
            Err(refused) => {
                self.flows.refuse(refused, self.settings);
                Outcome::Drop(refused.into())
            }
        }
    }

    fn make_outward(&mut self, out: &Outward) -> Result<u32, Refused> {
        let protocol = out.p.protocol;
        let (user, key) = (out.user(), out.key().binding());
        let binding = match self.flows.binding(&key) {
            Some(at) => at,
            None => self.flows.bind(user, protocol, (self.settings, self.statics))?,
        };
        let to = remote(out.to.addr, out.to.port, protocol);
        self.flows.make(binding, (to, OUTWARD), (self.now, self.settings))
    }

    #[inline(always)]
    fn translate_outward(&mut self, b: &mut Buffer, out: Outward, at: u32) -> Outcome {
        let Outward { p, fib: _, to } = out;
        let Some((keys, _)) = self.flows.get(at) else { return Outcome::Slow };
        let end = keys[INWARD].end();
        if p.hops <= 1 {
            // RFC 7915 5.1.
            let (kind, code) = (Icmp6Type::TIME_EXCEEDED.0, code6::HOP_LIMIT_IN_TRANSIT);
            return Outcome::Error(kind, code, 0);
        }
        if p.end - p.upper + HEADER4 > MAY_FRAGMENT
            && let Some(mtu) = self.too_long_outward(b, &out)
        {
            return Outcome::Error(Icmp6Type::PACKET_TOO_BIG.0, 0, mtu);
        }
        let now = (self.now, self.settings);
        self.flows.note((at, OUTWARD), (p.flags(), b.packet_len()), now);
        let id = self.identification(&p);
        let to = if has_ports(p.protocol) { to } else { End::new(to.addr, 0) };
        let new = ends4(end, to);
        if !to4(b, &p, &new, id) {
            return Outcome::Drop(Reason::Unknown);
        }
        self.engine.note_l4(b, |l4| {
            (l4.offset, l4.protocol) = (HEADER4 as u16, p.protocol.0);
            if p.protocol == IpProtocol::ICMP {
                l4.kind = query4(p.kind);
                (l4.src_port, l4.dst_port) = (end.port, end.port);
            } else if has_ports(p.protocol) {
                l4.src_port = end.port;
            }
        });
        match self.is_ours(to.addr) {
            true => Outcome::Hairpin(p.protocol),
            false => Outcome::Translated(p.protocol),
        }
    }

    /// An identification for a packet that routers may fragment.
    #[inline(always)]
    fn identification(&mut self, p: &Packet<Ipv6Addr>) -> u16 {
        if p.part.is_some() { 0 } else { self.flows.random() as u16 }
    }

    /// The MTU that the user gets to know, if the packet doesn't fit the link of the world
    /// (RFC 7915 5.2).
    #[inline(never)]
    fn too_long_outward(&self, b: &Buffer, out: &Outward) -> Option<u32> {
        let p = &out.p;
        if p.part.is_some() {
            return None;
        }
        // The table of the interface: that of the packet is one of IPv6.
        let table = self.engine.table_of_interface::<Ip4>(b.rx_if, self.turn);
        let mtu = usize::from(self.engine.mtu4(table, out.to.addr, self.turn)?);
        let end = if b.flags.contains(Flags::GSO) { segment_len::<Ip6>(b, 0) } else { p.end };
        let len = end.saturating_sub(p.upper) + HEADER4;
        (len > mtu).then_some((mtu + HEADER6 - HEADER4) as u32)
    }

    /// Translates an error, and the packet that it quotes.
    fn error_outward(&mut self, b: &mut Buffer, out: &Outward) -> Outcome {
        let p = &out.p;
        if !b.flags.contains(Flags::LOCAL) && !icmp::is_intact6(b, p) {
            return Outcome::Drop(Reason::Unknown);
        }
        let Some(old) = icmp::header(b, p.upper) else { return Outcome::Drop(Reason::Unknown) };
        let Some(error) = icmp::error4((old.kind, old.code, old.rest())) else {
            return Outcome::Drop(Reason::Protocol);
        };
        let quoted = quoted6(b, p).filter(|q| !q.is_later() && !q.is_error());
        let Some(q) = quoted else { return Outcome::Drop(Reason::NoTranslation) };
        // The user has received the packet, from a host of the world.
        let prefix = self.settings.prefix_of(out.fib);
        let Some(from) = prefix.extract(q.from) else {
            return Outcome::Drop(Reason::NoTranslation);
        };
        let user = User { fib: out.fib, addr: q.to, port: q.ports.1 };
        let world = End::new(from, q.ports.0);
        let key = Key::inside(user, remote(from, q.ports.0, q.protocol), q.protocol);
        let Some((at, OUTWARD)) = self.flows.live(&key, self.now) else {
            return Outcome::Drop(Reason::NoTranslation);
        };
        let Some((keys, _)) = self.flows.get(at) else { return Outcome::Slow };
        let end = keys[INWARD].end();
        let inner: Ends<_> = match q.protocol {
            IpProtocol::ICMP => ((from, end.port), (end.addr, end.port)),
            _ => ends4(world, end),
        };
        // Whichever router inside sends it: the world knows the user's address alone.
        let outer: Ends<_> = ((end.addr, 0), (out.to.addr, 0));
        let id = self.flows.random() as u16;
        if !icmp::to4(b, (p, &q), (&outer, &inner), (error, id)) {
            return Outcome::Drop(Reason::Unknown);
        }
        b.flow_hash = 0;
        b.flags.remove(Flags::TABLE | Flags::IP4_CSUM_OK);
        self.engine.note_l4(b, |l4| {
            (l4.offset, l4.protocol, l4.kind) = (HEADER4 as u16, IpProtocol::ICMP.0, error.0);
        });
        match self.is_ours(out.to.addr) {
            true => Outcome::Hairpin(IpProtocol::ICMP),
            false => Outcome::Translated(IpProtocol::ICMP),
        }
    }
}
