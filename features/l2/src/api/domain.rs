// SPDX-License-Identifier: Apache-2.0
//! Messages about bridge domains.

use super::{BdFlags, FLAGS};
use crate::bridge::Bridge;
use crate::domain::{DomainConfig, DomainInfo};
use cli::Result;
use graph::World;
use msg::Messages;
use net::api::InterfaceIndex;

pub fn messages(m: &mut Messages<World>) {
    m.call(add_del);
    m.call(add_del_v2);
    m.dump(domains);
    m.call(bridge_flags);
    m.call(|w, r: BridgeDomainSetMacAge| {
        w.get::<Bridge>().configure_domain(w, r.bd_id, |config| config.mac_age = r.mac_age)
    });
    m.call(|w, r: BridgeDomainSetLearnLimit| {
        w.get::<Bridge>().set_learn_limit(w, r.bd_id, r.learn_limit)
    });
    m.order(|w, r: BridgeDomainSetDefaultLearnLimit| {
        w.get::<Bridge>().set_default_learn_limit(w, r.learn_limit)
    });
}

msg::messages! {
    /// Creates or deletes a bridge domain.
    BridgeDomainAddDel,
    /// Creates or deletes a bridge domain, and returns its id.
    #[from(BridgeDomainAddDel)]
    BridgeDomainAddDelV2,
    /// Requests bridge domains.
    BridgeDomainDump,
    /// A member of a bridge domain.
    BridgeDomainSwIf,
    /// A bridge domain.
    BridgeDomainDetails,
    /// Switches features of a bridge domain on or off.
    BridgeFlags,
    /// Sets the number of minutes after which a bridge domain forgets an address that sends
    /// nothing.
    BridgeDomainSetMacAge,
    /// Sets the maximum number of addresses that a bridge domain learns.
    BridgeDomainSetLearnLimit,
    /// Sets the maximum number of addresses that a bridge domain created later learns.
    BridgeDomainSetDefaultLearnLimit,
}

impl From<BridgeDomainAddDelV2> for DomainConfig {
    fn from(r: BridgeDomainAddDelV2) -> Self {
        Self {
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
    }
}

fn add_del(w: &World, r: BridgeDomainAddDel) -> Result<()> {
    let (bridge, id) = (w.get::<Bridge>(), r.bd_id);
    match r.is_add {
        true => bridge.create_domain(w, id, BridgeDomainAddDelV2::from(r).into()),
        false => bridge.delete_domain(w, id),
    }
}

fn add_del_v2(w: &World, r: BridgeDomainAddDelV2) -> Result<u32> {
    let (bridge, id) = (w.get::<Bridge>(), r.bd_id);
    match (r.is_add, id) {
        (false, _) => bridge.delete_domain(w, id)?,
        (true, u32::MAX) => return bridge.create_any_domain(w, r.into()),
        (true, _) => bridge.create_domain(w, id, r.into())?,
    }
    Ok(id)
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
        bvi_sw_if_index: d.bvi.into(),
        uu_fwd_sw_if_index: d.uu_fwd.into(),
        sw_if_details: members.collect(),
    }
}

fn domains(w: &World, r: BridgeDomainDump) -> Result<Vec<BridgeDomainDetails>> {
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

fn bridge_flags(w: &World, r: BridgeFlags) -> Result<u32> {
    let bridge = w.get::<Bridge>();
    bridge.domain_features(r.bd_id)?;
    bridge.configure_domain(w, r.bd_id, |config| {
        for (_, feature) in FLAGS.into_iter().filter(|(bit, _)| r.flags.0 & bit != 0) {
            if let Some(flag) = config.flag(feature) {
                *flag = r.is_set;
            }
        }
    })?;
    Ok(bridge.domain_features(r.bd_id)?.bits())
}
