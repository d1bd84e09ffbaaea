// SPDX-License-Identifier: Apache-2.0
//! Policies, and the interfaces that they are attached to.

use crate::node::Input;
use acl::control::{Acls, no_acl};
use acl::list::Listed;
use cli::{Error, Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World, filled};
use ip::Ip;
use net::{Interfaces, Link, Path, Tracked};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Mutex, MutexGuard};
use wire::{Ip4, Ip6};

/// The name by which lookup contexts are shown.
const USER: &str = "abf plugin";

/// A policy.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Number of the ACL.
    pub acl: u32,
    /// The protocol of the paths without another one.
    pub link: Link,
    /// The paths of packets that the ACL permits.
    pub paths: Vec<Path>,
}

/// A policy of an interface.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Attachment {
    /// Lower ones are asked first.
    pub priority: u32,
    /// Number of the policy.
    pub policy: u32,
}

/// The policies of an interface and a protocol.
#[derive(Debug)]
struct Attached {
    /// Number of the lookup context.
    context: u32,
    /// In order.
    policies: Vec<Attachment>,
}

/// Every forwarding policy, and the interfaces it is attached to.
#[derive(Default)]
pub struct Policies(Mutex<Control>);

#[derive(Default)]
struct Control {
    policies: BTreeMap<u32, Policy>,
    /// Forwarding objects of the policies' paths, by policy and IP version, for those that are
    /// attached.
    tracked: BTreeMap<(u32, bool), Tracked>,
    /// By interface and IP version.
    attached: BTreeMap<(SwIfIndex, bool), Attached>,
    /// Lookup contexts that hold the ACLs of policies.
    holds: BTreeMap<u32, u32>,
}

impl Shared for Policies {
    fn make(world: &World) -> Self {
        // Made first: it forgets interfaces behind this state.
        world.get::<Acls>();
        Self::default()
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        for (_, v6, attachment) in self.attachments().into_iter().filter(|(of, ..)| *of == sw_if) {
            let done = self.detach(world, sw_if, v6, attachment.policy);
            debug_assert!(done.is_ok(), "it was attached: {done:?}");
        }
        let by_it = |path: &Path| path.sw_if() == Some(sw_if);
        for (number, policy) in self.list() {
            let gone: Vec<_> = policy.paths.iter().filter(|path| by_it(path)).cloned().collect();
            if !gone.is_empty()
                && let Err(error) = self.remove(world, number, &gone)
            {
                log::warn!("policy {number} keeps a path by an interface that is deleted: {error}");
            }
        }
    }
}

fn no_policy(number: u32) -> Error {
    Error::not_found(format!("there is no policy {number}"))
}

fn invalid(why: String) -> Error {
    Error::parse(why).retval(retval::INVALID_VALUE)
}

