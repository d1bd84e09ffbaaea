// SPDX-License-Identifier: Apache-2.0
//! `ip4-input`, `ip4-input-no-checksum`: is this a packet that a router may handle?

use crate::headers::{BLOCK, Headers};
use buffer::{Buffer, Cache};
use graph::{ArcIndex, Build, Cx, Head, Next, Node, NodeIndex, ThreadIndex, Trace, Vector, World};
use net::IfCounters;
use simd::{Isa, ip4_header_sum};
use stats::Lane;
use std::fmt;
use wire::Ipv4Header;
use wire::describe::{Layer, describe};

/// Bytes of a header without options.
const HEADER: usize = 20;

/// With `VERIFY`, the header's checksum is verified.
pub struct Input<const VERIFY: bool> {
    arcs: Arcs,
    ip4: Lane,
    /// Here only to be filled anew without being cleared.
    headers: Headers,
}

#[derive(Clone, Copy)]
struct Arcs {
    unicast: ArcIndex,
    multicast: ArcIndex,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("ip4-lookup")]
    Lookup,
    #[next("ip4-mfib-forward-lookup")]
    Multicast,
    /// ip4 options present
    #[next("ip4-options", count)]
    Options,
    #[dynamic]
    Feature(NodeIndex),
    /// ip4 length < 20 bytes
    #[drop]
    TooShort,
    /// ip4 version != 4
    #[drop]
    Version,
    /// ip4 header length < 20 bytes or > packet length
    #[drop]
    HdrTooShort,
    /// ip4 length < header length or > l2 length
    #[drop]
    BadLength,
    /// bad ip4 checksum
    #[drop]
    BadChecksum,
    /// ip4 fragment offset == 1
    #[drop]
    FragmentOffsetOne,
    /// ip4 source is on network 0
    #[drop]
    SourceThisNetwork,
    /// ip4 source is on network 127
    #[drop]
    SourceLoopback,
    /// ip4 source is multicast
    #[drop]
    SourceMulticast,
    /// ip4 source is broadcast or reserved
    #[drop]
    SourceReserved,
}

/// The packet's headers.
#[derive(Clone, Copy)]
pub struct Ip4Trace(pub Head);

impl Trace for Ip4Trace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", describe(self.0.bytes(), Layer::Ip4))
    }
}

impl<const VERIFY: bool> Build for Input<VERIFY> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            arcs: Arcs { unicast: arc(world, "ip4-unicast"), multicast: arc(world, "ip4-multicast") },
            headers: Headers::default(),
            ip4: world.get::<IfCounters>().ip4.lane(thread.at()),
        }
    }
}

/// One of this plugin's arcs.
pub fn arc(world: &World, name: &str) -> ArcIndex {
    world.arc(name).expect("the plugin brings its arcs")
}

/// Why a header isn't a usual one, and where the packet goes then.
#[cold]
#[inline(never)]
fn unusual<const VERIFY: bool, const TRACED: bool>(
    b: &mut Buffer,
    arcs: Arcs,
    cx: &mut Cx<'_, TRACED>,
) -> To {
    match check(b, VERIFY, cx.cache()) {
        Err(why) => why,
        Ok(Class::Options) => To::Options,
        Ok(class) => {
            let to_group = class == Class::Multicast;
            let otherwise = if to_group { To::Multicast } else { To::Lookup };
            enter(b, to_group, arcs.unicast, arcs.multicast, cx).map_or(otherwise, To::Feature)
        }
    }
}

/// Starts the arc of the packet's interface; `None` if no feature is enabled there.
#[inline(always)]
pub fn enter<const TRACED: bool>(
    b: &mut Buffer,
    to_group: bool,
    unicast: ArcIndex,
    multicast: ArcIndex,
    cx: &Cx<'_, TRACED>,
) -> Option<NodeIndex> {
    cx.start_arc(if to_group { multicast } else { unicast }, b.rx_if, b)
}

/// Takes off what lies behind the packet: padding of the frame.
#[inline(always)]
fn trim<const TRACED: bool>(b: &mut Buffer, total: usize, cx: &mut Cx<'_, TRACED>) {
    if b.is_chained() {
        trim_chain(b, total, cx.cache());
    } else {
        b.truncate(total);
    }
}

#[cold]
#[inline(never)]
fn trim_chain(b: &mut Buffer, total: usize, cache: &mut Cache) {
    b.trim_packet(total, cache);
}

/// The total length of a packet that is usual ([`Headers::judge`]).
#[inline(always)]
fn usual<const VERIFY: bool>(header: &[u8; HEADER], b: &Buffer) -> Option<usize> {
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let usual = header[0] == Ipv4Header::PLAIN
        && total >= HEADER
        && total <= b.packet_len()
        && u16::from_be_bytes([header[6], header[7]]) & 0x1fff != 1
        && (1..224).contains(&header[12])
        && header[12] != 127
        && header[16] & 0xf0 != 0xe0
        && (!VERIFY || ip4_header_sum::<simd::V1>(header) == 0xffff);
    usual.then_some(total)
}

