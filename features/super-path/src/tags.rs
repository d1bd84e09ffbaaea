// SPDX-License-Identifier: Apache-2.0
//! Frames with VLAN tags, for sub-interfaces.
//!
//! The tags are taken off the front by their length: the IP header then stands where it stands in a
//! frame without tags, and all that follows is the same for both. The bytes stay as they are. A
//! frame that isn't sent gets them back, and the device as the interface that it came in by, so
//! `ethernet-input` finds what the driver left.

use crate::gate::Open;
use crate::next_hop::Protocol;
use crate::plan::{AHEAD, Plans, is_ordinary};
use crate::rx::Rx;
use crate::{Bits, To};
use buffer::Buffer;
use graph::Vector;
use ip::Words;
use ip::headers::BLOCK;
use net::{IfLanes, TAG};
use wire::{EtherType, Ip4, Ip6};

/// Bytes of both addresses, behind which the tags stand.
const ADDRESSES: usize = 12;
/// Bytes that a frame with two tags has at least. A shorter one holds no IP header.
const HEAD: usize = ADDRESSES + 2 * TAG + 4;

/// The tags of a frame as [`net::Tagged`] parses them, without priorities.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parsed {
    /// Protocols and VLAN ids, as they stand in the frame.
    bytes: u64,
    /// Number of tags, at most two.
    count: u32,
}

impl Parsed {
    /// No tag.
    pub const NONE: Self = Self { bytes: 0, count: 0 };

    /// Their length in bytes.
    #[inline(always)]
    pub fn len(self) -> usize {
        self.count as usize * TAG
    }
}

/// The tags of a frame that could carry an IP packet.
#[inline(always)]
pub fn parse(b: &Buffer) -> Parsed {
    /// A protocol, and a VLAN id without the priority in front of it.
    const ONE: u64 = u32::from_le_bytes([0xff, 0xff, 0x0f, 0xff]) as u64;
    const BOTH: u64 = ONE << 32 | ONE;
    let Some(head) = b.bytes::<HEAD>(0) else { return Parsed::NONE };
    let &[.., p0, p1, a, b, q0, q1, c, d, _, _, _, _] = head;
    if !EtherType(u16::from_be_bytes([p0, p1])).is_vlan() {
        return Parsed::NONE;
    }
    let all = u64::from_le_bytes([p0, p1, a, b, q0, q1, c, d]);
    // The inner tag is a customer tag (IEEE 802.1Q 9.5).
    let two = EtherType(u16::from_be_bytes([q0, q1])) == EtherType::VLAN;
    if two { Parsed { bytes: all & BOTH, count: 2 } } else { Parsed { bytes: all & ONE, count: 1 } }
}

/// Frames of a run at least. Shorter runs take the graph, which costs less then; so does each frame
/// where several VLANs take turns.
const RUN: usize = 8;

/// The tags of the run of frames that begins at an index of the vector; none if the frame there has
/// none, or too few with the same follow.
#[inline(never)]
pub fn run(v: &Vector<'_, To>, from: usize) -> Parsed {
    let (first, tags) = (v.get(from), parse(v.get(from)));
    if tags == Parsed::NONE || from + RUN > v.len() {
        return Parsed::NONE;
    }
    for at in from + 1..from + RUN {
        let b = v.get(at);
        if b.rx_if != first.rx_if || parse(b) != tags {
            return Parsed::NONE;
        }
    }
    tags
}

/// The same, behind a run with tags `last`, which goes on if the frame has these.
#[inline(never)]
pub fn run_behind(v: &Vector<'_, To>, from: usize, last: Parsed) -> Parsed {
    if last != Parsed::NONE && parse(v.get(from)) == last { last } else { run(v, from) }
}

/// Where the first frame stands, behind one with tags that no run begins with, that the graph
/// needn't have: one without tags, of another device, or of a run.
#[inline(never)]
pub fn skip(v: &Vector<'_, To>, from: usize) -> usize {
    let (device, mut tags, mut begin) = (v.get(from).rx_if, parse(v.get(from)), from);
    for at in from + 1..v.len() {
        v.prefetch(at + AHEAD);
        let next = parse(v.get(at));
        if next == Parsed::NONE || v.get(at).rx_if != device {
            return at;
        }
        if next != tags {
            (tags, begin) = (next, at);
        } else if at + 1 - begin == RUN {
            return begin;
        }
    }
    v.len()
}

