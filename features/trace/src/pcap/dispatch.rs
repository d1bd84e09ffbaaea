// SPDX-License-Identifier: Apache-2.0
//! `pcap dispatch trace`: each packet in front of each node, in the format that Wireshark shows as
//! "VPP Dispatch Trace" (LINKTYPE_VPP_DISPATCH of tcpdump.org's list).

use super::chunk::{Direction, Header};
use super::node::Tap;
use crate::control::layer;
use buffer::{Flags, Frame};
use graph::{NodeIndex, Observer, SwIfIndex};
use wire::describe::Layer;

impl Observer for Tap {
    fn vector(&mut self, node: NodeIndex, packets: &Frame, now: u64) {
        for b in packets.iter() {
            let length = b.packet_len();
            let header = Header {
                time: now,
                interface: SwIfIndex(b.rx_if),
                direction: Direction::Dispatch,
                ip: false,
                traced: b.flags.contains(Flags::TRACED),
                at: node.0,
                length: length as u32,
                kept: length.min(self.bytes) as u32,
            };
            self.take(header, b.segments());
        }
    }
}

/// Version of the format, major and minor.
const VERSION: [u8; 2] = [1, 0];
/// Numbers of the format for the protocol that the packet begins with; 0 lets the dissector decide
/// by the node's name.
const HINTS: [(Layer, u8); 3] = [(Layer::Ethernet, 1), (Layer::Ip4, 2), (Layer::Ip6, 3)];

/// The header in front of a packet: version, number of strings, protocol hint, index of the buffer
/// (in network byte order; ours have none that means anything outside), then the strings, each with
/// a zero behind it: the node's name, a description of the packet, and two for fields of nodes,
/// which are empty.
pub fn head(header: &Header, node: &str, received: &str) -> Vec<u8> {
    let layer = layer(node);
    let hint = HINTS.iter().find(|(known, _)| *known == layer).map_or(0, |(_, hint)| *hint);
    let traced = if header.traced { ", traced" } else { "" };
    let about = format!("received on {received}, {} bytes{traced}", header.length);
    let mut out = vec![VERSION[0], VERSION[1], 4, hint, 0, 0, 0, 0];
    for text in [node, &about, "", ""] {
        out.extend_from_slice(text.as_bytes());
        out.push(0);
    }
    out
}
