// SPDX-License-Identifier: Apache-2.0
//! Headers in front of any packet.

use crate::end::End;
use crate::inner::Inner;
use crate::model::{Flags, Spec};
use crate::route::Route;
use buffer::{Buffer, Field, Flags as Marked};
use graph::{Cx, Next, NodeIndex, ThreadIndex, Trace, World};
use ip::Departure;
use net::{Adjacencies, Fib, Flow, IfFlags, IfLanes, Interfaces, L4};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use sync::Turn;
use wire::{Header, Ip4, Ip6, Ipv4Header, Ipv6Header, l4};
/// Every link of IPv6 takes packets of so many bytes (RFC 8200 5), and nearly every one of IPv4.
pub(crate) const EVERYWHERE: usize = 1280;
/// As [`EVERYWHERE`], for packets of IPv4 that may not be fragmented: every host takes so many
/// bytes (RFC 791 3.1).
pub(crate) const UNFRAGMENTED: usize = 576;

/// Tunnels whose headers a packet may have in front at a time.
pub const MAX_NESTED: u8 = 8;

/// The part of a kind in encapsulation.
pub trait Codec: Copy + Send + Sync + 'static {
    /// The configuration of its tunnels.
    type Spec: Spec;
    /// The header is behind a UDP header, whose source port depends on the flow; datagrams of IPv6
    /// have a checksum.
    const UDP: bool = false;
    /// The node is compiled for each instruction set, as nodes that most packets of a router pass.
    const HOT: bool = false;
    /// The node's name.
    const NAME: &'static str;

    /// Fills in the fields of `own`, the header behind the outer IP header, that differ from packet
    /// to packet; `len` bytes follow it. Returns the protocol of the outer packet, if that differs
    /// too. Without a definition nothing differs.
    #[inline(always)]
    fn fill(_own: &mut [u8], _end: &End, _inner: &Inner, _len: usize) -> Option<u8> {
        None
    }

    /// Writes a trace. Without a definition it is the tunnel and the outer addresses.
    ///
    /// # Errors
    /// As the formatter says.
    fn trace(f: &mut fmt::Formatter<'_>, trace: &EncapTrace<Self>) -> fmt::Result {
        let ([source, destination], kind) = (trace.addresses(), Self::Spec::DRIVER);
        write!(
            f,
            "{kind}: tunnel {} len {} src {source} dst {destination}",
            trace.instance, trace.len
        )
    }
}

/// A packet that got headers.
#[derive(Clone, Copy)]
pub struct EncapTrace<C> {
    /// The number in the interface's name.
    pub instance: u32,
    /// Bytes with all headers.
    pub len: usize,
    /// The number of the tunnel between its ends.
    pub id: u32,
    outer: [u8; 40],
    kind: PhantomData<C>,
}

impl<C> EncapTrace<C> {
    /// Notes a packet of a tunnel, with the number of the tunnel between its ends.
    pub(crate) fn of((instance, id): (u32, u32), b: &Buffer) -> Self {
        let mut outer = [0; 40];
        b.copy_out(0, &mut outer);
        Self { instance, len: b.packet_len(), id, outer, kind: PhantomData }
    }

    /// The two outer addresses.
    pub fn addresses(&self) -> [std::net::IpAddr; 2] {
        let v4 = Ipv4Header::view(&self.outer).filter(|ip| ip.version_ihl >> 4 == 4);
        match (v4, Ipv6Header::view(&self.outer)) {
            (Some(ip), _) => [ip.src.into(), ip.dst.into()],
            (None, Some(ip)) => [ip.src.into(), ip.dst.into()],
            (None, None) => [std::net::Ipv4Addr::UNSPECIFIED.into(); 2],
        }
    }
}

impl<C: Codec> Trace for EncapTrace<C> {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        C::trace(f, self)
    }
}

/// The part that is the same for all kinds.
pub(crate) struct Wrapper {
    fib4: Arc<Fib<Ip4>>,
    fib6: Arc<Fib<Ip6>>,
    pub onward4: Departure<Ip4>,
    pub onward6: Departure<Ip6>,
    adjacencies: Arc<Adjacencies>,
    interfaces: Arc<Interfaces>,
    pub lanes: Arc<IfLanes>,
    pub l4: Field<L4>,
    /// Identification of the next packet of IPv4 (RFC 791 3.2).
    id: u16,
    /// VPP's super-packets with the feature `gso`: see [`Wrapper::is_whole`].
    whole: bool,
    /// Difference to the identification of the packet after it.
    step: u16,
}

/// Where packets with headers go.
#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The next node of the route to the other end.
    #[dynamic]
    Node(NodeIndex),
    /// Super-packets: cut into segments.
    #[keep]
    Segments,
    /// good packets encapsulated
    #[count]
    Encapsulated,
    /// tunnel is gone
    #[drop]
    Gone,
    /// no route to the tunnel's other end
    #[drop]
    NoRoute,
    /// no room for another header
    #[drop]
    NoHeadroom,
    /// packet would be longer than 65535 bytes
    #[drop]
    TooLong,
    /// too many tunnels in one another, or a tunnel through itself
    #[drop]
    Nested,
    /// super-packet can't be cut into segments, or into too many
    #[drop]
    BadSuper,
    /// no buffer for a segment
    #[count]
    NoBuffer,
}

