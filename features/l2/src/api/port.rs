// SPDX-License-Identifier: Apache-2.0
//! Messages about modes and features of interfaces.

use super::FLAGS;
use crate::bridge::Bridge;
use crate::features::Features;
use crate::mode::{Mode, PortKind};
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use msg::Messages;
use net::api::{InterfaceIndex, MacAddress, given};
use net::{BackboneRewrite, TagRewrite};

pub fn messages(m: &mut Messages<World>) {
    m.call(set_bridge);
    m.call(set_xconnect);
    m.dump(xconnects);
    m.call(|w, r: L2InterfaceVlanTagRewrite| tag_rewrite(w, r));
    m.call(|w, r: L2InterfacePbbTagRewrite| backbone_rewrite(w, r));
    m.call(|w, r: L2InterfaceEfpFilter| {
        w.get::<Bridge>().set_efp_filter(w, r.sw_if_index.existing(w)?, r.enable_disable)
    });
    m.call(l2_flags);
    m.call(|w, r: L2FlagsGet| {
        let (input, output) = w.get::<Bridge>().bitmaps(w, r.sw_if_index.existing(w)?)?;
        Ok(L2FlagsGetReply { input_feature_bitmap: input.bits(), output_feature_bitmap: output })
    });
    m.call(|w, r: L2FlagsSet| {
        let bits = (Features::from_bits_retain(r.input_feature_bitmap), r.output_feature_bitmap);
        w.get::<Bridge>().set_bitmaps(w, r.sw_if_index.existing(w)?, bits, r.is_set)
    });
    m.call(|w, r: L2InterfaceFeatFlagsSet| {
        let (sw_if, which) = (r.sw_if_index.existing(w)?, named(r.flags.0)?);
        w.get::<Bridge>().set_port_features(w, sw_if, which, r.is_set).map(|_| ())
    });
    m.call(|w, r: L2InterfaceFeatFlagsGet| feat_flags(w, r));
    m.call(|w, r: BviCreate| {
        let mac = Some(wire::MacAddr::from(r.mac)).filter(|mac| !mac.is_zero());
        let instance = given(r.user_instance);
        ethernet::create_bvi(w, mac, instance)
    });
    m.call(|w, r: BviDelete| ethernet::delete_bvi(w, r.sw_if_index.existing(w)?));
}

msg::messages! {
    /// The role of a member in its domain.
    L2PortType,
    /// Makes an interface a member of a bridge domain, or lets it route.
    SwInterfaceSetL2Bridge,
    /// Sends the frames that an interface receives to another one, or lets it route.
    SwInterfaceSetL2Xconnect,
    /// Rewrites the VLAN tags of an interface's frames while they are switched.
    L2InterfaceVlanTagRewrite,
    /// Puts the header of a backbone bridge (IEEE 802.1Q 25) in front of an interface's frames
    /// while they are switched, or takes it off.
    L2InterfacePbbTagRewrite,
    /// Lets a sub-interface send only frames that it would receive, or all.
    L2InterfaceEfpFilter,
    /// Requests the cross-connects.
    L2XconnectDump,
    /// A cross-connect, of one direction.
    L2XconnectDetails,
    /// Switches features of the frames that a bridged interface receives.
    L2Flags,
    /// Requests the feature bitmaps of an interface in layer-2 mode.
    L2FlagsGet,
    /// The bitmaps.
    L2FlagsGetReply,
    /// Switches features of an interface in layer-2 mode, by their bits.
    L2FlagsSet,
    /// The features that a bridged interface applies to received frames.
    flags L2IntfFeatFlags,
    /// Switches features of the frames that a bridged interface receives.
    L2InterfaceFeatFlagsSet,
    /// Requests the features of the frames that a bridged interface receives.
    L2InterfaceFeatFlagsGet,
    /// Creates an interface to be the routed one of a bridge domain.
    BviCreate,
    /// Deletes an interface created to be the routed one of a bridge domain.
    BviDelete,
}

fn set_bridge(w: &World, r: SwInterfaceSetL2Bridge) -> Result<()> {
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

fn set_xconnect(w: &World, r: SwInterfaceSetL2Xconnect) -> Result<()> {
    let (bridge, sw_if) = (w.get::<Bridge>(), r.rx_sw_if_index.existing(w)?);
    if !r.enable {
        return bridge.set_l3(w, sw_if);
    }
    bridge.set_xconnect(w, sw_if, SwIfIndex(r.tx_sw_if_index.0))
}

fn tag_rewrite(w: &World, r: L2InterfaceVlanTagRewrite) -> Result<()> {
    let sw_if = r.sw_if_index.existing(w)?;
    let id = |tag: u32| u16::try_from(tag).unwrap_or(u16::MAX);
    let wanted =
        TagRewrite { op: r.vtr_op, dot1q: r.push_dot1q != 0, tags: [id(r.tag1), id(r.tag2)] };
    w.get::<Bridge>().set_tag_rewrite(w, sw_if, wanted)
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

fn xconnects(w: &World, _: L2XconnectDump) -> Result<Vec<L2XconnectDetails>> {
    let all = w.get::<Bridge>().modes().into_iter();
    let crossed = all.filter_map(|(sw_if, mode)| match mode {
        Mode::Xconnect(peer) => {
            Some(L2XconnectDetails { rx_sw_if_index: sw_if.into(), tx_sw_if_index: peer.into() })
        }
        Mode::Bridge { .. } => None,
    });
    Ok(crossed.collect())
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

fn l2_flags(w: &World, r: L2Flags) -> Result<u32> {
    let (bridge, sw_if) = (w.get::<Bridge>(), r.sw_if_index.existing(w)?);
    let now = bridge.set_port_features(w, sw_if, named(r.feature_bitmap)?, r.is_set)?;
    Ok(now.bits())
}

fn feat_flags(w: &World, r: L2InterfaceFeatFlagsGet) -> Result<L2InterfaceFeatFlagsGetReply> {
    let features = w.get::<Bridge>().port_features(w, r.sw_if_index.existing(w)?)?;
    let on = FLAGS.into_iter().filter(|(_, feature)| features.contains(*feature));
    Ok(L2InterfaceFeatFlagsGetReply {
        flags: L2IntfFeatFlags(on.fold(0, |all, (bit, _)| all | bit)),
    })
}