/// Takes the tags off a frame of the run that carries an ordinary packet to us. `None`, and nothing
/// changed, for any other frame.
#[inline(always)]
pub fn take<F: Protocol>(b: &mut Buffer, rx: &Rx) -> Option<(Words, F::Key)> {
    let head = b.bytes::<HEAD>(0)?;
    let at = ADDRESSES + rx.tags.len();
    let ethertype = *head.get(at..)?.first_chunk::<2>()?;
    if rx.open::<F>() == Open::No
        || !is_ordinary::<F>(b, *head.first_chunk()?, ethertype, rx)
        || !b.pull(rx.tags.len())
    {
        return None;
    }
    let Some(found) = F::look(b) else {
        let rewound = b.rewind(rx.tags.len());
        debug_assert!(rewound);
        return None;
    };
    b.rx_if = rx.rx_if;
    Some(found)
}

/// Gives back to a frame the tags and the device that [`take`] has taken.
#[inline(always)]
pub fn give_back(b: &mut Buffer, device: u32, len: usize) {
    let rewound = b.rewind(len);
    debug_assert!(rewound, "it was pulled");
    b.rx_if = device;
}

/// Frames of a block whose tags were taken off.
#[derive(Clone, Copy)]
pub struct TagsOff {
    device: u32,
    sub: u32,
    /// The length of the tags.
    len: usize,
    /// Where the block begins in the vector.
    from: usize,
    which: u64,
    /// Bytes of these frames, with tags.
    bytes: u64,
}

impl Plans {
    /// As [`Plans::make`], for a run of frames with tags.
    ///
    /// A function of its own, so that the loops for frames without tags have what it needs for
    /// themselves. The run by value: those loops keep it in registers, which they can't if its
    /// address is known elsewhere.
    #[inline(never)]
    pub fn gather_tagged(
        &mut self,
        v: &mut Vector<'_, To>,
        (from, to): (usize, usize),
        rx: Rx,
    ) -> usize {
        let rx = &rx;
        let Self { ip4, ip6, tags_off, .. } = self;
        ip4.begin(from, rx);
        ip6.begin(from, rx);
        let mut off = TagsOff {
            device: rx.device,
            sub: rx.rx_if,
            len: rx.tags.len(),
            from,
            which: 0,
            bytes: 0,
        };
        let mut at = from;
        for b in v.range_mut_ahead(from, to) {
            if b.rx_if != rx.device || parse(b) != rx.tags {
                break;
            }
            let len = b.len();
            let taken = if let Some(found) = take::<Ip4>(b, rx) {
                ip4.push(at, found, b.len());
                true
            } else if let Some(found) = take::<Ip6>(b, rx) {
                ip6.push(at, found, b.len());
                true
            } else {
                false
            };
            if taken {
                off.which |= 1 << ((at - from) % BLOCK);
                off.bytes += len as u64;
            }
            at += 1;
        }
        *tags_off = (off.which != 0).then_some(off);
        at
    }
}

impl TagsOff {
    /// Ends a block when its packets have been sent: the frames of all others are as they were. The
    /// sub-interface counts what it has received, as `ethernet-input` does for the others.
    #[inline(never)]
    pub fn settle(&self, v: &mut Vector<'_, To>, lanes: &IfLanes) {
        let (mut packets, mut bytes) = (u64::from(self.which.count_ones()), self.bytes);
        for i in Bits(self.which) {
            let at = self.from + i;
            if v.is(at, To::Aside) {
                let b = v.get_mut(at);
                give_back(b, self.device, self.len);
                packets -= 1;
                bytes -= b.len() as u64;
            }
        }
        if packets != 0 {
            lanes.rx.unicast(self.sub as usize, packets, bytes);
        }
    }
}
