// SPDX-License-Identifier: Apache-2.0
//! Sessions and users, for control: each thread looks at its own.

use super::Control;
use crate::flows::Flows;
use crate::session::{Session, inside_key, outside_key, user_of};
use crate::state::Nat;
use cli::{Result, retval};
use graph::World;
use nat::error;
use nat::key::{End, Key, User};
use nat::walk::{Walk, in_parts, walk};
use net::Fib;
use std::net::Ipv4Addr;
use wire::{Ip4, IpProtocol};

/// Sessions of a user that end in one turn of a thread.
const PART: usize = 1024;

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

/// The name of a session.
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

impl Control {
    /// The sessions that `wanted` is true of, by thread.
    pub fn sessions(
        world: &World,
        wanted: impl Fn(&[Key; 2]) -> bool + Send + Sync + 'static,
    ) -> Walk<Vec<Row>> {
        let clock = world.clock.clone();
        walk(world, Flows::next, move |flows: &mut Flows, at, rows: &mut Vec<Row>| {
            let Some((keys, session)) = flows.get(at).filter(|(keys, _)| wanted(keys)) else {
                return;
            };
            let (left, last) = flows.times(at, clock.now());
            rows.push(Row { at, keys: *keys, session: *session, left, last });
        })
    }

    /// The sessions of a user.
    pub fn sessions_of(world: &World, addr: Ipv4Addr, vrf: u32) -> Walk<Vec<Row>> {
        let fib = world.get::<Fib<Ip4>>().find_table(vrf).ok().map(|index| index.0);
        Self::sessions(world, move |keys| {
            let user = user_of(keys);
            user.addr == addr && Some(user.fib) == fib
        })
    }

    /// The users, each with the numbers of dynamic and static sessions.
    pub fn users(world: &World) -> Walk<Vec<(User, [u32; 2])>> {
        walk(world, Flows::next_user, |flows: &mut Flows, at, users: &mut Vec<_>| {
            users.extend(flows.user(at));
        })
    }

    /// Ends all sessions; their number, by thread.
    ///
    /// # Errors
    /// The feature is disabled (−169).
    pub fn clear(&self, world: &World) -> Result<Walk<u32>> {
        self.check()?;
        Ok(walk(world, Flows::next, move |flows: &mut Flows, at, n: &mut u32| {
            *n += u32::from(flows.remove(at).is_some());
        }))
    }

    /// Ends the session of a name; the number of those that ended, by thread.
    ///
    /// # Errors
    /// The feature is disabled (−169); no such table (−3).
    pub fn delete_session(&self, world: &World, name: SessionName) -> Result<Walk<u32>> {
        self.check()?;
        let fib = world.get::<Fib<Ip4>>().find_table(name.vrf)?.0;
        let key = match name.inside {
            true => inside_key(name.end, fib, name.protocol),
            false => outside_key(name.end, fib, name.protocol),
        };
        Ok(in_parts(world, move |flows: &mut Flows, place, n: &mut u32| {
            let at = flows.at(&key);
            *n += u32::from(at.is_some_and(|at| flows.remove(at).is_some()));
            *place = u32::MAX;
        }))
    }

    /// Ends all sessions of a user; their number, by thread. The table has this index.
    ///
    /// # Errors
    /// The feature is disabled (−169).
    pub fn delete_user(&self, world: &World, user: User) -> Result<Walk<u32>> {
        self.check()?;
        Ok(in_parts(world, move |flows: &mut Flows, place, n: &mut u32| {
            for _ in 0..PART {
                let Some(at) = flows.session_of(user) else {
                    *place = u32::MAX;
                    return;
                };
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
        0 => Err(error(retval::NO_SUCH_ENTRY, "there is no such session or user")),
        _ => Ok(()),
    }
}
