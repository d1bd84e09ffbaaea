// SPDX-License-Identifier: Apache-2.0
//! `ip4-frag`, `ip6-frag`: fragment packets larger than the link's MTU (RFC 791 3.2, RFC 1812
//! 4.2.2.7); of IPv6 only our own (RFC 8200 4.5).

use crate::family::Ip;
use buffer::{Buffer, Cache, Flags, Owned};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::{AdjKind, Adjacencies, IpMeta};
use stats::CombinedLane;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use wire::{
    ExtHeaders, Header, Ip6Fragment, IpHeader, IpProtocol, Ipv4Header, Ipv6Header, U16, U32, l4,
};

pub struct Fragment<F> {
    adjacencies: Arc<Adjacencies>,
    /// By adjacency.
    counters: CombinedLane,
    /// IPv4 packets without identification get one, as by VPP: its outer headers have none.
    identify: bool,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
#[allow(
    dead_code,
    reason = "fragments go by the adjacency's own node; the picture of the graph shows this"
)]
pub enum To {
    #[dynamic]
    Node(NodeIndex),
    /// fragments sent
    #[next("{ip}-rewrite", count)]
    #[counter("fragment_sent")]
    Sent,
    /// The packet itself, once its parts are on their way.
    #[free]
    Done,
    /// can't fragment: MTU is too small for a header and 8 bytes
    #[drop]
    #[counter("cant_fragment_header")]
    MtuTooSmall,
    /// can't fragment: packet is malformed
    #[drop]
    Malformed,
    /// can't fragment: buffer allocation failure
    #[drop]
    #[counter("memory")]
    NoBuffer,
    /// {ip} adjacency is gone
    #[drop]
    NoAdjacency,
}

/// Bytes of a fragment at most, however large the MTU: it lies in one buffer, as in VPP.
pub(crate) const LARGEST: usize = 2048;

#[derive(Clone, Copy)]
pub struct FragmentTrace {
    len: usize,
    mtu: u16,
    sent: usize,
}

impl Trace for FragmentTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "length {} mtu {}: {} fragments", self.len, self.mtu, self.sent)
    }
}

impl<F: Ip> Build for Fragment<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let adjacencies: Arc<Adjacencies> = world.get();
        Self {
            counters: adjacencies.counters.lane(thread.at()),
            adjacencies,
            identify: world.compat_vpp(),
            version: PhantomData,
        }
    }
}

/// The part of a packet that is cut into fragments.
pub struct Layout {
    /// Offset of the first byte that is cut.
    header: usize,
    /// Offset behind the last one.
    total: usize,
    /// Fragment offset in bytes, if it is a fragment: its fragments' offsets continue it, and more
    /// follow if more followed.
    base: usize,
    more: bool,
}

/// The header of fragments: length, offset and checksum are still to be set.
pub trait Template: Sized {
    /// Returns the part of a packet to be cut; `None` if it is malformed.
    fn whole(packet: &[u8]) -> Option<Layout>;
    /// Creates the header of the first fragment or of the others; all of one packet have one `id`.
    /// Of IPv4, the packet's own counts, unless that is 0.
    fn new(packet: &[u8], first: bool, id: u32) -> Option<Self>;
    /// Bytes of the header.
    fn len(&self) -> usize;
    /// Returns the header of a fragment.
    fn fill(&mut self, payload: usize, offset: usize, more: bool) -> &[u8];
}

/// Bytes of an IPv4 header with options at most.
const LONGEST4: usize = 60;

/// IPv4's (RFC 791 3.2).
pub struct Template4 {
    bytes: [u8; LONGEST4],
    len: usize,
}

impl Template for Template4 {
    fn whole(packet: &[u8]) -> Option<Layout> {
        let ip = Ipv4Header::view(packet)?;
        let (header, total) = (ip.header_len(), ip.packet_len());
        (header >= 20 && total >= header).then_some(Layout {
            header,
            total,
            base: ip.fragment_offset(),
            more: ip.more_fragments(),
        })
    }

