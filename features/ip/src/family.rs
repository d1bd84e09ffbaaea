// SPDX-License-Identifier: Apache-2.0
//! Traits of an IP version for the nodes, beside [`net::Net`]: all differences of the two versions,
//! in one place.

use crate::template::Template;
use buffer::{Buffer, Cache};
use graph::{ArcIndex, Head, Next, NodeIndex, Trace, World};
use net::{IpMeta, Net};
use std::fmt;
use std::marker::PhantomData;
use wire::describe::{Layer, describe};
use wire::{IpProtocol, Prefix};

/// Type and code of an ICMP error.
pub type ErrorCode = (u8, u8);

/// The ICMP errors of a version.
#[derive(Clone, Copy)]
pub struct Errors {
    /// No route.
    pub no_route: ErrorCode,
    /// The route's path is "unreachable".
    pub unreachable: ErrorCode,
    /// The route's path is "prohibited".
    pub prohibited: ErrorCode,
    /// No node takes the protocol; in IPv6 the last word points at its number.
    pub unknown_protocol: ErrorCode,
    /// No node takes the port.
    pub port_unreachable: ErrorCode,
    /// TTL or hop limit ran out.
    pub expired: ErrorCode,
    /// Larger than the link, and not to be fragmented here; the last word is the MTU.
    pub too_big: ErrorCode,
}

/// The first 16 bytes of a header as little-endian words, and the first word of the destination.
pub type Words = ([u32; 4], u32);

/// [`Words`] of a header whose destination begins with word `destination`. One by one: `array::map`
/// isn't always inlined, and then not compiled for the caller's instruction set.
#[inline(always)]
pub fn words(header: &[[u8; 4]], destination: usize) -> Words {
    let first = [
        u32::from_le_bytes(header[0]),
        u32::from_le_bytes(header[1]),
        u32::from_le_bytes(header[2]),
        u32::from_le_bytes(header[3]),
    ];
    (first, u32::from_le_bytes(header[destination]))
}

/// The kind of a valid packet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// To one host.
    Unicast,
    /// To a group.
    Multicast,
    /// Of either kind, with options that every router examines.
    Options,
}

/// The next nodes of an input node.
pub trait InputEdges: Next + PartialEq {
    /// To the lookup.
    const LOOKUP: Self;
    /// To the lookup of groups.
    const MULTICAST: Self;
    /// To the node of options.
    const OPTIONS: Self;
    /// Dropped because a part of it can't be cut off without a buffer.
    const NO_BUFFER: Self;
    /// To the first feature of an arc.
    fn feature(node: NodeIndex) -> Self;
}

/// The packet fields that distinguish flows.
#[derive(Clone, Copy, Default)]
pub struct Fields {
    /// The source address; of IPv6, a hash of it.
    pub source: u64,
    /// The destination address, likewise.
    pub destination: u64,
    /// Source port in the low half, destination port in the high one; 0 without ports.
    pub ports: u32,
    /// The protocol of the upper layer.
    pub protocol: u8,
    /// The flow label.
    pub label: u32,
}

/// The upper layer of a packet for us.
#[derive(Clone, Copy)]
pub struct Upper {
    /// Its protocol.
    pub protocol: IpProtocol,
    /// Byte offset of its header.
    pub offset: usize,
    /// Byte offset of the protocol's number; 0 in IPv4.
    pub named_at: usize,
}

/// The reason why a packet for us is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The headers don't fit into the first segment, or into the packet.
    TooShort,
    /// The packet is a fragment.
    Fragment,
    /// An ICMP "parameter problem" is to be sent: its code, and the offset of the problem.
    Problem(u8, u32),
    /// The packet is dropped silently.
    Discard,
    /// Nothing follows the headers.
    NoNextHeader,
    /// More headers or options than are processed.
    TooMany,
}

/// An IP version.
pub trait Ip: Net {
    /// Outermost layer of its packets, for traces.
    const LAYER: Layer;
    /// Its ICMP errors.
    const ERRORS: Errors;
    /// The next nodes of its input node.
    type Input: InputEdges;
    /// Header template of fragments.
    type Template: Template;

