// SPDX-License-Identifier: Apache-2.0
//! What workers know of an interface.

use graph::{NodeIndex, SwIfIndex};
use mem::Reserve;
use stats::Space;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use wire::MacAddr;

/// Interfaces that there is room for.
pub(crate) const MAX: usize = Space::Interface.capacity();
/// Bits of a node's index in a word of the view.
const NODE: u32 = 20;
const NODES: u32 = (1 << NODE) - 1;
const _: () = assert!(graph::MAX_NODES <= NODES as usize);

/// State bits of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IfFlags(pub u32);

impl IfFlags {
    /// Admin up.
    pub const ADMIN: Self = Self(1);
    /// Link up.
    pub const LINK: Self = Self(2);
    /// Takes frames for whatever MAC address.
    pub const PROMISCUOUS: Self = Self(4);
    /// Carries IP packets without a layer-2 header.
    pub const IP_MODE: Self = Self(8);
    /// IPv4 is enabled (it has an address, or is unnumbered).
    pub const IP4: Self = Self(16);
    /// IPv6 is enabled.
    pub const IP6: Self = Self(32);
    /// Hosts are told of better routers (ICMP redirects).
    pub const REDIRECTS4: Self = Self(64);
    /// The same for IPv6.
    pub const REDIRECTS6: Self = Self(128);
    /// Its frames are switched, not routed: bridged or cross-connected.
    pub const L2: Self = Self(256);
    /// The routed interface of a bridge domain: packets that are sent by it are switched there.
    pub const BVI: Self = Self(512);
    /// A sub-interface: its output node alters frames.
    pub const SUB: Self = Self(1024);
    /// It has sub-interfaces: frames with tags may be theirs.
    pub const HAS_SUBS: Self = Self(2048);

    /// Whether all bits of `other` are set.
    #[inline(always)]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// Sets or clears the bits of `other`.
    pub fn put(&mut self, other: Self, on: bool) {
        if on { self.0 |= other.0 } else { self.0 &= !other.0 }
    }
}

/// What workers read of an interface; half a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IfView {
    /// See [`IfFlags`].
    pub flags: IfFlags,
    /// Index of the IPv4 table.
    pub fib4: u32,
    /// Index of the IPv6 table.
    pub fib6: u32,
    /// Bytes of an IPv4 packet at most.
    pub mtu4: u16,
    /// Bytes of an IPv6 packet at most.
    pub mtu6: u16,
    /// The node that packets leave by.
    pub output: NodeIndex,
    /// The driver's node behind it.
    pub tx: NodeIndex,
    /// Its own address.
    pub mac: MacAddr,
    /// Bytes of a frame's payload at most.
    pub mtu: u16,
    /// Index of the table of its link-local addresses, of which there are fewer than 2²⁴; 0 for none.
    pub link6: u32,
}

impl IfView {
    /// As words. What belongs together stands in one: a reader that comes while control writes finds each word old or new.
    fn to_words(self) -> [u64; 4] {
        let MacAddr([a, b, c, d, e, f]) = self.mac;
        let [g, h] = self.mtu.to_le_bytes();
        [
            u64::from(self.flags.0) | u64::from(self.fib4) << 32,
            u64::from(self.fib6) | u64::from(self.mtu4) << 32 | u64::from(self.mtu6) << 48,
            u64::from(self.output.0) | u64::from(self.tx.0) << NODE | u64::from(self.link6) << (2 * NODE),
            u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        ]
    }

    #[inline(always)]
    fn of_words([state, six, nodes, link]: [u64; 4]) -> Self {
        let [a, b, c, d, e, f, g, h] = link.to_le_bytes();
        Self {
            flags: IfFlags(state as u32),
            fib4: (state >> 32) as u32,
            fib6: six as u32,
            mtu4: (six >> 32) as u16,
            mtu6: (six >> 48) as u16,
            output: NodeIndex(nodes as u32 & NODES),
            tx: NodeIndex((nodes >> NODE) as u32 & NODES),
            mac: MacAddr([a, b, c, d, e, f]),
            mtu: u16::from_le_bytes([g, h]),
            link6: (nodes >> (2 * NODE)) as u32,
        }
    }
}

/// What workers read of all interfaces: written in place by control, so a change costs one interface's line, however many there are.
pub(crate) struct ViewTable {
    lines: Reserve<[AtomicU64; 4]>,
    /// Those from here on were never set.
    len: AtomicUsize,
}

impl ViewTable {
    pub fn new() -> Self {
        let lines = Reserve::new(MAX).expect("address space for interfaces (is `ulimit -v' set?)");
        Self { lines, len: AtomicUsize::new(0) }
    }

    /// Control, one at a time.
    pub fn set(&self, sw_if: SwIfIndex, view: IfView) {
        let Some(line) = self.lines.as_slice().get(sw_if.at()) else { return };
        for (word, new) in line.iter().zip(view.to_words()) {
            word.store(new, Ordering::Relaxed);
        }
        self.len.fetch_max(sw_if.at() + 1, Ordering::Release);
    }

    #[inline(always)]
    pub fn all(&self) -> Views<'_> {
        let len = self.len.load(Ordering::Acquire);
        Views(&self.lines.as_slice()[..len.min(MAX)])
    }
}

/// What workers read of all interfaces, by software interface.
#[derive(Clone, Copy)]
pub struct Views<'t>(&'t [[AtomicU64; 4]]);

impl Views<'_> {
    /// An interface as of now; one that has gone is down. `None` for a number that no interface ever had.
    #[inline(always)]
    pub fn get(self, sw_if: usize) -> Option<IfView> {
        let [a, b, c, d] = self.0.get(sw_if)?;
        Some(IfView::of_words([a, b, c, d].map(|word| word.load(Ordering::Relaxed))))
    }

    /// All interfaces, by number.
    pub fn iter(self) -> impl Iterator<Item = IfView> {
        (0..self.0.len()).map_while(move |i| self.get(i))
    }
}

impl IfView {
    /// Admin and link are up.
    #[inline(always)]
    pub fn is_up(&self) -> bool {
        self.flags.has(IfFlags(IfFlags::ADMIN.0 | IfFlags::LINK.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_comes_back() {
        let view = IfView {
            flags: IfFlags(0x3f),
            fib4: 0x8000_0001,
            fib6: 0x8000_0002,
            mtu4: 0xfff3,
            mtu6: 0xfff4,
            output: NodeIndex(NODES - 5),
            tx: NodeIndex(NODES - 6),
            mac: MacAddr([0xf0, 1, 2, 3, 4, 5]),
            mtu: 0xfff7,
            link6: 0x80_0003,
        };
        let table = ViewTable::new();
        assert_eq!((table.all().get(0), table.all().iter().count()), (None, 0));
        let last = SwIfIndex(MAX as u32 - 1);
        table.set(last, view);
        assert_eq!(table.all().get(last.at()), Some(view));
        assert_eq!(table.all().get(last.at() - 1), Some(IfView::default()));
        assert_eq!(table.all().get(MAX), None);
        // No room, no harm.
        table.set(SwIfIndex(MAX as u32), view);
    }
}