    /// The first fragment has all options; the others those with the "copied" bit (RFC 791 3.1).
    fn new(packet: &[u8], first: bool, id: u32) -> Option<Self> {
        let header = Ipv4Header::header_bytes(packet)?;
        let mut this = Self { bytes: [0; LONGEST4], len: header.len() };
        this.bytes[..header.len()].copy_from_slice(header);
        if this.bytes[4..6] == [0, 0] {
            this.bytes[4..6].copy_from_slice(&(id as u16).to_be_bytes());
        }
        if first || header.len() == 20 {
            return Some(this);
        }
        this.bytes[20..].fill(0);
        let mut at = 20;
        for option in Ipv4Header::options(packet) {
            let Ok(option) = option else { break };
            if option.kind & 0x80 != 0 {
                let from = 20 + option.offset;
                let len = option.data.len() + 2;
                this.bytes.get_mut(at..at + len)?.copy_from_slice(packet.get(from..from + len)?);
                at += len;
            }
        }
        // The rest is filled with "end of options", which is 0.
        this.len = at.next_multiple_of(4);
        this.bytes[0] = 0x40 | (this.len / 4) as u8;
        Some(this)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn fill(&mut self, payload: usize, offset: usize, more: bool) -> &[u8] {
        let total = (self.len + payload) as u16;
        if let Some(ip) = Ipv4Header::view_mut(&mut self.bytes) {
            ip.total_len = U16::new(total);
            ip.flags_fragment =
                U16::new(if more { Ipv4Header::MF } else { 0 } | (offset / 8) as u16);
        }
        Ipv4Header::set_checksum_at(&mut self.bytes[..self.len]);
        &self.bytes[..self.len]
    }
}

/// Bytes at most of the headers that every IPv6 fragment begins with.
const LONGEST6: usize = 512;

/// IPv6's (RFC 8200 4.5): the headers for routers on the path stand in every fragment, behind them
/// the fragment header.
pub struct Template6 {
    bytes: [u8; LONGEST6],
    len: usize,
}

impl Template6 {
    /// Offset behind the headers that stand in every fragment, and offset of the next header's
    /// type; `None` for a packet that is a fragment already, or malformed.
    fn split_at(packet: &[u8]) -> Option<(usize, usize)> {
        let mut found = (Ipv6Header::LEN, 6);
        for header in ExtHeaders::new(packet) {
            let header = header.ok()?;
            match header.kind {
                IpProtocol::FRAGMENT => return None,
                IpProtocol::HOP_BY_HOP | IpProtocol::ROUTING => {
                    found = (header.offset + header.bytes.len(), header.offset);
                }
                _ => {}
            }
        }
        Some(found)
    }
}

impl Template for Template6 {
    fn whole(packet: &[u8]) -> Option<Layout> {
        let total = Ipv6Header::view(packet)?.packet_len();
        let (header, _) = Self::split_at(packet)?;
        (total >= header).then_some(Layout { header, total, base: 0, more: false })
    }

