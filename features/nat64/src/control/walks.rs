// SPDX-License-Identifier: Apache-2.0
//! Bindings and sessions, for control: each thread looks at its own.

use super::Control;
use crate::flows::{AllFlows, Flows, Job, Part};
use crate::key::Key;
use crate::nodes::NODE;
use crate::session::{Binding, Session};
use graph::World;
use nat::timeouts::Timeouts;
use nat::walk::Walk;
use std::sync::Arc;
use wire::IpProtocol;

/// A binding as it is shown.
#[derive(Clone, Copy, Debug)]
pub struct BindingRow {
    /// Its keys.
    pub keys: [Key; 2],
    /// The binding.
    pub binding: Binding,
}

/// A session as it is shown.
#[derive(Clone, Copy, Debug)]
pub struct SessionRow {
    /// Its keys.
    pub keys: [Key; 2],
    /// The session.
    pub session: Session,
    /// Ticks until it ends.
    pub left: u64,
}

/// Walks over a table of all threads: `each` is called for each entry, on its thread, with the
/// thread's result.
fn walk<T: Default + Send + 'static>(
    world: &World,
    part: Part,
    each: impl Fn(&mut Flows, u32, &mut T) + Send + Sync + 'static,
) -> Walk<T> {
    let (all, node) = (world.get::<AllFlows>(), world.node(NODE));
    let each = Arc::new(each);
    Walk::start(world, move |rt, thread, mine| {
        let each = each.clone();
        let job = Job::new(part, move |flows, at| {
            each(flows, at, &mut mine.lock().expect("no panic inside"));
        });
        match all.of(thread, &rt.reading()) {
            Some(mut flows) => flows.push_job(job),
            None => return,
        }
        if let Some(node) = node {
            rt.tick_soon(node);
        }
    })
}

/// Ends the bindings that `gone` is true of, and then their sessions.
pub fn purge(world: &World, gone: impl Fn(&[Key; 2], &Binding) -> bool + Send + Sync + 'static) {
    let _: Walk<()> = walk(world, Part::Bindings, move |flows, at, ()| {
        if flows.get_binding(at).is_some_and(|(keys, binding)| gone(keys, binding)) {
            flows.unbind(at);
        }
    });
    sweep(world);
}

/// Removes sessions whose binding is gone.
pub fn sweep(world: &World) {
    let _: Walk<()> = walk(world, Part::Sessions, |flows, at, ()| flows.remove_unbound(at));
}

/// Gives all sessions these timeouts.
pub fn retime(world: &World, timeouts: Timeouts) {
    let _: Walk<()> = walk(world, Part::Sessions, move |flows, at, ()| flows.retime(at, timeouts));
}

/// True if `protocol` is the wanted one; `None` is any.
fn is_wanted(wanted: Option<Protocols>, protocol: IpProtocol) -> bool {
    match wanted {
        None => true,
        Some(Protocols::One(number)) => number == protocol,
        Some(Protocols::Other) => !crate::key::has_ports(protocol),
    }
}

/// The protocols that are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocols {
    /// This one.
    One(IpProtocol),
    /// All protocols without ports.
    Other,
}

impl Control {
    /// The bindings of some protocols, by thread.
    pub fn bindings(world: &World, wanted: Option<Protocols>) -> Walk<Vec<BindingRow>> {
        walk(world, Part::Bindings, move |flows, at, rows: &mut Vec<BindingRow>| {
            let Some((keys, binding)) = flows.get_binding(at) else { return };
            if is_wanted(wanted, keys[0].protocol()) {
                rows.push(BindingRow { keys: *keys, binding: *binding });
            }
        })
    }

    /// The sessions of some protocols, by thread.
    pub fn sessions(world: &World, wanted: Option<Protocols>) -> Walk<Vec<SessionRow>> {
        let clock = world.clock.clone();
        walk(world, Part::Sessions, move |flows, at, rows: &mut Vec<SessionRow>| {
            let Some((keys, session, left)) = flows.shown(at, clock.now()) else { return };
            if is_wanted(wanted, keys[0].protocol()) {
                rows.push(SessionRow { keys: *keys, session: *session, left });
            }
        })
    }
}
