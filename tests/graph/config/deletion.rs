// SPDX-License-Identifier: Apache-2.0
//! Objects are deleted while everything refers to them.

use super::*;
use crate::exceptions;
use net::Interfaces;
use std::collections::BTreeSet;

/// Deletes every interface and every table, the last or the first ones first. Adds the drivers of
/// those that went with another one, sub-interfaces left out. Returns the names of the interfaces.
fn delete_all(
    instance: &mut Instance,
    last_first: bool,
    dependent: &mut BTreeSet<&'static str>,
) -> Vec<String> {
    let world = instance.bench.world.clone();
    let interfaces = world.get::<Interfaces>();
    let mut all = interfaces.list();
    all.retain(|interface| interface.sw_if.0 != 0);
    if last_first {
        all.reverse();
    }
    for interface in &all {
        if interfaces.check(interface.sw_if).is_err() {
            if interface.sub.is_none() {
                dependent.insert(interface.device.driver());
            }
            continue;
        }
        interfaces
            .delete(&world, interface.sw_if)
            .unwrap_or_else(|e| panic!("{}: {e}", interface.name));
        instance.bench.settle();
    }
    let config = instance.config();
    let mut tables: Vec<&str> = config.lines().filter(|line| line.contains("table add")).collect();
    if last_first {
        tables.reverse();
    }
    for table in tables {
        // A table that routes of another table lead to stays until these are deleted.
        let _ = instance.run(&table.replace("table add", "table del"));
    }
    all.into_iter().map(|interface| interface.name).collect()
}

/// Deleting interfaces removes all that a script configured on them, and none of it reappears on
/// new interfaces.
#[test]
fn whatever_refers_to_an_interface_goes_with_it() {
    let nothing = Instance::new().shows();
    let mut dependent = BTreeSet::new();
    for (s, last_first) in
        scripts().filter(|s| s.needs == Needs::Nothing).flat_map(|s| [(s, false), (s, true)])
    {
        let mut instance = Instance::after(s.lines);
        instance.pass(5);
        let (config, shows) = (instance.config(), instance.shows());
        let what = format!("{}, {last_first}", s.name);
        for name in delete_all(&mut instance, last_first, &mut dependent) {
            let left = instance.config();
            let named =
                left.lines().find(|line| line.split(' ').any(|word| word == cli::quote(&name)));
            assert_eq!(named, None, "{what}: {name} is gone");
        }
        instance.go_to("");
        assert_eq!(instance.config(), "", "{what}");
        same(instance.shows(), nothing.clone(), &what);
        instance.go_to(&config);
        assert_eq!(instance.config(), config, "{what}");
        instance.pass(5);
        same(instance.shows(), shows, &what);
    }
    let known: Vec<_> = exceptions::of_plugins(|p| p.dependent).collect();
    exceptions::cover(&known, dependent, "drivers whose interfaces went with another one");
}
