// SPDX-License-Identifier: Apache-2.0
//! Lookup of the sub-interface that a tagged frame belongs to.
//!
//! Each interface with sub-interfaces has a tree by VLAN id: outer tags in groups of 64 ids, and
//! below an outer tag the inner tags in the same way. A lookup follows at most five pointers,
//! whatever the number of sub-interfaces. Control changes single entries while workers read.

use crate::tags::TAG;
use graph::SwIfIndex;
use std::ops::RangeInclusive;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use wire::{EtherType, MacAddr};

/// Ids that a VLAN may have. 0 marks a tag without a VLAN, and 4095 is reserved (IEEE 802.1Q-2022,
/// table 9-2).
pub const VLAN_IDS: RangeInclusive<u16> = 1..=4094;

/// The VLAN id that a tag must have to match.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Vlan {
    /// Any.
    Any,
    /// This one, of [`VLAN_IDS`].
    Id(u16),
}

impl Vlan {
    /// Key in the tree. 0 stands for any VLAN: no sub-interface matches VLAN id 0, which marks a
    /// frame with only a priority (IEEE 802.1Q 9.6).
    fn at(self) -> u16 {
        match self {
            Self::Any => 0,
            Self::Id(id) => id,
        }
    }
}

/// The tags that a frame must have to match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tags {
    /// The outer tag is a service tag (802.1ad, type 0x88a8).
    pub dot1ad: bool,
    /// The outer tag.
    pub outer: Vlan,
    /// The inner tag, if two tags are required.
    pub inner: Option<Vlan>,
    /// A frame with more tags doesn't match.
    pub exact: bool,
}

impl Tags {
    /// Each tag as bytes, priority 0, outer tag first; `None` for a tag with any VLAN.
    pub fn on_wire(&self) -> Vec<Option<[u8; TAG]>> {
        let outer = if self.dot1ad { EtherType::QINQ } else { EtherType::VLAN };
        let tags = [Some((outer, self.outer)), self.inner.map(|inner| (EtherType::VLAN, inner))];
        let bytes = |(protocol, vlan): (EtherType, Vlan)| match vlan {
            Vlan::Id(id) => Some(tag_bytes(protocol, id)),
            Vlan::Any => None,
        };
        tags.into_iter().flatten().map(bytes).collect()
    }

    /// The tags of every frame that matches, if matching frames all have the same tags.
    pub fn exact_bytes(&self) -> Option<Vec<[u8; TAG]>> {
        if self.exact { self.on_wire().into_iter().collect() } else { None }
    }
}

/// A tag as bytes, priority 0: protocol and VLAN id, big-endian.
pub fn tag_bytes(protocol: EtherType, id: u16) -> [u8; TAG] {
    let ([a, b], [c, d]) = (protocol.0.to_be_bytes(), id.to_be_bytes());
    [a, b, c, d]
}

/// The frames of its parent that belong to a sub-interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubFrames {
    /// Tagged frames that match no other sub-interface.
    Default,
    /// Frames with these tags.
    Tagged(Tags),
    /// Frames from this MAC address, with any tags: the sub-interface leads to one peer. A feature
    /// of the parent finds it.
    Peer(MacAddr),
}

/// The tags of a received frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameTags {
    /// The outer tag is a service tag.
    pub dot1ad: bool,
    /// The VLAN id of the outer tag; 0 for a priority only.
    pub outer: u16,
    /// The VLAN id of the inner tag, if there is one.
    pub inner: Option<u16>,
    /// A third tag follows.
    pub more: bool,
}

/// VLAN ids of a group. A group takes memory only if one of its ids is used.
const GROUP: usize = 64;

/// A value for each VLAN id.
struct ByVlan<T>([OnceLock<Box<[T; GROUP]>>; GROUP]);

impl<T: Default> ByVlan<T> {
    #[inline(always)]
    fn get(&self, id: u16) -> Option<&T> {
        let id = usize::from(id & 0xfff);
        Some(&self.0[id / GROUP].get()?[id % GROUP])
    }

    /// Returns the value of an id, and makes its group if needed, which `groups` counts.
    fn make(&self, id: u16, groups: &AtomicUsize) -> &T {
        let id = usize::from(id & 0xfff);
        let group = || {
            groups.fetch_add(1, Ordering::Relaxed);
            Box::new(std::array::from_fn(|_| T::default()))
        };
        &self.0[id / GROUP].get_or_init(group)[id % GROUP]
    }
}

impl<T> Default for ByVlan<T> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| OnceLock::new()))
    }
}

