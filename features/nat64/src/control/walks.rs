// SPDX-License-Identifier: Apache-2.0
//! Bindings and sessions, for control: each thread looks at its own.

use super::Control;
use crate::flows::{Flows, SESSION};
use crate::key::Key;
use crate::session::{Binding, Session};
use graph::World;
use nat::timeouts::Timeouts;
use nat::walk::{Walk, walk};
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

/// Ends the bindings that `gone` is true of, and then their sessions.
pub fn purge(world: &World, gone: impl Fn(&[Key; 2], &Binding) -> bool + Send + Sync + 'static) {
    let _: Walk<()> = walk(world, Flows::next_of_both, move |flows: &mut Flows, at, ()| {
        if at & SESSION != 0 {
            flows.remove_unbound(at & !SESSION);
        } else if flows.get_binding(at).is_some_and(|(keys, binding)| gone(keys, binding)) {
            flows.unbind(at);
        }
    });
}

/// Removes sessions whose binding is gone.
pub fn sweep(world: &World) {
    let _: Walk<()> =
        walk(world, Flows::next_session, |flows: &mut Flows, at, ()| flows.remove_unbound(at));
}

/// Gives all sessions these timeouts.
pub fn retime(world: &World, timeouts: Timeouts) {
    let _: Walk<()> = walk(world, Flows::next_session, move |flows: &mut Flows, at, ()| {
        flows.retime(at, timeouts)
    });
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
        walk(
            world,
            Flows::next_binding,
            move |flows: &mut Flows, at, rows: &mut Vec<BindingRow>| {
                let Some((keys, binding)) = flows.get_binding(at) else { return };
                if is_wanted(wanted, keys[0].protocol()) {
                    rows.push(BindingRow { keys: *keys, binding: *binding });
                }
            },
        )
    }

    /// The sessions of some protocols, by thread.
    pub fn sessions(world: &World, wanted: Option<Protocols>) -> Walk<Vec<SessionRow>> {
        let clock = world.clock.clone();
        walk(
            world,
            Flows::next_session,
            move |flows: &mut Flows, at, rows: &mut Vec<SessionRow>| {
                let Some((keys, session, left)) = flows.shown(at, clock.now()) else { return };
                if is_wanted(wanted, keys[0].protocol()) {
                    rows.push(SessionRow { keys: *keys, session: *session, left });
                }
            },
        )
    }
}
