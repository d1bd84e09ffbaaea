// SPDX-License-Identifier: Apache-2.0
//! Sub-interfaces: the commands, and their lines in the configuration.

use crate::names::{by_name, chosen};
use crate::set::named;
use cli::{
    Error, Matches, Output, OutputPiece, Result, Sequence, Step, Table, Tree, Writer, quote,
};
use graph::{Section, SwIfIndex, World};
use msg::retval;
use net::{
    Column, Interface, Interfaces, MirrorRole, SubFrames, SubInterface, Tags, VLAN_IDS, Vlan,
};
use std::ops::RangeInclusive;

/// Sub-interfaces that are made in one turn of control.
const SLICE: usize = 32;

/// The tags of frames of one VLAN and no other.
pub fn one_vlan(id: u16) -> SubFrames {
    SubFrames::Tagged(Tags { dot1ad: false, outer: Vlan::Id(id), inner: None, exact: true })
}

/// Untagged frames are the interface's own.
pub fn untagged() -> Error {
    Error::unsupported(
        "untagged frames belong to the interface itself; no sub-interface can take them",
    )
    .retval(retval::UNSPECIFIED)
}

/// Takes a sub-interface away.
///
/// # Errors
/// An interface that isn't there (−2) or isn't a sub-interface (−98).
pub fn remove(w: &World, sw_if: SwIfIndex) -> Result<()> {
    let interfaces = w.get::<Interfaces>();
    let interface = interfaces.get(sw_if)?;
    if interface.sub.is_none() {
        return Err(Error::failed(format!("{} is no sub-interface", interface.name))
            .retval(retval::INVALID_SUB_SW_IF_INDEX));
    }
    interfaces.delete(w, sw_if)
}

fn vlan(m: &Matches, word: &str) -> Result<Vlan> {
    match m.str(word) {
        "any" => Ok(Vlan::Any),
        id => id.parse().map(Vlan::Id).map_err(|_| {
            Error::parse(format!("`{id}' is no VLAN id: 1 to 4094, or `any'"))
                .at(m.span(word))
                .retval(retval::INVALID_VLAN)
        }),
    }
}

/// Which frames are asked for; `None` for those of the VLAN of the sub-interface's number.
fn frames(m: &Matches) -> Result<Option<SubFrames>> {
    if m.flag("default") {
        return Ok(Some(SubFrames::Default));
    }
    if m.flag("untagged") {
        return Err(untagged());
    }
    if !m.has("outer") {
        return Ok(None);
    }
    let inner = if m.has("inner") { Some(vlan(m, "inner")?) } else { None };
    let (dot1ad, outer, exact) = (m.flag("dot1ad"), vlan(m, "outer")?, m.flag("exact-match"));
    Ok(Some(SubFrames::Tagged(Tags { dot1ad, outer, inner, exact })))
}

/// `create sub-interfaces`.
pub fn create(w: &World, m: &Matches) -> Result<Output> {
    let (interfaces, parent) = named(w, m)?;
    let (first, last) = m.req::<RangeInclusive<u64>>("ids")?.into_inner();
    let number = |id: u64| {
        u32::try_from(id).map_err(|_| {
            Error::parse("a sub-interface's number is 0 to 4294967295").at(m.span("ids"))
        })
    };
    let (first, last) = (number(first)?, number(last)?);
    let frames = frames(m)?;
    if first == last {
        let id = first;
        let frames =
            frames.map_or_else(|| id.try_into().map(one_vlan).map_err(|_| no_vlan(m, id)), Ok)?;
        let sw_if = interfaces.create_sub(w, parent, SubInterface { id, frames })?;
        return Ok(Output::text(format!("{}\n", interfaces.name(sw_if))));
    }
    if frames.is_some() {
        return Err(Error::parse(
            "several sub-interfaces take the VLANs of their numbers, and no other words",
        ));
    }
    if last > u32::from(*VLAN_IDS.end()) {
        return Err(no_vlan(m, last));
    }
    Ok(Output::sequence(SubInterfaceRange { parent, ids: first..=last }))
}

/// Makes the sub-interfaces of a range in slices, those that aren't there yet.
struct SubInterfaceRange {
    parent: SwIfIndex,
    ids: RangeInclusive<u32>,
}

