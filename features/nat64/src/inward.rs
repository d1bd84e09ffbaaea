// SPDX-License-Identifier: Apache-2.0
//! Packets of the world to users (RFC 6146 3.5, RFC 7915 4).

use crate::engine::{Outcome, Place, Reason, Work, quoted4, remote};
use crate::icmp;
use crate::key::{End, Key, User, has_ports};
use crate::packet::{HEADER6, Packet, is_echo4};
use crate::session::{INWARD, OUTWARD};
use crate::translate::{head6, query6, to6};
use buffer::{Buffer, Flags};
use ip::segment_len;
use std::net::Ipv4Addr;
use wire::icmp::code4;
use wire::{Icmp4Type, Ip4, IpProtocol};

/// UDP port of DHCP clients.
const DHCP_CLIENT: u16 = 68;
/// Packets of IPv6 up to this length fit any link.
pub const MIN_MTU6: usize = 1280;

impl Work<'_, '_> {
    /// Translates a packet of the world, or of a user to another one.
    #[inline(always)]
    pub fn inward(&mut self, b: &mut Buffer, place: Place) -> Outcome {
        let read = Packet::<Ipv4Addr>::read(b.data(), self.engine.l4(b), false);
        let p = match read {
            Ok(p) => p,
            Err(fault) => return Outcome::Drop(fault.into()),
        };
        let is_query = p.protocol != IpProtocol::ICMP || p.part.is_none() && is_echo4(p.kind);
        let from = remote(p.from, p.ports.0, p.protocol);
        let key = Key::outside(p.destination(), from, p.protocol);
        match self.flows.live(&key, self.now) {
            Some((at, INWARD)) if is_query && !p.routed => {
                self.translate_inward(b, &p, (at, place))
            }
            _ => self.slow_inward(b, &p, place),
        }
    }

    #[inline(never)]
    fn slow_inward(&mut self, b: &mut Buffer, p: &Packet<Ipv4Addr>, place: Place) -> Outcome {
        let generation = self.engine.nat.generation();
        self.flows.follow(generation, self.settings, self.now);
        if p.routed {
            // RFC 7915 4.1.
            let (kind, code) = (Icmp4Type::UNREACHABLE.0, code4::SOURCE_ROUTE_FAILED);
            return Outcome::Error(kind, code, 0);
        }
        if p.protocol == IpProtocol::ICMP {
            if p.part.is_some() {
                return Outcome::Drop(Reason::Protocol);
            }
            if p.is_error() {
                return self.error_inward(b, p);
            }
            if !is_echo4(p.kind) {
                return Outcome::Drop(Reason::Protocol);
            }
        }
        let end = p.destination();
        let Some(binding) = self.flows.binding(&Key::outside(end, End::NONE, p.protocol)) else {
            let is_dhcp = p.protocol == IpProtocol::UDP && end.port == DHCP_CLIENT;
            return match is_dhcp && place == Place::Out2In {
                true => Outcome::Passed,
                false => Outcome::Drop(Reason::NoTranslation),
            };
        };
        // RFC 6146 3.5.2.2: of TCP, a SYN alone.
        if p.protocol == IpProtocol::TCP && !p.is_opening() {
            return Outcome::Drop(Reason::NoTranslation);
        }
        let from = remote(p.from, p.ports.0, p.protocol);
        match self.flows.make(binding, (from, INWARD), (self.now, self.settings)) {
            Ok(at) => self.translate_inward(b, p, (at, place)),
            Err(refused) => {
                self.flows.refuse(refused, self.settings);
                Outcome::Drop(refused.into())
            }
        }
    }

