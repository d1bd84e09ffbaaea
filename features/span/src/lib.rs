// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Port mirroring (SPAN): copies of the frames that an interface receives or sends leave by other
//! interfaces.
//!
//! ```text
//! device-input arc:     span-input → …        copies → output of the destination
//! interface-output arc: span-output → …       copies → output of the destination
//! l2-input →            span-l2-input → …     copies → l2-output
//! l2-output →           span-l2-output → …    copies → l2-output
//! ```
//!
//! At device level, an interface is mirrored with all its sub-interfaces: copies are the frames on
//! the wire. At layer 2, switched frames of a port or a sub-interface are mirrored: received ones
//! as they came in, sent ones behind tag rewriting. These copies are sent by `l2-output`, so the
//! destination has to be in layer-2 mode, and rewrites their tags.
//!
//! A copy is marked ([`buffer::Flags::MIRRORED`]) and never mirrored again.
//!
//! Each copy of a flooded frame is a frame that its port sends: it is mirrored for each port that
//! is a source.
//!
//! Limits: no sampling, no filter. What a loopback interface receives isn't mirrored, and nothing
//! of a BVI at layer 2.
//!
//! Tests: frames compared byte for byte at every port, switched and routed, with and without the
//! super-path; VLAN tags on both sides; interfaces deleted in use; tcpdump on a third host sees the
//! pings of two others.

mod api;
mod cli;
mod control;
mod device;
mod mirror;
mod stage;
mod switched;
#[cfg(feature = "tests")]
mod tests;

use control::Span;
use graph::{Feature, NodeDef, Plugin, StateDef};
use stage::Copier;

/// Port mirroring.
pub static PLUGIN: Plugin = Plugin {
    name: "span",
    about: "Port mirroring (SPAN)",
    area: "tools",
    does: &[
        "Port mirroring (SPAN): copies of the frames that a device or a switched port receives or \
         sends, to any number of interfaces (`set interface span`)",
    ],
    spec: &["VPP's SPAN"],
    limits: &[
        "Frames that a loopback interface receives aren't mirrored, nor those of a BVI at layer 2",
    ],
    state: &[StateDef::of::<mirror::Targets>(), StateDef::of::<Span>()],
    nodes: &[
        NodeDef::of::<device::SpanInput>(),
        NodeDef::of::<device::SpanOutput>(),
        NodeDef::of::<switched::SpanL2Input>(),
        NodeDef::of::<switched::SpanL2Output>(),
    ],
    features: &[
        Feature { arc: "device-input", node: "span-input", before: &["super-path"], after: &[] },
        Feature { arc: "interface-output", node: "span-output", before: &[], after: &[] },
    ],
    stages: &[
        net::mirror::<device::SpanOutput, Copier<device::SpanOutput>>(),
        net::mirror::<switched::SpanL2Input, Copier<switched::SpanL2Input>>(),
        net::mirror::<switched::SpanL2Output, Copier<switched::SpanL2Output>>(),
    ],
    cli: cli::COMMANDS,
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    api: &[api::API],
    start: control::start,
    unmoved: &[
        (
            "/err/span-*/no_buffer",
            "no buffer is left for a copy: features/span/src/tests/device.rs",
        ),
        ("/err/span-*/again", "more copies than a vector takes: features/span/src/tests"),
    ],
    ..Plugin::EMPTY
};
