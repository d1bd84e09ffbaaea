// SPDX-License-Identifier: Apache-2.0
//! Messages with the details of interfaces.

use super::Client;
use crate::control;
use cli::Result;
use graph::World;
use msg::{Message, Str, Wire};
use net::api::{IfStatusFlags, InterfaceIndex, MacAddress};
use net::{
    BackboneRewrite, Column, IfKind, Interface, Interfaces, MtuKind, Note, SubFrames, SubInterface,
    TagRewrite, Tags, Vlan,
};

/// The kind of an interface.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[wire(prefix = "IF_API_TYPE_")]
pub enum IfType {
    /// A device.
    Hardware = 0,
    /// A part of another.
    Sub = 1,
    /// Point to point.
    P2p = 2,
    /// One of two ends.
    Pipe = 3,
}

/// Which directions a link carries at a time.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[wire(prefix = "LINK_DUPLEX_API_")]
pub enum LinkDuplex {
    /// Unknown.
    Unknown = 0,
    /// One.
    Half = 1,
    /// Both.
    Full = 2,
}

msg::flags! {
    /// Which frames a sub-interface stands for.
    pub struct SubIfFlags: u32 = enum "sub_if_flags" {
        NO_TAGS = 1 => "SUB_IF_API_FLAG_NO_TAGS",
        ONE_TAG = 2 => "SUB_IF_API_FLAG_ONE_TAG",
        TWO_TAGS = 4 => "SUB_IF_API_FLAG_TWO_TAGS",
        DOT1AD = 8 => "SUB_IF_API_FLAG_DOT1AD",
        EXACT_MATCH = 16 => "SUB_IF_API_FLAG_EXACT_MATCH",
        DEFAULT = 32 => "SUB_IF_API_FLAG_DEFAULT",
        OUTER_VLAN_ID_ANY = 64 => "SUB_IF_API_FLAG_OUTER_VLAN_ID_ANY",
        INNER_VLAN_ID_ANY = 128 => "SUB_IF_API_FLAG_INNER_VLAN_ID_ANY",
        MASK_VNET = 254 => "SUB_IF_API_FLAG_MASK_VNET",
        DOT1AH = 256 => "SUB_IF_API_FLAG_DOT1AH",
    }
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

/// Asks for interfaces: one, those with a part of a name, or all.
#[derive(Message)]
#[msg(details)]
pub struct SwInterfaceDump {
    /// One interface; all bits set, or 0, for all.
    #[wire(default = "4294967295")]
    pub sw_if_index: InterfaceIndex,
    /// True if `name_filter` selects the interfaces instead.
    pub name_filter_valid: bool,
    /// The part, in whatever case.
    pub name_filter: String,
}

/// An interface.
#[derive(Message, Debug)]
pub struct SwInterfaceDetails {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
    /// The interface that it lies on, or its own number.
    pub sup_sw_if_index: u32,
    /// Its MAC address; zero for one without Ethernet header.
    pub l2_address: MacAddress,
    /// Its state.
    pub flags: IfStatusFlags,
    /// Type of the interface.
    pub r#type: IfType,
    /// Unknown.
    pub link_duplex: LinkDuplex,
    /// Kilobits a second; 0 for unknown.
    pub link_speed: u32,
    /// MTU of the link: bytes behind the Ethernet header.
    pub link_mtu: u16,
    /// MTUs of layer 3, IPv4, IPv6 and MPLS; 0 in the last three: as layer 3.
    pub mtu: [u32; 4],
    /// The number of a sub-interface.
    pub sub_id: u32,
    /// Tags of its frames.
    pub sub_number_of_tags: u8,
    /// The outer tag's VLAN.
    pub sub_outer_vlan_id: u16,
    /// The inner tag's VLAN.
    pub sub_inner_vlan_id: u16,
    /// Which frames it stands for.
    pub sub_if_flags: SubIfFlags,
    /// Tag rewrite: an operation, as in `l2_interface_vlan_tag_rewrite`.
    pub vtr_op: u32,
    /// The first tag that is pushed is a customer tag.
    pub vtr_push_dot1q: u32,
    /// The first tag that is pushed.
    pub vtr_tag1: u32,
    /// The second one.
    pub vtr_tag2: u32,
    /// 0: no backbone tag is translated.
    pub outer_tag: u16,
    /// The backbone destination of frames that are rewritten for backbone bridges; these fields
    /// are 0 without it.
    pub b_dmac: MacAddress,
    /// The backbone source.
    pub b_smac: MacAddress,
    /// The backbone VLAN.
    pub b_vlanid: u16,
    /// The service instance.
    pub i_sid: u32,
    /// Its name.
    pub interface_name: Str<64>,
    /// Its driver.
    pub interface_dev_type: Str<64>,
    /// A user's note.
    pub tag: Str<64>,
}

pub(super) fn dump(
    w: &World,
    _: &Client<'_>,
    r: SwInterfaceDump,
) -> Result<Vec<SwInterfaceDetails>> {
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
