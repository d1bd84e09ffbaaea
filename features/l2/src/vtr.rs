// SPDX-License-Identifier: Apache-2.0
//! VLAN tag rewriting: what is done to the tags of frames that a port receives, and undone in those that it sends.

use crate::bridge::Bridge;
use crate::features::{Features, Step};
use crate::input::HEADER;
use crate::meta::L2Meta;
use crate::trace::{Addresses, FrameTrace};
use buffer::Buffer;
use cli::{Error, Result, retval};
use graph::{Build, Cx, Next, Node, SwIfIndex, ThreadIndex, World};
use net::{IfKind, Interface, Interfaces, SubFrames, TagRewrite, Tags, Vlan};
use std::fmt::Write;
use std::sync::Arc;
use wire::EtherType;

/// Bytes of both addresses.
const ADDRESSES: usize = 12;
/// Bytes of a tag.
const TAG: usize = 4;

/// Takes tags off a frame, and puts others in their place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rewrite {
    pop: u8,
    push: u8,
    /// The tags that are pushed, outer one first: protocol and id, big-endian.
    tags: [[u8; TAG]; 2],
}

impl Rewrite {
    fn new(pop: usize, tags: &[[u8; TAG]]) -> Self {
        let mut new = Self { pop: pop as u8, push: tags.len() as u8, ..Self::default() };
        new.tags.iter_mut().zip(tags).for_each(|(tag, bytes)| *tag = *bytes);
        new
    }

    /// Rewrites a frame. False, and nothing is changed, if it has fewer tags than are taken off, or there is no room.
    #[inline(always)]
    #[must_use]
    pub fn apply(&self, b: &mut Buffer) -> bool {
        let off = TAG * usize::from(self.pop);
        let Some(&addresses) = b.bytes::<ADDRESSES>(0) else { return false };
        if (0..usize::from(self.pop)).any(|n| !is_tag(b, n))
            || b.headroom() + off < TAG * usize::from(self.push)
        {
            return false;
        }
        if !b.pull(ADDRESSES + off) {
            return false;
        }
        match self.push {
            0 => put::<ADDRESSES>(b, &addresses, &[]),
            1 => put::<{ ADDRESSES + TAG }>(b, &addresses, &self.tags[0]),
            _ => put::<{ ADDRESSES + 2 * TAG }>(b, &addresses, self.tags.as_flattened()),
        }
    }

    /// Whether a frame begins with the tags that [`Self::apply`] takes off again after `other` has put them there.
    #[inline(always)]
    fn has_tags_of(b: &Buffer, other: &Self) -> bool {
        let tags = other.tags.as_flattened().chunks(TAG).take(other.push.into()).enumerate();
        tags.into_iter().all(|(n, tag)| {
            let at = ADDRESSES + TAG * n;
            b.bytes::<TAG>(at).is_some_and(|&[p0, p1, i0, i1]| [p0, p1, i0 & 0xf, i1] == *tag)
        })
    }
}

/// Whether tag `n`, from 0, is there. The inner tag is a customer tag.
#[inline(always)]
fn is_tag(b: &Buffer, n: usize) -> bool {
    let kind = b.bytes::<2>(ADDRESSES + TAG * n).map(|bytes| EtherType(u16::from_be_bytes(*bytes)));
    kind.is_some_and(|kind| if n == 0 { kind.is_vlan() } else { kind == EtherType::VLAN })
        && b.bytes::<2>(HEADER + TAG * n + 2).is_some()
}

/// Puts `N` bytes in front: addresses and tags.
#[inline(always)]
fn put<const N: usize>(b: &mut Buffer, addresses: &[u8; ADDRESSES], tags: &[u8]) -> bool {
    let Some(front) = b.push::<N>() else { return false };
    front[..ADDRESSES].copy_from_slice(addresses);
    front[ADDRESSES..].copy_from_slice(tags);
    true
}

/// What a port does to the tags of received frames, and to those of sent ones to undo it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rewrites {
    pub input: Rewrite,
    pub output: Rewrite,
}

impl Rewrites {
    /// Frames that a filtering port sends begin with the tags that its received frames get.
    #[inline(always)]
    pub fn may_leave(&self, b: &Buffer) -> bool {
        Rewrite::has_tags_of(b, &self.input)
    }
}