/// What kind of good packet it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Unicast,
    Multicast,
    /// Of either kind, with options.
    Options,
}

/// Checks a header (RFC 1812 5.2.2), and takes off what lies behind the packet.
fn check(b: &mut Buffer, verify: bool, cache: &mut Cache) -> Result<Class, To> {
    let len = b.packet_len();
    // 5.2.2 (1): the length that the link layer reports holds a minimum header.
    let header = b.bytes::<HEADER>(0).ok_or(To::TooShort)?;
    // 5.2.2 (3): the version is 4.
    if header[0] >> 4 != 4 {
        return Err(To::Version);
    }
    // 5.2.2 (4): the header length holds a minimum header; and it is there in one piece.
    let ihl = usize::from(header[0] & 15) * 4;
    if ihl < HEADER || ihl > b.len() {
        return Err(To::HdrTooShort);
    }
    // 5.2.2 (5): the total length holds the header. And the packet holds the total length.
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if total < ihl || total > len {
        return Err(To::BadLength);
    }
    // 5.2.2 (2): the checksum is right.
    if verify && !Ipv4Header::checksum_ok_at(b.data()) {
        return Err(To::BadChecksum);
    }
    // A fragment that overwrites the transport header of the first (RFC 1858 4).
    if u16::from_be_bytes([header[6], header[7]]) & 0x1fff == 1 {
        return Err(To::FragmentOffsetOne);
    }
    let (source, destination) = (&header[12..16], &header[16..20]);
    // 5.3.7: a source that no host has. Who has no address yet (DHCP, IGMP queries) speaks to groups only.
    let to_all = destination == [255; 4];
    let to_group = destination[0] >> 4 == 0xe;
    match source[0] {
        0 if source == [0; 4] && (to_all || to_group) => {}
        0 => return Err(To::SourceThisNetwork),
        127 => return Err(To::SourceLoopback),
        224..240 => return Err(To::SourceMulticast),
        240.. => return Err(To::SourceReserved),
        _ => {}
    }
    b.trim_packet(total, cache);
    Ok(if ihl > HEADER {
        Class::Options
    } else if to_group {
        Class::Multicast
    } else {
        Class::Unicast
    })
}

impl<const VERIFY: bool> Node for Input<VERIFY> {
    const NAME: &'static str = if VERIFY { "ip4-input" } else { "ip4-input-no-checksum" };
    type Next = To;
    type Trace = Ip4Trace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, Ip4Trace(Head::of(b)));
        }
        self.ip4.add(b.rx_if as usize, 1);
        let Some(header) = b.bytes::<20>(0) else { return To::TooShort };
        let Some(total) = usual::<VERIFY>(header, b) else {
            return unusual::<VERIFY, TRACED>(b, self.arcs, cx);
        };
        trim(b, total, cx);
        cx.start_arc(self.arcs.unicast, b.rx_if, b).map_or(To::Lookup, To::Feature)
    }

    /// Headers are judged in blocks, all packets of a block in one go: what looks like many conditions for a packet is a few
    /// instructions for sixteen. A packet that isn't usual is looked at once more, alone.
    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        let n = v.len();
        let rx_if = v.get(0).rx_if;
        let mut differ = 0;
        let headers = &mut self.headers;
        v.set_all(To::Lookup);
        for from in (0..n).step_by(BLOCK) {
            let len = (n - from).min(BLOCK);
            headers.gather(v.range_mut_ahead(from, from + len), |b| differ |= b.rx_if ^ rx_if);
            let found = headers.judge::<VERIFY>(len);
            if found.padded {
                for (i, b) in v.range_mut(from, from + len).enumerate() {
                    if !headers.is_wrong(i) && headers.is_padded(i) {
                        trim(b, headers.total(i), cx);
                    }
                }
            }
            if found.wrong {
                for i in (0..len).filter(|i| headers.is_wrong(*i)) {
                    let to = unusual::<VERIFY, false>(v.get_mut(from + i), self.arcs, cx);
                    v.set(from + i, to);
                }
            }
        }
        if differ == 0 {
            self.ip4.add(rx_if as usize, n as u64);
            if !cx.has_arc(self.arcs.unicast, rx_if) {
                return;
            }
        } else {
            for b in v.iter() {
                self.ip4.add(b.rx_if as usize, 1);
            }
        }
        // Who comes from where features are enabled starts the arc. What was found to be unusual has done that, if it may.
        for i in 0..n {
            if v.is(i, To::Lookup) {
                let b = v.get_mut(i);
                let to = cx.start_arc(self.arcs.unicast, b.rx_if, b);
                v.set(i, to.map_or(To::Lookup, To::Feature));
            }
        }
    }
}
