// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The tunnel endpoint information base: for interfaces with several far ends, such as multipoint
//! tunnels, at which underlay address an overlay peer is (RFC 2332's job, by hand or by a client).
//!
//! A peer of a multipoint interface gets a host route by that interface. The tunnel hears of it
//! ([`Teib::subscribe`]) and knows from then on where packets to the peer go, and from where they
//! may come.
//!
//! Tests: peers that come, change and go; tables that change; commands and messages.

mod api;
mod cli;
mod control;
mod examples;
#[cfg(feature = "tests")]
mod tests;

pub use control::{Endpoint, Teib, TeibEvent, of_interface};

use ::cli::quote;
use graph::{Phase, Plugin, RunningConfig, StateDef, World};
use net::Interfaces;

/// Tunnel endpoints.
pub static PLUGIN: Plugin = Plugin {
    name: "teib",
    about: "Tunnel endpoints: where overlay peers are in the underlay",
    area: "tunnels",
    does: &["Addresses of the peers of multipoint tunnels, each with a host route (`create teib`)"],
    spec: &["VPP's `teib`"],
    state: &[StateDef::of::<control::Teib>()],
    cli: self::cli::COMMANDS,
    config: write_config,
    examples: examples::EXAMPLES,
    api: &[api::API],
    ..Plugin::EMPTY
};

/// Says what was set.
fn write_config(world: &World, config: &mut RunningConfig) {
    config.list(Phase::ROUTES, world.get::<Teib>().list(), |world, (sw_if, peer, to), lines| {
        let Endpoint { nexthop, table } = to;
        let to = format!("{} peer {peer}", quote(&world.get::<Interfaces>().name(sw_if)));
        let of = if table == 0 { String::new() } else { format!(" nh-table-id {table}") };
        lines.push(format!("create teib {to} nh {nexthop}{of}"), format!("delete teib {to}"));
    });
}
