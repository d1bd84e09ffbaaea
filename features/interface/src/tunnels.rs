// SPDX-License-Identifier: Apache-2.0
//! The nodes that take packets out of tunnels, and so start the arcs `tunnel-input-…`.

/// Nodes that take Ethernet frames out.
pub const FRAMES: &[&str] = &[
    "geneve4-input",
    "geneve6-input",
    "gre4-input",
    "gre6-input",
    "gtpu4-input",
    "gtpu6-input",
    "vxlan4-input",
    "vxlan6-input",
    "vxlan4-gpe-input",
    "vxlan6-gpe-input",
    "l2tp-decap-local",
];

/// Nodes that take IP packets out.
pub const PACKETS: &[&str] = &[
    "geneve4-input",
    "geneve6-input",
    "gre4-input",
    "gre6-input",
    "gtpu4-input",
    "gtpu6-input",
    "vxlan4-input",
    "vxlan6-input",
    "vxlan4-gpe-input",
    "vxlan6-gpe-input",
    "ipip4-input",
    "ipip6-input",
    "pppoe-input",
];
