// SPDX-License-Identifier: Apache-2.0
//! `ip4-rewrite`, `ip6-rewrite`: the packet gets its layer-2 header and leaves.

use crate::family::{Ip, arc, error};
use crate::frag;
use crate::redirects::Redirects;
use buffer::{Buffer, Flags};
use graph::{ArcIndex, Build, Cx, Head, Next, Node, NodeIndex, ThreadIndex, Trace, Vector, World};
use net::PathMtus;
use net::{Addresses, Adj, AdjIndex, AdjKind, Adjacencies, Column, IfFlags, Interfaces, IpMeta};
use simd::Isa;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use sync::Turn;
use wire::describe::{Layer, describe};
use wire::icmp::{code4, code6};
use wire::offload::Gso;
use wire::{Address, Ethernet, Header, Icmp4Type, Icmp6Type, IpHeader, IpProtocol};
use wire::{TcpHeader, UpperLayer};

/// Nanoseconds between two redirects of a thread: a sender that ignores them gets no more than
/// that.
const REDIRECT_EVERY: u64 = 100_000_000;
/// Bytes of a packet that a redirect may quote.
const QUOTED: usize = 548;
/// The same for IPv6: the message is 1280 bytes at most (RFC 4861 8.2).
const QUOTED6: usize = 1184;

pub struct Rewrite<F: Ip> {
    adjacencies: Arc<Adjacencies>,
    addresses: Arc<Addresses<F>>,
    path_mtus: Arc<PathMtus<F>>,
    interfaces: Arc<Interfaces>,
    output: ArcIndex,
    /// The flag of interfaces on which hosts are sent redirects.
    redirects: IfFlags,
    next_redirect: u64,
    /// Packets that came in frames to several stations are forwarded, as by VPP.
    any_frame: bool,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[dynamic]
    Output(NodeIndex),
    #[next("{ip}-frag")]
    Fragment,
    /// {ip} {ttl|hop limit} <= 1
    #[next("{ip}-icmp-error", reason)]
    TimeExpired,
    /// {ip} MTU exceeded{ and DF set|}
    #[next("{ip}-icmp-error", reason)]
    MtuExceeded,
    /// {ip} redirect requested: egress interface same as ingress
    #[next("{ip4-icmp-error|ip6-nd-redirect}", count)]
    SameInterface,
    /// {ip} source address means nothing on another link
    #[next("{ip}-icmp-error", reason)]
    SourceScope,
    /// {ip} received as link-layer broadcast or multicast is not forwarded{ (RFC 1812 5.3.4)|}
    #[drop]
    LinkBroadcast,
    /// {ip} adjacency is gone
    #[drop]
    NoAdjacency,
    /// {ip} length < {20|40} bytes
    #[drop]
    TooShort,
    /// no room in front of the packet for a layer-2 header
    #[drop]
    NoHeadroom,
}

/// Record of a packet as it leaves.
#[derive(Clone, Copy)]
pub struct RewriteTrace<F> {
    adj: AdjIndex,
    tx_if: u32,
    mtu: u16,
    ethernet: bool,
    head: Head,
    version: PhantomData<F>,
}

impl<F> RewriteTrace<F> {
    /// Records a packet over an adjacency, with or without its layer-2 header already.
    #[inline(always)]
    pub fn of(b: &Buffer, (index, tx_if, mtu): (AdjIndex, u32, u16), ethernet: bool) -> Self {
        Self { adj: index, tx_if, mtu, ethernet, head: Head::of(b), version: PhantomData }
    }
}

impl<F: Ip> Trace for RewriteTrace<F> {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tx_sw_if_index {} dpo-idx {} mtu:{}", self.tx_if, self.adj, self.mtu)?;
        let layer = if self.ethernet { Layer::Ethernet } else { F::LAYER };
        write!(f, "\n{}", describe(self.head.bytes(), layer))
    }
}

impl<F: Ip> Build for Rewrite<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        let output = arc::<F>(world, "{ip}-output");
        Self {
            adjacencies: world.get(),
            addresses: world.get(),
            path_mtus: world.get(),
            interfaces: world.get(),
            output,
            redirects: world.get::<Column<Redirects<F>>>().flag(),
            next_redirect: 0,
            any_frame: world.compat_vpp(),
        }
    }
}