impl Policies {
    fn control(&self) -> MutexGuard<'_, Control> {
        self.0.lock().expect("no panic inside")
    }

    /// All policies.
    pub fn list(&self) -> Vec<(u32, Policy)> {
        self.control().policies.iter().map(|(number, of)| (*number, of.clone())).collect()
    }

    /// The forwarding object of a policy's paths for an IP version, if it is attached somewhere.
    pub fn tracked(&self, number: u32, v6: bool) -> Option<Tracked> {
        self.control().tracked.get(&(number, v6)).copied()
    }

    /// All attachments: interface, true for IPv6, and the policy.
    pub fn attachments(&self) -> Vec<(SwIfIndex, bool, Attachment)> {
        let control = self.control();
        let all = control.attached.iter();
        all.flat_map(|((sw_if, v6), of)| of.policies.iter().map(|at| (*sw_if, *v6, *at))).collect()
    }

    /// Makes a policy, or adds paths to one that is there.
    ///
    /// # Errors
    /// No path, or a policy with another ACL (−7); an ACL that isn't there (−6); a path that a
    /// route couldn't have.
    pub fn add(
        &self,
        world: &World,
        number: u32,
        acl: u32,
        (link, paths): (Link, Vec<Path>),
    ) -> Result<()> {
        if paths.is_empty() {
            return Err(invalid("a policy needs a path: `via …'".into()));
        }
        let acls = world.get::<Acls>();
        if acls.get(acl).is_none() {
            return Err(no_acl(acl));
        }
        let mut control = self.control();
        let mut all = match control.policies.get(&number) {
            Some(there) if there.acl != acl => {
                let why = format!("policy {number} has ACL {}, not {acl}", there.acl);
                return Err(invalid(why));
            }
            Some(there) => there.paths.clone(),
            None => {
                let hold = acls.make_context(USER, [number, u32::MAX]);
                acls.set_context(world, hold, vec![(acl, 0)])?;
                control.holds.insert(number, hold);
                Vec::new()
            }
        };
        for path in paths {
            if !all.contains(&path) {
                all.push(path);
            }
        }
        let done = replace(world, &mut control, number, Policy { acl, link, paths: all });
        if done.is_err() && !control.policies.contains_key(&number) {
            release_acl(world, &mut control, number);
        }
        done
    }

    /// Takes paths from a policy; with the last one the policy goes, and its attachments.
    ///
    /// # Errors
    /// A policy that isn't there, no path, or one that the policy doesn't have (−7).
    pub fn remove(&self, world: &World, number: u32, paths: &[Path]) -> Result<()> {
        let mut control = self.control();
        let old = control.policies.get(&number).cloned();
        let old = old.ok_or_else(|| no_policy(number).retval(retval::INVALID_VALUE))?;
        if let Some(path) = paths.iter().find(|path| !old.paths.contains(path)) {
            return Err(invalid(format!("policy {number} has no path {path:?}")));
        }
        let left: Vec<_> = old.paths.iter().filter(|path| !paths.contains(path)).cloned().collect();
        if !left.is_empty() {
            return replace(world, &mut control, number, Policy { paths: left, ..old });
        }
        let users: Vec<_> = control
            .attached
            .iter()
            .filter(|(_, of)| of.policies.iter().any(|at| at.policy == number))
            .map(|(of, _)| *of)
            .collect();
        for (sw_if, v6) in users {
            detach(world, &mut control, (sw_if, v6), number)?;
        }
        control.policies.remove(&number);
        release_acl(world, &mut control, number);
        world.note_config_change();
        Ok(())
    }

    /// Attaches a policy to an interface.
    ///
    /// # Errors
    /// An interface that isn't there (−2); a policy that isn't there (−6), or is attached there
    /// (−116).
    pub fn attach(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        v6: bool,
        attachment: Attachment,
    ) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        let (mut control, number) = (self.control(), attachment.policy);
        let Some(policy) = control.policies.get(&number).cloned() else {
            return Err(no_policy(number).retval(retval::NO_SUCH_ENTRY));
        };
        let there = control.attached.get(&(sw_if, v6));
        if there.is_some_and(|of| of.policies.iter().any(|at| at.policy == number)) {
            let name = world.get::<Interfaces>().name(sw_if);
            let why = format!("policy {number} is attached to {name} already");
            return Err(Error::failed(why).retval(retval::ENTRY_ALREADY_EXISTS));
        }
        if let Entry::Vacant(free) = control.tracked.entry((number, v6)) {
            free.insert(Tracked::over(world, link(v6), &policy.paths)?);
        }
        let acls = world.get::<Acls>();
        let attached = control.attached.entry((sw_if, v6)).or_insert_with(|| Attached {
            context: acls.make_context(USER, [sw_if.0, v6.into()]),
            policies: Vec::new(),
        });
        attached.policies.push(attachment);
        // Of equal priorities the first attached is asked first.
        attached.policies.sort_by_key(|at| at.priority);
        publish(world, &control, (sw_if, v6))?;
        world.note_config_change();
        Ok(())
    }

    /// Detaches a policy from an interface.
    ///
    /// # Errors
    /// An interface that isn't there (−2); a policy that isn't attached there (−6).
    pub fn detach(&self, world: &World, sw_if: SwIfIndex, v6: bool, number: u32) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        detach(world, &mut self.control(), (sw_if, v6), number)?;
        world.note_config_change();
        Ok(())
    }
}

