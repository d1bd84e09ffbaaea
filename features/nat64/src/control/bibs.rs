// SPDX-License-Identifier: Apache-2.0
//! Static bindings: the thread of the user has them, among those that users' packets make.

use super::{Control, State, error, walks};
use crate::flows::{AllFlows, Refused};
use crate::key::{End, Key, User, has_ports, protocol_name};
use crate::settings::Statics;
use crate::state::Nat;
use cli::{Error, Output, Result, retval};
use graph::{Replies, World};
use msg::Pending;
use net::Fib;
use std::net::Ipv6Addr;
use std::sync::Arc;
use wire::{Ip6, IpProtocol};

/// The name of a static binding: the user's end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StaticName {
    /// Id of the user's table.
    pub vrf: u32,
    /// The user.
    pub addr: Ipv6Addr,
    /// The port; 0 for protocols without.
    pub port: u16,
    /// The protocol's number; that of ICMP for ICMPv6 too.
    pub protocol: u8,
}

/// A static binding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StaticBib {
    /// The end that the world sees.
    pub end: End,
    /// The thread that has it.
    thread: u16,
}

type Done = Option<std::result::Result<(), Refused>>;

/// A change of static bindings that a thread works on.
pub struct Change {
    replies: Replies<Done>,
    finish: Box<dyn FnOnce(Done) -> Result<()>>,
}

impl Change {
    fn result(results: Vec<Option<Done>>) -> Done {
        results.into_iter().flatten().flatten().next()
    }

    /// The output of a command.
    pub fn output(self) -> Output {
        let finish = self.finish;
        self.replies.then(|all| finish(Self::result(all)).map(|()| Output::empty()))
    }

    /// The reply to a message.
    pub fn reply(self) -> Box<dyn Pending<World, ()>> {
        let finish = self.finish;
        self.replies.reply(|all| finish(Self::result(all)))
    }
}

fn text(name: &StaticName) -> String {
    format!("{} {} port {}", protocol_name(IpProtocol(name.protocol)), name.addr, name.port)
}

impl Control {
    /// Adds a static binding, or removes it with its sessions.
    ///
    /// # Errors
    /// The feature is disabled (−126); ports that don't go with the protocol, or an end that is
    /// taken (−7); a port of another worker than the user's (−8); a binding that is there (−81), or
    /// not (−6).
    pub fn set_static(
        self: &Arc<Self>,
        world: &World,
        (name, end): (StaticName, End),
        add: bool,
    ) -> Result<Change> {
        let protocol = IpProtocol(name.protocol);
        if has_ports(protocol) != (name.port != 0 && end.port != 0)
            || !has_ports(protocol) && (name.port, end.port) != (0, 0)
        {
            let why = "expected ports other than 0 for TCP, UDP and ICMP, and none otherwise";
            return Err(error(retval::INVALID_VALUE, why));
        }
        match add {
            true => self.add_static(world, name, end),
            false => self.remove_static(world, name, end),
        }
    }

    fn add_static(self: &Arc<Self>, world: &World, name: StaticName, end: End) -> Result<Change> {
        let protocol = IpProtocol(name.protocol);
        let (thread, fib, epoch) = self.enabled(world, |state| {
            if state.statics.contains_key(&name) {
                let why = format!("{} has a static binding already", text(&name));
                return Err(error(retval::VALUE_EXIST, why));
            }
            let taken = |(other, bib): (&StaticName, &StaticBib)| {
                bib.end == end && other.protocol == name.protocol
            };
            let mut of_pool = state.pool.iter().filter(|of| of.addr == end.addr);
            let claimed = of_pool.any(|of| of.claims.thread(protocol).is_some());
            if state.statics.iter().any(taken) || claimed && !has_ports(protocol) {
                return Err(is_taken(end));
            }
            let workers = State::workers(world);
            let thread = workers.pick(crate::key::spread_of(name.addr));
            let in_blocks = has_ports(protocol) && u32::from(end.port) >= nat::timeouts::FIRST_PORT;
            if in_blocks && workers.of_port(end.port) != thread {
                let block = workers.block(thread);
                let why = format!(
                    "expected a port of the user's worker: {} to {}, or one below {}",
                    block.port(0),
                    block.port(block.len().saturating_sub(1)),
                    nat::timeouts::FIRST_PORT
                );
                return Err(error(retval::INVALID_VALUE_2, why));
            }
            Ok((thread, state.hold_table(world, name.vrf)?, state.epoch))
        })?;
        let user = User { fib, addr: name.addr, port: name.port };
        let all = world.get::<AllFlows>();
        let replies = world.query(move |rt| {
            let (here, turn) = (rt.thread(), rt.reading());
            let mut flows = (here.0 == thread).then(|| all.of(here, &turn)).flatten()?;
            Some(flows.add_fixed(user, end, protocol))
        });
        let (control, nat) = (self.clone(), world.get::<Nat>());
        let finish = move |done: Done| {
            control.edit(|state| {
                if done != Some(Ok(())) || state.epoch != epoch || state.enabled.is_none() {
                    state.held.release(name.vrf);
                    return Err(match done {
                        Some(Err(Refused::Exists)) => {
                            error(retval::VALUE_EXIST, format!("{} has a binding", text(&name)))
                        }
                        Some(Err(_)) => is_taken(end),
                        _ => Error::failed("the worker didn't answer"),
                    });
                }
                state.statics.insert(name, StaticBib { end, thread });
                nat.publish_statics(state.published());
                Ok(())
            })
        };
        Ok(Change { replies, finish: Box::new(finish) })
    }

    fn remove_static(
        self: &Arc<Self>,
        world: &World,
        name: StaticName,
        end: End,
    ) -> Result<Change> {
        let protocol = IpProtocol(name.protocol);
        let fib = world.get::<Fib<Ip6>>().find_table(name.vrf).ok().map(|index| index.0);
        let statics = self.enabled(world, |state| {
            if state.statics.get(&name).is_none_or(|bib| bib.end != end) {
                let why = format!("there is no such static binding of {}", text(&name));
                return Err(error(retval::NO_SUCH_ENTRY, why));
            }
            state.statics.remove(&name);
            state.held.release(name.vrf);
            Ok(state.published())
        })?;
        world.get::<Nat>().publish_statics(statics);
        let user = User { fib: fib.unwrap_or(0), addr: name.addr, port: name.port };
        let all = world.get::<AllFlows>();
        let replies = world.query(move |rt| {
            let (here, turn) = (rt.thread(), rt.reading());
            let mut flows = all.of(here, &turn)?;
            let at = flows.binding(&Key::inside(user, End::NONE, protocol))?;
            flows.get_binding(at).filter(|(_, binding)| binding.fixed)?;
            flows.unbind(at);
            Some(Ok(()))
        });
        walks::sweep(world);
        Ok(Change { replies, finish: Box::new(|_| Ok(())) })
    }
}

fn is_taken(end: End) -> Error {
    error(retval::INVALID_VALUE, format!("{end} is another user's"))
}

impl State {
    /// The threads of static bindings.
    fn published(&self) -> Statics {
        let of = |(name, bib): (&StaticName, &StaticBib)| {
            (Key::outside(bib.end, End::NONE, IpProtocol(name.protocol)), bib.thread)
        };
        Statics::new(self.statics.iter().map(of))
    }
}
