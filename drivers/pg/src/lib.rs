// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The packet generator: the source of every benchmark and of most tests.
//!
//! An interface `pgN` has no device. A *stream* brings packets in by it, as fast as the graph takes
//! them or at a rate: from a capture file, or made from a text such as `IP4: 1.2.3 -> 4.5.6 UDP:
//! 10.0.0.1 -> 10.0.1.1-10.0.1.9 UDP: 1 -> 2`. What is sent by a `pgN` is freed, or written to a
//! capture file.
//!
//! Captures are complete: the generator waits while the control thread is behind with writing.
//!
//! With `csum-offload-enabled` and `gso-enabled`, packets come in with partial checksums and as
//! super-packets, as from a device that has these offloads, and leave so. An interface without them
//! does the work when it writes the capture. `coalesce-enabled` puts TCP segments together that are
//! sent.
//!
//! With `mac-filter` on, an interface takes frames for its own MAC address and for groups, as a
//! device does that filters; without it, `ethernet-input` drops frames for other stations.
//!
//! Limits: there are no IPv4 header checksums that are left undone: the generator does them.
//!
//! Tests: sent packets equal the given ones; benches.

mod api;
mod capture;
mod cli;
mod config;
mod control;
mod device;
mod examples;
mod gro;
mod input;
mod offload;
mod packets;
mod process;
mod show;
mod state;
mod stream;
pub mod template;
#[cfg(feature = "tests")]
mod tests;
pub mod text;
mod tx;

pub use control::create_interface;
pub use offload::{Offloads, StreamOffloads};
pub use packets::Packets;
pub use state::Generator;
pub use stream::{Source, Stream, StreamSpec};

use graph::{NodeDef, Plugin, StateDef};

/// The packet generator.
pub static PLUGIN: Plugin = Plugin {
    name: "pg",
    about: "Packet generator: streams in, captures out",
    area: "tools",
    does: &[
        "Packet generator: streams from text descriptions and captures, captures of sent packets; \
         checksum and segmentation offload, coalescing, MAC filter (`packet-generator`)",
    ],
    limits: &["IPv4 header checksums are never left to an offload"],
    state: &[driver::STATE, StateDef::of::<state::Shared>()],
    nodes: &[NodeDef::input::<input::PgInput>()],
    cli: cli::COMMANDS,
    phases: &[config::STREAMS],
    config: config::write_config,
    examples: examples::EXAMPLES,
    transient: &[
        ("packet-generator capture", "is a capture that runs now"),
        ("packet-generator enable-stream", "sends once"),
        ("packet-generator disable-stream", "stops sending"),
    ],
    api: &[api::API],
    start: process::start,
    unmoved: &[
        ("/err/pg-input/filtered", "drivers/pg/src/tests.rs"),
        (
            "/err/pg*-tx/bad_offload",
            "offloads that are wrong, of frames that the router made itself",
        ),
        ("/err/pg*-tx/capture_full", "tests/graph/buffers.rs"),
    ],
    ..Plugin::EMPTY
};
