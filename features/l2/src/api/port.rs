// SPDX-License-Identifier: Apache-2.0
//! Messages about modes and features of interfaces.

use super::FLAGS;
use crate::bridge::Bridge;
use crate::features::Features;
use crate::mode::{Mode, PortKind};
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, Wire};
use net::api::{InterfaceIndex, MacAddress};
use net::{BackboneRewrite, TagRewrite};

pub fn messages(m: &mut Messages<World>) {
    m.call(set_bridge);
    m.call(set_xconnect);
    m.dump(xconnects);
    m.call(|w: &World, _: &Caller<'_, World>, r: L2InterfaceVlanTagRewrite| tag_rewrite(w, r));
    m.call(|w: &World, _: &Caller<'_, World>, r: L2InterfacePbbTagRewrite| backbone_rewrite(w, r));
    m.call(|w: &World, _: &Caller<'_, World>, r: L2InterfaceEfpFilter| -> Result<()> {
        w.get::<Bridge>().set_efp_filter(w, r.sw_if_index.existing(w)?, r.enable_disable)
    });
    m.call(l2_flags);
    m.call(|w: &World, _: &Caller<'_, World>, r: L2FlagsGet| -> Result<L2FlagsGetReply> {
        let (input, output) = w.get::<Bridge>().bitmaps(w, r.sw_if_index.existing(w)?)?;
        Ok(L2FlagsGetReply { input_feature_bitmap: input.bits(), output_feature_bitmap: output })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: L2FlagsSet| -> Result<()> {
        let bits = (Features::from_bits_retain(r.input_feature_bitmap), r.output_feature_bitmap);
        w.get::<Bridge>().set_bitmaps(w, r.sw_if_index.existing(w)?, bits, r.is_set)
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: L2InterfaceFeatFlagsSet| -> Result<()> {
        let (sw_if, which) = (r.sw_if_index.existing(w)?, named(r.flags.0)?);
        w.get::<Bridge>().set_port_features(w, sw_if, which, r.is_set).map(|_| ())
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: L2InterfaceFeatFlagsGet| feat_flags(w, r));
    m.call(|w: &World, _: &Caller<'_, World>, r: BviCreate| {
        let mac = Some(wire::MacAddr::from(r.mac)).filter(|mac| !mac.is_zero());
        let instance = (r.user_instance != u32::MAX).then_some(r.user_instance);
        Ok(BviCreateReply { sw_if_index: ethernet::create_bvi(w, mac, instance)?.into() })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: BviDelete| -> Result<()> {
        ethernet::delete_bvi(w, r.sw_if_index.existing(w)?)
    });
}

/// The role of a member in its domain.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[wire(prefix = "L2_API_PORT_TYPE_")]
pub enum L2PortType {
    /// A port.
    Normal = 0,
    /// The routed interface.
    Bvi = 1,
    /// The port that unicast to unknown destinations goes to.
    UuFwd = 2,
}

/// Makes an interface a member of a bridge domain, or lets it route.
#[derive(Message)]
pub struct SwInterfaceSetL2Bridge {
    /// The interface.
    pub rx_sw_if_index: InterfaceIndex,
    /// The domain; it is created if it does not exist.
    pub bd_id: u32,
    /// Role of the interface in the domain.
    pub port_type: L2PortType,
    /// Split-horizon group: frames from a member don't go to members of the same group. 0 for
    /// none.
    pub shg: u8,
    /// True for a member, false for a routed interface.
    #[wire(default = "true")]
    pub enable: bool,
}

fn set_bridge(w: &World, _: &Caller<'_, World>, r: SwInterfaceSetL2Bridge) -> Result<()> {
    let (bridge, sw_if) = (w.get::<Bridge>(), r.rx_sw_if_index.existing(w)?);
    let kind = match r.port_type {
        L2PortType::Normal => PortKind::Normal,
        L2PortType::Bvi => PortKind::Bvi,
        L2PortType::UuFwd => PortKind::UuFwd,
    };
    if r.enable {
        bridge.set_bridge(w, sw_if, r.bd_id, kind, r.shg)
    } else {
        bridge.set_l3(w, sw_if)
    }
}

/// Sends the frames that an interface receives to another one, or lets it route.
#[derive(Message)]
pub struct SwInterfaceSetL2Xconnect {
    /// The interface.
    pub rx_sw_if_index: InterfaceIndex,
    /// The peer.
    pub tx_sw_if_index: InterfaceIndex,
    /// True for cross-connected, false for routed.
    #[wire(default = "true")]
    pub enable: bool,
}

fn set_xconnect(w: &World, _: &Caller<'_, World>, r: SwInterfaceSetL2Xconnect) -> Result<()> {
    let (bridge, sw_if) = (w.get::<Bridge>(), r.rx_sw_if_index.existing(w)?);
    if !r.enable {
        return bridge.set_l3(w, sw_if);
    }
    bridge.set_xconnect(w, sw_if, SwIfIndex(r.tx_sw_if_index.0))
}

/// Rewrites the VLAN tags of an interface's frames while they are switched.
#[derive(Message)]
pub struct L2InterfaceVlanTagRewrite {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// 0 nothing; 1 and 2 push so many tags; 3 and 4 pop one and two; 5 to 8 replace one by one,
    /// one by two, two by one, two by two.
    pub vtr_op: u32,
    /// Not 0: the first tag that is pushed is a customer tag (802.1Q), else a service tag.
    pub push_dot1q: u32,
    /// The VLAN of the first tag that is pushed.
    pub tag1: u32,
    /// The VLAN of the second one.
    pub tag2: u32,
}

fn tag_rewrite(w: &World, r: L2InterfaceVlanTagRewrite) -> Result<()> {
    let sw_if = r.sw_if_index.existing(w)?;
    let id = |tag: u32| u16::try_from(tag).unwrap_or(u16::MAX);
    let wanted =
        TagRewrite { op: r.vtr_op, dot1q: r.push_dot1q != 0, tags: [id(r.tag1), id(r.tag2)] };
    w.get::<Bridge>().set_tag_rewrite(w, sw_if, wanted)
}

/// Puts the header of a backbone bridge (IEEE 802.1Q 25) in front of an interface's frames while
/// they are switched, or takes it off.
#[derive(Message)]
pub struct L2InterfacePbbTagRewrite {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// 0 nothing; 2: received frames get the header; 4: it is taken off received frames.
    pub vtr_op: u32,
    /// Tag for translation only, which isn't implemented.
    pub outer_tag: u16,
    /// The backbone destination.
    pub b_dmac: MacAddress,
    /// The backbone source.
    pub b_smac: MacAddress,
    /// The backbone VLAN.
    pub b_vlanid: u16,
    /// The service instance, 24 bits.
    pub i_sid: u32,
}

fn backbone_rewrite(w: &World, r: L2InterfacePbbTagRewrite) -> Result<()> {
    let wanted = BackboneRewrite {
        op: r.vtr_op,
        destination: r.b_dmac.into(),
        source: r.b_smac.into(),
        vlan: r.b_vlanid,
        service: r.i_sid,
    };
    w.get::<Bridge>().set_backbone_rewrite(w, r.sw_if_index.existing(w)?, wanted)
}

/// Lets a sub-interface send only frames that it would receive, or all.
#[derive(Message)]
pub struct L2InterfaceEfpFilter {
    /// The sub-interface.
    pub sw_if_index: InterfaceIndex,
    /// True to send only those frames.
    #[wire(default = "true")]
    pub enable_disable: bool,
}

/// Requests the cross-connects.
#[derive(Message)]
#[msg(details)]
pub struct L2XconnectDump {}

/// A cross-connect, of one direction.
#[derive(Message)]
pub struct L2XconnectDetails {
    /// Frames received here
    pub rx_sw_if_index: InterfaceIndex,
    /// are sent here.
    pub tx_sw_if_index: InterfaceIndex,
}

fn xconnects(
    w: &World,
    _: &Caller<'_, World>,
    _: L2XconnectDump,
) -> Result<Vec<L2XconnectDetails>> {
    let all = w.get::<Bridge>().modes().into_iter();
    let crossed = all.filter_map(|(sw_if, mode)| match mode {
        Mode::Xconnect(peer) => {
            Some(L2XconnectDetails { rx_sw_if_index: sw_if.into(), tx_sw_if_index: peer.into() })
        }
        Mode::Bridge { .. } => None,
    });
    Ok(crossed.collect())
}

/// Switches features of the frames that a bridged interface receives.
#[derive(Message)]
#[msg(reply)]
pub struct L2Flags {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// On, not off.
    pub is_set: bool,
    /// The features to switch, by bit: learn 1, forward 2, flood 4, flood of unknown unicast 8,
    /// ARP termination 16.
    pub feature_bitmap: u32,
}

/// The features of the interface after the change.
#[derive(Message)]
pub struct L2FlagsReply {
    /// Its features, at the bits of the input feature bitmap.
    pub resulting_feature_bitmap: u32,
}

/// Requests the feature bitmaps of an interface in layer-2 mode.
#[derive(Message)]
#[msg(reply)]
pub struct L2FlagsGet {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
}

/// The bitmaps.
#[derive(Message)]
pub struct L2FlagsGetReply {
    /// Features of received frames.
    pub input_feature_bitmap: u32,
    /// Features of frames that it sends.
    pub output_feature_bitmap: u32,
}

/// Switches features of an interface in layer-2 mode, by their bits.
#[derive(Message)]
pub struct L2FlagsSet {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// On, not off.
    pub is_set: bool,
    /// Features of received frames.
    pub input_feature_bitmap: u32,
    /// Features of frames that it sends.
    pub output_feature_bitmap: u32,
}

/// Returns the features that the flags name.
///
/// # Errors
/// Unknown flags (−7).
fn named(flags: u32) -> Result<Features> {
    let known = FLAGS.iter().fold(0, |all, (bit, _)| all | bit);
    if flags & !known != 0 {
        let why = format!("flags {:#x} are unknown", flags & !known);
        return Err(Error::parse(why).retval(retval::INVALID_VALUE));
    }
    let named = FLAGS.into_iter().filter(|(bit, _)| flags & bit != 0);
    Ok(named.map(|(_, feature)| feature).collect())
}

fn l2_flags(w: &World, _: &Caller<'_, World>, r: L2Flags) -> Result<L2FlagsReply> {
    let (bridge, sw_if) = (w.get::<Bridge>(), r.sw_if_index.existing(w)?);
    let now = bridge.set_port_features(w, sw_if, named(r.feature_bitmap)?, r.is_set)?;
    Ok(L2FlagsReply { resulting_feature_bitmap: now.bits() })
}

msg::flags! {
    /// The features that a bridged interface applies to received frames.
    pub struct L2IntfFeatFlags: u32 = enum "l2_intf_feat_flags" {
        NONE = 0 => "L2_INTF_FEAT_NONE",
        LEARN = 1 => "L2_INTF_FEAT_LEARN",
        FWD = 2 => "L2_INTF_FEAT_FWD",
        FLOOD = 4 => "L2_INTF_FEAT_FLOOD",
        UU_FLOOD = 8 => "L2_INTF_FEAT_UU_FLOOD",
        ARP_TERM = 16 => "L2_INTF_FEAT_ARP_TERM",
        ARP_UFWD = 32 => "L2_INTF_FEAT_ARP_UFWD",
    }
}

/// Switches features of the frames that a bridged interface receives.
#[derive(Message)]
pub struct L2InterfaceFeatFlagsSet {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// On, not off.
    pub is_set: bool,
    /// The features to switch. The others don't change.
    pub flags: L2IntfFeatFlags,
}

/// Requests the features of the frames that a bridged interface receives.
#[derive(Message)]
#[msg(reply)]
pub struct L2InterfaceFeatFlagsGet {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
}

/// The features.
#[derive(Message)]
pub struct L2InterfaceFeatFlagsGetReply {
    /// Its features.
    pub flags: L2IntfFeatFlags,
}

fn feat_flags(w: &World, r: L2InterfaceFeatFlagsGet) -> Result<L2InterfaceFeatFlagsGetReply> {
    let features = w.get::<Bridge>().port_features(w, r.sw_if_index.existing(w)?)?;
    let on = FLAGS.into_iter().filter(|(_, feature)| features.contains(*feature));
    Ok(L2InterfaceFeatFlagsGetReply {
        flags: L2IntfFeatFlags(on.fold(0, |all, (bit, _)| all | bit)),
    })
}

/// Creates an interface to be the routed one of a bridge domain.
#[derive(Message)]
#[msg(reply)]
pub struct BviCreate {
    /// Its address; zero for one made of its number.
    pub mac: MacAddress,
    /// Its number; all bits set for the first that is free.
    #[wire(default = "4294967295")]
    pub user_instance: u32,
}

/// The new interface.
#[derive(Message)]
pub struct BviCreateReply {
    /// Its index.
    pub sw_if_index: InterfaceIndex,
}

/// Deletes an interface created to be the routed one of a bridge domain.
#[derive(Message)]
pub struct BviDelete {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
}
