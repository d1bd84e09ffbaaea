// SPDX-License-Identifier: Apache-2.0
//! The nodes that take packets out of tunnels, and so start the arcs `tunnel-input-…`.

/// `both` take Ethernet frames and IP packets out, `frames` and `packets` either.
macro_rules! nodes {
    (both: [$($both:literal),*], frames: [$($frame:literal),*], packets: [$($packet:literal),*]) => {
        /// Nodes that take Ethernet frames out.
        pub const FRAMES: &[&str] = &[$($both,)* $($frame,)*];
        /// Nodes that take IP packets out.
        pub const PACKETS: &[&str] = &[$($both,)* $($packet,)*];
    };
}

nodes! {
    both: [
        "geneve4-input",
        "geneve6-input",
        "gre4-input",
        "gre6-input",
        "gtpu4-input",
        "gtpu6-input",
        "vxlan4-input",
        "vxlan6-input",
        "vxlan4-gpe-input",
        "vxlan6-gpe-input"
    ],
    frames: ["l2tp-decap-local"],
    packets: ["ipip4-input", "ipip6-input", "pppoe-input"]
}
