// SPDX-License-Identifier: Apache-2.0
//! The shared state of this crate.

use crate::counters::IfCounters;
use crate::mfib::{Mroutes, Signals};
use crate::{
    Addresses, Adjacencies, BackboneRewrite, Column, Fib, FlowOwners, FlowRouterId, FrameTakers,
    FurtherMacs, Gso, Interfaces, IpBinding, L2Role, LinkLocals, Links, Mfib, MirrorRole,
    Neighbors, NextHops, Note, Objects, PathMtus, Promiscuous, RouteTables, Routes, Sources,
    SuperPaths, TagRewrite, Taps,
};
use graph::StateDef;
use stats::Space;
use wire::{Ip4, Ip6};

/// All shared state of this crate, for the plugin `interface`. [`graph::Shared::forget`] is called
/// from the last to the first: addresses are removed before neighbours, neighbours before routes,
/// and routes before the adjacencies that they use.
pub const STATE: StateDef = StateDef::group(&[
    StateDef::of::<IfCounters>(),
    StateDef::of::<Interfaces>(),
    StateDef::of::<Column<Promiscuous>>(),
    StateDef::of::<Column<FrameTakers>>(),
    StateDef::of::<FurtherMacs>(),
    StateDef::of::<Column<L2Role>>(),
    StateDef::of::<Column<TagRewrite>>(),
    StateDef::of::<Column<Option<BackboneRewrite>>>(),
    StateDef::of::<Column<Gso>>(),
    StateDef::of::<Column<MirrorRole>>(),
    StateDef::of::<Column<IpBinding>>(),
    StateDef::of::<Column<Note>>(),
    StateDef::of::<SuperPaths>(),
    StateDef::of::<Taps>(),
    StateDef::of::<NextHops>(),
    StateDef::of::<Links>(),
    StateDef::of::<Adjacencies>(),
    StateDef::of::<Sources>(),
    StateDef::of::<Objects>(),
    StateDef::of::<Routes>(),
    StateDef::of::<Signals>(),
    StateDef::of::<Mroutes>(),
    StateDef::of::<Mfib<Ip4>>(),
    StateDef::of::<Mfib<Ip6>>(),
    StateDef::of::<RouteTables>(),
    StateDef::of::<FlowRouterId>(),
    StateDef::of::<FlowOwners>(),
    StateDef::of::<Fib<Ip4>>(),
    StateDef::of::<Fib<Ip6>>(),
    StateDef::of::<PathMtus<Ip4>>(),
    StateDef::of::<PathMtus<Ip6>>(),
    StateDef::of::<Neighbors>(),
    StateDef::of::<LinkLocals>(),
    StateDef::of::<Addresses<Ip4>>(),
    StateDef::of::<Addresses<Ip6>>(),
]);

/// The counters of this crate whose cells belong to interfaces or routes, for the plugin that has
/// [`STATE`].
pub const COUNTERS: &[(&str, Space)] = &[
    ("/if", Space::Interface),
    ("/net/interface", Space::Interface),
    ("/net/nexthop", Space::Interface),
    ("/net/route", Space::Route),
];
