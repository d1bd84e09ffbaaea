// SPDX-License-Identifier: Apache-2.0
//! The remaining plugins work when startup.conf disables others.

use cli::{Runner, Tree};
use daemon::plugins::ALL;
use daemon::reference;
use graph::drive::Bench;
use graph::{Needs, Plugin, World, WorldConfig};
use net::Interfaces;
use std::time::Duration;
use testkit::pkt;

use crate::names;

/// Arguments that every `show` is run with.
const WORDS: [&str; 5] = ["", " loop0", " verbose", " 1", " 10.1.0.1"];

/// Runs a command, which may be one of a plugin that is off.
fn run(bench: &mut Bench, tree: &Tree<World>, line: &str) {
    let (mut runner, mut said) = (Runner::default(), Vec::new());
    runner.line(tree, &bench.world, line, false, &mut said);
    while runner
        .poll(tree, &bench.world, Duration::from_nanos(bench.world.clock.now()), &mut said)
        .is_none()
    {
        bench.rt.turn(true);
        let _ = bench.world.processes.run(&bench.world);
    }
    bench.settle();
}

/// Runs the examples and every `show` of the other plugins, sends packets, and deletes all
/// interfaces.
///
/// # Errors
/// The reason why no instance starts without these plugins.
fn live_without(off: Vec<&'static Plugin>) -> Result<(), String> {
    let on: Vec<_> = ALL.iter().copied().filter(|p| off.iter().all(|q| q.name != p.name)).collect();
    println!("without {}", off.iter().map(|p| p.name).collect::<Vec<_>>().join(", "));
    let (on, off): (&'static [_], &'static [_]) = (on.leak(), off.leak());
    let config = WorldConfig { off, ..WorldConfig::default() };
    World::new(&WorldConfig { buffers: 1024, ..config.clone() }, on)?;
    let mut bench = Bench::configured(&config, on);
    let tree = Tree::new(on.iter().flat_map(|p| p.cli)).expect("fits together");

    let lines = [
        "create loopback interface",
        "set interface state loop0 up",
        "set interface ip address loop0 10.1.0.1/24",
        "set interface ip address loop0 2001:db8::1/64",
        "set ip neighbor loop0 10.1.0.2 02:00:00:00:00:02",
        "ip route add 10.2.0.0/16 via 10.1.0.2",
        "ip route add 2001:db8:2::/48 via 2001:db8::2 loop0",
    ];
    let here = on.iter().flat_map(|p| p.examples).filter(|s| s.needs == Needs::Nothing);
    let interfaces = bench.world.get::<Interfaces>();
    let has_ethernet = on.iter().any(|p| p.name == "ethernet");
    lines.into_iter().for_each(|line| run(&mut bench, &tree, line));
    assert_eq!(interfaces.find("loop0").is_ok(), has_ethernet);
    for line in here.flat_map(|script| script.lines.lines()) {
        run(&mut bench, &tree, line);
    }

    if has_ethernet {
        for interface in interfaces.list() {
            let packets = [
                pkt::ip4("10.1.0.2", "10.2.0.9").udp(1, 2).payload_len(40).build(),
                pkt::ip4("10.1.0.2", "10.1.0.1").udp(1, 2).payload_len(40).build(),
                pkt::ip6("2001:db8::2", "2001:db8:2::9").udp(1, 2).payload_len(40).build(),
                pkt::ip6("2001:db8::2", "2001:db8::1").udp(1, 2).payload_len(40).build(),
            ];
            for packet in packets {
                let kind: [u8; 2] = if packet[0] >> 4 == 4 { [0x08, 0] } else { [0x86, 0xdd] };
                let frame =
                    [&interface.mac.octets()[..], &[2, 0, 0, 0, 0, 2], &kind, &packet].concat();
                bench.arrive(interface.sw_if, &frame);
                bench.settle();
            }
            let question = [
                &[0xff; 6][..],
                &[2, 0, 0, 0, 0, 2],
                &[8, 6],
                &[0, 1, 8, 0, 6, 4, 0, 1],
                &[2, 0, 0, 0, 0, 2],
            ];
            let question =
                [&question.concat()[..], &[10, 1, 0, 2], &[0; 6], &[10, 1, 0, 1]].concat();
            bench.arrive(interface.sw_if, &question);
            bench.settle();
        }
    }
    bench.world.clock.adjust(3_000_000_000);
    bench.settle();

    let shows = on.iter().flat_map(|p| p.cli).filter(|command| command.path.starts_with("show "));
    for show in shows {
        WORDS.iter().for_each(|word| run(&mut bench, &tree, &format!("{}{word}", show.path)));
    }
    for interface in interfaces.list().into_iter().filter(|i| i.sw_if.0 != 0) {
        // Some go with others.
        if interfaces.check(interface.sw_if).is_err() {
            continue;
        }
        interfaces
            .delete(&bench.world, interface.sw_if)
            .unwrap_or_else(|e| panic!("{}: {e}", interface.name));
        bench.settle();
    }
    let _ = bench.world.running_config();
    Ok(())
}

/// Returns true if the error names an arc or a node that is there with the plugin.
fn is_required(plugin: &Plugin, why: &str) -> bool {
    let named = |text: &str| why.split_once(text).map(|(_, name)| name);
    let arc = named(": no plugin brings an arc named ");
    let node = named(": no node is named ");
    arc.is_some_and(|name| plugin.arcs.iter().any(|arc| arc.name == name))
        || node.is_some_and(|name| names::world().node(name).is_some())
}

/// Disables each plugin alone. Some are required by others, which report what is missing. VPP's
/// plugins are optional.
#[test]
fn each_plugin_can_be_switched_off() {
    for plugin in ALL {
        let Err(why) = live_without(vec![plugin]) else { continue };
        assert!(is_required(plugin, &why), "{}: {why}", plugin.name);
        assert!(!reference::is_plugin(plugin.name), "{} is optional: {why}", plugin.name);
    }
}

/// `plugins { plugin default { disable } }` leaves out at most what isn't VPP's core; here only the
/// interfaces stay.
#[test]
fn all_other_plugins_can_be_switched_off_at_once() {
    let off = ALL.iter().copied().filter(|p| !["system", "interface"].contains(&p.name)).collect();
    assert_eq!(live_without(off), Ok(()));
}
