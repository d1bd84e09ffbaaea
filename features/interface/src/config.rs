// SPDX-License-Identifier: Apache-2.0
//! What was set for interfaces, as commands. Their drivers say how they are made.

use crate::rx::thread_words;
use cli::quote;
use graph::{InputMode, Phase, RunningConfig, World};
use net::{Interface, Interfaces};
use std::collections::BTreeSet;

/// Says what was set.
pub fn say(world: &World, config: &mut RunningConfig) {
    let interfaces = world.get::<Interfaces>();
    let all = interfaces.list();
    let names: Vec<_> = all.iter().map(|i| (i.made.name.as_str(), i.name.as_str())).collect();
    for (from, to) in renames(&names) {
        let (from, to) = (quote(&from), quote(&to));
        config.push(
            Phase::Names,
            format!("set interface name {from} {to}"),
            format!("set interface name {to} {from}"),
        );
    }
    let (mode, usual) = (interfaces.default_rx_mode(), InputMode::Adaptive);
    if mode != usual {
        let line = "set interface default rx-mode";
        config.push(Phase::Settings, format!("{line} {mode}"), format!("{line} {usual}"));
    }
    for interface in &all {
        device(interface, config);
    }
    for (sw_if, arc, feature, on) in world.chosen_features() {
        let (name, feature, arc) = (quote(&interfaces.name(sw_if)), quote(feature), quote(arc));
        let (on, off) = if on { ("", " disable") } else { (" disable", "") };
        let line = format!("set interface feature {name} {feature} arc {arc}");
        config.push(Phase::Chosen, format!("{line}{on}"), format!("{line}{off}"));
    }
    for interface in all.iter().filter(|i| i.admin_up) {
        let line = format!("set interface state {}", quote(&interface.name));
        config.push(Phase::Up, format!("{line} up"), format!("{line} down"));
    }
}

fn device(i: &Interface, config: &mut RunningConfig) {
    let name = quote(&i.name);
    let mut push = |text: String, undo: String| config.push(Phase::Devices, text, undo);
    if !i.tag.is_empty() {
        push(format!("set interface tag {name} {}", quote(&i.tag)), format!("clear interface tag {name}"));
    }
    if i.mac != i.made.mac {
        let line = format!("set interface mac address {name}");
        push(format!("{line} {}", i.mac), format!("{line} {}", i.made.mac));
    }
    let mtus = ["", "packet ", "ip4 ", "ip6 ", "mpls "].into_iter().zip(i.mtu).enumerate();
    for (at, (kind, mtu)) in mtus {
        let own = if at == 0 { i.own_mtu } else { Some(mtu).filter(|mtu| *mtu != 0) };
        if let Some(mtu) = own {
            push(
                format!("set interface mtu {kind}{mtu} {name}"),
                format!("set interface mtu {kind}0 {name}"),
            );
        }
    }
    if i.promiscuous {
        push(format!("set interface promiscuous on {name}"), format!("set interface promiscuous off {name}"));
    }
    for (queue, choice) in &i.rx {
        if let Some(mode) = choice.mode {
            let line = format!("set interface rx-mode {name} queue {queue}");
            push(format!("{line} {mode}"), format!("{line} default"));
        }
        if let Some(thread) = choice.thread {
            let line = format!("set interface rx-placement {name} queue {queue}");
            push(format!("{line} {}", thread_words(thread)), format!("{line} default"));
        }
    }
}

/// Renames in an order in which every new name is free. Where names go round in a circle, one waits under another name.
fn renames(all: &[(&str, &str)]) -> Vec<(String, String)> {
    let known: BTreeSet<&str> = all.iter().flat_map(|(made, now)| [*made, *now]).collect();
    let mut left: Vec<_> = all.iter().filter(|(made, now)| made != now).copied().collect();
    // The same names make the same lines, whatever the order of the interfaces.
    left.sort_unstable();
    let mut taken: BTreeSet<&str> = left.iter().map(|(made, _)| *made).collect();
    let mut done = Vec::new();
    let mut waits: Vec<(String, String)> = Vec::new();
    while !left.is_empty() {
        let free = left.iter().position(|(_, now)| !taken.contains(*now));
        let (made, now) = left.remove(free.unwrap_or(0));
        taken.remove(made);
        if free.is_some() {
            done.push((made.to_string(), now.to_string()));
            continue;
        }
        let mut other = format!("{made}~");
        while known.contains(other.as_str()) || waits.iter().any(|(wait, _)| *wait == other) {
            other.push('~');
        }
        done.push((made.to_string(), other.clone()));
        waits.push((other, now.to_string()));
    }
    // The names that these wait for have been given up by now.
    done.extend(waits);
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn names_are_free_when_they_are_given(order in Just((0..6).collect::<Vec<usize>>()).prop_shuffle(), some in 0..7usize) {
            let name = |n: &usize| ["a", "b", "a~", "c", "d", "a~~"][*n];
            // The first few interfaces have each other's names, or new ones.
            let pairs: Vec<_> = (0..some).zip(&order).map(|(made, now)| (name(&made), name(now))).collect();
            let fixed: BTreeSet<_> = (0..some).map(|n| name(&n)).collect();
            prop_assume!(pairs.iter().all(|(_, now)| fixed.contains(now)));
            let mut names: BTreeMap<String, &str> = pairs.iter().map(|(made, _)| (made.to_string(), *made)).collect();
            for (from, to) in renames(&pairs) {
                let who = names.remove(&from).expect("who is renamed is there");
                prop_assert!(names.insert(to, who).is_none());
            }
            for (made, now) in pairs {
                prop_assert_eq!(names.get(now), Some(&made));
            }
        }
    }
}
