// SPDX-License-Identifier: Apache-2.0
//! Messages with the details of interfaces.

use crate::control;
use cli::Result;
use graph::World;

use net::api::{IfStatusFlags, InterfaceIndex, MacAddress};
use net::{
    BackboneRewrite, Column, IfKind, Interface, Interfaces, MtuKind, Note, SubFrames, SubInterface,
    TagRewrite, Tags, Vlan,
};

msg::messages! {
    /// The kind of an interface.
    IfType,
    /// Which directions a link carries at a time.
    LinkDuplex,
    /// Which frames a sub-interface stands for.
    flags SubIfFlags,
    /// Asks for interfaces: one, those with a part of a name, or all.
    SwInterfaceDump,
    /// An interface.
    SwInterfaceDetails,
}

impl SubIfFlags {
    fn of(sub: &SubInterface) -> Self {
        let tags = match sub.frames {
            SubFrames::Tagged(tags) => tags,
            SubFrames::Default => return Self::DEFAULT,
            SubFrames::Peer(_) => return Self(0),
        };
        let two = tags.inner.is_some();
        Self::ONE_TAG.when(!two)
            | Self::TWO_TAGS.when(two)
            | Self::DOT1AD.when(tags.dot1ad)
            | Self::EXACT_MATCH.when(tags.exact)
            | Self::OUTER_VLAN_ID_ANY.when(tags.outer == Vlan::Any)
            | Self::INNER_VLAN_ID_ANY.when(tags.inner == Some(Vlan::Any))
    }
}

pub(super) fn dump(w: &World, r: SwInterfaceDump) -> Result<Vec<SwInterfaceDetails>> {
    let interfaces = match (r.name_filter_valid, r.sw_if_index) {
        (true, _) => control::matching(w, &r.name_filter),
        (false, InterfaceIndex::NONE | InterfaceIndex(0)) => w.get::<Interfaces>().list(),
        (false, one) => vec![w.get::<Interfaces>().get(one.existing(w)?)?],
    };
    Ok(interfaces.iter().map(|i| details(w, i)).collect())
}

fn details(w: &World, i: &Interface) -> SwInterfaceDetails {
    let is_sub = i.sub.is_some();
    let tags = i.sub.and_then(|sub| match sub.frames {
        SubFrames::Tagged(tags) => Some(tags),
        SubFrames::Default | SubFrames::Peer(_) => None,
    });
    let id = |vlan: Option<Vlan>| match vlan {
        Some(Vlan::Id(id)) => id,
        _ => 0,
    };
    // A sub-interface reports its parent's device.
    let over = if is_sub { w.get::<Interfaces>().get(i.parent).ok() } else { None };
    let device = over.as_ref().map_or(&i.device, |over| &over.device);
    let backbone = w.get::<Column<Option<BackboneRewrite>>>().get(i.sw_if);
    let dot1ah = if backbone.is_some() { SubIfFlags::DOT1AH } else { SubIfFlags(0) };
    let backbone = backbone.unwrap_or_default();
    let rewrite = w.get::<Column<TagRewrite>>().get(i.sw_if);
    let sub_flags = i.sub.map_or(SubIfFlags(0), |sub| SubIfFlags::of(&sub));
    let l2_address = if i.kind == IfKind::Ethernet { i.mac.into() } else { MacAddress::default() };
    SwInterfaceDetails {
        sw_if_index: i.sw_if.into(),
        sup_sw_if_index: i.parent.0,
        l2_address,
        flags: IfStatusFlags::of(i),
        r#type: match is_sub {
            true if i.peer().is_some() => IfType::P2p,
            true => IfType::Sub,
            false => IfType::Hardware,
        },
        link_duplex: LinkDuplex::Unknown,
        // More than 4 Tb/s don't fit.
        link_speed: device
            .link_speed()
            .map_or(0, |kilobits| kilobits.try_into().unwrap_or(u32::MAX)),
        link_mtu: i.mtu_of(MtuKind::Link),
        mtu: control::mtus(i).map(u32::from),
        sub_id: i.sub.map_or(0, |sub| sub.id),
        sub_number_of_tags: tags.map_or(0, |tags: Tags| 1 + u8::from(tags.inner.is_some())),
        sub_outer_vlan_id: id(tags.map(|tags| tags.outer)),
        sub_inner_vlan_id: id(tags.and_then(|tags| tags.inner)),
        sub_if_flags: SubIfFlags(sub_flags.0 | dot1ah.0),
        vtr_op: rewrite.op,
        vtr_push_dot1q: rewrite.dot1q.into(),
        vtr_tag1: rewrite.tags[0].into(),
        vtr_tag2: rewrite.tags[1].into(),
        outer_tag: 0,
        b_dmac: backbone.destination.into(),
        b_smac: backbone.source.into(),
        b_vlanid: backbone.vlan,
        i_sid: backbone.service,
        interface_name: i.name.as_str().into(),
        interface_dev_type: device.driver().into(),
        tag: w.get::<Column<Note>>().get(i.sw_if).0.as_str().into(),
    }
}
