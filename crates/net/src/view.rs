// SPDX-License-Identifier: Apache-2.0
//! The state of interfaces that workers read.

use bitflags::bitflags;
use graph::{NodeIndex, SwIfIndex};
use mem::Reserve;
use stats::Space;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use wire::MacAddr;

/// Maximum number of interfaces.
pub(crate) const MAX: usize = Space::Interface.capacity();
/// Number of bits of a node index in a word of the view.
const NODE: u32 = 20;
const NODES: u32 = (1 << NODE) - 1;
const _: () = assert!(graph::MAX_NODES <= NODES as usize);

bitflags! {
    /// State bits of an interface. Columns take those behind the named ones.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct IfFlags: u32 {
        /// Admin up.
        const ADMIN = 1;
        /// Link up.
        const LINK = 2;
        /// Receives frames for all MAC addresses.
        const PROMISCUOUS = 4;
        /// Carries IP packets without a layer-2 header.
        const IP_MODE = 8;
        /// IPv4 is enabled (it has an address, or is unnumbered).
        const IP4 = 16;
        /// IPv6 is enabled.
        const IP6 = 32;
        /// Its frames are switched, not routed: bridged or cross-connected.
        const L2 = 64;
        /// The routed interface of a bridge domain: packets that are sent by it are switched there.
        const BVI = 128;
        /// A sub-interface: its output node alters frames.
        const SUB = 256;
        /// Has sub-interfaces: tagged frames may belong to these.
        const HAS_SUBS = 512;
        /// Super-packets that leave follow the rules of the feature `gso` ([`Gso`](crate::Gso)).
        const GSO = 1024;
        /// Packets for us that nobody takes go to its mirror ([`MirrorRole`](crate::MirrorRole)).
        const MIRRORED = 2048;
        /// A mirror: receives frames for all MAC addresses, and routes them.
        const MIRROR = 4096;
        const _ = !0;
    }
}

impl IfFlags {
    /// Number of flags above, which this crate names. Columns take the others.
    const NAMED: u32 = 13;

    /// The flag that the column after `taken` others with a flag takes, if there is one left.
    pub(crate) fn free(taken: u32) -> Option<Self> {
        1u32.checked_shl(Self::NAMED + taken).map(Self::from_bits_retain)
    }
}

/// The state of an interface that workers read; half a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IfView {
    /// See [`IfFlags`].
    pub flags: IfFlags,
    /// Index of the IPv4 table.
    pub fib4: u32,
    /// Index of the IPv6 table.
    pub fib6: u32,
    /// Maximum length of an IPv4 packet, in bytes.
    pub mtu4: u16,
    /// Maximum length of an IPv6 packet, in bytes.
    pub mtu6: u16,
    /// The output node, by which packets leave.
    pub output: NodeIndex,
    /// The driver's transmit node after it.
    pub tx: NodeIndex,
    /// Its MAC address.
    pub mac: MacAddr,
    /// Maximum length of a frame's payload, in bytes.
    pub mtu: u16,
    /// Index of the table of its link-local addresses, of which there are fewer than 2²⁴; 0 for
    /// none.
    pub link6: u32,
}

impl IfView {
    /// Packs the view into words. Fields that belong together share a word: a reader that meets a
    /// write finds each word old or new.
    fn to_words(self) -> [u64; 4] {
        let MacAddr([a, b, c, d, e, f]) = self.mac;
        let [g, h] = self.mtu.to_le_bytes();
        [
            u64::from(self.flags.bits()) | u64::from(self.fib4) << 32,
            u64::from(self.fib6) | u64::from(self.mtu4) << 32 | u64::from(self.mtu6) << 48,
            u64::from(self.output.0)
                | u64::from(self.tx.0) << NODE
                | u64::from(self.link6) << (2 * NODE),
            u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        ]
    }

    #[inline(always)]
    fn of_words([state, six, nodes, link]: [u64; 4]) -> Self {
        let [a, b, c, d, e, f, g, h] = link.to_le_bytes();
        Self {
            flags: IfFlags::from_bits_retain(state as u32),
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

/// The views of all interfaces: written in place by control, so a change writes one interface's
/// view, for any number of interfaces.
pub(crate) struct ViewTable {
    lines: Reserve<[AtomicU64; 4]>,
    /// Views from this index on were never set.
    len: AtomicUsize,
}

impl ViewTable {
    pub fn new() -> Self {
        let lines = Reserve::new(MAX).expect("address space for interfaces (is `ulimit -v' set?)");
        Self { lines, len: AtomicUsize::new(0) }
    }

    /// Writes a view; called by control, by one thread at a time.
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

/// The views of all interfaces, by software interface.
#[derive(Clone, Copy)]
pub struct Views<'t>(&'t [[AtomicU64; 4]]);

impl Views<'_> {
    /// Reads the present view of an interface; a deleted one is down. `None` for an index that no
    /// interface ever had.
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
    /// Returns true if admin and link state are up.
    #[inline(always)]
    pub fn is_up(&self) -> bool {
        self.flags.contains(IfFlags::ADMIN.union(IfFlags::LINK))
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn every_field_comes_back() {
        let view = IfView {
            flags: IfFlags::from_bits_retain(0x3f),
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
        // An index beyond the maximum is ignored.
        table.set(SwIfIndex(MAX as u32), view);
    }
}