/// Flags of packets that can't take the fast path.
const ASIDE: Flags =
    Flags::LOCAL.union(Flags::GSO).union(Flags::L2_BROADCAST).union(Flags::L2_MULTICAST);

/// State common to all packets over one adjacency with an ordinary header, on an interface without
/// features. By value: fields behind a reference are read again after every store to a packet.
#[derive(Clone, Copy)]
pub struct NextHop {
    pub tx_if: u32,
    mtu: usize,
    /// First and last bytes of the layer-2 header.
    ends: [[u8; 8]; 2],
    header_len: usize,
    to: To,
}

impl NextHop {
    #[inline(always)]
    fn of(adj: &Adj, least: usize) -> Option<Self> {
        let header_len = usize::from(adj.rewrite_len);
        let to = To::Output(adj.output);
        Some(Self {
            tx_if: adj.tx_if,
            mtu: least.min(adj.mtu.into()),
            ends: adj.short_rewrite()?,
            header_len,
            to,
        })
    }

    /// Of an adjacency that leads to one station; frames to groups are counted separately. `least`
    /// is the least path MTU.
    #[inline(always)]
    pub fn to_station(adj: &Adj, least: usize) -> Option<Self> {
        let is_rewrite = adj.kind == AdjKind::Rewrite;
        Self::of(adj, least).filter(|this| is_rewrite && this.ends[0][0] & 1 == 0)
    }

    /// Bytes of the longest packet that fits.
    #[inline(always)]
    pub fn most(&self) -> usize {
        self.mtu
    }

    /// Bytes of the layer-2 header.
    #[inline(always)]
    pub fn header_len(&self) -> usize {
        self.header_len
    }

    /// First and last 8 bytes of the layer-2 header.
    #[inline(always)]
    pub fn ends(&self) -> [[u8; 8]; 2] {
        self.ends
    }

    /// Puts the layer-2 header in front of a packet; false if there is no room.
    #[inline(always)]
    fn put(self, b: &mut Buffer) -> bool {
        b.tx_if = self.tx_if;
        let [first, last] = self.ends;
        b.push_ends(&first, &last, self.header_len)
    }

    /// Forwards a usual packet; `None` for one that needs a closer look.
    #[inline(always)]
    pub fn take<F: Ip>(self, b: &mut Buffer) -> Option<To> {
        if b.headroom() < self.header_len || !may_pass::<F>(b, self.tx_if, self.mtu) {
            return None;
        }
        self.put(b).then_some(self.to)
    }
}

/// Decrements the TTL or hop limit and returns true for a usual packet: received as unicast, fits,
/// not expired, goes elsewhere.
#[inline(always)]
fn may_pass<F: Ip>(b: &mut Buffer, tx_if: u32, mtu: usize) -> bool {
    !(b.flags.intersects(ASIDE) || b.rx_if == tx_if || b.packet_len() > mtu) && F::pass(b)
}

