// SPDX-License-Identifier: Apache-2.0
//! The configuration is saved in slices: what changes meanwhile makes no text that can't be loaded.

use super::{Instance, sorted};
use cli::Runner;
use std::path::Path;
use std::time::Duration;

/// Saves into a file, with lines that are run between two slices: from the second slice on, and
/// before the end.
fn save(instance: &mut Instance, file: &Path, mut lines: impl Iterator<Item = String>) -> usize {
    let (mut runner, mut said, mut turns) = (Runner::default(), Vec::new(), 0);
    let line = format!("save {}", file.display());
    runner.line(&instance.tree, &instance.bench.world, &line, false, &mut said);
    loop {
        let now = Duration::from_nanos(instance.bench.world.clock.now());
        if let Some(result) = runner.poll(&instance.tree, &instance.bench.world, now, &mut said) {
            result.expect("it is saved");
            return turns;
        }
        turns += 1;
        if turns > 1 {
            for line in lines.by_ref().take(4) {
                instance.must(&line);
            }
        }
    }
}

/// Interfaces and routes, enough for many slices.
fn large() -> Instance {
    let mut instance = Instance::new();
    for i in 0..100 {
        instance.must(&format!("create loopback interface instance {i}"));
        instance.must(&format!("set interface ip address loop{i} 10.{i}.0.1/24"));
        instance.must(&format!("ip route add 20.{i}.0.0/24 via 10.{i}.0.2 loop{i}"));
    }
    instance.must("ip route add 30.0.0.0/32 count 3000 via 10.0.0.2 loop0");
    instance
}

/// The routes of an interface that came meanwhile aren't saved without it, nor those of one that
/// went in between.
#[test]
fn what_changes_while_it_is_saved_is_in_it_with_all_that_it_needs() {
    let mut instance = large();
    let file = instance.dir.path().join("saved");
    let lines = [
        "create loopback interface instance 900",
        "set interface ip address loop900 40.0.0.1/24",
        "ip table add 77",
        "ip route add 31.0.0.0/24 via 40.0.0.2 loop900",
        "delete loopback interface intfc loop99",
        "ip route add 31.0.1.0/24 table 77 via 40.0.0.2 loop900",
    ];
    let turns = save(&mut instance, &file, lines.into_iter().map(String::from));
    assert!(turns > 12, "{turns} turns");
    let text = std::fs::read_to_string(&file).expect("saved");
    assert!(text.contains("31.0.0.0/24") && !text.contains("loop99\n"), "{text}");
    // Each of its lines can be run.
    let again = Instance::after(&text);
    assert_eq!(sorted(&again.config()), sorted(&text));
}

/// If there is no end of changes, there is one of saving.
#[test]
fn a_configuration_that_never_rests_is_saved_all_the_same() {
    let mut instance = large();
    let file = instance.dir.path().join("saved");
    let lines = (0..).flat_map(|i| {
        [
            format!("create loopback interface instance {}", 1000 + i),
            format!("set interface ip address loop{} 50.{}.{}.1/24", 1000 + i, i / 256, i % 256),
            format!("ip route add 60.{}.{}.0/24 via 50.0.0.2 loop{}", i / 256, i % 256, 1000 + i),
            format!("ip route del 30.0.{}.{}/32", i / 256, i % 256),
        ]
    });
    let turns = save(&mut instance, &file, lines);
    assert!(turns > 48, "{turns} turns");
    let text = std::fs::read_to_string(&file).expect("saved");
    let again = Instance::after(&text);
    assert_eq!(sorted(&again.config()), sorted(&text));
    assert!(text.contains("60.0.0.0/24"), "{text}");
}
