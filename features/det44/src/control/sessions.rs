// SPDX-License-Identifier: Apache-2.0
//! Sessions, for control: each thread looks at its own.

use super::{Control, error};
use crate::flows::{AllFlows, Flows};
use crate::session::{INWARD, OUTWARD, Session, State};
use crate::settings::Det;
use cli::{Result, retval};
use graph::{Replies, World};
use nat::key::{End, Key};
use nat::timeouts::TICKS;
use nat::walk::{Walk, walk};
use std::net::Ipv4Addr;

/// A session as it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The user's end.
    pub inside: End,
    /// The same, as the world sees it.
    pub outside: End,
    /// The end in the world.
    pub external: End,
    /// See [`State`].
    pub state: State,
    /// The second of the instance's clock at which it ends.
    pub expires: u32,
    /// The protocol's number.
    pub protocol: u8,
}

fn row(flows: &Flows, at: u32, now: u64) -> Option<Row> {
    let (keys, session) = flows.get(at)?;
    let left = flows.left(at, now) / u64::from(TICKS);
    Some(Row {
        inside: keys[OUTWARD].from(),
        outside: keys[INWARD].to(),
        external: keys[OUTWARD].to(),
        state: session.state,
        expires: (now / 1_000_000_000 + left) as u32,
        protocol: keys[OUTWARD].protocol().0,
    })
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
    let timeouts = world.get::<Det>().timeouts();
    let _: Walk<()> =
        walk(world, Flows::next, move |flows: &mut Flows, at, ()| flows.retime(at, &timeouts));
}

impl Control {
    /// All sessions, by thread.
    pub fn sessions(world: &World) -> Walk<Vec<Row>> {
        let clock = world.clock.clone();
        walk(world, Flows::next, move |flows: &mut Flows, at, rows: &mut Vec<Row>| {
            rows.extend(row(flows, at, clock.now()));
        })
    }

    /// The sessions of a user, from the oldest on, by thread: one has them.
    pub fn sessions_of(world: &World, user: Ipv4Addr) -> Replies<Vec<Row>> {
        let (all, clock) = (world.get::<AllFlows>(), world.clock.clone());
        world.query(move |rt| {
            let (thread, turn) = (rt.thread(), rt.reading());
            let Some(flows) = all.of(thread, &turn) else { return Vec::new() };
            let now = clock.now();
            flows.of_user(user).filter_map(|at| row(&flows, at, now)).collect()
        })
    }

    /// Ends the sessions of a user between two ends; the number of those that ended, by thread.
    fn close(
        world: &World,
        user: Ipv4Addr,
        is_meant: impl Fn(&[Key; 2]) -> bool + Send + Sync + 'static,
    ) -> Replies<u32> {
        let all = world.get::<AllFlows>();
        world.query(move |rt| {
            let (thread, turn) = (rt.thread(), rt.reading());
            all.of(thread, &turn).map_or(0, |mut flows| flows.close(user, &is_meant))
        })
    }

    /// Ends the session of a user's end.
    ///
    /// # Errors
    /// No map has the user (−6).
    pub fn close_in(world: &World, user: End, external: End) -> Result<Replies<u32>> {
        Self::forward(world, user.addr)?;
        Ok(Self::close(world, user.addr, move |keys| {
            (keys[OUTWARD].from(), keys[OUTWARD].to()) == (user, external)
        }))
    }

    /// Ends the session of an address and port outside.
    ///
    /// # Errors
    /// No map gives it to a user (−6).
    pub fn close_out(world: &World, outside: End, external: End) -> Result<Replies<u32>> {
        let user = Self::reverse(world, outside)?;
        Ok(Self::close(world, user, move |keys| {
            (keys[INWARD].to(), keys[OUTWARD].to()) == (outside, external)
        }))
    }
}

/// The result of the end of sessions.
///
/// # Errors
/// None has ended (−6).
pub fn closed(ended: Vec<Option<u32>>) -> Result<()> {
    match ended.into_iter().flatten().sum::<u32>() {
        0 => Err(error(retval::NO_SUCH_ENTRY, "there is no such session")),
        _ => Ok(()),
    }
}