impl<F: Ip> Rewrite<F> {
    #[inline(always)]
    fn adj<'t>(&'t self, index: AdjIndex, turn: &'t Turn<'_>) -> Option<&'t Adj> {
        self.adjacencies.get(index, turn).filter(|adj| adj.kind == AdjKind::Rewrite)
    }

    /// Puts the layer-2 header in front, and returns the next node.
    #[inline(always)]
    fn leave<const TRACED: bool>(
        b: &mut Buffer,
        adj: &Adj,
        output: ArcIndex,
        cx: &Cx<'_, TRACED>,
    ) -> To {
        b.tx_if = adj.tx_if;
        let features = cx.has_arc(output, adj.tx_if);
        if features {
            b.mark_l3();
        }
        if !adj.put(b) {
            return To::NoHeadroom;
        }
        if features {
            return To::Output(cx.start_arc(output, adj.tx_if, b).unwrap_or(adj.output));
        }
        To::Output(adj.output)
    }

    /// Handles packets of our own, larger than the MTU, with an expired TTL, or going back where
    /// they came from.
    #[cold]
    #[inline(never)]
    fn unusual<const TRACED: bool>(
        &mut self,
        b: &mut Buffer,
        index: AdjIndex,
        cx: &mut Cx<'_, TRACED>,
    ) -> To {
        let Some(adj) = self.adj(index, cx.turn).copied() else { return To::NoAdjacency };
        let local = b.flags.contains(Flags::LOCAL);
        let Some(ip) = F::Header::view(b.data()).copied() else { return To::TooShort };
        if !local {
            if !self.any_frame && b.flags.intersects(Flags::L2_BROADCAST | Flags::L2_MULTICAST) {
                return To::LinkBroadcast;
            }
            if b.rx_if != adj.tx_if && F::is_confined(b) {
                b.set_scratch(error((Icmp6Type::UNREACHABLE.0, code6::BEYOND_SCOPE), 0));
                return To::SourceScope;
            }
            // RFC 1812 5.3.1, RFC 8200 3.
            if ip.ttl() <= 1 {
                b.set_scratch(error(F::ERRORS.expired, 0));
                return To::TimeExpired;
            }
        }
        let mtu = self.path_mtu(b, &ip, &adj, cx.turn);
        let gso = is_tcp_gso(b) && self.has(adj.tx_if, IfFlags::GSO, cx.turn);
        if let Err(way) = fit::<F>(b, mtu, index, gso) {
            return way;
        }
        if !local && b.rx_if == adj.tx_if {
            self.redirect(b, &ip, index, &adj, cx);
        }
        if !local {
            F::decrement(b);
        }
        Self::leave(b, &adj, self.output, cx)
    }

    /// Returns true if the interface has the flag.
    fn has(&self, tx_if: u32, flag: IfFlags, turn: &Turn<'_>) -> bool {
        let view = self.interfaces.views(turn).get(tx_if as usize);
        view.is_some_and(|view| view.flags.contains(flag))
    }

    /// MTU of the link, or less if the path to the destination or over the next hop is known to
    /// have a lower one.
    fn path_mtu(&self, b: &Buffer, ip: &F::Header, adj: &Adj, turn: &Turn<'_>) -> u16 {
        let known = self.path_mtus.known(turn);
        let table = b.scratch::<IpMeta>().fib;
        // Senders of forwarded packets get the errors themselves.
        let learned =
            if b.flags.contains(Flags::LOCAL) { known.learned(table, ip.dst()) } else { None };
        let link = learned.map_or(adj.mtu, |mtu| mtu.min(adj.mtu));
        if b.packet_len() <= known.least() {
            return link;
        }
        let over = F::of_ip(adj.nexthop()).and_then(|nexthop| known.find(table, nexthop));
        [known.find(table, ip.dst()), over].into_iter().flatten().fold(link, u16::min)
    }

    /// Sends a redirect to the sender, if it is a neighbour of the next hop (RFC 1812 5.2.7.2) and
    /// the interface has redirects enabled. The packet itself is forwarded.
    fn redirect<const TRACED: bool>(
        &mut self,
        b: &Buffer,
        ip: &F::Header,
        index: AdjIndex,
        adj: &Adj,
        cx: &mut Cx<'_, TRACED>,
    ) {
        if !self.has(adj.tx_if, self.redirects, cx.turn) || cx.now() < self.next_redirect {
            return;
        }
        let own = self.addresses.of(adj.tx_if, cx.turn);
        let Some(gateway) = F::of_ip(adj.nexthop()) else { return };
        // A next hop is named by its link-local address in IPv6 (RFC 4861 8.2).
        let local = F::IS_V6 && gateway.link_local();
        if !own.iter().any(|p| p.contains(ip.src()) && (local || p.contains(gateway))) {
            return;
        }
        let mut quoted = [0; QUOTED6];
        let most = if F::IS_V6 { QUOTED6 } else { QUOTED };
        let len = b.copy_out(0, &mut quoted[..most]);
        let Some(mut copy) = cx.alloc() else { return };
        if !copy.set_data(&quoted[..len]) {
            return;
        }
        self.next_redirect = cx.now() + REDIRECT_EVERY;
        copy.rx_if = b.rx_if;
        copy.flags = b.flags & Flags::TRACED;
        copy.trace = b.trace;
        let says = (Icmp4Type::REDIRECT.0, code4::REDIRECT_HOST);
        copy.set_scratch(match F::IS_V6 {
            // A message of neighbour discovery: its node needs the link-layer address of the next
            // hop.
            true => IpMeta::of(index, b.scratch::<IpMeta>().fib),
            false => error(says, adj.nexthop4().to_bits()),
        });
        cx.emit(To::SameInterface, copy);
    }
}