/// Index of a sub-interface, which is never 0, with the bit [`EXACT`]; 0 for none.
#[derive(Default)]
struct Entry(AtomicU32);

/// Frames with more tags don't match.
const EXACT: u32 = 1 << 31;

impl Entry {
    /// The sub-interface, if it matches a frame that has `more` tags than the entry is for.
    #[inline(always)]
    fn take(&self, more: bool) -> Option<u32> {
        let word = self.0.load(Ordering::Acquire);
        (word != 0 && !(more && word & EXACT != 0)).then_some(word & !EXACT)
    }

    fn set(&self, sub: SwIfIndex, exact: bool) {
        self.0.store(sub.0 | if exact { EXACT } else { 0 }, Ordering::Release);
    }
}

#[derive(Default)]
struct Outer {
    /// Matches the outer tag alone.
    alone: Entry,
    /// Match two tags, by the inner tag; key 0 stands for any.
    inner: OnceLock<Box<ByVlan<Entry>>>,
}

/// The sub-interfaces of an interface, by tags.
#[derive(Default)]
pub(super) struct VlanTree {
    default: Entry,
    /// By outer tag, of 802.1Q and of 802.1ad; key 0 stands for any.
    outer: [OnceLock<Box<ByVlan<Outer>>>; 2],
    /// Number of groups that take memory.
    groups: AtomicUsize,
}

impl VlanTree {
    fn entry(&self, frames: SubFrames) -> &Entry {
        let SubFrames::Tagged(tags) = frames else { return &self.default };
        let groups = &self.groups;
        let outer = self.outer[usize::from(tags.dot1ad)]
            .get_or_init(Box::default)
            .make(tags.outer.at(), groups);
        match tags.inner {
            None => &outer.alone,
            Some(inner) => outer.inner.get_or_init(Box::default).make(inner.at(), groups),
        }
    }

    /// Returns true if deleted sub-interfaces use most of the memory: a new tree for the `subs`
    /// sub-interfaces takes less.
    pub fn is_wasteful(&self, subs: usize) -> bool {
        // A sub-interface needs two groups at most.
        self.groups.load(Ordering::Relaxed) > 4 * subs + 16
    }

    /// Control: gives these frames to a sub-interface. Returns false if they belong to another one.
    pub fn insert(&self, frames: SubFrames, sub: SwIfIndex) -> bool {
        let entry = self.entry(frames);
        if entry.take(false).is_some() {
            return false;
        }
        entry.set(sub, matches!(frames, SubFrames::Tagged(Tags { exact: true, .. })));
        true
    }

    /// Control: these frames belong to no sub-interface any more.
    pub fn remove(&self, frames: SubFrames) {
        self.entry(frames).0.store(0, Ordering::Release);
    }

    /// The most specific sub-interface that matches: outer and inner tag, outer and any inner,
    /// outer alone; then the same with any outer tag; then the default sub-interface.
    #[inline(always)]
    pub fn find(&self, tags: FrameTags) -> Option<u32> {
        self.tagged(tags).or_else(|| self.default.take(false))
    }

