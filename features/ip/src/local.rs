// SPDX-License-Identifier: Apache-2.0
//! `ip4-local`, `ip6-local`, and `-end-of-arc`: packets for us.

use crate::family::{Ip, IpTrace, Refusal, Upper, arc, error};
use crate::protocols::Protocols;
use crate::udp::{self, UdpLookup};
use buffer::{Buffer, Flags};
use graph::{ArcIndex, Build, Cx, Next, Node, NodeIndex, ThreadIndex, World, name_of};
use net::{AdjKind, Adjacencies, Fib, Interfaces, TableIndex};
use std::sync::Arc;
use sync::Turn;
use wire::l4::{self, L4Error, Verdict};
use wire::{Address, Header, Icmp6Type, IpHeader, IpProtocol, UdpHeader};

// Reasons that VPP has too are counted where it counts them, since monitoring looks for them there.
#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// To who takes the protocol, or to the first feature.
    #[dynamic]
    Node(NodeIndex),
    /// {ip} protocol that nobody takes, punted
    #[punt]
    Punted,
    /// unknown {ip protocol|ip6 next header}
    #[next("{ip}-icmp-error", reason)]
    #[counter("unknown_protocol", of = "{ip4-local|ip6-input}")]
    UnknownProtocol,
    /// {ip} header that we can't follow
    #[next("{ip}-icmp-error", reason)]
    HeaderProblem,
    /// bad tcp checksum
    #[drop]
    TcpChecksum,
    /// bad udp checksum
    #[drop]
    #[counter("udp_checksum", of = "{ip4-local|ip6-input}")]
    UdpChecksum,
    /// inconsistent udp/ip lengths
    #[drop]
    #[counter("udp_length", of = "{ip4-local|ip6-input}")]
    UdpLength,
    /// {ip} spoofed local-address packet drops
    #[drop]
    #[counter("spoofed_local_packets", of = "{ip4-local|ip6-input}")]
    SpoofedLocalPackets,
    /// {ip} source lookup miss
    #[drop]
    #[counter("src_lookup_miss", of = "{ip4-local|ip6-input}")]
    SrcLookupMiss,
    /// {ip} fragments for us are not put together: that is disabled
    #[drop]
    Fragment,
    /// {ip} length < header length
    #[drop]
    TooShort,
    /// {ip} packet with no next header
    #[drop]
    NoNextHeader,
    /// {ip} option that we don't know says discard
    #[drop]
    Discard,
    /// {ip} more headers or options than we look at
    #[drop]
    TooManyHeaders,
}

impl Refusal {
    #[cold]
    fn way(self, b: &mut Buffer) -> To {
        match self {
            Self::TooShort => To::TooShort,
            Self::Fragment => To::Fragment,
            Self::Problem(code, at) => {
                b.set_scratch(error((Icmp6Type::PARAMETER_PROBLEM.0, code), at));
                To::HeaderProblem
            }
            Self::Discard => To::Discard,
            Self::NoNextHeader => To::NoNextHeader,
            Self::TooMany => To::TooManyHeaders,
        }
    }
}

/// Delivers valid packets to the nodes of their protocols.
struct Deliver<F> {
    protocols: Arc<Protocols<F>>,
    punt: ArcIndex,
}

impl<F: Ip> Deliver<F> {
    fn new(world: &World) -> Self {
        Self { protocols: world.get(), punt: arc::<F>(world, "{ip}-punt") }
    }

    #[inline(always)]
    fn to<const TRACED: bool>(&self, b: &mut Buffer, upper: Upper, cx: &Cx<'_, TRACED>) -> To {
        let (protocol, turn) = (upper.protocol, cx.turn);
        if let Some(node) = self.protocols.protocol(protocol, turn) {
            return To::Node(node);
        }
        // Where punted packets are wanted, another stack answers for us.
        if cx.has_arc(self.punt, b.rx_if) {
            return To::Punted;
        }
        match self.protocols.otherwise(protocol, turn) {
            Some(node) => To::Node(node),
            None => {
                b.set_scratch(error(F::ERRORS.unknown_protocol, upper.named_at as u32));
                To::UnknownProtocol
            }
        }
    }
}

