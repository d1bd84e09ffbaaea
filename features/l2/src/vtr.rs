// SPDX-License-Identifier: Apache-2.0
//! VLAN tag rewriting: changes the tags of received frames, and makes the inverse change in frames
//! that the port sends. Headers of backbone bridges (`pbb.rs`) are rewritten at the same places.

use crate::bridge::Bridge;
use crate::features::{Features, steps};
use crate::meta::L2Meta;
use crate::trace::{Addresses, FrameTrace};
use buffer::Buffer;
use cli::{Error, Result, retval};
use graph::{Build, Cx, Node, SwIfIndex, ThreadIndex, World};
use net::{
    Column, Interface, Interfaces, SubFrames, TAG, TagRewrite, Tagged, VLAN_IDS, retag, tag_bytes,
};
use std::fmt::Write;
use std::sync::Arc;
use wire::EtherType;

/// Replaces tags of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rewrite {
    /// Number of tags that are popped.
    pop: u8,
    /// Number of tags that are pushed.
    push: u8,
    /// The pushed tags, outer tag first.
    tags: [[u8; TAG]; 2],
}

impl Rewrite {
    const NONE: Self = Self { pop: 0, push: 0, tags: [[0; TAG]; 2] };

    fn new(pop: usize, tags: &[[u8; TAG]]) -> Self {
        let mut new = Self { pop: pop as u8, push: tags.len() as u8, ..Self::default() };
        new.tags.iter_mut().zip(tags).for_each(|(tag, bytes)| *tag = *bytes);
        new
    }

    /// Returns the tags that are pushed.
    fn pushed(&self) -> &[[u8; TAG]] {
        &self.tags[..usize::from(self.push).min(2)]
    }

    /// Rewrites a frame. Returns false, and changes nothing, if it has fewer tags than are taken
    /// off, or there is no room.
    #[inline(always)]
    #[must_use]
    pub fn apply(&self, b: &mut Buffer) -> bool {
        let pop = usize::from(self.pop);
        let has_tags = pop == 0 || Tagged::of(b).is_some_and(|tagged| tagged.count >= pop);
        has_tags && retag(b, pop, self.pushed())
    }

    /// Returns true if a frame begins with the tags that this rewrite pushes, whatever their
    /// priorities.
    #[inline(always)]
    fn has_pushed(&self, b: &Buffer) -> bool {
        let tags = b.data().get(ADDRESSES..).unwrap_or_default().chunks(TAG);
        let same =
            |(&[p0, p1, i0, i1], tag): (&[u8; TAG], &[u8; TAG])| [p0, p1, i0 & 0xf, i1] == *tag;
        let mut found = tags.map(|tag| tag.first_chunk::<TAG>());
        self.pushed()
            .iter()
            .all(|tag| found.next().flatten().is_some_and(|found| same((found, tag))))
    }
}

/// Bytes of both addresses.
const ADDRESSES: usize = 12;

/// The rewrite of received frames of a port, and its inverse for frames that the port sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rewrites {
    pub input: Rewrite,
    pub output: Rewrite,
    /// In place of both: the port has an entry in [`Bridge::backbones`].
    pub is_backbone: bool,
}

impl Rewrites {
    /// The rewrites of a port that rewrites backbone headers.
    pub const BACKBONE: Self =
        Self { input: Rewrite::NONE, output: Rewrite::NONE, is_backbone: true };

    /// The first check of an EFP filter: a frame to be sent begins with the tags that received
    /// frames get.
    #[inline(always)]
    pub fn may_leave(&self, b: &Buffer) -> bool {
        self.input.has_pushed(b)
    }
}

/// Number of tags that an operation takes off, and puts in.
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

/// The rewrites of an interface with a rewrite operation; `None` without one.
pub fn rewrites(world: &World, interface: &Interface) -> Option<Rewrites> {
    let wanted = world.get::<Column<TagRewrite>>().get(interface.sw_if);
    if wanted.op == TagRewrite::NONE { None } else { compile(interface, wanted).ok() }
}

