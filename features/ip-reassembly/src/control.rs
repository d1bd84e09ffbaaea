// SPDX-License-Identifier: Apache-2.0
//! Operations of the CLI and the API.

use crate::fragment::Fragments;
use crate::full::{self, Full};
use crate::shallow::{self, Shallow};
use crate::state::{Kind, Reassembly, Settings};
use crate::store::PendingDatagram;
use crate::users;
use cli::{Error, Result};
use graph::{
    NodeIndex, Process, Replies, Runtime, Shared, Signal, Sleep, SwIfIndex, ThreadIndex, Wake,
    World, name_of,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wire::{Ip4, Ip6};

/// Calls a function for the requested IP version.
macro_rules! of_family {
    ($v6:expr, $f:ident($($arg:expr),*)) => {
        if $v6 { $f::<wire::Ip6>($($arg),*) } else { $f::<wire::Ip4>($($arg),*) }
    };
}

/// Returns true if packets received on an interface are reassembled because an operator or a client
/// wants it.
pub fn is_enabled(world: &World, sw_if: SwIfIndex, kind: Kind, v6: bool) -> bool {
    if kind == Kind::Shallow {
        return users::is_chosen(world, sw_if, v6);
    }
    let [(arc, node), ..] = kind.features(v6) else { return false };
    let on = |arc| world.features_of(arc, sw_if).contains(node);
    world.arc(arc).is_some_and(on)
}

/// Enables or disables reassembly of the packets received on an interface.
///
/// # Errors
/// The feature arc or the node does not exist.
pub fn enable(world: &World, sw_if: SwIfIndex, kind: Kind, v6: bool, on: bool) -> Result<()> {
    if kind == Kind::Shallow {
        return users::choose(world, sw_if, v6, on);
    }
    for (arc, node) in kind.features(v6) {
        world.set_feature(arc, node, sw_if, on).map_err(Error::unsupported)?;
    }
    Ok(())
}

/// Returns the limits in force.
pub fn settings(world: &World, kind: Kind, v6: bool) -> Settings {
    fn of<F: Fragments>(world: &World, kind: Kind) -> Settings {
        world.get::<Reassembly<F>>().of(kind).settings()
    }
    of_family!(v6, of(world, kind))
}

/// Sets the limits.
pub fn configure(world: &World, kind: Kind, v6: bool, new: Settings) {
    fn set<F: Fragments>(world: &World, kind: Kind, new: Settings) {
        world.get::<Reassembly<F>>().of(kind).set(new);
    }
    of_family!(v6, set(world, kind, new));
    world.get::<Walk>().0.raise();
}

/// Returns true if shallow reassembly waits for the last fragment too.
pub fn is_extended(world: &World, v6: bool) -> bool {
    fn of<F: Fragments>(world: &World) -> bool {
        world.get::<Reassembly<F>>().extended.load(Ordering::Relaxed)
    }
    of_family!(v6, of(world))
}

/// Makes shallow reassembly wait for the last fragment too, or no longer.
pub fn set_extended(world: &World, v6: bool, on: bool) {
    fn set<F: Fragments>(world: &World, on: bool) {
        world.get::<Reassembly<F>>().extended.store(on, Ordering::Relaxed);
    }
    of_family!(v6, set(world, on));
}

/// Returns true if fragments for us are reassembled.
pub fn is_local(world: &World, v6: bool) -> bool {
    fn of<F: Fragments>(world: &World) -> bool {
        world.get::<Reassembly<F>>().local.load(Ordering::Relaxed)
    }
    of_family!(v6, of(world))
}

/// Enables or disables reassembly of fragments for us.
///
/// # Errors
/// A node does not exist.
pub fn set_local(world: &World, v6: bool, on: bool) -> Result<()> {
    fn set<F: Fragments>(world: &World, on: bool) -> std::result::Result<(), String> {
        ip::set_fragments::<F>(world, on.then_some("{ip}-local-full-reassembly"))?;
        world.get::<Reassembly<F>>().local.store(on, Ordering::Relaxed);
        Ok(())
    }
    of_family!(v6, set(world, on)).map_err(Error::unsupported)
}

/// Returns the number of datagrams under way on all threads.
pub fn under_way(world: &World, kind: Kind, v6: bool) -> u32 {
    fn of<F: Fragments>(world: &World, kind: Kind) -> u32 {
        world.get::<Reassembly<F>>().of(kind).under_way().sum()
    }
    of_family!(v6, of(world, kind))
}

/// Requests the list of datagrams under way from all threads.
pub fn query(world: &World, kind: Kind, v6: bool) -> Replies<Vec<PendingDatagram>> {
    fn of<F: Fragments>(world: &World, kind: Kind) -> Replies<Vec<PendingDatagram>> {
        let clock = world.clock.clone();
        let nodes = nodes::<F>(world, kind);
        world.query(move |rt| {
            let now = clock.now();
            nodes.iter().flat_map(|(node, list)| list(rt, *node, now)).collect()
        })
    }
    of_family!(v6, of(world, kind))
}

type List = fn(&mut Runtime, NodeIndex, u64) -> Vec<PendingDatagram>;

/// Returns the nodes of a kind, each with the function that lists its datagrams under way.
fn nodes<F: Fragments>(world: &World, kind: Kind) -> Vec<(NodeIndex, List)> {
    fn full<F: Fragments, const AT: u8>() -> (&'static str, List) {
        let list: List = |rt, node, now| {
            rt.node_mut::<Full<F, AT>>(node).map(|full| full.list(now)).unwrap_or_default()
        };
        (name_of::<Full<F, AT>>(), list)
    }
    fn shallow<F: Fragments, const AT: u8>() -> (&'static str, List) {
        let list: List = |rt, node, now| {
            rt.node_mut::<Shallow<F, AT>>(node).map(|node| node.list(now)).unwrap_or_default()
        };
        (name_of::<Shallow<F, AT>>(), list)
    }
    let all = match kind {
        Kind::Full => vec![
            full::<F, { full::FEATURE }>(),
            full::<F, { full::LOCAL }>(),
            full::<F, { full::INPUT }>(),
            full::<F, { full::CUSTOM }>(),
        ],
        Kind::Shallow => vec![
            shallow::<F, { shallow::UNICAST }>(),
            shallow::<F, { shallow::MULTICAST }>(),
            shallow::<F, { shallow::OUTPUT }>(),
        ],
    };
    all.into_iter().filter_map(|(name, list)| Some((world.node(name)?, list))).collect()
}

/// Signal of the process that makes threads check timeouts more often than once a second.
pub struct Walk(Signal);

impl Shared for Walk {
    fn make(world: &World) -> Self {
        Self(world.processes.signal())
    }
}

/// Interval in nanoseconds at which threads check timeouts by themselves, besides when a fragment
/// comes.
const SECOND: u64 = 1_000_000_000;

struct ExpireWalk;

impl ExpireWalk {
    /// Makes threads with datagrams under way check timeouts; returns the interval to the next run
    /// in nanoseconds, if it is shorter than that of the threads themselves.
    fn walk<F: Fragments>(world: &World) -> Option<u64> {
        let reassembly = world.get::<Reassembly<F>>();
        let one = |kind: Kind| {
            let limits = reassembly.of(kind);
            let interval = u64::from(limits.settings().expire_walk_interval_ms.max(1)) * 1_000_000;
            if interval >= SECOND {
                return None;
            }
            let nodes: Arc<[_]> =
                nodes::<F>(world, kind).into_iter().map(|(node, _)| node).collect();
            for (thread, _) in limits.under_way().enumerate().filter(|(_, n)| *n > 0) {
                let nodes = nodes.clone();
                world.on_thread(ThreadIndex(thread as u16), move |rt| {
                    nodes.iter().for_each(|node| rt.tick_soon(*node));
                });
            }
            Some(interval)
        };
        Kind::ALL.into_iter().filter_map(one).min()
    }
}

impl Process for ExpireWalk {
    fn name(&self) -> &'static str {
        "ip-reassembly-expire-walk"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let soon = [Self::walk::<Ip4>(world), Self::walk::<Ip6>(world)].into_iter().flatten().min();
        soon.map_or(Sleep::Event, |interval| Sleep::Until(world.clock.now() + interval))
    }
}

/// Called once, when all nodes are there.
pub fn start(world: &Arc<World>) -> std::result::Result<(), String> {
    set_local(world, false, true).map_err(|e| e.to_string())?;
    set_local(world, true, true).map_err(|e| e.to_string())?;
    world.processes.spawn(Box::new(ExpireWalk), &world.get::<Walk>().0);
    Ok(())
}