    #[inline(always)]
    fn tagged(&self, tags: FrameTags) -> Option<u32> {
        if tags.outer == 0 {
            return None;
        }
        let outer = self.outer[usize::from(tags.dot1ad)].get()?;
        [tags.outer, 0].into_iter().find_map(|id| {
            let outer = outer.get(id)?;
            let two = tags.inner.and_then(|id| {
                let inner = outer.inner.get()?;
                let specific = if id == 0 { None } else { inner.get(id) };
                let specific = specific.and_then(|entry| entry.take(tags.more));
                specific.or_else(|| inner.get(0).and_then(|entry| entry.take(tags.more)))
            });
            two.or_else(|| outer.alone.take(tags.inner.is_some()))
        })
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vlan() -> impl Strategy<Value = Vlan> {
        prop_oneof![Just(Vlan::Any), (1..4u16).prop_map(Vlan::Id), Just(Vlan::Id(4094))]
    }

    fn frames() -> impl Strategy<Value = SubFrames> {
        let tags = (any::<bool>(), vlan(), prop::option::of(vlan()), any::<bool>());
        let tagged = tags.prop_map(|(dot1ad, outer, inner, exact)| {
            let any = outer == Vlan::Any || inner == Some(Vlan::Any);
            SubFrames::Tagged(Tags { dot1ad, outer, inner, exact: exact && !any })
        });
        prop_oneof![1 => Just(SubFrames::Default), 20 => tagged]
    }

    fn received() -> impl Strategy<Value = FrameTags> {
        let id = || prop_oneof![0..5u16, Just(4095)];
        let tags = (any::<bool>(), id(), prop::option::of(id()), any::<bool>());
        tags.prop_map(|(dot1ad, outer, inner, more)| FrameTags {
            dot1ad,
            outer,
            inner,
            more: more && inner.is_some(),
        })
    }

    /// Rank of a sub-interface's match for a frame, higher for a more specific one; `None` for no
    /// match: the rules one by one.
    fn fits(frames: SubFrames, frame: FrameTags) -> Option<u32> {
        let SubFrames::Tagged(tags) = frames else { return Some(0) };
        let takes = |vlan: Vlan, id: u16| match vlan {
            Vlan::Any => true,
            Vlan::Id(wanted) => id == wanted,
        };
        if frame.outer == 0 || tags.dot1ad != frame.dot1ad || !takes(tags.outer, frame.outer) {
            return None;
        }
        let more = match (tags.inner, frame.inner) {
            (Some(wanted), Some(id)) if takes(wanted, id) => frame.more,
            (Some(_), _) => return None,
            (None, inner) => inner.is_some(),
        };
        let inner = match tags.inner {
            Some(Vlan::Id(_)) => 2,
            Some(Vlan::Any) => 1,
            None => 0,
        };
        let outer = if tags.outer == Vlan::Any { 0 } else { 3 };
        (!(tags.exact && more)).then_some(1 + outer + inner)
    }

    #[suite::test]
    fn a_tree_of_few_sub_interfaces_and_many_groups_is_wasteful() {
        let tree = VlanTree::default();
        let frames = |id| {
            SubFrames::Tagged(Tags { dot1ad: false, outer: Vlan::Id(id), inner: None, exact: true })
        };
        for n in 0..60u16 {
            assert!(tree.insert(frames(1 + n * 64), SwIfIndex(7)));
            assert!(!tree.is_wasteful(usize::from(n) + 1));
        }
        for n in 1..60u16 {
            tree.remove(frames(1 + n * 64));
        }
        assert!(tree.is_wasteful(1));
    }

    proptest! {
        #[suite::test]
        fn the_most_exact_one_takes_a_frame(
            changes in prop::collection::vec((frames(), any::<bool>()), 1..40),
            received in prop::collection::vec(received(), 1..40),
        ) {
            let (tree, mut all) = (VlanTree::default(), Vec::<(SubFrames, u32)>::new());
            // Exact or not, the same tags can be taken once.
            let key = |frames: SubFrames| match frames {
                SubFrames::Default | SubFrames::Peer(_) => None,
                SubFrames::Tagged(tags) => Some((tags.dot1ad, tags.outer, tags.inner)),
            };
            for (n, (frames, add)) in changes.into_iter().enumerate() {
                let taken = all.iter().position(|(other, _)| key(*other) == key(frames));
                if add {
                    let sub = n as u32 + 1;
                    prop_assert_eq!(tree.insert(frames, SwIfIndex(sub)), taken.is_none());
                    if taken.is_none() {
                        all.push((frames, sub));
                    }
                } else if let Some(at) = taken {
                    tree.remove(frames);
                    all.remove(at);
                }
            }
            for frame in received {
                let best = all.iter().filter_map(|(frames, sub)| Some((fits(*frames, frame)?, *sub))).max();
                prop_assert_eq!(tree.find(frame), best.map(|(_, sub)| sub), "{:?} among {:?}", frame, all);
            }
        }
    }

    #[suite::test]
    fn tags_as_bytes() {
        let exact =
            Tags { dot1ad: true, outer: Vlan::Id(0x123), inner: Some(Vlan::Id(4095)), exact: true };
        assert_eq!(exact.exact_bytes(), Some(vec![[0x88, 0xa8, 1, 0x23], [0x81, 0, 0x0f, 0xff]]));
        assert_eq!(Tags { exact: false, ..exact }.exact_bytes(), None);
        let one = Tags { dot1ad: false, inner: None, ..exact };
        assert_eq!(one.exact_bytes(), Some(vec![[0x81, 0, 1, 0x23]]));
        assert_eq!(Tags { outer: Vlan::Any, ..one }.exact_bytes(), None);
        let any = Tags { inner: Some(Vlan::Any), exact: false, ..one };
        assert_eq!(any.on_wire(), [Some([0x81, 0, 1, 0x23]), None]);
    }
}