/// Tags that an operation takes off, and puts on.
const fn counts(op: u32) -> Option<(usize, usize)> {
    Some(match op {
        TagRewrite::NONE => (0, 0),
        TagRewrite::PUSH_1 => (0, 1),
        TagRewrite::PUSH_2 => (0, 2),
        TagRewrite::POP_1 => (1, 0),
        TagRewrite::POP_2 => (2, 0),
        TagRewrite::TRANSLATE_1_1 => (1, 1),
        TagRewrite::TRANSLATE_1_2 => (1, 2),
        TagRewrite::TRANSLATE_2_1 => (2, 1),
        TagRewrite::TRANSLATE_2_2 => (2, 2),
        _ => return None,
    })
}

/// The tags that frames of an interface have, as bytes; `None` for one that isn't said exactly.
fn own_tags(interface: &Interface) -> Vec<Option<[u8; TAG]>> {
    let Some(SubFrames::Tagged(Tags { dot1ad, outer, inner, .. })) = interface.sub.map(|sub| sub.frames)
    else {
        return Vec::new();
    };
    let outer_kind = if dot1ad { EtherType::QINQ } else { EtherType::VLAN };
    let all = [(outer_kind, Some(outer)), (EtherType::VLAN, inner)];
    let all = all.into_iter().filter_map(|(kind, vlan)| Some((kind, vlan?)));
    all.map(|(kind, vlan)| match vlan {
        Vlan::Id(id) => Some(tag(kind, id)),
        Vlan::Any => None,
    })
    .collect()
}

fn tag(kind: EtherType, id: u16) -> [u8; TAG] {
    let ([a, b], [c, d]) = (kind.0.to_be_bytes(), id.to_be_bytes());
    [a, b, c, d]
}

/// What a rewrite does on an interface.
///
/// # Errors
/// An operation that there is none of, or an id above 4095 (−7); more tags than frames of the interface have, or ones that aren't known
/// (−72); not an Ethernet interface (−71).
pub fn compile(interface: &Interface, wanted: TagRewrite) -> Result<Rewrites> {
    if interface.kind != IfKind::Ethernet {
        return Err(Error::unsupported(format!("{} carries no Ethernet frames", interface.name))
            .retval(retval::INVALID_INTERFACE));
    }
    let (pop, push) = counts(wanted.op).ok_or_else(|| {
        Error::parse(format!("there is no tag rewrite {}", wanted.op)).retval(retval::INVALID_VALUE)
    })?;
    if let Some(id) = wanted.tags[..push].iter().find(|id| **id > 4095) {
        return Err(Error::parse(format!("{id} is no VLAN id")).retval(retval::INVALID_VALUE));
    }
    let own = own_tags(interface);
    let popped: Option<Vec<_>> = own.get(..pop).and_then(|own| own.iter().copied().collect());
    let popped = popped.ok_or_else(|| {
        let why = format!(
            "frames of {} have no {pop} tags that are known: what leaves couldn't get them back",
            interface.name
        );
        Error::unsupported(why).retval(retval::INVALID_VLAN_TAG_COUNT)
    })?;
    let first = if wanted.dot1q { EtherType::VLAN } else { EtherType::QINQ };
    let kinds = [first, EtherType::VLAN];
    let pushed: Vec<_> =
        kinds.into_iter().zip(wanted.tags).map(|(kind, id)| tag(kind, id)).take(push).collect();
    Ok(Rewrites { input: Rewrite::new(pop, &pushed), output: Rewrite::new(push, &popped) })
}

/// A rewrite as `show` has it, such as `trans-1-2 dot1q 100 200`.
pub fn describe(wanted: TagRewrite) -> String {
    let name = match wanted.op {
        TagRewrite::PUSH_1 => "push-1",
        TagRewrite::PUSH_2 => "push-2",
        TagRewrite::POP_1 => "pop-1",
        TagRewrite::POP_2 => "pop-2",
        TagRewrite::TRANSLATE_1_1 => "trans-1-1",
        TagRewrite::TRANSLATE_1_2 => "trans-1-2",
        TagRewrite::TRANSLATE_2_1 => "trans-2-1",
        TagRewrite::TRANSLATE_2_2 => "trans-2-2",
        _ => "none",
    };
    format!("{name}{}", pushed_words(wanted))
}

