// SPDX-License-Identifier: Apache-2.0
//! The shared state of this crate.

use crate::counters::IfCounters;
use crate::mfib::Signals;
use crate::{
    Addresses, Adjacencies, Extensions, Fib, Interfaces, LinkLocals, Mfib, Neighbors, NextHops, Routes,
    Sources,
};
use graph::StateDef;
use wire::{Ip4, Ip6};

/// All shared state of this crate, for the plugin `interface`. [`graph::Shared::forget`] is called from the last to the first:
/// addresses are removed before neighbours, neighbours before routes, and routes before the adjacencies that they use.
pub const STATE: StateDef = StateDef::many(|world| {
    world.get::<IfCounters>();
    world.get::<Interfaces>();
    world.get::<NextHops>();
    world.get::<Adjacencies>();
    world.get::<Sources>();
    world.get::<Extensions>();
    world.get::<Routes>();
    world.get::<Signals>();
    world.get::<Mfib<Ip4>>();
    world.get::<Mfib<Ip6>>();
    world.get::<Fib<Ip4>>();
    world.get::<Fib<Ip6>>();
    world.get::<Neighbors>();
    world.get::<LinkLocals>();
    world.get::<Addresses<Ip4>>();
    world.get::<Addresses<Ip6>>();
});
