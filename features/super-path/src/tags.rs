// SPDX-License-Identifier: Apache-2.0
//! Frames with VLAN tags, for sub-interfaces: runs of frames with the same tags.

use crate::{AHEAD, To};
use buffer::Buffer;
use graph::Vector;
use net::TAG;
use wire::EtherType;

/// Bytes of both addresses, behind which the tags stand.
pub const ADDRESSES: usize = 12;
/// Bytes that a frame with two tags has at least. A shorter one holds no IP header.
pub const HEAD: usize = ADDRESSES + 2 * TAG + 4;

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
