// SPDX-License-Identifier: Apache-2.0
//! Sessions, for control: each thread looks at its own.

use super::Control;
use crate::flows::Flows;
use crate::key::{End, Key, User};
use crate::session::{Ends, Session};
use crate::settings::Timeout;
use crate::state::Nat;
use cli::{Result, retval};
use graph::World;
use nat::error;
use nat::walk::{Walk, in_parts, walk};
use net::Fib;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use wire::{Ip4, IpProtocol};

/// A session as it is shown.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its number.
    pub at: u32,
    /// Its keys.
    pub keys: [Key; 2],
    /// The session.
    pub session: Session,
    /// Ticks until it ends.
    pub left: u64,
    /// The tick of its last packet.
    pub last: u64,
}

impl Row {
    /// Its ends.
    pub fn ends(&self) -> Ends {
        Ends::of(&self.keys, self.session.flags)
    }

    /// True if its time has ended.
    pub fn is_timed_out(&self) -> bool {
        self.left == 0 || self.session.is_stale()
    }

    /// The upper layer's protocol.
    pub fn protocol(&self) -> IpProtocol {
        self.keys[0].protocol()
    }

    /// The timeout that it has.
    pub fn timeout(&self) -> Timeout {
        self.session.timeout(self.protocol())
    }
}

/// The name of a session: an end of it, and the host of the world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionName {
    /// True if `end` is the host inside, false for what the world sees of it.
    pub inside: bool,
    /// See there.
    pub end: End,
    /// The protocol.
    pub protocol: IpProtocol,
    /// Id of the table.
    pub vrf: u32,
    /// The host of the world as the other end of that side; none for all.
    pub external: Option<End>,
}

impl SessionName {
    /// The key of the only session that it names, if it has the host of the world. The table has
    /// this index.
    fn key(&self, fib: u32) -> Option<Key> {
        let external = self.external?;
        let (from, to) = if self.inside { (self.end, external) } else { (external, self.end) };
        Some(Key::new(from, to, fib, self.protocol))
    }

    /// True if its end is one of the session with these keys.
    fn has_end_of(&self, keys: &[Key; 2], fib: u32) -> bool {
        let (end, key) =
            if self.inside { (keys[0].from(), &keys[0]) } else { (keys[1].to(), &keys[1]) };
        (end, key.protocol(), key.fib()) == (self.end, self.protocol, fib)
    }
}

fn row(flows: &Flows, at: u32, now: u64) -> Option<Row> {
    let (keys, session) = flows.get(at)?;
    let (left, last) = flows.times(at, now);
    Some(Row { at, keys: *keys, session: *session, left, last })
}

/// Ends the sessions that `gone` is true of.
pub fn purge(world: &World, gone: impl Fn(&[Key; 2], &Session) -> bool + Send + Sync + 'static) {
    let _: Walk<()> = walk(world, Flows::next, move |flows: &mut Flows, at, ()| {
        if flows.get(at).is_some_and(|(keys, session)| gone(keys, session)) {
            flows.remove(at);
        }
    });
}

/// Gives all sessions the timeouts of the settings.
pub fn retime(world: &World) {
    let timeouts = world.get::<Nat>().read(|settings| settings.timeouts);
    let each = move |flows: &mut Flows, at, (): &mut ()| flows.retime(at, timeouts);
    let _ = walk(world, Flows::next, each);
}

/// Forgets the clients of all back ends.
pub fn forget_clients(world: &World) {
    let each = |flows: &mut Flows, at, (): &mut ()| flows.forget_client(at);
    let _ = walk(world, Flows::next_client, each);
}

impl Control {
    /// Calls `each` for all sessions, on their threads, with the thread's result.
    pub fn visit<R: Default + Send + 'static>(
        world: &World,
        each: impl Fn(&Row, &mut R) + Send + Sync + 'static,
    ) -> Walk<R> {
        let clock = world.clock.clone();
        walk(world, Flows::next, move |flows: &mut Flows, at, result: &mut R| {
            if let Some(row) = row(flows, at, clock.now()) {
                each(&row, result);
            }
        })
    }

    /// The sessions that `wanted` is true of, by thread.
    pub fn sessions(
        world: &World,
        wanted: impl Fn(&[Key; 2]) -> bool + Send + Sync + 'static,
    ) -> Walk<Vec<Row>> {
        let clock = world.clock.clone();
        walk(world, Flows::next, move |flows: &mut Flows, at, rows: &mut Vec<Row>| {
            if flows.get(at).is_some_and(|(keys, _)| wanted(keys)) {
                rows.extend(row(flows, at, clock.now()));
            }
        })
    }

    /// The sessions of a user.
    pub fn sessions_of(world: &World, addr: Ipv4Addr, vrf: u32) -> Walk<Vec<Row>> {
        let fib = world.get::<Fib<Ip4>>().find_table(vrf).ok().map(|index| index.0);
        Self::sessions(world, move |keys| keys[0].from().addr == addr && Some(keys[0].fib()) == fib)
    }

    /// The users, each with its dynamic and static sessions.
    pub fn users(world: &World) -> Walk<BTreeMap<User, [u32; 2]>> {
        walk(world, Flows::next, |flows: &mut Flows, at, users: &mut BTreeMap<User, [u32; 2]>| {
            let Some((keys, session)) = flows.get(at) else { return };
            let is_static = session.flags.contains(crate::session::SessionFlags::STATIC);
            users.entry(keys[0].sender()).or_default()[usize::from(is_static)] += 1;
        })
    }

    /// Ends all sessions that `gone` is true of; their number, by thread.
    pub fn clear(
        world: &World,
        gone: impl Fn(&[Key; 2]) -> bool + Send + Sync + 'static,
    ) -> Walk<u32> {
        walk(world, Flows::next, move |flows: &mut Flows, at, n: &mut u32| {
            if flows.get(at).is_some_and(|(keys, _)| gone(keys)) {
                *n += u32::from(flows.remove(at).is_some());
            }
        })
    }

    /// Ends the session of a name; the number of those that ended, by thread.
    ///
    /// # Errors
    /// The feature is disabled (−126); no such table (−3).
    pub fn delete_session(&self, world: &World, name: SessionName) -> Result<Walk<u32>> {
        self.check()?;
        let fib = world.get::<Fib<Ip4>>().find_table(name.vrf)?.0;
        if let Some(key) = name.key(fib) {
            return Ok(in_parts(world, move |flows: &mut Flows, place, n: &mut u32| {
                let at = flows.at(&key);
                *n += u32::from(at.is_some_and(|at| flows.remove(at).is_some()));
                *place = u32::MAX;
            }));
        }
        Ok(walk(world, Flows::next, move |flows: &mut Flows, at, n: &mut u32| {
            if flows.get(at).is_some_and(|(keys, _)| name.has_end_of(keys, fib)) {
                *n += u32::from(flows.remove(at).is_some());
            }
        }))
    }
}

/// The result of a deletion.
///
/// # Errors
/// Nothing was deleted (−6).
pub fn named_ends(ended: Vec<u32>) -> Result<()> {
    match ended.into_iter().sum::<u32>() {
        0 => Err(error(retval::NO_SUCH_ENTRY, "there is no such session")),
        _ => Ok(()),
    }
}
