// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `interface` that make sub-interfaces.

use super::details::SubIfFlags;
use crate::sub;
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Messages, Module, retval};
use net::api::InterfaceIndex;
use net::{Interfaces, SubFrames, SubInterface, Tags, VLAN_IDS, Vlan};

/// Sub-interfaces: a part of the module `interface`.
pub static API: Module<World> = Module::core("interface", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: CreateVlanSubif| {
        let parent = r.sw_if_index.existing(w)?;
        let id =
            u16::try_from(r.vlan_id).ok().filter(|id| VLAN_IDS.contains(id)).ok_or_else(|| {
                Error::parse(format!("there is no VLAN {}: 1 to 4094", r.vlan_id))
                    .retval(retval::INVALID_VLAN)
            })?;
        let new = SubInterface { id: id.into(), frames: sub::one_vlan(id) };
        w.get::<Interfaces>().create_sub(w, parent, new).map_err(|error| {
            // As in VPP: only tags that another number has are an invalid registration.
            if error.is(retval::UNSPECIFIED) {
                error.retval(retval::INVALID_REGISTRATION)
            } else {
                error
            }
        })
    });
    m.call(|w, r: CreateSubif| {
        let parent = r.sw_if_index.existing(w)?;
        let new = SubInterface { id: r.sub_id, frames: frames(&r)? };
        w.get::<Interfaces>().create_sub(w, parent, new)
    });
    m.call(|w, r: DeleteSubif| sub::remove(w, r.sw_if_index.existing(w)?));
}

fn frames(r: &CreateSubif) -> Result<SubFrames> {
    let has = |flag| r.sub_if_flags.has(flag);
    let vlan = |any, id| if has(any) { Vlan::Any } else { Vlan::Id(id) };
    match (has(SubIfFlags::DEFAULT), has(SubIfFlags::ONE_TAG), has(SubIfFlags::TWO_TAGS)) {
        (true, false, false) => Ok(SubFrames::Default),
        (false, false, false) if has(SubIfFlags::NO_TAGS) => Err(sub::untagged()),
        (false, one, two) if one != two => Ok(SubFrames::Tagged(Tags {
            dot1ad: has(SubIfFlags::DOT1AD),
            outer: vlan(SubIfFlags::OUTER_VLAN_ID_ANY, r.outer_vlan_id),
            inner: two.then(|| vlan(SubIfFlags::INNER_VLAN_ID_ANY, r.inner_vlan_id)),
            exact: has(SubIfFlags::EXACT_MATCH),
        })),
        _ => Err(Error::parse(
            "a sub-interface takes frames with one tag, or with two, or is the default one",
        )
        .retval(retval::INVALID_VALUE)),
    }
}

msg::messages! {
    /// Makes a sub-interface for the frames of a VLAN.
    CreateVlanSubif,
    /// Makes a sub-interface.
    CreateSubif,
    /// Takes a sub-interface away.
    DeleteSubif,
}
