// SPDX-License-Identifier: Apache-2.0
//! `ip4-icmp-input`, `ip6-icmp-input`: validate a message, and dispatch it by type.

use crate::state::State;
use crate::version::Icmp;
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use ip::IpTrace;
use std::sync::Arc;
use wire::checksum::Sum;
use wire::{Header, Icmp4Type, Icmp6Type, UpperLayer};

/// Messages for us, each starting at its IP header.
pub struct IcmpInput<F> {
    state: Arc<State<F>>,
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
    #[counter("length_too_small_for_type")]
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
    /// redirect ignored by a router ({RFC 1812 5.2.7.2|RFC 4861 8.2})
    #[drop]
    Redirect,
    /// source quench ignored (RFC 6633 4)
    #[drop]
    SourceQuench,
}

impl<F: Icmp> Build for IcmpInput<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { state: world.get() }
    }
}

/// Returns the sum over `len` bytes from offset `at`, across segments.
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

impl<F: Icmp> IcmpInput<F> {
    #[inline(always)]
    fn classify<const TRACED: bool>(&self, b: &Buffer, cx: &Cx<'_, TRACED>) -> To {
        let Some(ip) = F::Header::view(b.data()) else { return To::TooShort };
        let Ok(upper) = UpperLayer::of::<F>(b.data()) else { return To::TooShort };
        if upper.is_fragment() {
            return To::Fragment;
        }
        let (at, end) = (upper.offset, upper.end);
        // Fields are read in the first segment.
        let Some(&[kind, ..]) = b.bytes::<8>(at) else { return To::TooShort };
        if end > b.packet_len() || end < at + F::min_len(kind) {
            return To::TooShort;
        }
        if b.flags.contains(Flags::GSO) {
            return To::Segmentation;
        }
        // A partial checksum is not verified: the sender vouches for the bytes.
        let verified = b.flags.intersects(Flags::L4_CSUM_OK | Flags::CSUM_PARTIAL);
        if !verified && !(F::pseudo(ip, end - at) + sum(b, at, end - at)).is_valid() {
            return To::Checksum;
        }
        match self.state.taker(kind, cx.turn) {
            Some(node) => To::Node(node),
            None => refuse::<F>(kind),
        }
    }
}

#[cold]
fn refuse<F: Icmp>(kind: u8) -> To {
    let redirect = if F::IS_V6 { Icmp6Type::REDIRECT.0 } else { Icmp4Type::REDIRECT.0 };
    match kind {
        kind if kind == redirect => To::Redirect,
        4 if !F::IS_V6 => To::SourceQuench,
        _ => To::UnknownType,
    }
}

impl<F: Icmp> Node for IcmpInput<F> {
    const NAME: &'static str = "{ip}-icmp-input";
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
        self.classify(b, cx)
    }
}