crate::cuts!(To, Node);

impl Wrapper {
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        // VPP's outer headers have no identification.
        let plain = world.compat_vpp();
        Self {
            fib4: world.get(),
            fib6: world.get(),
            onward4: Departure::new(world, thread),
            onward6: Departure::new(world, thread),
            adjacencies: world.get(),
            interfaces: world.get(),
            lanes: IfLanes::of(world, thread),
            l4: world.field(),
            // Far from those of other threads, so that parts of two packets aren't put together.
            id: if plain { 0 } else { (thread.at() as u16).wrapping_mul(0x1d05) },
            whole: plain,
            step: u16::from(!plain),
        }
    }

    /// Ends a frame.
    #[inline(always)]
    pub fn end(&mut self, turn: &Turn<'_>) {
        self.onward4.end(turn);
        self.onward6.end(turn);
    }

    /// The identification of the next packet of IPv4.
    #[inline(always)]
    pub fn next_id(&mut self) -> u16 {
        let id = self.id;
        self.id = id.wrapping_add(self.step);
        id
    }

    #[inline(always)]
    pub fn flow(&self, end: &End, turn: &Turn<'_>) -> Flow {
        let table = net::TableIndex(end.key.table);
        if end.outer_v6 { self.fib6.flow(table, turn) } else { self.fib4.flow(table, turn) }
    }

    /// True if a super-packet gets its headers as a whole, because the feature `gso` of the
    /// interface that it leaves by asks for it ([`net::Gso`]), and its segments, with
    /// these headers, would be too long. The outer packet is fragmented then, which is VPP's
    /// behaviour only: where the fragments are put together, the inner packet is as large as no
    /// link carries.
    #[cold]
    pub fn is_whole(&self, b: &Buffer, end: &End, turn: &Turn<'_>) -> bool {
        let Some(route) = end.route.filter(|_| self.whole && ip::is_tcp_gso(b)) else {
            return false;
        };
        let adj = self.adjacencies.any_member(route.adj, turn);
        let views = self.interfaces.views(turn);
        let asks =
            |tx_if| views.get(tx_if as usize).is_some_and(|v| v.flags.contains(IfFlags::GSO));
        let Some(adj) = adj.filter(|adj| asks(adj.tx_if)) else { return false };
        let inner = if end.frames { Inner::of_frame(b) } else { Inner::of_packet(b) };
        let segment = match inner.version {
            4 => ip::segment_len::<Ip4>(b, inner.at),
            6 => ip::segment_len::<Ip6>(b, inner.at),
            _ => return false,
        };
        let headers = end.template.bytes().len();
        headers + inner.at + segment > usize::from(adj.mtu)
            && headers + b.packet_len() <= 65_535
            && !dont_fragment(end, &inner)
    }

    /// Puts the headers in front, and finds the next node.
    #[inline(always)]
    pub fn wrap<C: Codec>(
        &mut self,
        b: &mut Buffer,
        end: &End,
        route: Route,
        cx: &Cx<'_, false>,
    ) -> To {
        let turn = cx.turn;
        if b.nesting >= MAX_NESTED {
            return To::Nested;
        }
        if b.flags.contains(Marked::CSUM_PARTIAL) {
            // Left only on a packet too short for the checksum, which its receiver drops.
            driver::finish_checksum(b);
            b.flags.remove(Marked::CSUM_PARTIAL);
        }
        let inner = if end.frames { Inner::of_frame(b) } else { Inner::of_packet(b) };
        const OF_FLOW: Flags = Flags::INNER_HASH.union(Flags::COPY_FLOW_LABEL);
        let flow = if C::UDP || end.flags.intersects(OF_FLOW) {
            inner.flow(b, self.flow(end, turn))
        } else {
            0
        };
        let template = end.template.bytes();
        let len = b.packet_len();
        let ip = if end.outer_v6 { 40 } else { 20 };
        // IPv6 doesn't count its own header.
        let counted = template.len() + len - if end.outer_v6 { ip } else { 0 };
        if counted > 65_535 {
            return To::TooLong;
        }
        let dont_fragment = dont_fragment(end, &inner);
        // A longer one is sent as our own: it is fragmented where it has to be, and the path MTU is
        // respected. Others are forwarded as if received by the tunnel, which is faster,
        // and `ip4-rewrite` or `ip6-rewrite` takes one of their hop limit.
        let forwarded =
            template.len() + len <= if dont_fragment { UNFRAGMENTED } else { EVERYWHERE };
        if !end.template.put(b) {
            return To::NoHeadroom;
        }
        let headers = template.len();
        let Some((outer, own)) =
            b.data_mut().get_mut(..headers).and_then(|all| all.split_at_mut_checked(ip))
        else {
            return To::Gone;
        };
        let protocol = C::fill(own, end, &inner, len);
        if C::UDP {
            write_udp(own, flow, (len + template.len() - ip) as u16);
        }
        if end.outer_v6 {
            if let Some(header) = Ipv6Header::view_mut(outer) {
                fill6(header, end, &inner, flow, counted as u16, forwarded);
                header.next_header.0 = protocol.unwrap_or(header.next_header.0);
            }
        } else if let Some(header) = Ipv4Header::view_mut(outer) {
            header.id.set(self.next_id());
            header.protocol.0 = protocol.unwrap_or(header.protocol.0);
            if dont_fragment {
                header.flags_fragment.set(Ipv4Header::DF);
            }
            fill4(header, end, &inner, counted as u16, forwarded);
        }
        if C::UDP && end.outer_v6 {
            // RFC 8200 8.1.
            let sum = l4::compute_parts(b.data(), b.segments().skip(1));
            let is_written = sum.is_ok_and(|(at, sum)| b.write_u16(at, sum));
            debug_assert!(is_written, "of the headers that were just written");
        }
        self.lanes.tx.unicast(end.sw_if as usize, 0, template.len() as u64);
        mark(b, self.l4);
        if forwarded {
            b.flags.remove(Marked::LOCAL);
            b.rx_if = end.sw_if;
        } else {
            b.flags.insert(Marked::LOCAL);
        }
        // The source port of a datagram tells the inner flow anyway.
        let by = end.flags.contains(Flags::INNER_HASH).then_some(flow);
        let next = if end.outer_v6 {
            self.onward6.go_with(b, route.adj, route.table, by, cx)
        } else {
            self.onward4.go_with(b, route.adj, route.table, by, cx)
        };
        next.map_or(To::NoRoute, To::Node)
    }
}

