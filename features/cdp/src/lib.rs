// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! CDP, Cisco's discovery protocol: which device is at the other end of a link.
//!
//! `cdp-input` takes 802.3 frames with Cisco's SNAP protocol 0x2000 and passes what they say to
//! control. `cdp-process` answers: the ports where a neighbour was received get three packets, one
//! a second, and then one every 30 seconds. It removes neighbours whose TTL has expired.
//!
//! Limits: one neighbour on a port, the last one received; not on sub-interfaces; nothing is
//! received on ports of bridge domains, and nothing is sent to a port without a neighbour (as in
//! VPP).
//!
//! Tests: bytes of every element; checksums of Scapy and Wireshark, of odd lengths too; truncated
//! and mutated packets.

mod api;
mod cli;
mod input;
mod pdu;
mod port;
#[cfg(feature = "tests")]
mod tests;

use graph::{NodeDef, Phase, Plugin, RunningConfig, Script, StateDef, World};
use port::Cdp;
use stats::Space;

/// CDP.
pub static PLUGIN: Plugin = Plugin {
    name: "cdp",
    about: "CDP: which Cisco device is at the other end of a link",
    area: "link-protocols",
    does: &[
        "Lists Cisco devices at the other ends of links, and sends this system's data to them \
         (`cdp enable`, `show cdp`)",
    ],
    spec: &["Cisco's published format"],
    limits: &[
        "One neighbour per port",
        "Not on sub-interfaces or ports of bridge domains",
        "A port without a neighbour sends nothing, as in VPP",
    ],
    state: &[StateDef::of::<Cdp>()],
    counters: &[("/net/cdp", Space::Interface)],
    nodes: &[NodeDef::of::<input::CdpInput>()],
    cli: self::cli::COMMANDS,
    config: write_config,
    examples: &[Script::here("Cisco's neighbours", "cdp enable\ncdp disable\ncdp enable")],
    api: &[api::API],
    start: |world| {
        ethernet::register_snap(world, (pdu::CISCO, pdu::PROTOCOL), "cdp-input")?;
        Cdp::start(world);
        Ok(())
    },
    ..Plugin::EMPTY
};

fn write_config(world: &World, config: &mut RunningConfig) {
    if world.get::<Cdp>().is_enabled() {
        config.push(Phase::SETTINGS, "cdp enable", "cdp disable");
    }
}
