// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! L2 patch: all frames that a device receives leave by another one, as a cable between the two
//! would carry them.
//!
//! `l2-patch` stands on the arc `device-input`, behind captures, mirrors and bonds: frames reach
//! nothing behind it, whatever their destination and their tags. The device receives frames for all
//! MAC addresses. A patch is one way; a cable is two of them.
//!
//! Limits: devices only, no sub-interfaces; a device is the receiving side of one patch.
//!
//! Tests: frames of all lengths compared byte for byte, also tagged, to groups and to our own MAC
//! address; devices that are mirrored, that go down and that are deleted.

mod api;
mod cli;
mod control;
mod node;
#[cfg(feature = "tests")]
mod tests;

use ::cli::quote;
use control::Patches;
use graph::{Feature, NodeDef, Phase, Plugin, RunningConfig, Script, StateDef, World};
use net::Interfaces;

/// L2 patch.
pub static PLUGIN: Plugin = Plugin {
    name: "l2patch",
    about: "L2 patch: all frames of one device leave by another",
    area: "ethernet-and-l2",
    does: &["All frames that a device receives leave by another device (`test l2patch`)"],
    spec: &["VPP's `l2patch`"],
    limits: &["Devices only, no sub-interfaces"],
    state: &[StateDef::of::<Patches>()],
    nodes: &[NodeDef::configured::<node::L2Patch>()],
    features: &[Feature {
        arc: "device-input",
        node: "l2-patch",
        before: &["super-path"],
        after: &["bond-input", "pcap-capture", "span-input"],
    }],
    cli: self::cli::COMMANDS,
    config: write_config,
    examples: &[Script::here(
        "patches",
        "create loopback interface
         create loopback interface
         create loopback interface
         test l2patch rx loop0 tx loop1
         test l2patch rx loop1 tx loop0
         test l2patch rx loop2 tx loop0
         test l2patch rx loop2 tx loop0 del
         test l2patch rx loop0 tx loop2",
    )],
    api: &[api::API],
    unmoved: &[(
        "/err/l2-patch/L2 patch misconfigured drops",
        "a device is deleted meanwhile: features/l2patch/src/tests.rs",
    )],
    ..Plugin::EMPTY
};

fn write_config(world: &World, config: &mut RunningConfig) {
    config.list(Phase::FEATURES, world.get::<Patches>().list(), |world, (from, to), lines| {
        let name = |sw_if| quote(&world.get::<Interfaces>().name(sw_if));
        let line = format!("test l2patch rx {} tx {}", name(from), name(to));
        lines.push(line.clone(), format!("{line} del"));
    });
}
