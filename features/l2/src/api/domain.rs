// SPDX-License-Identifier: Apache-2.0
//! Messages about bridge domains.

use super::{BdFlags, FLAGS, index};
use crate::bridge::Bridge;
use crate::domain::{DomainConfig, DomainInfo};
use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages, Str, Wire};
use net::api::InterfaceIndex;

pub fn messages(m: &mut Messages<World>) {
    m.call(add_del);
    m.call(add_del_v2);
    m.dump(domains);
    m.call(bridge_flags);
    m.call(|w: &World, _: &Caller<'_, World>, r: BridgeDomainSetMacAge| {
        w.get::<Bridge>().configure_domain(w, r.bd_id, |config| config.mac_age = r.mac_age)
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: BridgeDomainSetLearnLimit| {
        w.get::<Bridge>().set_learn_limit(w, r.bd_id, r.learn_limit)
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: BridgeDomainSetDefaultLearnLimit| {
        w.get::<Bridge>().set_default_learn_limit(w, r.learn_limit);
        Ok(())
    });
}

/// Creates or deletes a bridge domain.
#[derive(Message)]
pub struct BridgeDomainAddDel {
    /// Its id, from 1 to 16,777,215.
    pub bd_id: u32,
    /// Flood frames to groups.
    pub flood: bool,
    /// Flood unicast to unknown destinations.
    pub uu_flood: bool,
    /// Look destinations up.
    pub forward: bool,
    /// Learn sources.
    pub learn: bool,
    /// Answer ARP requests and neighbour solicitations for hosts that are configured.
    pub arp_term: bool,
    /// Send ARP requests to the unknown-unicast port alone.
    pub arp_ufwd: bool,
    /// Minutes after which an address that sends nothing is forgotten; 0 for never.
    pub mac_age: u8,
    /// A note.
    pub bd_tag: Str<64>,
    /// Create, not delete.
    #[wire(default = "true")]
    pub is_add: bool,
}

/// Creates or deletes a bridge domain, and returns its id.
#[derive(Message)]
#[msg(reply)]
pub struct BridgeDomainAddDelV2 {
    /// Its id, from 1 to 16,777,215. All bits set is any id that is free.
    pub bd_id: u32,
    /// Flood frames to groups.
    pub flood: bool,
    /// Flood unicast to unknown destinations.
    pub uu_flood: bool,
    /// Look destinations up.
    pub forward: bool,
    /// Learn sources.
    pub learn: bool,
    /// Answer ARP requests and neighbour solicitations for hosts that are configured.
    pub arp_term: bool,
    /// Send ARP requests to the unknown-unicast port alone.
    pub arp_ufwd: bool,
    /// Minutes after which an address that sends nothing is forgotten; 0 for never.
    pub mac_age: u8,
    /// A note.
    pub bd_tag: Str<64>,
    /// Create, not delete.
    #[wire(default = "true")]
    pub is_add: bool,
}

/// The domain.
#[derive(Message)]
pub struct BridgeDomainAddDelV2Reply {
    /// Its id.
    pub bd_id: u32,
}

/// The configuration that a message asks for.
macro_rules! config {
    ($request:expr) => {{
        let r = $request;
        DomainConfig {
            learn: r.learn,
            forward: r.forward,
            flood: r.flood,
            uu_flood: r.uu_flood,
            arp_term: r.arp_term,
            arp_snoop: false,
            arp_ufwd: r.arp_ufwd,
            mac_age: r.mac_age,
            tag: r.bd_tag.to_string(),
        }
    }};
}

fn add_del(w: &World, _: &Caller<'_, World>, r: BridgeDomainAddDel) -> Result<()> {
    let bridge = w.get::<Bridge>();
    if !r.is_add {
        return bridge.delete_domain(w, r.bd_id);
    }
    bridge.create_domain(w, r.bd_id, config!(&r))
}

fn add_del_v2(
    w: &World,
    _: &Caller<'_, World>,
    r: BridgeDomainAddDelV2,
) -> Result<BridgeDomainAddDelV2Reply> {
    let (bridge, mut bd_id) = (w.get::<Bridge>(), r.bd_id);
    match (r.is_add, r.bd_id) {
        (false, id) => bridge.delete_domain(w, id)?,
        (true, u32::MAX) => bd_id = bridge.create_any_domain(w, config!(&r))?,
        (true, id) => bridge.create_domain(w, id, config!(&r))?,
    }
    Ok(BridgeDomainAddDelV2Reply { bd_id })
}

/// Requests bridge domains.
#[derive(Message)]
#[msg(details)]
pub struct BridgeDomainDump {
    /// The domain; all bits set for all.
    #[wire(default = "4294967295")]
    pub bd_id: u32,
    /// Only the domain that has this interface; all bits set for any.
    #[wire(default = "4294967295")]
    pub sw_if_index: InterfaceIndex,
}

/// A member of a bridge domain.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BridgeDomainSwIf {
    /// Not used.
    pub context: u32,
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Its split-horizon group, 0 for none.
    pub shg: u8,
}

