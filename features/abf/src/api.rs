// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `abf`.

use crate::control::{Attachment, Policies, Policy};
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::api::{FibPath, FibPathNhProto, InterfaceIndex, path_of, path_to};
use net::{Link, Path, RouteTables};

/// Messages of this feature, under the module name that clients ask for.
pub static API: Module<World> = Module::plugin("abf", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|_, _: AbfPluginGetVersion| Ok(AbfPluginGetVersionReply { major: 1, minor: 0 }));
    m.call(|w, r: AbfPolicyAddDel| {
        let (policy, policies) = (r.policy, w.get::<Policies>());
        let (link, paths) = paths(w, &policy.paths)?;
        if r.is_add {
            policies.add(w, policy.policy_id, policy.acl_index, (link, paths))
        } else {
            policies.remove(w, policy.policy_id, &paths)
        }
    });
    m.dump(|w, _: AbfPolicyDump| {
        let tables = w.get::<RouteTables>();
        let details = |(policy_id, policy): (u32, Policy)| {
            let paths = policy.paths.iter();
            let paths = paths.map(|path| path_to(&tables, policy.link, path)).collect();
            AbfPolicyDetails { policy: AbfPolicy { policy_id, acl_index: policy.acl, paths } }
        };
        Ok(w.get::<Policies>().list().into_iter().map(details).collect::<Vec<_>>())
    });
    m.call(|w, r: AbfItfAttachAddDel| {
        let AbfItfAttach { policy_id, sw_if_index, priority, is_ipv6 } = r.attach;
        let (sw_if, policies) = (SwIfIndex(sw_if_index.0), w.get::<Policies>());
        if r.is_add {
            policies.attach(w, sw_if, is_ipv6, Attachment { priority, policy: policy_id })
        } else {
            policies.detach(w, sw_if, is_ipv6, policy_id)
        }
    });
    m.dump(|w, _: AbfItfAttachDump| {
        let details = |(sw_if, is_ipv6, at): (SwIfIndex, bool, Attachment)| AbfItfAttachDetails {
            attach: AbfItfAttach {
                policy_id: at.policy,
                sw_if_index: sw_if.into(),
                priority: at.priority,
                is_ipv6,
            },
        };
        Ok(w.get::<Policies>().attachments().into_iter().map(details).collect::<Vec<_>>())
    });
}

/// The paths of a request, and the protocol of the first.
fn paths(w: &World, paths: &[FibPath]) -> Result<(Link, Vec<Path>)> {
    let Some(first) = paths.first() else {
        return Err(Error::parse("a policy needs a path").retval(retval::INVALID_VALUE));
    };
    let link = if first.proto == FibPathNhProto::Ip6 { Link::IP6 } else { Link::IP4 };
    Ok((link, paths.iter().map(|path| path_of(w, link, path)).collect::<Result<_>>()?))
}

msg::messages! {
    /// Asks for the version of this module.
    AbfPluginGetVersion,
    /// The version.
    AbfPluginGetVersionReply,
    /// A policy: an ACL, and the paths of packets that it permits.
    AbfPolicy,
    /// Makes a policy or adds paths to one, or takes paths from one: with the last it is deleted.
    AbfPolicyAddDel,
    /// Asks for all policies.
    AbfPolicyDump,
    /// A policy.
    AbfPolicyDetails,
    /// A policy of an interface; lower priorities are asked first.
    AbfItfAttach,
    /// Attaches a policy to an interface, or detaches it.
    AbfItfAttachAddDel,
    /// Asks for all attachments.
    AbfItfAttachDump,
    /// An attachment.
    AbfItfAttachDetails,
}
