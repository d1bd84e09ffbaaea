// SPDX-License-Identifier: Apache-2.0
//! Session redirects: packets of a classifier session take paths of their own.
//!
//! A redirect is a session of a table of an input ACL, or of an ACL of punted packets, with paths
//! as those of a route. `ip4-session-redirect` and `ip6-session-redirect`, to which the session
//! leads, send the packets. The table can't be deleted meanwhile.

pub mod api;
mod cli;
mod control;
mod node;

use crate::hook::Hook;
use graph::{NodeDef, Plugin, StateDef};
use wire::{Ip4, Ip6};

/// Session redirects.
pub static REDIRECT: Plugin = Plugin {
    name: "ip_session_redirect",
    about: "Packets of classifier sessions take paths of their own",
    area: "policy",
    does: &["Packets of a classifier session take paths of their own (`ip session redirect`)"],
    spec: &["VPP's `ip_session_redirect`"],
    state: &[StateDef::of::<control::Redirects>()],
    nodes: &[NodeDef::of::<node::Redirect<Ip4>>(), NodeDef::of::<node::Redirect<Ip6>>()],
    cli: cli::COMMANDS,
    config: cli::write_config,
    examples: cli::EXAMPLES,
    api: &[api::API],
    start: |world| {
        for v6 in [false, true] {
            for hook in [Hook::In(v6), Hook::Punt(v6)] {
                world.link(hook.node(), node::name(v6))?;
            }
        }
        Ok(())
    },
    unmoved: &[("/err/*-session-redirect/*", "features/classify/src/tests/redirect.rs")],
    ..Plugin::EMPTY
};
