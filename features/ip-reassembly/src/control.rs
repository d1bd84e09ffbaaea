// SPDX-License-Identifier: Apache-2.0
//! The verbs.

use crate::fragment::Fragments;
use crate::full::{self, Full};
use crate::shallow::{self, Shallow};
use crate::state::{Kind, Reassembly, Settings};
use crate::store::UnderWay;
use cli::{Error, Result};
use graph::{
    Asked, NodeIndex, Process, Runtime, Shared, Signal, Sleep, SwIfIndex, ThreadIndex, Wake, World, name_of,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wire::{Ip4, Ip6};

/// Calls a function for the family that is asked for.
macro_rules! of_family {
    ($v6:expr, $f:ident($($arg:expr),*)) => {
        if $v6 { $f::<wire::Ip6>($($arg),*) } else { $f::<wire::Ip4>($($arg),*) }
    };
}

/// Arc and node of each feature of a kind.
fn features(kind: Kind, v6: bool) -> &'static [(&'static str, &'static str)] {
    match (kind, v6) {
        (Kind::Full, false) => &[("ip4-unicast", "ip4-full-reassembly-feature")],
        (Kind::Full, true) => &[("ip6-unicast", "ip6-full-reassembly-feature")],
        (Kind::Shallow, false) => &[
            ("ip4-unicast", "ip4-sv-reassembly-feature"),
            ("ip4-multicast", "ip4-sv-reassembly-mcast-feature"),
        ],
        (Kind::Shallow, true) => &[
            ("ip6-unicast", "ip6-sv-reassembly-feature"),
            ("ip6-multicast", "ip6-sv-reassembly-mcast-feature"),
        ],
    }
}

/// Whether what comes in by an interface is reassembled.
pub fn is_enabled(world: &World, sw_if: SwIfIndex, kind: Kind, v6: bool) -> bool {
    let [(arc, node), ..] = features(kind, v6) else { return false };
    let on = |arc| world.features_of(arc, sw_if).contains(node);
    world.arc(arc).is_some_and(on)
}

/// Says whether what comes in by an interface is reassembled.
///
/// # Errors
/// An arc that isn't there.
pub fn enable(world: &World, sw_if: SwIfIndex, kind: Kind, v6: bool, on: bool) -> Result<()> {
    for (arc, node) in features(kind, v6) {
        world.set_feature(arc, node, sw_if, on).map_err(Error::unsupported)?;
    }
    Ok(())
}

/// The limits in force.
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

/// Whether shallow reassembly waits for the last fragment too.
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

/// Whether fragments for us are put together.
pub fn is_local(world: &World, v6: bool) -> bool {
    fn of<F: Fragments>(world: &World) -> bool {
        world.get::<Reassembly<F>>().local.load(Ordering::Relaxed)
    }
    of_family!(v6, of(world))
}

/// Says whether fragments for us are put together.
///
/// # Errors
/// Nodes that aren't there.
pub fn set_local(world: &World, v6: bool, on: bool) -> Result<()> {
    fn set<F: Fragments>(world: &World, on: bool) -> std::result::Result<(), String> {
        ip::set_fragments::<F>(world, on.then_some("{ip}-local-full-reassembly"))?;
        world.get::<Reassembly<F>>().local.store(on, Ordering::Relaxed);
        Ok(())
    }
    of_family!(v6, set(world, on)).map_err(Error::unsupported)
}

/// Datagrams under way on all threads.
pub fn under_way(world: &World, kind: Kind, v6: bool) -> u32 {
    fn of<F: Fragments>(world: &World, kind: Kind) -> u32 {
        world.get::<Reassembly<F>>().of(kind).under_way().sum()
    }
    of_family!(v6, of(world, kind))
}

/// Asks the threads for what is under way.
pub fn ask(world: &World, kind: Kind, v6: bool) -> Asked<Vec<UnderWay>> {
    fn of<F: Fragments>(world: &World, kind: Kind) -> Asked<Vec<UnderWay>> {
        let clock = world.clock.clone();
        let nodes = nodes::<F>(world, kind);
        world.ask(move |rt| {
            let now = clock.now();
            nodes.iter().flat_map(|(node, list)| list(rt, *node, now)).collect()
        })
    }
    of_family!(v6, of(world, kind))
}

type List = fn(&mut Runtime, NodeIndex, u64) -> Vec<UnderWay>;

/// The nodes of a kind, and how they are asked for what is under way.
fn nodes<F: Fragments>(world: &World, kind: Kind) -> Vec<(NodeIndex, List)> {
    fn full<F: Fragments, const AT: u8>() -> (&'static str, List) {
        let list: List =
            |rt, node, now| rt.node_mut::<Full<F, AT>>(node).map(|full| full.list(now)).unwrap_or_default();
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

/// What wakes the process that lets threads look more often than once a second.
pub struct Walk(Signal);

impl Shared for Walk {
    fn make(world: &World) -> Self {
        Self(world.processes.signal())
    }
}

/// Threads look by themselves once a second, and whenever a fragment comes.
const SECOND: u64 = 1_000_000_000;

struct ExpireWalk;

impl ExpireWalk {
    /// Lets threads look that have something under way; says when to come again, in nanoseconds, if that is before they look
    /// by themselves.
    fn walk<F: Fragments>(world: &World) -> Option<u64> {
        let reassembly = world.get::<Reassembly<F>>();
        let one = |kind: Kind| {
            let knobs = reassembly.of(kind);
            let interval = u64::from(knobs.settings().expire_walk_interval_ms.max(1)) * 1_000_000;
            if interval >= SECOND {
                return None;
            }
            let nodes: Arc<[_]> = nodes::<F>(world, kind).into_iter().map(|(node, _)| node).collect();
            for (thread, _) in knobs.under_way().enumerate().filter(|(_, n)| *n > 0) {
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