/// A bridge domain.
#[derive(Message)]
pub struct BridgeDomainDetails {
    /// Its id.
    pub bd_id: u32,
    /// Frames to groups are flooded.
    pub flood: bool,
    /// Unicast to unknown destinations is flooded.
    pub uu_flood: bool,
    /// Destinations are looked up.
    pub forward: bool,
    /// Sources are learned.
    pub learn: bool,
    /// ARP requests are answered.
    pub arp_term: bool,
    /// ARP requests go to the unknown-unicast port alone.
    pub arp_ufwd: bool,
    /// Minutes after which an address that sends nothing is forgotten; 0 for never.
    pub mac_age: u8,
    /// A note.
    pub bd_tag: Str<64>,
    /// The routed interface; all bits set for none.
    pub bvi_sw_if_index: InterfaceIndex,
    /// The unknown-unicast port; all bits set for none.
    pub uu_fwd_sw_if_index: InterfaceIndex,
    /// The members: the routed interface, ports, then members that floods don't go to.
    #[count(n_sw_ifs: u32)]
    pub sw_if_details: Vec<BridgeDomainSwIf>,
}

fn details(d: DomainInfo) -> BridgeDomainDetails {
    let members = d.members.iter().map(|member| BridgeDomainSwIf {
        context: 0,
        sw_if_index: member.sw_if.into(),
        shg: member.shg,
    });
    BridgeDomainDetails {
        bd_id: d.id,
        flood: d.config.flood,
        uu_flood: d.config.uu_flood,
        forward: d.config.forward,
        learn: d.config.learn,
        arp_term: d.config.arp_term,
        arp_ufwd: d.config.arp_ufwd,
        mac_age: d.config.mac_age,
        bd_tag: d.config.tag.as_str().into(),
        bvi_sw_if_index: index(d.bvi),
        uu_fwd_sw_if_index: index(d.uu_fwd),
        sw_if_details: members.collect(),
    }
}

fn domains(
    w: &World,
    _: &Caller<'_, World>,
    r: BridgeDomainDump,
) -> Result<Vec<BridgeDomainDetails>> {
    let bridge = w.get::<Bridge>();
    let of = r.sw_if_index.given();
    let ids = bridge.domain_ids().into_iter().filter(|id| r.bd_id == u32::MAX || r.bd_id == *id);
    let all = ids.filter_map(|id| bridge.domain_info(w, id));
    let has = |d: &DomainInfo| {
        of.is_none_or(|of| {
            d.uu_fwd == Some(of) || d.members.iter().any(|member| member.sw_if == of)
        })
    };
    Ok(all.filter(has).map(details).collect())
}

/// Switches features of a bridge domain on or off.
#[derive(Message)]
#[msg(reply)]
pub struct BridgeFlags {
    /// The domain.
    pub bd_id: u32,
    /// True to switch on, false to switch off.
    pub is_set: bool,
    /// The features to switch. The others don't change.
    pub flags: BdFlags,
}

/// The features of the domain after the change.
#[derive(Message)]
pub struct BridgeFlagsReply {
    /// Its features, at the bits of the input feature bitmap.
    pub resulting_feature_bitmap: u32,
}

fn bridge_flags(w: &World, _: &Caller<'_, World>, r: BridgeFlags) -> Result<BridgeFlagsReply> {
    let bridge = w.get::<Bridge>();
    bridge.domain_features(r.bd_id)?;
    bridge.configure_domain(w, r.bd_id, |config| {
        for (_, feature) in FLAGS.into_iter().filter(|(bit, _)| r.flags.0 & bit != 0) {
            if let Some(flag) = config.flag(feature) {
                *flag = r.is_set;
            }
        }
    })?;
    Ok(BridgeFlagsReply { resulting_feature_bitmap: bridge.domain_features(r.bd_id)?.bits() })
}

/// Sets the number of minutes after which a bridge domain forgets an address that sends nothing.
#[derive(Message)]
pub struct BridgeDomainSetMacAge {
    /// The domain.
    pub bd_id: u32,
    /// Minutes; 0 for never.
    pub mac_age: u8,
}

/// Sets the maximum number of addresses that a bridge domain learns.
#[derive(Message)]
pub struct BridgeDomainSetLearnLimit {
    /// The domain.
    pub bd_id: u32,
    /// The limit.
    pub learn_limit: u32,
}

/// Sets the maximum number of addresses that a bridge domain created later learns.
#[derive(Message)]
pub struct BridgeDomainSetDefaultLearnLimit {
    /// The limit.
    pub learn_limit: u32,
}
