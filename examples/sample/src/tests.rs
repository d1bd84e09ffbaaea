// SPDX-License-Identifier: Apache-2.0

use buffer::Buffer;
use cli::Tree;
use graph::drive::Bench;
use graph::{ArcDef, Plugin, SwIfIndex};
use net::{Buffers, PacketColumns, Stage, TableIndex};
use std::net::Ipv4Addr;

use crate::{PLUGIN, Sample};

/// The arc, which another feature brings in the daemon.
static ARC: Plugin = Plugin {
    name: "arc",
    arcs: &[ArcDef { name: "ip4-unicast", starts: &[], end: "ip4-lookup" }],
    ..Plugin::EMPTY
};

static PLUGINS: &[&Plugin] = &[&net::drive::STATE, &ARC, &PLUGIN];

#[suite::test]
fn long_packets_are_dropped_and_counted() {
    let mut bench = Bench::new(PLUGINS);
    let commands = Tree::new(PLUGIN.cli).unwrap();
    commands.execute(&bench.world, "set sample local0 max 100").unwrap();

    let out = bench.feature("ip4-unicast", SwIfIndex(0), &[vec![0; 100], vec![0; 101]]);

    let went: Vec<_> = out.iter().map(|o| (o.bytes.len(), o.node.as_str(), o.reason)).collect();
    assert!(went.contains(&(100, "ip4-lookup", None)), "{went:?}");
    assert!(
        went.contains(&(101, "error-drop", Some("packet is longer than the interface allows"))),
        "{went:?}"
    );
    assert_eq!(bench.count("sample", "too_long"), 1);

    assert_eq!(
        commands.answer(&bench.world, "show sample").unwrap(),
        "Interface  Max\nlocal0     100\n"
    );
    commands.execute(&bench.world, "set sample local0 off").unwrap();
    assert_eq!(commands.answer(&bench.world, "show sample -j").unwrap(), "[]\n");
    let arc = bench.world.arc("ip4-unicast").unwrap();
    assert!(bench.world.features_of(arc, SwIfIndex(0)).is_empty());
}

/// No packet is read.
struct NoBuffers;

impl Buffers for NoBuffers {
    fn get(&mut self, _: usize) -> &mut Buffer {
        unreachable!("the lengths decide")
    }
}

#[suite::test]
fn many_packets_are_judged_as_by_the_node() {
    let mut bench = Bench::new(PLUGINS);
    let commands = Tree::new(PLUGIN.cli).unwrap();
    commands.execute(&bench.world, "set sample local0 max 100").unwrap();
    assert!(bench.world.stages().any(|stage| stage.node() == "sample"));
    let columns = (&[Ipv4Addr::LOCALHOST; 3][..], &[100, 101, 99][..]);
    let mut buffers = NoBuffers;
    let mut packets = PacketColumns::new((0, TableIndex::DEFAULT), 0b111, columns, &mut buffers);
    let passing = bench.at_first_feature("ip4-unicast", SwIfIndex(0), |step, cx| {
        Sample.pass(&mut packets, step, cx)
    });
    assert_eq!(passing, 0b101);
}
