// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The shared model of the network, which features and drivers work on. It knows no node.
//!
//! - [`Interfaces`]: hardware and software interfaces, their state, their events.
//! - [`Column`]: a property of interfaces, which the feature that owns it declares.
//! - [`IfCounters`]: counters of each interface.
//! - [`Adjacencies`]: the forwarding results that routes lead to.
//! - [`Fib`]: route tables. [`Routes`]: their entries, as workers read them. [`Addresses`]:
//!   addresses of interfaces, with their routes.
//! - [`Mfib`]: multicast route tables. [`mfib::Mroutes`]: their entries, as workers read them.
//! - [`LinkLocals`]: link-local addresses of interfaces.
//! - [`Neighbors`]: the mapping of IP addresses to stations on a link.
//! - [`Stage`]: what a fast path runs for many packets at once in place of a feature's node.
//! - [`NextHops`]: next hops reported down.
//! - [`FlowOwners`]: the threads that own the state of flows.
//!
//! Control verbs take the [`graph::World`] and are called on the control thread; workers read
//! through snapshots.

mod addr;
pub mod adj;
pub mod api;
pub mod args;
mod both;
mod counters;
mod device;
pub mod drive;
mod event;
pub mod fib;
mod flow_owner;
mod frame_input;
mod implied;
mod interface;
mod link_local;
mod meta;
pub mod mfib;
mod mirror;
mod neighbor;
mod nexthop;
pub mod notes;
mod path_mtu;
mod stage;
mod state;
mod super_path;
mod tags;
mod taps;
#[cfg(feature = "tests")]
mod tests;
mod text;
mod transmit;
mod usage;
mod view;

pub use addr::{Addresses, HoldReason, is_nominal};
pub use adj::{
    Adj, AdjIndex, AdjInfo, AdjKind, Adjacencies, Link, LinkType, Links, ObjectInterface,
    ObjectType, Objects, Ordinaries, Ordinary, Rewrite, SmallLoadBalance, ethernet_rewrite,
};
pub use both::{Both, ByVersion};
pub use counters::{CastLanes, IfCounters, IfLanes, is_group};
pub use device::{Device, FloodRole, RxQueue};
pub use event::{ColumnId, IfEvent};
pub use fib::{
    DeletedTable, Fib, Flow, FlowHash, FlowRouterId, Net, Outlook, Path, PathKind, PathState,
    RouteIndex, RouteTables, Routes, Source, Sources, TableIndex, TableRef, Tracked,
};
pub use flow_owner::FlowOwners;
pub use frame_input::FrameInput;
pub use implied::{implied_table, imply};
pub use interface::{
    BackboneRewrite, Column, FrameTags, FrameTakers, FurtherMacs, Gso, IfKind, Implied, Interface,
    Interfaces, IpBinding, L2Role, MacUser, MirrorRole, MtuKind, Mtus, NewInterface, NewOutput,
    Note, OriginalSettings, OwnUse, Owner, Promiscuous, Property, SentBy, SubFrames, SubInterface,
    SubOf, TagRewrite, Tags, VLAN_IDS, Vlan, tag_bytes,
};
pub use link_local::LinkLocals;
pub use meta::{IpMeta, L4};
pub use mfib::Mfib;
pub use mirror::{EmitCopy, Mirror, Mirrors, mirror};
pub use neighbor::{
    Evidence, LearnResult, Neighbor, NeighborConfig, NeighborEvent, NeighborState, Neighbors,
    Prober, Refusal, RemovalReason,
};
pub use nexthop::{Down, NextHop, NextHops};
pub use path_mtu::{KnownMtus, LearnedMtu, PathMtus, TooBig};
pub use stage::{Buffers, Directed, Front, IP_IN_STAGE, PacketColumns, Stage, stage};
pub use state::{COUNTERS, STATE};
pub use super_path::{Exit, Exits, Outlet, SuperPaths};
pub use tags::{SentTags, TAG, Tagged, count_tags, retag};
pub use taps::{TapDriver, TapRequest, Taps};
pub use text::is_printable;
pub use transmit::transmit;
pub use usage::{TableUsage, Usage};
pub use view::{IfFlags, IfView, Views};
