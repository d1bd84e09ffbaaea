// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Ethernet.
//!
//! `ethernet-input` looks at every received frame: is it for us, what does it carry. Features
//! register the types that they take by [`register_ethertype`]; a feature that switches frames
//! takes those of interfaces in layer-2 mode by [`register_l2`]. The header stays in front of the
//! packet: its place is marked as layer 2, and the packet starts behind it.
//!
//! Loopback interfaces (`create loopback interface`) carry addresses that are up while the router
//! is; what is sent to one comes back in by it.
//!
//! Tagged frames belong to the sub-interface that asks for their tags, which are taken off; those
//! that none asks for are dropped by name.
//!
//! 802.3 frames have a length in place of a type. `llc-input` takes their padding off and reads the
//! 802.2 header, `snap-input` the SNAP header behind it; features register the protocols that they
//! take by [`register_snap`].
//!
//! Limits: no other service access point of LLC than SNAP's; not Ethernet types in SNAP (RFC 1042).
//!
//! Tests: frames of every kind, broken frames.

mod api;
mod cli;
mod input;
mod llc;
mod loopback;
mod startup_conf;
#[cfg(feature = "tests")]
mod tests;
mod types;

pub use loopback::{create_bvi, delete_bvi, is_loopback};
pub use types::{
    SnapProtocol, register_ethertype, register_ethertype_verified, register_l2, register_snap,
    unregister_ethertype,
};

use graph::{NodeDef, Plugin, StateDef};
use startup::StartupDef;
use startup_conf::Startup;

/// Ethernet.
pub static PLUGIN: Plugin = Plugin {
    name: "ethernet",
    about: "Ethernet: input, types, loopback interfaces",
    area: "ethernet-and-l2",
    does: &[
        "Ethernet II frames, and LLC and SNAP of 802.3 frames",
        "Loopback interfaces (`create loopback interface`), which become the routed member of a \
         bridge domain (BVI)",
    ],
    spec: &["IEEE 802.3", "IEEE 802.2"],
    limits: &["Of LLC only SNAP; no EtherTypes in SNAP (RFC 1042)"],
    startup: &[StartupDef::of::<Startup>()],
    state: &[StateDef::of::<types::Types>(), StateDef::of::<loopback::Loopbacks>()],
    nodes: &[
        NodeDef::of::<input::EthernetInput>(),
        NodeDef::of::<llc::LlcInput>(),
        NodeDef::of::<llc::SnapInput>(),
    ],
    cli: cli::COMMANDS,
    config: loopback::write_config,
    api: &[api::API],
    unmoved: &[
        (
            "/err/ethernet-input/no error",
            "VPP's readers expect the name; frames without a fault aren't counted there",
        ),
        ("/err/llc-input/no error", "the same"),
        ("/err/snap-input/no error", "the same"),
    ],
    ..Plugin::EMPTY
};