impl SubInterfaceRange {
    /// The names of the next slice's.
    fn make(&mut self, w: &World) -> Result<String> {
        let interfaces = w.get::<Interfaces>();
        let mut made = String::new();
        for id in self.ids.by_ref().take(SLICE) {
            if interfaces.sub(self.parent, id).is_none() {
                let frames = one_vlan(id as u16);
                let sw_if = interfaces.create_sub(w, self.parent, SubInterface { id, frames })?;
                made.push_str(&interfaces.name(sw_if));
                made.push('\n');
            }
        }
        Ok(made)
    }
}

impl Sequence<World> for SubInterfaceRange {
    fn next(
        &mut self,
        _: &Tree<World>,
        world: &World,
        _: Option<Result<Vec<OutputPiece>>>,
    ) -> Step {
        match self.make(world) {
            Ok(made) if self.ids.is_empty() => Step::Done(Output::text(made)),
            Ok(made) => Step::More(made),
            Err(error) => Step::Failed(error),
        }
    }
}

fn no_vlan(m: &Matches, id: u32) -> Error {
    Error::parse(format!(
        "there is no VLAN {id}: say which VLAN's frames are wanted (dot1q, dot1ad)"
    ))
    .at(m.span("ids"))
    .retval(retval::INVALID_VLAN)
}

/// `delete sub-interface`.
pub fn delete(w: &World, m: &Matches) -> Result<()> {
    let (_, sw_if) = named(w, m)?;
    remove(w, sw_if)
}

/// As the command that makes it says it.
fn words(frames: SubFrames) -> String {
    let vlan = |vlan: Vlan| match vlan {
        Vlan::Any => "any".to_string(),
        Vlan::Id(id) => id.to_string(),
    };
    let tags = match frames {
        SubFrames::Tagged(tags) => tags,
        SubFrames::Default => return "default".into(),
        SubFrames::Peer(mac) => return format!("peer {mac}"),
    };
    let outer = if tags.dot1ad { "dot1ad" } else { "dot1q" };
    let inner = tags.inner.map(|inner| format!(" inner-dot1q {}", vlan(inner))).unwrap_or_default();
    let exact = if tags.exact { " exact-match" } else { "" };
    format!("{outer} {}{inner}{exact}", vlan(tags.outer))
}

/// Says that it is made, if it is a sub-interface by tags. Interfaces have the names then that they
/// were made with.
pub fn write_config(w: &World, sw_if: SwIfIndex, lines: &mut Section<'_>) {
    let interfaces = w.get::<Interfaces>();
    let Ok(interface) = interfaces.get(sw_if) else { return };
    let mirror = w.get::<Column<MirrorRole>>().get(sw_if);
    let is_made_elsewhere =
        interface.peer().is_some() || mirror == MirrorRole::Host { is_owned: true };
    let Interface { sub: Some(sub), parent, original, .. } = interface else { return };
    if is_made_elsewhere {
        return;
    }
    let Ok(parent) = interfaces.get(parent) else { return };
    let (parent, name) = (quote(&parent.original.name), quote(&original.name));
    lines.push(
        format!("create sub-interfaces {parent} {} {}", sub.id, words(sub.frames)),
        format!("delete sub-interface {name}"),
    );
}

/// `show sub-interfaces`.
pub fn show(w: &World, m: &Matches) -> Result<Output> {
    let only = chosen(w, m)?;
    let table = Table::new().left("Name").left("Parent").left("Frames").left("State");
    Ok(table.list(by_name(w), move |w: &World, sw_if, out: &mut Writer| {
        let interfaces = w.get::<Interfaces>();
        let Ok(interface) = interfaces.get(sw_if) else { return Ok(()) };
        let is_wanted =
            only.is_empty() || only.contains(&sw_if) || only.contains(&interface.parent);
        if let Some(sub) = interface.sub.filter(|_| is_wanted) {
            let state = if interface.admin_up { "up" } else { "down" };
            out.row([
                interface.name.into(),
                interfaces.name(interface.parent).into(),
                words(sub.frames).into(),
                state.into(),
            ]);
        }
        Ok(())
    }))
}