fn link(v6: bool) -> Link {
    if v6 { Link::IP6 } else { Link::IP4 }
}

/// Lets go of a policy's ACL.
fn release_acl(world: &World, control: &mut Control, number: u32) {
    if let Some(hold) = control.holds.remove(&number) {
        world.get::<Acls>().delete_context(hold);
    }
}

/// Gives a policy other paths, and sends packets by them.
fn replace(world: &World, control: &mut Control, number: u32, policy: Policy) -> Result<()> {
    let mut new = BTreeMap::new();
    for v6 in [false, true] {
        if control.tracked.contains_key(&(number, v6)) {
            new.insert((number, v6), Tracked::over(world, link(v6), &policy.paths)?);
        }
    }
    if new.is_empty() {
        // Paths that no route could have are refused, though nothing is attached yet.
        Tracked::over(world, policy.link, &policy.paths)?.release(world);
    }
    let old: Vec<_> =
        new.into_iter().filter_map(|(of, tracked)| control.tracked.insert(of, tracked)).collect();
    control.policies.insert(number, policy);
    let users = control.attached.iter();
    let users: Vec<_> = users
        .filter(|(_, of)| of.policies.iter().any(|at| at.policy == number))
        .map(|(of, _)| *of)
        .collect();
    let done = users.into_iter().try_for_each(|of| publish(world, control, of));
    old.into_iter().for_each(|tracked| tracked.release(world));
    world.note_config_change();
    done
}

fn detach(world: &World, control: &mut Control, of: (SwIfIndex, bool), number: u32) -> Result<()> {
    let attached = control.attached.get_mut(&of);
    let at = attached.as_ref().and_then(|of| of.policies.iter().position(|at| at.policy == number));
    let (Some(attached), Some(at)) = (attached, at) else {
        let name = world.get::<Interfaces>().name(of.0);
        let why = format!("policy {number} isn't attached to {name}");
        return Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY));
    };
    attached.policies.remove(at);
    publish(world, control, of)?;
    if let Some(attached) = control.attached.get(&of)
        && attached.policies.is_empty()
    {
        world.get::<Acls>().delete_context(attached.context);
        control.attached.remove(&of);
    }
    let mut users = control.attached.iter().filter(|((_, v6), _)| *v6 == of.1);
    let is_used = users.any(|(_, of)| of.policies.iter().any(|at| at.policy == number));
    if !is_used && let Some(tracked) = control.tracked.remove(&(number, of.1)) {
        tracked.release(world);
    }
    Ok(())
}

/// Gives the lookup context of an interface its ACLs, each with the forwarding object of its
/// policy, and lets packets visit the node if there are any.
fn publish(world: &World, control: &Control, (sw_if, v6): (SwIfIndex, bool)) -> Result<()> {
    let Some(attached) = control.attached.get(&(sw_if, v6)) else { return Ok(()) };
    let entry = |at: &Attachment| {
        let policy = control.policies.get(&at.policy)?;
        let tracked = control.tracked.get(&(at.policy, v6))?;
        Some((policy.acl, tracked.adj.0))
    };
    let acls = attached.policies.iter().filter_map(entry).collect();
    world.get::<Acls>().set_context(world, attached.context, acls)?;
    let context = (!attached.policies.is_empty()).then_some(attached.context);
    if v6 {
        configure::<Ip6>(world, sw_if, context)
    } else {
        configure::<Ip4>(world, sw_if, context)
    }
}

fn configure<F: Ip + Listed>(world: &World, sw_if: SwIfIndex, context: Option<u32>) -> Result<()> {
    let arc = filled("{ip}-unicast", F::IS_V6);
    world.configure_feature::<Input<F>>(&arc, sw_if, context).map_err(Error::failed)
}