/// Checks packets for us, and delivers them.
pub struct Local<F: Ip> {
    deliver: Deliver<F>,
    /// The node that takes UDP: it sends datagrams on by their port.
    udp: Option<NodeIndex>,
    fib: Arc<Fib<F>>,
    adjacencies: Arc<Adjacencies>,
    interfaces: Arc<Interfaces>,
    arc: ArcIndex,
    last: Option<Source<F>>,
}

/// A source and the interface that a packet from it was received by, with what was decided about
/// both. Packets of one sender often follow each other, those of a tunnel always.
struct Source<F: Ip> {
    rx_if: u32,
    address: F::Addr,
    verdict: Result<(), To>,
}

impl<F: Ip> Build for Local<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self {
            deliver: Deliver::new(world),
            udp: world.node(name_of::<UdpLookup<F>>()),
            fib: world.get(),
            adjacencies: world.get(),
            interfaces: world.get(),
            arc: arc::<F>(world, "{ip}-local"),
            last: None,
        }
    }
}

impl<F: Ip> Local<F> {
    /// The node that takes a good packet for us which begins with its IP header: the first feature,
    /// or the one of its protocol or UDP port, which gets it as from the nodes before. `None`, and
    /// the packet unchanged, if `ip4-local` or `ip6-local` has to look at it. To be followed by
    /// [`Self::forget`] at the end of each frame.
    #[inline(always)]
    pub fn taker<const TRACED: bool>(
        &mut self,
        b: &mut Buffer,
        cx: &Cx<'_, TRACED>,
    ) -> Option<NodeIndex> {
        let upper = self.check(b, cx).ok()?;
        if let Some(feature) = cx.start_arc(self.arc, b.rx_if, b) {
            return Some(feature);
        }
        let node = self.deliver.protocols.protocol(upper.protocol, cx.turn)?;
        let port = if self.udp == Some(node) {
            udp::enter(&self.deliver.protocols, b, upper.offset, cx.turn)
        } else {
            None
        };
        Some(port.unwrap_or(node))
    }

    /// Routes may change before the next frame.
    #[inline(always)]
    pub fn forget(&mut self) {
        self.last = None;
    }

    #[inline(always)]
    fn check<const TRACED: bool>(
        &mut self,
        b: &mut Buffer,
        cx: &Cx<'_, TRACED>,
    ) -> Result<Upper, To> {
        let upper = F::upper(b).map_err(|refusal| refusal.way(b))?;
        let may_be_absent = || !F::IS_V6 || self.takes_no_checksum(b, upper.offset, cx.turn);
        if lacks_checksum::<F>(b, upper.protocol, upper.offset) {
            // As most datagrams of tunnels.
            if !may_be_absent() {
                return Err(To::UdpChecksum);
            }
        } else {
            check_transport(b, upper.protocol, may_be_absent)?;
        }
        let ip = F::Header::view(b.data()).ok_or(To::TooShort)?;
        // Our own packets have our source, and the sender of a packet to many may have no address
        // yet.
        let to_many = ip.dst().multicast() || !F::IS_V6 && ip.dst() == F::Addr::mask(F::BITS);
        if !b.flags.contains(Flags::LOCAL) && !to_many {
            self.check_source(b.rx_if, ip.src(), cx.turn)?;
        }
        Ok(upper)
    }

    /// True if the port of a datagram takes those without a checksum.
    #[inline(never)]
    fn takes_no_checksum(&self, b: &Buffer, at: usize, turn: &Turn<'_>) -> bool {
        let port = UdpHeader::view_at(b.data(), at).map(|udp| udp.dst_port.get());
        port.is_some_and(|port| self.deliver.protocols.takes_no_checksum(port, turn))
    }

    /// Refuses a source that is our own address, or that no answer would reach.
    #[inline(always)]
    fn check_source(&mut self, rx_if: u32, address: F::Addr, turn: &Turn<'_>) -> Result<(), To> {
        if let Some(last) = &self.last
            && (last.rx_if, last.address) == (rx_if, address)
        {
            return last.verdict;
        }
        let mut verdict = self.judge_source(rx_if, address, turn);
        if verdict.is_err() && self.deliver.protocols.is_returning(address.into(), turn) {
            verdict = Ok(());
        }
        self.last = Some(Source { rx_if, address, verdict });
        verdict
    }

