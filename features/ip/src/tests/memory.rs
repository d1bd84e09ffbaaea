// SPDX-License-Identifier: Apache-2.0
//! `show ip fib mtrie`.

use super::*;
use net::{Net, TableUsage};
use serde_json::json;

/// Checks the whole output of the command for table 0, as text and as JSON.
fn check<F: Net>(bench: &mut Bench, command: &str) -> TableUsage {
    let usage = bench.world.get::<Fib<F>>().usage_of(TableIndex::DEFAULT).expect("table 0");
    let TableUsage { routes, lookup, prefixes, .. } = usage;
    let shown = bench.cli(command).expect("shown");
    let line =
        format!("  {routes} routes, {lookup} bytes for lookups, {prefixes} bytes for prefixes");
    assert_eq!(shown.lines().skip(1).collect::<Vec<_>>(), [line], "{command}");
    assert!(shown.starts_with(&format!("ipv{}-VRF:0, fib_index:0", F::VERSION)), "{shown}");
    let shown = bench.cli(&format!("{command} -j")).expect("shown");
    let want = json!([{ "table": 0, "fib_index": 0, "routes": routes, "lookup_bytes": lookup,
        "prefix_bytes": prefixes }]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), want);
    usage
}

/// Adds and removes routes; what is shown follows.
fn follows<F: Net>(command: &str, first: &str) {
    const MANY: usize = 3000;
    let mut bench = router6();
    let listed = |bench: &Bench| bench.world.get::<Fib<F>>().list_tables()[0].routes;
    let before = check::<F>(&mut bench, command);
    // The addresses that no packet may go to are in the table, but in no list of routes.
    let implicit = before.routes - listed(&bench);
    assert!(implicit > 0, "{before:?}");
    bench.cli(&format!("ip route add count {MANY} {first} via drop")).expect("added");
    let full = check::<F>(&mut bench, command);
    assert_eq!(
        (full.routes, listed(&bench)),
        (before.routes + MANY, before.routes - implicit + MANY)
    );
    let each = before.prefixes / before.routes;
    assert_eq!(full.prefixes, each * full.routes);
    // A leaf is 8 bytes.
    assert!(full.lookup >= before.lookup + 8 * MANY, "{before:?} {full:?}");
    bench.cli(&format!("ip route del count {MANY} {first}")).expect("removed");
    let left = check::<F>(&mut bench, command);
    // The layout of a search tree in its cache lines depends on its history.
    assert!(left.lookup <= before.lookup + 1024, "{before:?} {left:?}");
    assert_eq!(TableUsage { lookup: before.lookup, ..left }, before);
}

#[suite::test]
fn the_memory_of_a_table_is_shown_as_it_is() {
    follows::<Ip4>("show ip fib mtrie table 0", "50.0.0.0/24");
    follows::<Ip6>("show ip6 fib mtrie table 0", "5000::/48");
}
