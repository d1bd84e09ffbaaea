// SPDX-License-Identifier: Apache-2.0
//! Operations of commands and messages.

use crate::flows::Flows;
use crate::key::Key;
use crate::nodes::{self, IN2OUT, OUT2IN};
use crate::session::Session;
use crate::settings::{Counters, DsLite, Settings};
use crate::startup_conf::Startup;
use crate::{ce, session};
use cli::{Error, Result, retval};
use graph::{NodeIndex, Shared, World};
use nat::ranges::MOST;
use nat::timeouts::Timeouts;
use nat::walk::{Walk, walk};
use nat::workers::{Plan, Workers, threads};
use net::{Fib, Link, Net, ObjectType, Path, PathKind, Source, Sources, TableIndex};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard};
use wire::{Family, Ip4, Ip4Prefix, Ip6, Prefix};

/// Name and rank of the routes that lead packets here: they override those of operators.
const SOURCE: (&str, u8) = ("dslite", 10);

/// The nodes of the AFTR, as objects of routes.
pub static AFTR: ObjectType = ObjectType {
    name: "dslite",
    words: "dslite",
    node: |world, link, _| by_link(world, link, [OUT2IN, IN2OUT]),
    describe: |_, _| "AFTR".into(),
    ..ObjectType::PLAIN
};

/// The nodes of a B4.
pub static B4: ObjectType = ObjectType {
    name: "dslite-ce",
    words: "dslite-ce",
    node: |world, link, _| by_link(world, link, [ce::ENCAP, ce::DECAP]),
    describe: |_, _| "B4".into(),
    ..ObjectType::PLAIN
};

fn by_link(world: &World, link: Link, [ip4, ip6]: [&str; 2]) -> Result<NodeIndex> {
    match link {
        Link::IP4 => nodes::node(world, ip4),
        Link::IP6 => nodes::node(world, ip6),
        _ => Err(Error::unsupported("packets of such routes are IP")),
    }
}

/// The ends of a tunnel as they were set: of IPv4 and IPv6; zero is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// Of IPv4; only kept, for clients that read it back.
    pub ip4: Ipv4Addr,
    /// Of IPv6.
    pub ip6: Ipv6Addr,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self { ip4: Ipv4Addr::UNSPECIFIED, ip6: Ipv6Addr::UNSPECIFIED }
    }
}

impl Endpoint {
    fn given(self) -> Option<Ipv6Addr> {
        Some(self.ip6).filter(|ip6| !ip6.is_unspecified())
    }
}

/// The configuration.
#[derive(Default)]
pub struct State {
    /// The AFTR.
    pub aftr: Endpoint,
    /// This router as a B4.
    pub b4: Endpoint,
    /// Addresses that users share.
    pub pool: BTreeSet<Ipv4Addr>,
    /// Addresses of IPv6 with a route here.
    routed: BTreeSet<Ipv6Addr>,
    /// True if the default route leads here.
    is_default: bool,
}

/// See [`State`].
pub struct Control {
    state: Mutex<State>,
    /// This router is a B4.
    pub is_ce: bool,
}

impl Shared for Control {
    fn make(world: &World) -> Self {
        let _ = (world.get::<DsLite>(), world.get::<Counters>());
        let _ = world.get::<Sources>().add(SOURCE.0, SOURCE.1);
        let is_ce = world.startup::<Startup>().ce;
        Self { state: Mutex::default(), is_ce }
    }
}

/// A session as it is shown.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its keys.
    pub keys: [Key; 2],
    /// The session.
    pub session: Session,
    /// Ticks until it ends.
    pub left: u64,
}

fn error(retval: cli::retval::Retval, why: impl Into<String>) -> Error {
    Error::failed(why).retval(retval)
}

/// The source of this feature's routes.
fn source(world: &World) -> Source {
    world.get::<Sources>().add(SOURCE.0, SOURCE.1).unwrap_or(Source::Plugin)
}

/// Adds a route that leads packets to a node of this feature, or deletes it.
fn route<F: Net>(
    world: &World,
    prefix: Prefix<<F as Family>::Addr>,
    of: &'static ObjectType,
    on: bool,
) -> Result<()> {
    let (fib, path) = (world.get::<Fib<F>>(), [Path::new(PathKind::Object(of, 0))]);
    match on {
        true => fib.add(world, TableIndex::DEFAULT, prefix, source(world), &path).map(|_| ()),
        false => fib.remove(world, TableIndex::DEFAULT, prefix, source(world), &path),
    }
}

