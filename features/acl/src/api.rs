// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `acl`.

use crate::control::{Acl, Acls};
use crate::list::Direction;
use crate::macip;
use crate::rule::{Action, Networks, Rule, Span, Upper};
use crate::settings::Settings;
use crate::switched::Whitelists;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::api::{InterfaceIndex, IpProto, Prefix};
use std::net::IpAddr;
use std::sync::atomic::Ordering;

/// Messages of this feature, under the module name that clients ask for.
pub static API: Module<World> = Module::plugin("acl", messages);

/// The version of the messages that clients ask for.
const VERSION: (u32, u32) = (1, 4);

fn messages(m: &mut Messages<World>) {
    m.call(|_, _: AclPluginGetVersion| {
        Ok(AclPluginGetVersionReply { major: VERSION.0, minor: VERSION.1 })
    });
    m.call_by(|_, caller, _: AclPluginControlPing| {
        let (client_index, vpe_pid) = (caller.client, std::process::id());
        Ok(AclPluginControlPingReply { client_index, vpe_pid })
    });
    m.call(|w, _: AclPluginGetConnTableMaxEntries| {
        let most = w.get::<Settings>().most_sessions.load(Ordering::Relaxed).into();
        Ok(AclPluginGetConnTableMaxEntriesReply { conn_table_max_entries: most })
    });
    m.call(|w, r: AclPluginUseHashLookupSet| {
        w.get::<Settings>().hash_lookup.store(r.enable, Ordering::Relaxed);
        Ok(())
    });
    m.call(|w, _: AclPluginUseHashLookupGet| {
        let enable = w.get::<Settings>().hash_lookup.load(Ordering::Relaxed);
        Ok(AclPluginUseHashLookupGetReply { enable })
    });
    m.call(|w, r: AclStatsIntfCountersEnable| {
        w.get::<Settings>().count_matches.store(r.enable, Ordering::Relaxed);
        Ok(())
    });
    m.call(|w, r: AclAddReplace| {
        let wanted = r.acl_index;
        Ok(match add_replace(w, r) {
            Ok(acl_index) => AclAddReplaceReply { acl_index, retval: 0 },
            Err(e) => AclAddReplaceReply { acl_index: wanted, retval: e.code() },
        })
    });
    m.call(|w, r: AclDel| w.get::<Acls>().delete(w, r.acl_index));
    m.dump(|w, r: AclDump| {
        let details = |(acl_index, acl): (u32, Acl)| AclDetails {
            acl_index,
            tag: acl.tag.into(),
            r: acl.rules.iter().map(AclRule::from).collect(),
        };
        let acls = w.get::<Acls>();
        let all = match r.acl_index {
            u32::MAX => acls.list(),
            one => acls.get(one).map(|acl| (one, acl)).into_iter().collect(),
        };
        Ok(all.into_iter().map(details).collect::<Vec<_>>())
    });
    m.call(|w, r: AclInterfaceAddDel| {
        let direction = if r.is_input { Direction::Input } else { Direction::Output };
        let sw_if = SwIfIndex(r.sw_if_index.0);
        w.get::<Acls>().apply(w, sw_if, direction, (r.acl_index, r.is_add))
    });
    m.call(|w, r: AclInterfaceSetAclList| {
        let lists = halves(r.acls, r.n_input)?;
        w.get::<Acls>().set_lists(w, SwIfIndex(r.sw_if_index.0), lists)
    });
    m.dump(|w, r: AclInterfaceListDump| {
        let acls = w.get::<Acls>();
        let details = |sw_if: SwIfIndex| {
            let [input, output] = acls.lists_of(sw_if);
            AclInterfaceListDetails {
                sw_if_index: sw_if.into(),
                n_input: input.len() as u8,
                acls: [input, output].concat(),
            }
        };
        let all = match r.sw_if_index.existing_or_all(w)? {
            Some(one) => vec![one],
            None => w.get::<net::Interfaces>().indices().collect(),
        };
        Ok(all.into_iter().map(details).collect::<Vec<_>>())
    });
    m.call(|w, r: AclInterfaceSetEtypeWhitelist| {
        let whitelist = halves(r.whitelist, r.n_input)?;
        w.get::<Whitelists>().set(w, SwIfIndex(r.sw_if_index.0), whitelist)
    });
    m.dump(|w, r: AclInterfaceEtypeWhitelistDump| {
        let only = r.sw_if_index.existing_or_all(w)?;
        let all = w.get::<Whitelists>().list();
        let chosen = all.into_iter().filter(|(sw_if, _)| only.is_none_or(|only| only == *sw_if));
        let details = |(sw_if, [input, output]): (SwIfIndex, [Vec<u16>; 2])| {
            AclInterfaceEtypeWhitelistDetails {
                sw_if_index: sw_if.into(),
                n_input: input.len() as u8,
                whitelist: [input, output].concat(),
            }
        };
        Ok(chosen.map(details).collect::<Vec<_>>())
    });
    macip::api::messages(m);
}

