// SPDX-License-Identifier: Apache-2.0

use cli::Tree;
use graph::drive::Bench;
use graph::{ArcDef, Plugin, SwIfIndex};
use net::{Check, Checks, PacketColumns, TableIndex};
use std::net::Ipv4Addr;
use wire::Ip4;

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

#[suite::test]
fn many_packets_are_checked_as_by_the_node() {
    let bench = Bench::new(PLUGINS);
    let commands = Tree::new(PLUGIN.cli).unwrap();
    commands.execute(&bench.world, "set sample local0 max 100").unwrap();
    let step = bench.first_step("ip4-unicast", SwIfIndex(0));
    assert!(bench.world.get::<Checks<Ip4>>().has(step.node));
    let (sources, lengths) = (&[Ipv4Addr::LOCALHOST; 3], &[100, 101, 99]);
    let packet = &|_| None;
    let packets = PacketColumns { rx_if: 0, table: TableIndex::DEFAULT, sources, lengths, packet };
    let mut reader = bench.world.qsbr.register();
    assert_eq!(Sample.passing(&packets, step, &reader.turn()), 0b101);
}