/// The kind and the ids of what is pushed; empty if nothing is.
fn pushed_words(wanted: TagRewrite) -> String {
    let (_, push) = counts(wanted.op).unwrap_or_default();
    let mut words = String::new();
    if push > 0 {
        words += if wanted.dot1q { " dot1q" } else { " dot1ad" };
    }
    wanted.tags.iter().take(push).for_each(|id| _ = write!(words, " {id}"));
    words
}

/// What the command that sets a rewrite says behind the interface.
pub fn words(wanted: TagRewrite) -> String {
    let Some((pop, push)) = counts(wanted.op) else { return "disable".into() };
    let pushed = pushed_words(wanted);
    match (pop, push) {
        (0, 0) => "disable".into(),
        (0, _) => format!("push{pushed}"),
        (pop, 0) => format!("pop {pop}"),
        (pop, push) => format!("translate {pop}-{push}{pushed}"),
    }
}

impl Bridge {
    /// Sets what is done to the tags of an interface's frames while it is in layer-2 mode.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or isn't an Ethernet one (−71); an operation that there is none of, or an id above 4095 (−7); more
    /// tags than frames of the interface have, or ones that aren't known (−72).
    pub fn set_tag_rewrite(&self, world: &World, sw_if: SwIfIndex, wanted: TagRewrite) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        let rewrites = compile(&interfaces.get(sw_if)?, wanted)?;
        interfaces.set_tag_rewrite(world, sw_if, wanted)?;
        let mut control = self.control();
        match wanted.op {
            TagRewrite::NONE => control.rewrites.remove(&sw_if),
            _ => control.rewrites.insert(sw_if, rewrites),
        };
        self.publish_known_port(&control, sw_if);
        Ok(())
    }

    /// Sends only frames that the interface itself would receive, or no longer.
    ///
    /// # Errors
    /// An interface that isn't there (−2); one that isn't an Ethernet sub-interface (−71).
    pub fn set_efp_filter(&self, world: &World, sw_if: SwIfIndex, on: bool) -> Result<()> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        let parent = interface.parent;
        if interface.sub.is_none() && on {
            let why = format!("{} is no sub-interface: all frames are its own", interface.name);
            return Err(Error::unsupported(why).retval(retval::INVALID_INTERFACE));
        }
        let mut control = self.control();
        let changed = match on {
            true => control.filtering.insert(sw_if, parent).is_none(),
            false => control.filtering.remove(&sw_if).is_some(),
        };
        self.publish_known_port(&control, sw_if);
        drop(control);
        if changed {
            world.note_config_change();
        }
        Ok(())
    }

    /// Whether a port sends only what it would receive.
    pub fn has_efp_filter(&self, sw_if: SwIfIndex) -> bool {
        self.control().filtering.contains_key(&sw_if)
    }
}

/// `l2-input-vtr`: rewrites the tags of received frames.
pub struct L2InputVtr {
    bridge: Arc<Bridge>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("l2-learn")]
    Learn,
    #[next("l2-fwd")]
    Fwd,
    #[next("l2-uu-fwd")]
    UuFwd,
    #[next("l2-flood")]
    Flood,
    #[next("l2-output")]
    Output,
    #[next("feature-bitmap-drop")]
    NoFeature,
    /// frame has fewer tags than are taken off
    #[drop]
    #[counter("L2 input tag rewrite drops")]
    TooFewTags,
}

impl Build for L2InputVtr {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { bridge: world.get() }
    }
}

impl Node for L2InputVtr {
    const NAME: &'static str = "l2-input-vtr";
    type Next = To;
    type Trace = FrameTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let meta = b.scratch::<L2Meta>();
        // The port may have lost its rewrite since.
        let rewrites = self.bridge.ports.get(b.rx_if, cx.turn).and_then(|port| port.rewrites);
        let done = rewrites.is_none_or(|rewrites| rewrites.input.apply(b));
        if done {
            b.mark_l2();
        }
        if TRACED {
            cx.trace(b, FrameTrace { sw_if: b.rx_if, addresses: Addresses::of(b), domain: meta.domain() });
        }
        if !done {
            return To::TooFewTags;
        }
        match meta.features().behind(Features::VTR).next() {
            Step::Learn => To::Learn,
            Step::Fwd => To::Fwd,
            Step::UuFwd => To::UuFwd,
            Step::Flood => To::Flood,
            Step::Output => To::Output,
            Step::Vtr | Step::Drop => To::NoFeature,
        }
    }
}