/// Compiles an operation for an interface.
///
/// # Errors
/// An operation that there is none of, or an id above 4094 (−7); more tags than frames of the
/// interface have, or ones that aren't known (−72); not an Ethernet interface (−71).
pub fn compile(interface: &Interface, wanted: TagRewrite) -> Result<Rewrites> {
    if !interface.can_switch() {
        return Err(Error::unsupported(format!("{} carries no Ethernet frames", interface.name))
            .retval(retval::INVALID_INTERFACE));
    }
    let (pop, push) = counts(wanted.op).ok_or_else(|| {
        Error::parse(format!("there is no tag rewrite {}", wanted.op)).retval(retval::INVALID_VALUE)
    })?;
    if let Some(id) = wanted.tags[..push].iter().find(|id| **id > *VLAN_IDS.end()) {
        return Err(
            Error::parse(format!("{id} is no VLAN id: at most 4094")).retval(retval::INVALID_VALUE)
        );
    }
    let own = match interface.sub.map(|sub| sub.frames) {
        Some(SubFrames::Tagged(tags)) => tags.on_wire(),
        _ => Vec::new(),
    };
    let popped: Option<Vec<_>> = own.get(..pop).and_then(|own| own.iter().copied().collect());
    let popped = popped.ok_or_else(|| {
        let why = format!(
            "frames of {} have fewer than {pop} known VLAN tags: `pop' needs a sub-interface that matches them",
            interface.name
        );
        Error::unsupported(why).retval(retval::INVALID_VLAN_TAG_COUNT)
    })?;
    let first = if wanted.dot1q { EtherType::VLAN } else { EtherType::QINQ };
    let kinds = [first, EtherType::VLAN];
    let pushed: Vec<_> = kinds
        .into_iter()
        .zip(wanted.tags)
        .map(|(kind, id)| tag_bytes(kind, id))
        .take(push)
        .collect();
    let (input, output) = (Rewrite::new(pop, &pushed), Rewrite::new(push, &popped));
    Ok(Rewrites { input, output, is_backbone: false })
}

/// Text of a rewrite in `show`, such as `trans-1-2 dot1q 100 200`.
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

/// Text of the tags that are put in; empty if there are none.
fn pushed_words(wanted: TagRewrite) -> String {
    let (_, push) = counts(wanted.op).unwrap_or_default();
    let mut words = String::new();
    if push > 0 {
        words += if wanted.dot1q { " dot1q" } else { " dot1ad" };
    }
    wanted.tags.iter().take(push).for_each(|id| _ = write!(words, " {id}"));
    words
}

/// The words of the command that sets a rewrite, behind the interface.
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
    /// Sets the tag rewriting of an interface for as long as it is in layer-2 mode.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or isn't an Ethernet one (−71); an operation that there
    /// is none of, or an id above 4094 (−7); more tags than frames of the interface have, or
    /// ones that aren't known (−72).
    pub fn set_tag_rewrite(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        wanted: TagRewrite,
    ) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        compile(&interfaces.get(sw_if)?, wanted)?;
        world.get::<Column<TagRewrite>>().set(world, sw_if, wanted)?;
        self.publish_known_port(world, &self.control(), sw_if);
        Ok(())
    }

    /// Enables or disables the EFP filter of a sub-interface, which then sends only frames that it
    /// would also receive.
    ///
    /// # Errors
    /// An interface that isn't there (−2); one that isn't an Ethernet sub-interface (−71).
    pub fn set_efp_filter(&self, world: &World, sw_if: SwIfIndex, on: bool) -> Result<()> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        if interface.sub.is_none() && on {
            let why = format!("{} is no sub-interface: all frames are its own", interface.name);
            return Err(Error::unsupported(why).retval(retval::INVALID_INTERFACE));
        }
        let mut control = self.control();
        let changed =
            if on { control.filtering.insert(sw_if) } else { control.filtering.remove(&sw_if) };
        self.publish_known_port(world, &control, sw_if);
        drop(control);
        if changed {
            world.note_config_change();
        }
        Ok(())
    }

    /// Returns true if the EFP filter of a sub-interface is enabled.
    pub fn has_efp_filter(&self, sw_if: SwIfIndex) -> bool {
        self.control().filtering.contains(&sw_if)
    }
}

/// `l2-input-vtr`: rewrites the tags of received frames.
pub struct L2InputVtr {
    bridge: Arc<Bridge>,
}

steps! {
    pub enum To {
        /// frame has fewer tags than are taken off, or no backbone header
        #[drop]
        #[counter("L2 input tag rewrite drops")]
        TooFewTags,
    }
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
        // Control may have removed the rewrite since `l2-input`.
        let rewrites = self.bridge.ports.get(b.rx_if, cx.turn).and_then(|port| port.rewrites);
        let done = rewrites.is_none_or(|rewrites| match rewrites.is_backbone {
            false => rewrites.input.apply(b),
            true => self
                .bridge
                .backbones
                .get(b.rx_if, cx.turn)
                .is_none_or(|backbone| backbone.receive(b)),
        });
        if done {
            b.mark_l2();
        }
        if TRACED {
            cx.trace(
                b,
                FrameTrace { sw_if: b.rx_if, addresses: Addresses::of(b), domain: meta.domain() },
            );
        }
        if !done {
            return To::TooFewTags;
        }
        meta.features().behind(Features::VTR).next().into()
    }
}