    #[inline(always)]
    fn judge_source(&self, rx_if: u32, source: F::Addr, turn: &Turn<'_>) -> Result<(), To> {
        let view = self.interfaces.views(turn).get(rx_if as usize).unwrap_or_default();
        let mut kind = self.leads(F::table_of(&view), source, turn)?;
        if kind == AdjKind::LinkLocal {
            kind = self.leads(TableIndex(view.link6), source, turn)?;
        }
        match kind {
            AdjKind::Receive => Err(To::SpoofedLocalPackets),
            AdjKind::NoRoute | AdjKind::Drop | AdjKind::Martian => Err(To::SrcLookupMiss),
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn leads(&self, table: TableIndex, to: F::Addr, turn: &Turn<'_>) -> Result<AdjKind, To> {
        let index = self.fib.adj(table, to, turn).ok_or(To::SrcLookupMiss)?;
        self.adjacencies.get(index, turn).map(|adj| adj.kind).ok_or(To::SrcLookupMiss)
    }
}

/// True for a datagram in one piece, directly behind its IP header, that has no checksum. The
/// packet is no fragment.
#[inline(always)]
pub fn lacks_checksum<F: Ip>(b: &Buffer, protocol: IpProtocol, at: usize) -> bool {
    protocol == IpProtocol::UDP
        && at == F::HEADER_LEN
        && !b.is_chained()
        && l4::has_no_checksum(b.data(), at)
}

/// Verifies the checksum of TCP or UDP, unless the device has, or it isn't complete yet (RFC 1122
/// 4.1.3.4, 4.2.2.7). In IPv6 there has to be one (RFC 8200 8.1), except at ports of tunnels.
#[inline(always)]
fn check_transport(
    b: &Buffer,
    protocol: IpProtocol,
    may_be_absent: impl FnOnce() -> bool,
) -> Result<(), To> {
    let bad = match protocol {
        IpProtocol::TCP => To::TcpChecksum,
        IpProtocol::UDP => To::UdpChecksum,
        _ => return Ok(()),
    };
    if b.flags.intersects(Flags::L4_CSUM_OK | Flags::CSUM_PARTIAL) {
        return Ok(());
    }
    match l4::verify_parts(b.data(), b.segments().skip(1)) {
        Ok(Verdict::Valid) => Ok(()),
        Ok(Verdict::Absent) if may_be_absent() => Ok(()),
        Ok(Verdict::Invalid | Verdict::Absent) => Err(bad),
        Err(L4Error::Length) => Err(To::UdpLength),
        Err(_) => Err(To::TooShort),
    }
}

impl<F: Ip> Node for Local<F> {
    const NAME: &'static str = "{ip}-local";
    const DROP: &'static str = "{ip}-drop";
    const PUNT: &'static str = "{ip}-punt";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        let upper = match self.check(b, cx) {
            Ok(upper) => upper,
            Err(To::Fragment) => {
                return self.deliver.protocols.fragments(cx.turn).map_or(To::Fragment, To::Node);
            }
            Err(why) => return why,
        };
        match cx.start_arc(self.arc, b.rx_if, b) {
            Some(feature) => To::Node(feature),
            None => self.deliver.to(b, upper, cx),
        }
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, _: &mut Cx<'_, TRACED>) {
        self.forget();
    }
}

/// Delivers packets behind the features.
pub struct EndOfArc<F: Ip>(Deliver<F>);

impl<F: Ip> Build for EndOfArc<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(Deliver::new(world))
    }
}

impl<F: Ip> Node for EndOfArc<F> {
    const NAME: &'static str = "{ip}-local-end-of-arc";
    const DROP: &'static str = "{ip}-drop";
    const PUNT: &'static str = "{ip}-punt";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        match F::upper(b) {
            Ok(upper) => self.0.to(b, upper, cx),
            Err(refusal) => refusal.way(b),
        }
    }
}