fn add_replace(w: &World, r: AclAddReplace) -> Result<u32> {
    let rules = r.r.into_iter().map(Rule::try_from).collect::<Result<_>>()?;
    let number = Some(r.acl_index).filter(|number| *number != u32::MAX);
    w.get::<Acls>().set(w, number, Acl { tag: r.tag.0, rules })
}

/// The first `n` are for received packets, the others for sent ones.
fn halves<T: Clone>(all: Vec<T>, n: u8) -> Result<[Vec<T>; 2]> {
    let n = usize::from(n);
    if n > all.len() {
        let why = format!("{n} of {} are for received packets: there are too few", all.len());
        return Err(Error::parse(why).retval(retval::INVALID_VALUE));
    }
    let (input, output) = all.split_at(n);
    Ok([input.to_vec(), output.to_vec()])
}

msg::messages! {
    /// The verdict of a rule; MACIP rules have 3, too: what the interface sends is checked.
    flags AclAction,
    /// A rule: packets that match it, and the verdict for them.
    AclRule,
    /// Asks for the version of these messages.
    AclPluginGetVersion,
    /// The version.
    AclPluginGetVersionReply,
    /// Asks for an answer: all requests before it are answered by then.
    AclPluginControlPing,
    /// The answer.
    AclPluginControlPingReply,
    /// Asks how many sessions there may be.
    AclPluginGetConnTableMaxEntries,
    /// Sessions at most.
    AclPluginGetConnTableMaxEntriesReply,
    /// Chooses VPP's way of matching: without effect here.
    AclPluginUseHashLookupSet,
    /// Asks for VPP's way of matching.
    AclPluginUseHashLookupGet,
    /// The way that was set last.
    AclPluginUseHashLookupGetReply,
    /// Counts matches of rules, or ends that.
    AclStatsIntfCountersEnable,
    /// Makes an ACL, or replaces one.
    AclAddReplace,
    /// The number of the ACL.
    AclAddReplaceReply,
    /// Deletes an ACL.
    AclDel,
    /// Asks for one ACL, or for all.
    AclDump,
    /// An ACL.
    AclDetails,
    /// Appends an ACL to a list of an interface, or takes it out.
    AclInterfaceAddDel,
    /// Replaces the lists of an interface.
    AclInterfaceSetAclList,
    /// Asks for the lists of one interface, or of all.
    AclInterfaceListDump,
    /// The lists of an interface.
    AclInterfaceListDetails,
    /// Replaces the whitelist of an interface: EtherTypes of frames without IP that pass.
    AclInterfaceSetEtypeWhitelist,
    /// Asks for the whitelist of one interface, or for all.
    AclInterfaceEtypeWhitelistDump,
    /// The whitelist of an interface.
    AclInterfaceEtypeWhitelistDetails,
}

fn addr(prefix: &Prefix) -> (IpAddr, u8) {
    (prefix.address.into(), prefix.len)
}

impl TryFrom<AclRule> for Rule {
    type Error = Error;

    fn try_from(r: AclRule) -> Result<Self> {
        Ok(Self {
            action: Action::of(r.is_permit.0)?,
            networks: Networks::new(addr(&r.src_prefix), addr(&r.dst_prefix))?,
            upper: Upper {
                protocol: r.proto.0,
                source: Span::new(r.srcport_or_icmptype_first, r.srcport_or_icmptype_last)?,
                destination: Span::new(r.dstport_or_icmpcode_first, r.dstport_or_icmpcode_last)?,
                flags_mask: r.tcp_flags_mask,
                flags: r.tcp_flags_value,
            },
        })
    }
}

impl From<&Rule> for AclRule {
    fn from(rule: &Rule) -> Self {
        let (src_prefix, dst_prefix) = match rule.networks {
            Networks::Ip4(from, to) => (from.into(), to.into()),
            Networks::Ip6(from, to) => (from.into(), to.into()),
        };
        let Upper { protocol, source, destination, flags_mask, flags } = rule.upper;
        Self {
            is_permit: AclAction(rule.action as u8),
            src_prefix,
            dst_prefix,
            proto: IpProto(protocol),
            srcport_or_icmptype_first: source.first,
            srcport_or_icmptype_last: source.last,
            dstport_or_icmpcode_first: destination.first,
            dstport_or_icmpcode_last: destination.last,
            tcp_flags_mask: flags_mask,
            tcp_flags_value: flags,
        }
    }
}