/// Checks that the packet fits; the error is its next node (RFC 1812 5.2.6; RFC 1191 4; RFC 4443
/// 3.2). `gso`: the rules of [`net::Gso`] apply.
pub(crate) fn fit<F: Ip>(b: &mut Buffer, mtu: u16, index: AdjIndex, gso: bool) -> Result<(), To> {
    let says = u32::from(mtu);
    let mtu = usize::from(mtu);
    let len = if b.flags.contains(Flags::GSO) { segment_len::<F>(b, 0) } else { b.packet_len() };
    if len <= mtu {
        if gso {
            // As long as a fragment, the Ethernet header included.
            let headers = Ethernet::LEN + len - usize::from(b.offload.gso_size);
            let most = frag::LARGEST.saturating_sub(headers).max(8);
            b.offload.gso_size = b.offload.gso_size.min(most as u16);
        }
        return Ok(());
    }
    let fib = b.scratch::<IpMeta>().fib;
    if !F::may_fragment(b) {
        b.set_scratch(error(F::ERRORS.too_big, says).in_table(fib));
        return Err(To::MtuExceeded);
    }
    if b.flags.contains(Flags::GSO) && !gso {
        // It is segmented anyway: into smaller segments then, which no host has to reassemble.
        let headers = len - usize::from(b.offload.gso_size);
        if let Some(size) = mtu.checked_sub(headers).filter(|size| *size >= 8) {
            b.offload.gso_size = size as u16;
            return Ok(());
        }
    }
    b.set_scratch(IpMeta { icmp_rest: says, ..IpMeta::of(index, fib) });
    Err(To::Fragment)
}

/// True for a super-packet of TCP, whose segments may be of any size.
pub fn is_tcp_gso(b: &Buffer) -> bool {
    let kind = Gso::from_vnet_type(b.offload.gso_kind);
    b.flags.contains(Flags::GSO) && kind.is_some_and(|(kind, _)| kind.is_tcp())
}

/// Bytes of the largest packet that segmentation makes of this one, whose IP header stands at
/// `l3`.
pub fn segment_len<F: Ip>(b: &Buffer, l3: usize) -> usize {
    let packet = b.data().get(l3..).unwrap_or_default();
    let upper = UpperLayer::of::<F>(packet).map(|upper| (upper.offset, upper.protocol));
    let (at, protocol) = upper.unwrap_or((F::HEADER_LEN, IpProtocol::UDP));
    let transport = match protocol {
        IpProtocol::TCP => TcpHeader::view_at(packet, at).map_or(20, TcpHeader::header_len),
        _ => 8,
    };
    at + transport + usize::from(b.offload.gso_size)
}

impl<F: Ip> Node for Rewrite<F> {
    const NAME: &'static str = "{ip}-rewrite";
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    const HOT: bool = true;
    type Next = To;
    type Trace = RewriteTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let index = b.scratch::<IpMeta>().adj();
        let Some(adj) = self.adj(index, cx.turn) else { return To::NoAdjacency };
        let (mtu, tx_if, layer2) = (adj.mtu, adj.tx_if, adj.rewrite_len > 0);
        let least = self.path_mtus.known(cx.turn).least();
        let to = if may_pass::<F>(b, tx_if, least.min(mtu.into())) {
            Self::leave(b, adj, self.output, cx)
        } else {
            self.unusual(b, index, cx)
        };
        if TRACED {
            let ethernet = layer2 && matches!(to, To::Output(_));
            cx.trace(b, RewriteTrace::<F>::of(b, (index, tx_if, mtu), ethernet));
        }
        to
    }

    /// Mostly all packets of a vector leave by one adjacency.
    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        let first = v.get(0).scratch::<IpMeta>().adj();
        let adj = self.adj(first, cx.turn).filter(|adj| !cx.has_arc(self.output, adj.tx_if));
        let least = self.path_mtus.known(cx.turn).least();
        let way = adj.and_then(|adj| NextHop::of(adj, least));
        let mut packets = v.packets();
        if let Some(way) = way {
            for (b, out) in packets.by_ref() {
                if b.scratch::<IpMeta>().adj() != first {
                    out.go(self.packet(b, cx));
                    break;
                }
                out.go(match way.take::<F>(b) {
                    Some(to) => to,
                    None => self.unusual(b, first, cx),
                });
            }
        }
        for (b, out) in packets {
            out.go(self.packet(b, cx));
        }
    }
}
