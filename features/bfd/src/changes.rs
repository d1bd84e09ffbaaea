// SPDX-License-Identifier: Apache-2.0
//! Changes of state: their effect on routes, then events and the log.

use crate::control::{Bfd, Configured};
use crate::home::{Report, SessionKey};
use crate::packet::{Diag, State};
use crate::paths::Paths;
use graph::World;
use net::Interfaces;

impl Bfd {
    /// Takes the reports of the thread of the sessions.
    pub fn take(&self, world: &World, reports: &[Report]) {
        let mut changes = Vec::new();
        {
            let mut inner = self.inner();
            for report in reports {
                let Some(session) = inner.sessions.get_mut(&report.index) else { continue };
                if session.generation != report.generation {
                    continue;
                }
                let proven = report.keys_changed != session.keys_changed;
                session.keys_changed = report.keys_changed;
                let is_current = session.epoch == report.epoch;
                let freed = if proven { session.replaced.take().flatten() } else { None };
                freed.into_iter().for_each(|auth| inner.keys.give(auth));
                if is_current {
                    changes.push((report.index, report.state, report.diag));
                }
            }
        }
        self.note(world, &changes);
    }

    /// Notes new states: moves the traffic of routes first, all together, then logs and publishes
    /// the changes.
    pub(crate) fn note(&self, world: &World, changes: &[(u32, State, Diag)]) {
        let (mut paths, mut events) = (Vec::new(), Vec::new());
        {
            let mut inner = self.inner();
            for (index, state, diag) in changes {
                let Some(session) = inner.sessions.get_mut(index) else { continue };
                let old = std::mem::replace(&mut session.state, *state);
                session.diag = *diag;
                if old != *state {
                    session.since = world.clock.now();
                    events.push((old, session.clone()));
                    paths.extend(inner.paths.note(*index, *state));
                }
            }
        }
        Paths::report(world, &paths);
        for (old, session) in events {
            log_change(world, old, &session);
            if let Some(publish) = self.publish.get() {
                publish(world, &session);
            }
        }
    }
}

fn log_change(world: &World, old: State, session: &Configured) {
    let SessionKey { sw_if, local, peer } = session.key;
    let by = match sw_if {
        Some(sw_if) => format!("on {}", world.get::<Interfaces>().name(sw_if)),
        None => "multihop".into(),
    };
    let (state, diag) = (session.state, session.diag);
    match (old, state) {
        (State::Up, _) => {
            log::warn!(target: "bfd", "session {local} to {peer} {by} is {state}: {diag}")
        }
        _ => log::info!(target: "bfd", "session {local} to {peer} {by} is {state}"),
    }
}
