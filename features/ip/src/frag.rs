// SPDX-License-Identifier: Apache-2.0
//! `ip4-frag`, `ip6-frag`: fragment packets larger than the link's MTU (RFC 791 3.2, RFC 1812
//! 4.2.2.7); of IPv6 only our own (RFC 8200 4.5).

use crate::family::Ip;
use crate::template::{Layout, Template};
use buffer::{Buffer, Cache, Flags, Owned};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::{AdjKind, Adjacencies, IpMeta};
use stats::CombinedLane;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use wire::l4;

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
    if !b.flags.contains(Flags::CSUM_PARTIAL) {
        return;
    }
    if let Ok((at, value)) = l4::compute_parts(b.data(), b.segments().skip(1))
        && b.write_u16(at, value)
    {
        b.flags.remove(Flags::CSUM_PARTIAL);
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
        Flags::LOCAL.union(Flags::TRACED).union(Flags::L2_BROADCAST).union(Flags::L2_MULTICAST);
    part.flags.insert(b.flags & KEPT);
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
