// SPDX-License-Identifier: Apache-2.0
//! `ip4-frag`: packets larger than the link, in parts (RFC 791 3.2, RFC 1812 4.2.2.7).

use buffer::{Buffer, Flags, Owned};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::{Adjacencies, IpMeta};
use std::fmt;
use std::sync::Arc;
use wire::{Header, IpHeader, Ipv4Header, U16, l4};

/// Bytes of a header with options at most.
const LONGEST: usize = 60;

pub struct Fragment(Arc<Adjacencies>);

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "fragments go by the adjacency's own node; the picture of the graph shows this")]
pub enum To {
    #[dynamic]
    Node(NodeIndex),
    /// fragments sent
    #[next("ip4-rewrite", count)]
    Sent,
    /// The packet itself, once its parts are on their way.
    #[free]
    Done,
    /// can't fragment: MTU is too small for a header and 8 bytes
    #[drop]
    MtuTooSmall,
    /// can't fragment: packet is malformed
    #[drop]
    Malformed,
    /// can't fragment: buffer allocation failure
    #[drop]
    NoBuffer,
    /// ip4 adjacency is gone
    #[drop]
    NoAdjacency,
}

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

impl Build for Fragment {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

/// A header for fragments: total length, offset and checksum are still to be set.
struct Template {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Template {
    /// The first fragment has all options; the others those with the "copied" bit (RFC 791 3.1).
    fn new(packet: &[u8], first: bool) -> Option<Self> {
        let header = Ipv4Header::header_bytes(packet)?;
        let mut this = Self { bytes: [0; LONGEST], len: header.len() };
        this.bytes[..header.len()].copy_from_slice(header);
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

    fn fill(&mut self, payload: usize, offset: usize, flags: u16) -> &[u8] {
        let total = (self.len + payload) as u16;
        if let Some(ip) = Ipv4Header::view_mut(&mut self.bytes) {
            ip.total_len = U16::new(total);
            ip.flags_fragment = U16::new(flags | (offset / 8) as u16);
        }
        Ipv4Header::set_checksum_at(&mut self.bytes[..self.len]);
        &self.bytes[..self.len]
    }
}

impl Fragment {
    fn split<const TRACED: bool>(
        b: &mut Buffer,
        mtu: usize,
        next: NodeIndex,
        cx: &mut Cx<'_, TRACED>,
    ) -> Result<usize, To> {
        finish_checksum(b);
        let Some(&ip) = Ipv4Header::view(b.data()) else { return Err(To::Malformed) };
        let (header, total) = (ip.header_len(), ip.packet_len());
        if total < header || total > b.packet_len() {
            return Err(To::Malformed);
        }
        let mut first = Template::new(b.data(), true).ok_or(To::Malformed)?;
        let mut others = Template::new(b.data(), false).ok_or(To::Malformed)?;
        // A fragment may be fragmented again: its parts lie where it lay, and more follow if more followed.
        let (base, more) = (ip.fragment_offset(), ip.flags_fragment.get() & Ipv4Header::MF);
        let payload = total - header;
        let (mut done, mut sent) = (0, 0);
        while done < payload {
            let template = if done == 0 { &mut first } else { &mut others };
            let left = payload - done;
            let room = mtu.saturating_sub(template.len);
            let (len, flags) = if left <= room { (left, more) } else { (room & !7, Ipv4Header::MF) };
            if len == 0 {
                return Err(To::MtuTooSmall);
            }
            let part = make(b, template.fill(len, base + done, flags), header + done, len, cx);
            cx.emit(To::Node(next), part.ok_or(To::NoBuffer)?);
            done += len;
            sent += 1;
        }
        cx.count(To::Sent, sent as u64);
        Ok(sent)
    }
}

/// A checksum that somebody was to finish later has to be right before it is cut in two.
fn finish_checksum(b: &mut Buffer) {
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
    if !part.set_data(header) {
        return None;
    }
    let mut bytes = [0; 1024];
    let (mut at, end) = (from, from + len);
    while at < end {
        let n = b.copy_out(at, &mut bytes[..(end - at).min(1024)]);
        if n == 0 || !part.append_bytes(&bytes[..n], cx.cache()) {
            return None;
        }
        at += n;
    }
    const KEPT: Flags = Flags::LOCAL.with(Flags::TRACED).with(Flags::L2_BROADCAST).with(Flags::L2_MULTICAST);
    part.flags.set(Flags(b.flags.0 & KEPT.0));
    (part.rx_if, part.tx_if) = (b.rx_if, b.tx_if);
    (part.trace, part.flow_hash) = (b.trace, b.flow_hash);
    part.set_scratch(b.scratch::<IpMeta>());
    Some(part)
}

impl Node for Fragment {
    const NAME: &'static str = "ip4-frag";
    const DROP: &'static str = "ip4-drop";
    type Next = To;
    type Trace = FragmentTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some(adj) = self.0.get(b.scratch::<IpMeta>().adj(), cx.turn) else { return To::NoAdjacency };
        let (mtu, next) = (adj.mtu, adj.next);
        let len = b.packet_len();
        let split = Self::split(b, mtu.into(), next, cx);
        cx.trace(b, FragmentTrace { len, mtu, sent: split.unwrap_or(0) });
        split.err().unwrap_or(To::Done)
    }
}
