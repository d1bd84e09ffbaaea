// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! sample: say what it does, by which RFC, and what it doesn't do.
//!
//! It stands on the arc `ip4-unicast`, which IPv4 packets pass on their way to the lookup. As
//! generated, it drops packets that are longer than a limit of the interface they came in by.

#[cfg(feature = "tests")]
mod tests;

use std::fmt;

use buffer::Buffer;
use cli::{Error, Matches, Output};
use graph::{
    Build, ChainStep, Configured, Cx, Feature, Next, Node, NodeDef, Phase, Plugin, RunningConfig,
    Script, SwIfIndex, ThreadIndex, Trace, World, rank,
};
use net::{Interfaces, PacketColumns, Stage};
use wire::Ip4;

/// The plugin: nodes, features and commands. `bin/ferrovia/src/plugins.rs` lists it.
pub static PLUGIN: Plugin = Plugin {
    name: "sample",
    about: "Say what it does",
    area: "policy",
    does: &["Packets longer than a limit of their interface are dropped (`set sample`)"],
    spec: &["RFC 791"],
    nodes: &[NodeDef::configured::<Sample>()],
    features: &[Feature {
        arc: "ip4-unicast",
        node: "sample",
        before: &[rank::POLICY],
        after: &[rank::REASSEMBLY],
    }],
    stages: &[net::stage::<Ip4, Sample, Sample>()],
    cli: cli::commands! {
        /// Drop IPv4 packets longer than so many bytes
        "set sample", "<interface:interface> {max <bytes:u16> | off}" => set;
        /// Where long packets are dropped
        "show sample" => list;
    },
    config: write_config,
    examples: &[Script::here("long packets", "set sample local0 max 100")],
    unmoved: &[("/err/sample/*", "features/sample/src/tests.rs")],
    ..Plugin::EMPTY
};

/// The node. Every thread makes its own, so its fields need neither lock nor atomic.
struct Sample;

/// The next nodes, and with them every counter and the text that `show errors` prints.
#[derive(Next, Clone, Copy)]
enum To {
    #[next_feature]
    Continue,
    /// packet is longer than the interface allows
    #[drop]
    TooLong,
}

/// Trace record of a packet, for `show trace`.
#[derive(Clone, Copy)]
struct Seen {
    len: usize,
    max: usize,
}

impl Trace for Seen {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of at most {}", self.len, self.max)
    }
}

impl Build for Sample {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

/// Configuration of each interface: the maximum packet length in bytes.
impl Configured for Sample {
    type Config = u16;
}

impl Node for Sample {
    const NAME: &'static str = "sample";
    type Next = To;
    type Trace = Seen;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let (len, max): (_, usize) = (b.packet_len(), cx.feature_config::<Self>(b).into());
        cx.trace(b, Seen { len, max });
        if len > max { To::TooLong } else { To::Continue }
    }
}

/// The same decision for many packets at once, so that short ones needn't visit the node.
impl Stage<Ip4> for Sample {
    fn pass(
        &mut self,
        packets: &mut PacketColumns<'_, Ip4>,
        step: ChainStep<'_>,
        _: &Cx<'_, false>,
    ) -> u64 {
        let max = step.config::<Self>().into();
        packets.mask(|packets, i| packets.lengths[i] <= max)
    }
}

/// `set sample`: the command's words are already those of its usage.
fn set(world: &World, words: &Matches) -> Result<(), Error> {
    let interface = net::args::interface(world, words, "interface")?;
    let max = words.opt::<u16>("bytes")?;
    world.configure_feature::<Sample>("ip4-unicast", interface, max).map_err(Error::not_found)
}

/// The limit of an interface, if there is one.
fn limit(world: &World, interface: SwIfIndex) -> Option<u16> {
    world.feature_config::<Sample>(world.arc("ip4-unicast")?, interface)
}

/// `show sample`: a row for each interface with a limit. The rows are made one by one, as text or
/// as JSON, while the client reads.
fn list(world: &World, _: &Matches) -> Result<Output, Error> {
    Ok(cli::columns!(world.get::<Interfaces>().indices(), |world: &World, interface| {
        let max = limit(world, interface)?;
        "Interface" => world.get::<Interfaces>().name(interface),
        "Max" right => max,
    }))
}

/// Writes the commands that restore the settings of `set sample`, and those that undo them: for
/// `show running-config`, `save` and `rollback`.
fn write_config(world: &World, config: &mut RunningConfig) {
    config.list(Phase::FEATURES, world.get::<Interfaces>().indices(), |world, interface, lines| {
        if let Some(max) = limit(world, interface) {
            let line = format!("set sample {}", world.get::<Interfaces>().word(interface));
            lines.value(&line, format_args!("max {max}"), "off");
        }
    });
}