    fn new(packet: &[u8], _: bool, id: u32) -> Option<Self> {
        let (end, named_at) = Self::split_at(packet)?;
        let mut this = Self { bytes: [0; LONGEST6], len: end + Ip6Fragment::LEN };
        this.bytes.get_mut(..end)?.copy_from_slice(&packet[..end]);
        let next_header =
            IpProtocol(std::mem::replace(&mut this.bytes[named_at], IpProtocol::FRAGMENT.0));
        *Ip6Fragment::view_at_mut(&mut this.bytes, end)? =
            Ip6Fragment { next_header, reserved: 0, offset_more: U16::ZERO, id: U32::new(id) };
        Some(this)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn fill(&mut self, payload: usize, offset: usize, more: bool) -> &[u8] {
        let behind = self.len - Ipv6Header::LEN + payload;
        if let Some(ip) = Ipv6Header::view_mut(&mut self.bytes) {
            ip.payload_len = U16::new(behind as u16);
        }
        if let Some(fragment) =
            Ip6Fragment::view_at_mut(&mut self.bytes, self.len - Ip6Fragment::LEN)
        {
            fragment.offset_more = U16::new(offset as u16 | u16::from(more));
        }
        &self.bytes[..self.len]
    }
}

/// The fragments of a packet.
#[derive(Clone, Copy, Default)]
struct Sent {
    packets: u64,
    bytes: u64,
}

impl<F: Ip> Fragment<F> {
    fn split<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        mtu: usize,
        next: NodeIndex,
        cx: &mut Cx<'_, TRACED>,
    ) -> Result<Sent, To> {
        finish_checksum(b);
        let Layout { header, total, base, more } =
            F::Template::whole(b.data()).ok_or(To::Malformed)?;
        if total > b.packet_len() {
            return Err(To::Malformed);
        }
        let id = if F::IS_V6 || self.identify { cx.random() as u32 } else { 0 };
        let mut first = F::Template::new(b.data(), true, id).ok_or(To::Malformed)?;
        let mut others = F::Template::new(b.data(), false, id).ok_or(To::Malformed)?;
        let payload = total - header;
        let mut done = 0;
        let mut sent = Sent::default();
        while done < payload {
            let template = if done == 0 { &mut first } else { &mut others };
            let left = payload - done;
            let room = mtu.min(LARGEST).saturating_sub(template.len());
            let (len, more) = if left <= room { (left, more) } else { (room & !7, true) };
            if len == 0 {
                return Err(To::MtuTooSmall);
            }
            let part = make(b, template.fill(len, base + done, more), header + done, len, cx);
            cx.emit(To::Node(next), part.ok_or(To::NoBuffer)?);
            sent.bytes += (template.len() + len) as u64;
            done += len;
            sent.packets += 1;
        }
        cx.count(To::Sent, sent.packets);
        Ok(sent)
    }
}

/// Completes a deferred checksum: before the packet is fragmented, or goes where no device
/// completes it.
pub fn finish_checksum(b: &mut Buffer) {
    if !b.flags.has(Flags::CSUM_PARTIAL) {
        return;
    }
    if let Ok((at, value)) = l4::compute_parts(b.data(), b.segments().skip(1))
        && b.write_u16(at, value)
    {
        b.flags.clear(Flags::CSUM_PARTIAL);
    }
}

/// A packet of this header and `len` bytes of `b` from `from` on.
fn make<const TRACED: bool>(
    b: &Buffer,
    header: &[u8],
    from: usize,
    len: usize,
    cx: &mut Cx<'_, TRACED>,
) -> Option<Owned> {
    let mut part = cx.alloc()?;
    if !fill(&mut part, b, header, from..from + len, cx.cache()) {
        cx.free(part);
        return None;
    }
    const KEPT: Flags =
        Flags::LOCAL.with(Flags::TRACED).with(Flags::L2_BROADCAST).with(Flags::L2_MULTICAST);
    part.flags.set(Flags(b.flags.0 & KEPT.0));
    (part.rx_if, part.tx_if) = (b.rx_if, b.tx_if);
    (part.trace, part.flow_hash) = (b.trace, b.flow_hash);
    part.set_scratch(b.scratch::<IpMeta>());
    Some(part)
}

/// Writes the header and these bytes of `b` to an empty packet; false if there are too few buffers.
fn fill(
    part: &mut Buffer,
    b: &Buffer,
    header: &[u8],
    from: Range<usize>,
    cache: &mut Cache,
) -> bool {
    if !part.set_data(header) {
        return false;
    }
    let mut bytes = [0; 1024];
    let Range { start: mut at, end } = from;
    while at < end {
        let n = b.copy_out(at, &mut bytes[..(end - at).min(1024)]);
        if n == 0 || !part.append_bytes(&bytes[..n], cache) {
            return false;
        }
        at += n;
    }
    true
}

impl<F: Ip> Node for Fragment<F> {
    const NAME: &'static str = "{ip}-frag";
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = FragmentTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let meta = b.scratch::<IpMeta>();
        let Some(adj) = self.adjacencies.get(meta.adj(), cx.turn) else { return To::NoAdjacency };
        // The path's, if the sending node has set it; else the link's.
        let mtu = u16::try_from(meta.icmp_rest).ok().filter(|mtu| *mtu != 0).unwrap_or(adj.mtu);
        let len = b.packet_len();
        let split = self.split(b, mtu.into(), adj.next, cx);
        let sent = split.unwrap_or_default();
        cx.trace(b, FragmentTrace { len, mtu, sent: sent.packets as usize });
        // An adjacency counts what it sends. Of a neighbour's the lookup has counted the whole
        // packet; that of groups counts at its rewrite.
        if adj.kind == AdjKind::Rewrite && sent.packets > 0 {
            self.counters.add(
                adj.counter as usize,
                sent.packets - 1,
                sent.bytes.saturating_sub(len as u64),
            );
        }
        split.err().unwrap_or(To::Done)
    }
}