impl Control {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic inside")
    }

    /// Reads the state.
    pub fn read<R>(&self, f: impl FnOnce(&State) -> R) -> R {
        f(&self.state())
    }

    fn change(&self, world: &World, f: impl FnOnce(&mut State) -> Result<()>) -> Result<()> {
        let mut state = self.state();
        let done = f(&mut state).and_then(|()| state.set_routes(world, self.is_ce));
        state.publish(world);
        world.note_config_change();
        done
    }

    /// Sets the address of the AFTR: this router's, or for a B4 that of the other end.
    ///
    /// # Errors
    /// An address that isn't one host's (−7).
    pub fn set_aftr(&self, world: &World, end: Endpoint) -> Result<()> {
        check(end.ip6)?;
        self.change(world, |state| {
            state.aftr = end;
            Ok(())
        })
    }

    /// Sets this router's address as a B4.
    ///
    /// # Errors
    /// The router is no B4 (−30); an address that isn't one host's (−7).
    pub fn set_b4(&self, world: &World, end: Endpoint) -> Result<()> {
        self.check_ce()?;
        check(end.ip6)?;
        self.change(world, |state| {
            state.b4 = end;
            Ok(())
        })
    }

    /// Refuses what a B4 alone has.
    ///
    /// # Errors
    /// The router is no B4 (−30).
    pub fn check_ce(&self) -> Result<()> {
        if self.is_ce {
            return Ok(());
        }
        let why = "this router is no B4: `dslite { ce }' in startup.conf makes it one";
        Err(error(retval::FEATURE_DISABLED, why))
    }

    /// Adds a range of addresses to the pool, or removes it with the sessions that have them.
    ///
    /// # Errors
    /// The router is a B4 (−30); a range that ends before it begins, or is too long (−7); an
    /// address that is there (−81), or not (−6).
    pub fn set_range(
        &self,
        world: &World,
        (first, last): (Ipv4Addr, Ipv4Addr),
        add: bool,
    ) -> Result<()> {
        if self.is_ce {
            let why = "this router is a B4 (`dslite { ce }'): the AFTR has the pool";
            return Err(error(retval::FEATURE_DISABLED, why));
        }
        let (from, to) = (first.to_bits(), last.to_bits());
        if to < from || to - from >= MOST || first.is_unspecified() {
            let why = format!("expected a range of 1 to {MOST} addresses, not {first} - {last}");
            return Err(error(retval::INVALID_VALUE, why));
        }
        let all = (from..=to).map(Ipv4Addr::from_bits);
        self.change(world, |state| {
            for addr in all.clone() {
                let is_there = state.pool.contains(&addr);
                if add && is_there {
                    let why = format!("{addr} is in the pool already");
                    return Err(error(retval::VALUE_EXIST, why));
                }
                if !add && !is_there {
                    let why = format!("{addr} isn't in the pool");
                    return Err(error(retval::NO_SUCH_ENTRY, why));
                }
            }
            for addr in all {
                route::<Ip4>(world, Prefix::host(addr), &AFTR, add)?;
                match add {
                    true => state.pool.insert(addr),
                    false => state.pool.remove(&addr),
                };
            }
            Ok(())
        })?;
        if !add {
            let _: Walk<()> = walk(world, Flows::next, move |flows: &mut Flows, at, ()| {
                let outside = flows.get(at).map(|(keys, _)| keys[session::INWARD].end().addr);
                if outside.is_some_and(|addr| (first..=last).contains(&addr)) {
                    flows.remove(at);
                }
            });
        }
        Ok(())
    }

    /// All sessions, by thread.
    pub fn sessions(world: &World) -> Walk<Vec<Row>> {
        let clock = world.clock.clone();
        walk(world, Flows::next, move |flows: &mut Flows, at, rows: &mut Vec<Row>| {
            let row = flows.shown(at, clock.now());
            rows.extend(row.map(|(keys, session, left)| Row {
                keys: *keys,
                session: *session,
                left,
            }));
        })
    }
}

fn check(ip6: Ipv6Addr) -> Result<()> {
    if ip6.is_multicast() || ip6.is_loopback() {
        let why = format!("expected the address of one host, not {ip6}");
        return Err(error(retval::INVALID_VALUE, why));
    }
    Ok(())
}

impl State {
    /// Makes the routes that lead here those of the ends.
    fn set_routes(&mut self, world: &World, is_ce: bool) -> Result<()> {
        let (aftr, b4) = (self.aftr.given(), self.b4.given());
        let (own, of) = if is_ce { (b4, &B4) } else { (aftr, &AFTR) };
        let wanted: BTreeSet<_> = own.into_iter().collect();
        for old in self.routed.difference(&wanted).copied().collect::<Vec<_>>() {
            route::<Ip6>(world, Prefix::host(old), of, false)?;
            self.routed.remove(&old);
        }
        for new in wanted.difference(&self.routed).copied().collect::<Vec<_>>() {
            route::<Ip6>(world, Prefix::host(new), of, true)?;
            self.routed.insert(new);
        }
        let is_default = is_ce && aftr.is_some() && b4.is_some();
        if is_default != self.is_default
            && let Some(all) = Ip4Prefix::new(Ipv4Addr::UNSPECIFIED, 0)
        {
            route::<Ip4>(world, all, &B4, is_default)?;
            self.is_default = is_default;
        }
        Ok(())
    }

    fn publish(&self, world: &World) {
        world.get::<DsLite>().publish(Settings {
            aftr: self.aftr.given(),
            b4: self.b4.given(),
            pool: self.pool.iter().copied().collect(),
            workers: Workers::new(threads(world, None), Plan::default()),
            timeouts: Timeouts::default(),
        });
    }
}
