// SPDX-License-Identifier: Apache-2.0
//! Trace text of a packet: any bytes, as any layer, give text of bounded length.

use wire::describe::{Layer, describe};

const LAYERS: [Layer; 15] = [
    Layer::Ethernet,
    Layer::Arp,
    Layer::Mpls,
    Layer::Ip,
    Layer::Ip4,
    Layer::Ip6,
    Layer::Icmp4,
    Layer::Icmp6,
    Layer::Udp,
    Layer::Tcp,
    Layer::Gre,
    Layer::Vxlan,
    Layer::VxlanGpe,
    Layer::Geneve,
    Layer::Gtpu,
];

/// One input.
pub fn run(input: &[u8]) {
    let Some((first, bytes)) = input.split_first() else { return };
    let layer = LAYERS[usize::from(*first) % LAYERS.len()];
    let text = describe(bytes, layer).to_string();
    assert!(!text.ends_with('\n'));
    // At most a line of about a hundred characters for each byte, and some for what is missing.
    assert!(
        text.len() <= 1000 + 100 * bytes.len(),
        "{} characters for {} bytes",
        text.len(),
        bytes.len()
    );
    let one = describe(bytes, layer).layers(1).to_string();
    assert!(one.len() <= text.len());
}
