// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `acl` about MACIP ACLs.

use super::control::{MacipAcl, MacipAcls};
use super::{Action, Network, Rule};
use crate::api::AclAction;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use msg::Messages;
use net::api::{InterfaceIndex, MacAddress, Prefix};
use wire::{Ip4, Ip6};

/// Adds the functions that answer.
pub fn messages(m: &mut Messages<World>) {
    m.call(|w, r: MacipAclAdd| {
        Ok(match set(w, None, r.tag.0, r.r) {
            Ok(acl_index) => MacipAclAddReply { acl_index, retval: 0 },
            Err(e) => MacipAclAddReply { acl_index: u32::MAX, retval: e.code() },
        })
    });
    m.call(|w, r: MacipAclAddReplace| {
        let number = Some(r.acl_index).filter(|number| *number != u32::MAX);
        Ok(match set(w, number, r.tag.0, r.r) {
            Ok(acl_index) => MacipAclAddReplaceReply { acl_index, retval: 0 },
            Err(e) => MacipAclAddReplaceReply { acl_index: r.acl_index, retval: e.code() },
        })
    });
    m.call(|w, r: MacipAclDel| w.get::<MacipAcls>().delete(w, r.acl_index));
    m.dump(|w, r: MacipAclDump| {
        let only = Some(r.acl_index).filter(|number| *number != u32::MAX);
        let details = |(acl_index, acl): (u32, MacipAcl)| MacipAclDetails {
            acl_index,
            tag: acl.tag.into(),
            r: acl.rules.iter().map(MacipAclRule::from).collect(),
        };
        Ok(w.get::<MacipAcls>().list(only).into_iter().map(details).collect::<Vec<_>>())
    });
    m.call(|w, r: MacipAclInterfaceAddDel| {
        let (acls, sw_if) = (w.get::<MacipAcls>(), SwIfIndex(r.sw_if_index.0));
        if r.is_add { acls.apply(w, sw_if, r.acl_index) } else { acls.withdraw(w, sw_if) }
    });
    m.call(|w, _: MacipAclInterfaceGet| {
        Ok(MacipAclInterfaceGetReply { acls: w.get::<MacipAcls>().by_index() })
    });
    m.dump(|w, r: MacipAclInterfaceListDump| {
        let only = r.sw_if_index.existing_or_all(w)?;
        let all = w.get::<MacipAcls>().interfaces();
        let chosen = all.into_iter().filter(|(sw_if, _)| only.is_none_or(|only| only == *sw_if));
        let details = |(sw_if, number): (SwIfIndex, u32)| MacipAclInterfaceListDetails {
            sw_if_index: sw_if.into(),
            acls: vec![number],
        };
        Ok(chosen.map(details).collect::<Vec<_>>())
    });
}

fn set(w: &World, number: Option<u32>, tag: String, rules: Vec<MacipAclRule>) -> Result<u32> {
    let rules = rules.into_iter().map(Rule::try_from).collect::<Result<_>>()?;
    w.get::<MacipAcls>().set(w, number, MacipAcl { tag, rules })
}

msg::messages! {
    /// A rule: hosts by MAC and IP address, and the verdict for them.
    MacipAclRule,
    /// Makes a MACIP ACL.
    MacipAclAdd,
    /// The number of the ACL.
    MacipAclAddReply,
    /// Makes a MACIP ACL, or replaces one.
    MacipAclAddReplace,
    /// The number of the ACL.
    MacipAclAddReplaceReply,
    /// Deletes a MACIP ACL.
    MacipAclDel,
    /// Asks for one MACIP ACL, or for all.
    MacipAclDump,
    /// A MACIP ACL.
    MacipAclDetails,
    /// Applies a MACIP ACL to an interface, or takes the one that it has away.
    MacipAclInterfaceAddDel,
    /// Asks for the MACIP ACLs of all interfaces.
    MacipAclInterfaceGet,
    /// The MACIP ACL of each interface by index; all bits set where there is none.
    MacipAclInterfaceGetReply,
    /// Asks for the MACIP ACL of one interface, or of all.
    MacipAclInterfaceListDump,
    /// The MACIP ACL of an interface.
    MacipAclInterfaceListDetails,
}

impl TryFrom<MacipAclRule> for Rule {
    type Error = Error;

    fn try_from(r: MacipAclRule) -> Result<Self> {
        let network = match (r.src_prefix.of::<Ip4>()?, r.src_prefix.of::<Ip6>()?) {
            (Some(network), _) => Network::Ip4(network),
            (_, Some(network)) => Network::Ip6(network),
            (None, None) => {
                return Err(Error::parse("expected a network").retval(retval::INVALID_VALUE));
            }
        };
        Ok(Self {
            action: Action::of(r.is_permit.0)?,
            mac: r.src_mac.into(),
            mask: r.src_mac_mask.into(),
            network,
        })
    }
}

impl From<&Rule> for MacipAclRule {
    fn from(rule: &Rule) -> Self {
        Self {
            is_permit: AclAction(rule.action.number()),
            src_mac: rule.mac.into(),
            src_mac_mask: rule.mask.into(),
            src_prefix: match rule.network {
                Network::Ip4(network) => Prefix::from(network),
                Network::Ip6(network) => Prefix::from(network),
            },
        }
    }
}
