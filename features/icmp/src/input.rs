// SPDX-License-Identifier: Apache-2.0
//! `ip4-icmp-input`: is the message whole, and who takes it.

use crate::state::Icmp;
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Head, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use std::fmt;
use std::sync::Arc;
use wire::checksum::Sum;
use wire::describe::{Layer, describe};
use wire::{Header, Icmp4Type, IpHeader, Ipv4Header};

/// Messages for us, each starting at its IP header.
pub struct IcmpInput {
    icmp: Arc<Icmp>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    #[dynamic]
    Node(NodeIndex),
    /// unknown type
    #[punt]
    UnknownType,
    /// payload length too small for type
    #[drop]
    TooShort,
    /// bad ICMP checksum
    #[drop]
    Checksum,
    /// fragment of an ICMP message
    #[drop]
    Fragment,
    /// ICMP message with segmentation pending
    #[drop]
    Segmentation,
    /// redirect ignored by a router (RFC 1812 5.2.7.2)
    #[drop]
    Redirect,
    /// source quench ignored (RFC 6633 4)
    #[drop]
    SourceQuench,
}

/// The packet as it came.
#[derive(Clone, Copy)]
pub struct IcmpTrace(pub(crate) Head);

impl Trace for IcmpTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", describe(self.0.bytes(), Layer::Ip4))
    }
}

impl Build for IcmpInput {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { icmp: world.get() }
    }
}

/// The shortest message of a type that has all its fields (RFC 792, RFC 950, RFC 1256).
#[inline(always)]
const fn min_len(kind: u8) -> usize {
    match Icmp4Type(kind) {
        // A header, an IP header, and 8 bytes of what was in it.
        kind if kind.is_error() => 36,
        Icmp4Type::TIMESTAMP_REQUEST | Icmp4Type::TIMESTAMP_REPLY => 20,
        // Address mask.
        Icmp4Type(17 | 18) => 12,
        _ => 8,
    }
}

/// The sum over `len` bytes from offset `at`, in whatever segments they lie.
#[inline(always)]
fn sum(b: &Buffer, at: usize, len: usize) -> Sum {
    match b.data().get(at..at + len) {
        Some(bytes) => Sum::of(bytes),
        None => sum_chain(b, at, len),
    }
}

#[cold]
fn sum_chain(b: &Buffer, at: usize, len: usize) -> Sum {
    let (mut skip, mut left) = (at, len);
    Sum::of_parts(b.segments().map(|segment| {
        let part = segment.get(skip..).unwrap_or_default();
        let part = &part[..part.len().min(left)];
        skip = skip.saturating_sub(segment.len());
        left -= part.len();
        part
    }))
}

impl IcmpInput {
    #[inline(always)]
    fn classify<const TRACED: bool>(&self, b: &Buffer, cx: &Cx<'_, TRACED>) -> To {
        let Some(ip) = Ipv4Header::view(b.data()) else { return To::TooShort };
        let (at, end) = (ip.header_len(), ip.packet_len());
        if ip.is_fragment() {
            return To::Fragment;
        }
        // Fields are read in the first segment.
        let Some(&[kind, ..]) = b.bytes::<8>(at) else { return To::TooShort };
        if at < 20 || end > b.packet_len() || end < at + min_len(kind) {
            return To::TooShort;
        }
        if b.flags.has(Flags::GSO) {
            return To::Segmentation;
        }
        // A partial one is the sender's word that the bytes are right.
        if !b.flags.any(Flags::L4_CSUM_OK.with(Flags::CSUM_PARTIAL)) && !sum(b, at, end - at).is_valid() {
            return To::Checksum;
        }
        match self.icmp.taker(kind, cx.turn) {
            Some(node) => To::Node(node),
            None => refuse(Icmp4Type(kind)),
        }
    }
}

#[cold]
fn refuse(kind: Icmp4Type) -> To {
    match kind {
        Icmp4Type::REDIRECT => To::Redirect,
        Icmp4Type(4) => To::SourceQuench,
        _ => To::UnknownType,
    }
}

impl Node for IcmpInput {
    const NAME: &'static str = "ip4-icmp-input";
    const DROP: &'static str = "ip4-drop";
    const PUNT: &'static str = "ip4-punt";
    type Next = To;
    type Trace = IcmpTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, IcmpTrace(Head::of(b)));
        }
        self.classify(b, cx)
    }
}