    #[inline(always)]
    fn translate_inward(
        &mut self,
        b: &mut Buffer,
        p: &Packet<Ipv4Addr>,
        (at, place): (u32, Place),
    ) -> Outcome {
        let Some((keys, _)) = self.flows.get(at) else { return Outcome::Drop(Reason::Unknown) };
        let user = keys[OUTWARD].user();
        if p.hops <= 1 {
            // RFC 7915 4.1.
            return Outcome::Error(Icmp4Type::TIME_EXCEEDED.0, code4::TTL_IN_TRANSIT, 0);
        }
        let is_super = b.flags.contains(Flags::GSO);
        let end = if is_super { segment_len::<Ip4>(b, 0) } else { p.end };
        let len = end.saturating_sub(p.upper) + head6(p);
        // RFC 7915 4: what routers may fragment is fragmented here, since those of IPv6 don't.
        let mut in_parts = len > MIN_MTU6;
        if in_parts && p.whole {
            let mtu = self.too_long_inward(user, len);
            // No error of IPv4 would reach another user.
            in_parts = mtu.is_some() && place == Place::Hairpin;
            if let Some(mtu) = mtu.filter(|_| !in_parts) {
                let (kind, code) = (Icmp4Type::UNREACHABLE.0, code4::FRAGMENTATION_NEEDED);
                return Outcome::Error(kind, code, mtu);
            }
        }
        if in_parts && is_super {
            // It is segmented anyway: into smaller segments then.
            let size = usize::from(b.offload.gso_size).saturating_sub(len - MIN_MTU6).max(8);
            b.offload.gso_size = size as u16;
            in_parts = false;
        }
        let now = (self.now, self.settings);
        self.flows.note((at, INWARD), (p.flags(), b.packet_len()), now);
        let from = self.settings.prefix_of(user.fib).compose(p.from);
        let ports = match p.protocol {
            IpProtocol::ICMP => (user.port, user.port),
            protocol if has_ports(protocol) => (p.ports.0, user.port),
            _ => (0, 0),
        };
        if !to6(b, p, &((from, ports.0), (user.addr, ports.1))) {
            return Outcome::Drop(Reason::Unknown);
        }
        self.engine.note_l4(b, |l4| {
            l4.offset = head6(p) as u16;
            if p.protocol == IpProtocol::ICMP {
                (l4.kind, l4.protocol) = (query6(p.kind), IpProtocol::ICMP6.0);
            }
            if has_ports(p.protocol) {
                (l4.src_port, l4.dst_port) = ports;
            }
        });
        self.look_up_in(b, user.fib);
        match in_parts {
            true => Outcome::TooLong(p.protocol),
            false => Outcome::Translated(p.protocol),
        }
    }

    /// The MTU that the sender gets to know, if the packet doesn't fit the user's link.
    #[inline(never)]
    fn too_long_inward(&self, user: User, len: usize) -> Option<u32> {
        let mtu = usize::from(self.engine.mtu6(user.fib, user.addr, self.turn)?);
        (len > mtu).then(|| mtu.saturating_sub(HEADER6 - crate::packet::HEADER4) as u32)
    }

    /// Translates an error, and the packet that it quotes.
    fn error_inward(&mut self, b: &mut Buffer, p: &Packet<Ipv4Addr>) -> Outcome {
        if !b.flags.contains(Flags::LOCAL) && !nat::quoted::is_intact(b, (0, p.upper)) {
            return Outcome::Drop(Reason::Unknown);
        }
        let quoted = quoted4(b, p).filter(|q| !q.is_later() && !q.is_error());
        let Some(q) = quoted else { return Outcome::Drop(Reason::NoTranslation) };
        let Some(old) = icmp::header(b, p.upper) else { return Outcome::Drop(Reason::Unknown) };
        let Some(error) = icmp::error6((old.kind, old.code, old.rest()), q.end) else {
            return Outcome::Drop(Reason::Protocol);
        };
        // The world has received the packet, from a user.
        let to = remote(q.to, q.ports.1, q.protocol);
        let key = Key::outside(q.source(), to, q.protocol);
        let Some((at, INWARD)) = self.flows.live(&key, self.now) else {
            return Outcome::Drop(Reason::NoTranslation);
        };
        let Some((keys, _)) = self.flows.get(at) else { return Outcome::Drop(Reason::Unknown) };
        let user = keys[OUTWARD].user();
        let prefix = self.settings.prefix_of(user.fib);
        let far = if q.protocol == IpProtocol::ICMP { user.port } else { q.ports.1 };
        let inner = ((user.addr, user.port), (prefix.compose(q.to), far));
        // Whichever router of the world sends it has an address under the prefix.
        let outer = ((prefix.compose(p.from), 0), (user.addr, 0));
        // A query has its identifier in the place of both ports.
        if !icmp::to6(b, (p, &q), (&outer, &inner), error) {
            return Outcome::Drop(Reason::Unknown);
        }
        b.flow_hash = 0;
        b.flags.remove(Flags::IP4_CSUM_OK);
        self.engine.note_l4(b, |l4| {
            (l4.offset, l4.protocol, l4.kind) = (HEADER6 as u16, IpProtocol::ICMP6.0, error.0);
        });
        self.look_up_in(b, user.fib);
        Outcome::Translated(IpProtocol::ICMP)
    }
}