    /// Destination address as an LPM key; a martian if the packet is too short.
    fn destination(b: &Buffer) -> Self::Key;
    /// Source address as an LPM key; a martian if the packet is too short.
    fn source(b: &Buffer) -> Self::Key;

    /// Words that [`Self::wrong`] examines; zeros, which are wrong, for a packet shorter than a
    /// header.
    fn words(b: &Buffer) -> Words;
    /// The total length that a header claims.
    fn total(first: [u32; 4]) -> u32;
    /// Returns 0 for a usual header: whatever the rest of the packet, a router handles it. Without
    /// branches, since it becomes vector code. `have` are the bytes of the packet and of
    /// padding behind it; with `VERIFY` the checksum is verified.
    fn wrong<const VERIFY: bool>(words: Words, have: u32) -> u32;
    /// Byte offset of the header word that every hop changes.
    const CHANGES: usize;
    /// Returns that word for the next hop; and not 0 for a packet that a router can't forward: its
    /// hop limit is used up, or it must not leave its link. As [`Self::wrong`], of a usual
    /// header.
    fn onward(first: [u32; 4]) -> (u32, u32);
    /// The total length of a packet that is usual: the same for one packet.
    #[inline(always)]
    fn usual<const VERIFY: bool>(b: &Buffer) -> Option<usize> {
        let words = Self::words(b);
        (Self::wrong::<VERIFY>(words, b.packet_len() as u32) == 0)
            .then(|| Self::total(words.0) as usize)
    }
    /// Classifies any packet, and cuts off the padding behind it. With `any_scope`, IPv6 packets to
    /// groups of the reserved scope 0 are taken.
    fn check(
        b: &mut Buffer,
        verify: bool,
        any_scope: bool,
        cache: &mut Cache,
    ) -> Result<Class, Self::Input>;

    /// Decrements the hop limit of a packet that may be forwarded; `false` for one that needs a
    /// closer look, which is unchanged.
    fn pass(b: &mut Buffer) -> bool;
    /// Decrements the hop limit.
    fn decrement(b: &mut Buffer);
    /// Returns true if the source is valid on its own link only (RFC 4291 2.5.6).
    fn is_confined(b: &Buffer) -> bool;
    /// Returns true if this node may fragment the packet.
    fn may_fragment(b: &Buffer) -> bool;

    /// Returns the upper layer of a packet for us, after processing all headers in front of it.
    fn upper(b: &Buffer) -> Result<Upper, Refusal>;

    /// Returns the fields for the flow hash of a packet whose IP header begins at byte `at`.
    fn fields(b: &Buffer, at: usize) -> Fields;

    /// Returns true if the address stands for several hosts, in a network of an interface with
    /// these addresses.
    fn is_group(addr: Self::Addr, own: &[Prefix<Self::Addr>]) -> bool;
    /// Returns true if the address may be that of a single host.
    fn is_host(addr: Self::Addr, own: &[Prefix<Self::Addr>]) -> bool;
    /// Returns the IP header of a packet of our own with `len` bytes behind it, which is never
    /// fragmented.
    fn whole(from: Self::Addr, to: Self::Addr, protocol: IpProtocol, len: u16) -> Self::Header;
}

/// One of a version's arcs; `name` with the placeholder `{ip}`.
pub fn arc<F: Ip>(world: &World, name: &str) -> ArcIndex {
    world.arc(&graph::filled(name, F::IS_V6)).expect("the plugin brings its arcs")
}

/// Metadata of a packet that causes an ICMP error, with the last word of the error's header.
pub fn error(code: ErrorCode, rest: u32) -> IpMeta {
    IpMeta::error(code.0, code.1, rest)
}

/// The packet's headers.
#[derive(Clone, Copy)]
pub struct IpTrace<F>(Head, PhantomData<F>);

impl<F> IpTrace<F> {
    /// Copies the headers of a packet.
    pub fn of(b: &Buffer) -> Self {
        Self(Head::of(b), PhantomData)
    }
}

impl<F: Ip> Trace for IpTrace<F> {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", describe(self.0.bytes(), F::LAYER))
    }
}
