// SPDX-License-Identifier: Apache-2.0
//! The other router.

use super::{Control, State};
use crate::flows::Flows;
use crate::ha::outbox::MTU;
use crate::ha::receive::NODE;
use crate::ha::{Failover, Listener};
use cli::{Error, Result, retval};
use graph::{PerThread, Replies, World};
use ip::{register_udp_port, unregister_udp_port};
use nat::error;
use wire::Ip4;

impl Control {
    /// Sets the own end, or none.
    ///
    /// # Errors
    /// The feature is disabled (−169); an end without an address, or datagrams that are too short
    /// or too long (−7); another node takes the port (−81).
    pub fn set_listener(&self, world: &World, listener: Option<Listener>) -> Result<()> {
        self.enabled(world, |state| {
            if let Some(of) = listener {
                if of.end.addr.is_unspecified() || !MTU.contains(&of.path_mtu) {
                    let why = format!(
                        "expected an address and a path MTU of {} to {}, not {} and {}",
                        MTU.start(),
                        MTU.end(),
                        of.end.addr,
                        of.path_mtu
                    );
                    return Err(error(retval::INVALID_VALUE, why));
                }
                let old = state.ha.listener.map(|old| old.end.port);
                if old != Some(of.end.port) {
                    let taken = |why| Error::failed(why).retval(retval::VALUE_EXIST);
                    register_udp_port::<Ip4>(world, of.end.port, NODE).map_err(taken)?;
                    old.into_iter().for_each(|port| unregister_udp_port::<Ip4>(world, port));
                }
            } else {
                state.stop_listening(world);
            }
            state.ha.listener = listener;
            Ok(())
        })?;
        self.configure_outboxes(world);
        Ok(())
    }

    /// Sets the other router, or none.
    ///
    /// # Errors
    /// The feature is disabled (−169); an end without an address (−7).
    pub fn set_failover(&self, world: &World, failover: Option<Failover>) -> Result<()> {
        self.enabled(world, |state| {
            if failover.is_some_and(|of| of.end.addr.is_unspecified()) {
                return Err(error(retval::INVALID_VALUE, "expected the other router's address"));
            }
            state.ha.failover = failover;
            Ok(())
        })?;
        self.configure_outboxes(world);
        Ok(())
    }

    /// Gives all threads the settings of what they send.
    pub(super) fn configure_outboxes(&self, world: &World) {
        let (settings, all) = (self.read(|state| state.ha), world.get::<PerThread<Flows>>());
        world.on_threads(move |rt| {
            let (thread, turn) = (rt.thread(), rt.reading());
            if let Some(mut flows) = all.of(thread, &turn) {
                flows.outbox.configure(settings);
            }
        });
    }

    /// Has all threads send the events that wait.
    ///
    /// # Errors
    /// The feature is disabled (−169).
    pub fn flush(&self, world: &World) -> Result<Replies<()>> {
        self.check()?;
        let all = world.get::<PerThread<Flows>>();
        let lookup = world.node("ip4-lookup");
        Ok(world.query(move |rt| {
            if let Some(lookup) = lookup {
                while let Some(mut b) = rt.cache().alloc_own() {
                    let (thread, turn) = (rt.thread(), rt.reading());
                    let is_written = all.of(thread, &turn).is_some_and(|mut flows| {
                        flows.outbox.flush();
                        flows.outbox.next(&mut b)
                    });
                    drop(turn);
                    if !is_written {
                        rt.cache().free(b);
                        break;
                    }
                    rt.inject(lookup, b);
                }
            }
        }))
    }
}

impl State {
    pub(super) fn stop_listening(&mut self, world: &World) {
        if let Some(old) = self.ha.listener.take() {
            unregister_udp_port::<Ip4>(world, old.end.port);
        }
    }
}
