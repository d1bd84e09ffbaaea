// SPDX-License-Identifier: Apache-2.0
//! VLAN tags of frames: parsing them, taking them off and putting them in (IEEE 802.1Q 9).

use crate::FrameTags;
use buffer::Buffer;
use wire::EtherType;

/// Length of both MAC addresses, in bytes: the offset of the tags.
const ADDRESSES: usize = 12;
/// Length of a tag in bytes: protocol and id, big-endian.
pub const TAG: usize = 4;

/// The parsed header of a tagged frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tagged {
    /// The VLANs of the tags.
    pub tags: FrameTags,
    /// Number of parsed tags, 1 or 2.
    pub count: usize,
    /// The EtherType after the parsed tags. It is that of another tag if the frame has more.
    pub ethertype: EtherType,
}

impl Tagged {
    /// Parses the tags of a frame that starts at its Ethernet header. `None` if it has no tag, or
    /// ends within the tags.
    #[inline(always)]
    pub fn of(b: &Buffer) -> Option<Self> {
        let outer = ethertype_at(b, ADDRESSES)?;
        if outer.is_vlan() { Self::behind(b, outer) } else { None }
    }

    /// Parses up to two tags of a frame whose type `outer` announces a tag. The inner tag is a
    /// customer tag (IEEE 802.1Q 9.5).
    #[inline(always)]
    pub fn behind(b: &Buffer, outer: EtherType) -> Option<Self> {
        const FIRST: usize = ADDRESSES + 2;
        let vlan = |high: u8, low: u8| u16::from_be_bytes([high & 0xf, low]);
        let &[i0, i1, t0, t1] = b.bytes::<TAG>(FIRST)?;
        let dot1ad = outer == EtherType::QINQ;
        let mut tags = FrameTags { dot1ad, outer: vlan(i0, i1), inner: None, more: false };
        let mut ethertype = EtherType(u16::from_be_bytes([t0, t1]));
        let mut count = 1;
        if ethertype == EtherType::VLAN {
            let &[i0, i1, t0, t1] = b.bytes::<TAG>(FIRST + TAG)?;
            ethertype = EtherType(u16::from_be_bytes([t0, t1]));
            (tags.inner, tags.more) = (Some(vlan(i0, i1)), ethertype.is_vlan());
            count = 2;
        }
        Some(Self { tags, count, ethertype })
    }
}

/// The tags that a sub-interface puts into the frames that it sends, in one word: at most two,
/// priority 0, outer tag first. A thread that sends frames of many sub-interfaces keeps those of
/// each without following a pointer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SentTags(u32);

impl SentTags {
    /// Number of bits of a VLAN id.
    const ID: u32 = 12;
    /// The outer tag is a service tag.
    const SERVICE: u32 = 1 << 24;
    /// Bit offset of the number of tags.
    const COUNT: u32 = 25;

    /// Tags as [`tag_bytes`](crate::tag_bytes) makes them. `None` for more than two, or others.
    pub fn of(tags: &[[u8; TAG]]) -> Option<Self> {
        let mut word = (tags.len() as u32) << Self::COUNT;
        for (i, &[p0, p1, i0, i1]) in tags.iter().enumerate() {
            match (EtherType(u16::from_be_bytes([p0, p1])), i) {
                (EtherType::VLAN, 0 | 1) => {}
                (EtherType::QINQ, 0) => word |= Self::SERVICE,
                _ => return None,
            }
            let id = u32::from(u16::from_be_bytes([i0, i1]));
            if id >> Self::ID != 0 {
                return None;
            }
            word |= id << (Self::ID * i as u32);
        }
        Some(Self(word))
    }

    /// Number of tags.
    #[inline(always)]
    pub fn count(self) -> usize {
        (self.0 >> Self::COUNT) as usize
    }

    /// Both tags as bytes; those that aren't there are meaningless.
    #[inline(always)]
    pub fn bytes(self) -> [[u8; TAG]; 2] {
        let outer = if self.0 & Self::SERVICE != 0 { EtherType::QINQ } else { EtherType::VLAN };
        let tag = |protocol: EtherType, id: u32| {
            (u32::from(protocol.0) << 16 | id & ((1 << Self::ID) - 1)).to_be_bytes()
        };
        [tag(outer, self.0), tag(EtherType::VLAN, self.0 >> Self::ID)]
    }
}

#[inline(always)]
fn ethertype_at(b: &Buffer, at: usize) -> Option<EtherType> {
    b.bytes::<2>(at).map(|bytes| EtherType(u16::from_be_bytes(*bytes)))
}

/// Number of whole tags of a frame, of whatever protocol.
pub fn count_tags(b: &Buffer) -> usize {
    let at = |n: usize| ADDRESSES + TAG * n;
    let is_tag = |n: &usize| {
        ethertype_at(b, at(*n)).is_some_and(EtherType::is_vlan)
            && b.bytes::<2>(at(*n) + TAG).is_some()
    };
    (0..).take_while(is_tag).count()
}

/// Takes `pop` tags off a frame and puts `push` in their place, at most two, outer tag first.
/// Returns false, and changes nothing, if the first segment is too short or has no room in front.
#[inline(always)]
#[must_use]
pub fn retag(b: &mut Buffer, pop: usize, push: &[[u8; TAG]]) -> bool {
    let off = ADDRESSES + TAG * pop;
    let Some(&addresses) = b.bytes::<ADDRESSES>(0) else { return false };
    if b.headroom() + off < ADDRESSES + TAG * push.len() || !b.pull(off) {
        return false;
    }
    match push {
        [] => put::<ADDRESSES>(b, &addresses, &[]),
        [one] => put::<{ ADDRESSES + TAG }>(b, &addresses, one),
        [one, two, ..] => {
            put::<{ ADDRESSES + 2 * TAG }>(b, &addresses, [*one, *two].as_flattened())
        }
    }
}

/// Puts `N` bytes in front: addresses and tags. The caller has checked that there is room.
#[inline(always)]
fn put<const N: usize>(b: &mut Buffer, addresses: &[u8; ADDRESSES], tags: &[u8]) -> bool {
    let Some(front) = b.push::<N>() else { return false };
    front[..ADDRESSES].copy_from_slice(addresses);
    front[ADDRESSES..].copy_from_slice(tags);
    true
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::tag_bytes;

    #[suite::test]
    fn tags_in_a_word() {
        for service in [false, true] {
            for (outer, inner) in [(1, 4095), (4095, 1), (100, 100)] {
                let protocol = if service { EtherType::QINQ } else { EtherType::VLAN };
                let tags = [tag_bytes(protocol, outer), tag_bytes(EtherType::VLAN, inner)];
                for n in 1..=2 {
                    let sent = SentTags::of(&tags[..n]).expect("tags of a sub-interface");
                    assert_eq!((sent.count(), &sent.bytes()[..n]), (n, &tags[..n]));
                }
            }
        }
        assert_eq!(SentTags::default().count(), 0);
        assert_eq!(SentTags::of(&[]), Some(SentTags::default()));
        let one = tag_bytes(EtherType::VLAN, 1);
        assert_eq!(SentTags::of(&[one; 3]), None);
        assert_eq!(SentTags::of(&[one, tag_bytes(EtherType::QINQ, 1)]), None);
        assert_eq!(SentTags::of(&[tag_bytes(EtherType::VLAN_9100, 1)]), None);
        assert_eq!(SentTags::of(&[[0x81, 0, 0x20, 1]]), None, "a priority");
    }
}
