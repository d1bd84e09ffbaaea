// SPDX-License-Identifier: Apache-2.0
mod control;
mod device;
mod switched;

use crate::PLUGIN;
use graph::Plugin;
use graph::drive::Bench;
use net::drive::{Rig, at};
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &super_path::PLUGIN,
    &l2::PLUGIN,
    &PLUGIN,
];

const Q: u16 = 0x8100;
const AD: u16 = 0x88a8;

/// A frame whose bytes differ with `n`.
fn frame(len: usize, n: u8) -> Vec<u8> {
    let header = [2, 0xaa, 0, 0, 0, 2, 2, 0xaa, 0, 0, 0, 1, 0x88, 0xb5];
    let payload = (0..len.saturating_sub(header.len())).map(|i| (i * 31 % 251) as u8 ^ n);
    header.into_iter().chain(payload).collect()
}

/// A frame with tags (protocol, TCI).
fn tagged(tags: &[(u16, u16)], frame: &[u8]) -> Vec<u8> {
    let tags = tags.iter().flat_map(|(kind, tci)| [*kind, *tci]).flat_map(u16::to_be_bytes);
    frame[..12].iter().copied().chain(tags).chain(frame[12..].iter().copied()).collect()
}

fn rig(ports: usize) -> Rig {
    Rig::new(PLUGINS, ports)
}

/// Makes a sub-interface that is up.
fn sub(rig: &mut Rig, line: &str) {
    let name = rig.cli(&format!("create sub-interfaces {line}"));
    rig.cli(&format!("set interface state {} up", name.trim_end()));
}

/// Frames of which a node made copies.
fn mirrored(rig: &Rig, node: &str) -> u64 {
    rig.count(node, "SPAN incoming packets processed")
}
