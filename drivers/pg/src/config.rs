// SPDX-License-Identifier: Apache-2.0
//! Interfaces and streams, as commands. That a stream runs, or a capture, is no configuration: it
//! is done once.

use crate::cli::default_thread;
use crate::control::own_mac;
use crate::offload::Offloads;
use crate::state::{Mode, Shared};
use crate::stream::StreamSpec;
use cli::quote;
use graph::{Phase, RunningConfig, World};
use net::{Interfaces, OriginalSettings};
use std::collections::BTreeMap;

/// Streams use interfaces and their features, and are there before the interfaces are up.
pub const STREAMS: Phase = Phase { name: "streams", after: &["chosen features"], before: &["up"] };

/// Writes the configuration of interfaces and streams.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let shared = world.get::<Shared>();
    let all =
        shared.interfaces().into_iter().map(|(sw_if, mode, offloads)| (sw_if, (mode, offloads)));
    let all: BTreeMap<_, _> = all.collect();
    let indices: Vec<_> = all.keys().copied().collect();
    config.list(Phase::DEVICES, indices.clone(), |world, sw_if, lines| {
        if world.get::<Shared>().filters(sw_if) {
            let name = world.get::<Interfaces>().word(sw_if);
            lines.value(&format!("packet-generator mac-filter {name}"), "on", "off");
        }
    });
    config.interfaces(indices, move |world, sw_if, lines| {
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        let (mode, offloads) = all[&sw_if];
        let OriginalSettings { name, mac, .. } = interface.original;
        let mut line = format!("create packet-generator interface {name}");
        if own_mac(&name) != Some(mac) {
            line += &format!(" hw-addr {mac}");
        }
        if offloads != Offloads::default() {
            line += &format!(" {}", offloads.words());
        }
        line += match mode {
            Mode::Ethernet => "",
            Mode::Ip4 => " mode ip4",
            Mode::Ip6 => " mode ip6",
        };
        lines.push(line, format!("delete packet-generator interface {name}"));
    });
    for stream in shared.streams() {
        let name = quote(&stream.spec.name);
        config.push(
            STREAMS,
            format!("packet-generator new name {name}{}", words(world, &stream.spec)),
            format!("packet-generator delete {name}"),
        );
        // A new stream sends a file once; only `configure' takes that limit away.
        let once = stream.spec.source.limit_of(None);
        if stream.spec.limit == 0 && once > 0 {
            let configure = |limit| format!("packet-generator configure {name} limit {limit}");
            config.push(STREAMS, configure(0), configure(once));
        }
    }
}

fn words(world: &World, spec: &StreamSpec) -> String {
    let name = world.get::<Interfaces>().name(spec.interface);
    let mode = world.get::<Shared>().mode(world, &name).map_or(Mode::Ethernet, |(_, mode)| mode);
    let mut text = format!(" interface {}", quote(&name));
    let node = world.node_name(spec.node);
    if *node != *mode.node() {
        text += &format!(" node {node}");
    }
    if spec.limit > 0 && spec.limit != spec.source.limit_of(None) {
        text += &format!(" limit {}", spec.limit);
    }
    if spec.rate > 0.0 {
        text += &format!(" rate {}", spec.rate);
    }
    if spec.queue > 0 {
        text += &format!(" queue {}", spec.queue);
    }
    if spec.max_frame != 256 {
        text += &format!(" maxframe {}", spec.max_frame);
    }
    let own = world.get::<Shared>().offloads(spec.interface).marks();
    for (on, word) in [
        (spec.marks.ip && !own.ip, "offload-ip-cksum"),
        (spec.marks.tcp && !own.tcp, "offload-tcp-cksum"),
        (spec.marks.udp && !own.udp, "offload-udp-cksum"),
    ] {
        if on {
            text += &format!(" buffer-offload-flags {word}");
        }
    }
    if let Some(tx) = spec.tx {
        text += &format!(" tx-interface {}", quote(&world.get::<Interfaces>().name(tx)));
    }
    if spec.size != (0, 0) {
        text += &format!(" size {}-{}", spec.size.0, spec.size.1);
    }
    if let Some(worker) =
        spec.thread.0.checked_sub(1).filter(|_| spec.thread != default_thread(world))
    {
        text += &format!(" worker {worker}");
    }
    format!("{text} {}", spec.words)
}