/// Writes the source port and the length of a UDP header.
#[inline(always)]
pub(crate) fn write_udp(own: &mut [u8], flow: u32, length: u16) {
    if let Some([a, b, _, _, c, d]) = own.first_chunk_mut::<6>() {
        [*a, *b] = ((flow ^ flow >> 16) as u16).to_be_bytes();
        [*c, *d] = length.to_be_bytes();
    }
}

/// Marks a packet as one more tunnel deep: notes about the inner packet no longer hold.
#[inline(always)]
pub(crate) fn mark(b: &mut Buffer, l4: Field<L4>) {
    b.nesting += 1;
    b.clear_field(l4);
    b.flags.remove(Marked::L2_BROADCAST | Marked::L2_MULTICAST | Marked::VLAN | Marked::L4_CSUM_OK);
    b.flags.insert(Marked::IP4_CSUM_OK);
}

/// True if the outer packet may not be fragmented: one of IPv4 with DF.
#[inline(always)]
fn dont_fragment(end: &End, inner: &Inner) -> bool {
    let copied = end.flags.contains(Flags::COPY_DF) && inner.dont_fragment;
    !end.outer_v6 && (end.flags.contains(Flags::SET_DF) || copied)
}

/// Returns the type of service or traffic class of an outer header.
#[inline(always)]
fn class(own: u8, end: &End, inner: &Inner) -> u8 {
    let dscp = if end.flags.contains(Flags::COPY_DSCP) { inner.tos & 0xfc } else { own };
    if end.flags.contains(Flags::COPY_ECN) { dscp | inner.tos & 3 } else { dscp }
}

#[inline(always)]
fn fill4(header: &mut Ipv4Header, end: &End, inner: &Inner, len: u16, forwarded: bool) {
    header.total_len.set(len);
    header.tos = class(header.tos, end, inner);
    if end.flags.contains(Flags::COPY_HOP_LIMIT) && inner.version != 0 {
        header.ttl = inner.hop_limit;
    }
    header.ttl = header.ttl.saturating_add(forwarded.into());
    header.set_checksum();
}

#[inline(always)]
fn fill6(header: &mut Ipv6Header, end: &End, inner: &Inner, flow: u32, len: u16, forwarded: bool) {
    header.payload_len.set(len);
    let own = (header.version_class_flow.get() >> 20) as u8;
    header.set_traffic_class(class(own, end, inner));
    if end.flags.contains(Flags::COPY_HOP_LIMIT) && inner.version != 0 {
        header.hop_limit = inner.hop_limit;
    }
    header.hop_limit = header.hop_limit.saturating_add(forwarded.into());
    if end.flags.contains(Flags::COPY_FLOW_LABEL) {
        // RFC 6438: a label of its own for each flow, whatever is inside.
        let label = if inner.version == 6 { inner.label } else { flow };
        let word = header.version_class_flow.get() & !0xf_ffff | label & 0xf_ffff;
        header.version_class_flow.set(word);
    }
}
