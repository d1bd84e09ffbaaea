// SPDX-License-Identifier: Apache-2.0
//! Interface settings as commands. Drivers write the commands that create interfaces.

use crate::queues::RxConfig;
use crate::rx::thread_words;
use crate::startup_conf::Startup;
use crate::sub;
use crate::tx;
use cli::quote;
use graph::{InputMode, Phase, RunningConfig, Section, World};
use net::{Column, FurtherMacs, Gso, Interface, Interfaces, MacUser, Note, Promiscuous, RxQueue};
use std::collections::{BTreeMap, BTreeSet};

/// Says what was set.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let interfaces = world.get::<Interfaces>();
    let names = renames(interfaces.renamed(), |name| interfaces.find(name).is_ok());
    config.list(Phase::NAMES, names, |_, (from, to), lines| {
        let (from, to) = (quote(&from), quote(&to));
        lines.push(
            format!("set interface name {from} {to}"),
            format!("set interface name {to} {from}"),
        );
    });
    config.interfaces(interfaces.indices(), sub::write_config);
    let (mode, usual) =
        (interfaces.default_rx_mode(), world.startup::<Startup>().default_rx_mode());
    if mode != usual {
        config.value(Phase::SETTINGS, "set interface default rx-mode", mode, usual);
    }
    config.list(Phase::DEVICES, interfaces.indices(), |world, sw_if, lines| {
        let interfaces = world.get::<Interfaces>();
        let usual = interfaces.default_rx_mode();
        interfaces.get(sw_if).iter().for_each(|interface| device(world, interface, usual, lines));
    });
    let chosen = world.chosen_features();
    config.list(Phase::CHOSEN, chosen, |world, (sw_if, arc, feature, on), lines| {
        let name = world.get::<Interfaces>().word(sw_if);
        let (on, off) = if on { ("", " disable") } else { (" disable", "") };
        let line = format!("set interface feature {name} {} arc {}", quote(feature), quote(arc));
        lines.push(format!("{line}{on}"), format!("{line}{off}"));
    });
    config.list(Phase::UP, interfaces.indices(), |world, sw_if, lines| {
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        if interface.admin_up != interface.original.implied.up {
            let (now, usual) = if interface.admin_up { ("up", "down") } else { ("down", "up") };
            lines.value(&format!("set interface state {}", quote(&interface.name)), now, usual);
        }
    });
}

/// `usual` is the receive mode that a new queue has.
fn device(world: &World, i: &Interface, usual: InputMode, lines: &mut Section<'_>) {
    let name = quote(&i.name);
    let mut push = |text: String, undo: String| lines.push(text, undo);
    let Note(note) = world.get::<Column<Note>>().get(i.sw_if);
    if !note.is_empty() {
        push(
            format!("set interface tag {name} {}", quote(&note)),
            format!("clear interface tag {name}"),
        );
    }
    if i.own_mac() != i.original.mac {
        let line = format!("set interface mac address {name}");
        // The original one may be zero, which nobody can set.
        push(format!("{line} {}", i.own_mac()), format!("{line} default"));
    }
    for mac in world.get::<FurtherMacs>().of_user(i.sw_if, MacUser::OPERATOR) {
        let line = format!("set interface secondary-mac-address {name} {mac}");
        push(format!("{line} add"), format!("{line} del"));
    }
    let mtus = ["", "packet ", "ip4 ", "ip6 ", "mpls "].into_iter().zip(i.mtu.own).enumerate();
    for (at, (kind, mtu)) in mtus {
        let own = if at == 0 { i.mtu.configured } else { Some(mtu).filter(|mtu| *mtu != 0) };
        if let Some(mtu) = own {
            push(
                format!("set interface mtu {kind}{mtu} {name}"),
                format!("set interface mtu {kind}0 {name}"),
            );
        }
    }
    if world.get::<Column<Promiscuous>>().get(i.sw_if).0 {
        push(
            format!("set interface promiscuous on {name}"),
            format!("set interface promiscuous off {name}"),
        );
    }
    if world.get::<Column<Gso>>().get(i.sw_if).0 {
        let line = format!("set interface feature gso {name}");
        push(line.clone(), format!("{line} disable"));
    }
    let RxConfig(rx) = world.get::<Column<RxConfig>>().get(i.sw_if);
    let mut modes: BTreeMap<u16, InputMode> =
        rx.iter().filter_map(|(queue, choice)| Some((*queue, choice.mode?))).collect();
    // A queue keeps the default that there was when it was made.
    let made = i.device.rx_queues().into_iter().filter(|queue| queue.mode != usual);
    made.for_each(|RxQueue { queue, mode, .. }| _ = modes.entry(queue).or_insert(mode));
    for (queue, mode) in modes {
        let line = format!("set interface rx-mode {name} queue {queue}");
        push(format!("{line} {mode}"), format!("{line} default"));
    }
    for (queue, choice) in rx {
        if let Some(thread) = choice.thread {
            let line = format!("set interface rx-placement {name} queue {queue}");
            push(format!("{line} {}", thread_words(thread)), format!("{line} default"));
        }
    }
    tx::write_config(world, i, push);
}

/// Renames, given as the name of an interface when it was made and its name now, in an order in
/// which every new name is free. Where names go round in a circle, one interface waits under an
/// unused name (`taken` returns true for a used name).
fn renames(all: Vec<(String, String)>, taken: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let known: BTreeSet<&String> = all.iter().flat_map(|(made, now)| [made, now]).collect();
    // The same names make the same lines, whatever the order of the interfaces.
    let mut left: BTreeMap<&String, &String> = all.iter().map(|(made, now)| (made, now)).collect();
    let mut done = Vec::new();
    while let Some((first, now)) = left.pop_first() {
        // The interface with the wanted name goes first, and before it the interface with the name
        // that it wants.
        let mut chain = vec![(first.clone(), now.clone())];
        let mut wanted = now;
        while let Some((made, now)) = left.remove_entry(wanted) {
            chain.push((made.clone(), now.clone()));
            wanted = now;
        }
        if wanted != first {
            done.extend(chain.into_iter().rev());
            continue;
        }
        let mut other = format!("{first}~");
        while known.contains(&other) || taken(&other) {
            other.push('~');
        }
        chain[0].0.clone_from(&other);
        done.push((first.clone(), other));
        done.extend(chain.into_iter().rev());
    }
    done
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[suite::test]
        fn names_are_free_when_they_are_given(order in Just((0..6).collect::<Vec<usize>>()).prop_shuffle(), some in 0..7usize) {
            let name = |n: &usize| ["a", "b", "a~", "c", "d", "a~~"][*n];
            // The first few interfaces have each other's names, or new ones.
            let pairs: Vec<_> = (0..some).zip(&order).map(|(made, now)| (name(&made), name(now))).collect();
            let fixed: BTreeSet<_> = (0..some).map(|n| name(&n)).collect();
            prop_assume!(pairs.iter().all(|(_, now)| fixed.contains(now)));
            let mut names: BTreeMap<String, &str> = pairs.iter().map(|(made, _)| (made.to_string(), *made)).collect();
            let renamed = pairs.iter().filter(|(made, now)| made != now);
            let renamed = renamed.map(|(made, now)| (made.to_string(), now.to_string())).collect();
            for (from, to) in renames(renamed, |name| fixed.contains(name)) {
                let who = names.remove(&from).expect("who is renamed is there");
                prop_assert!(names.insert(to, who).is_none());
            }
            for (made, now) in pairs {
                prop_assert_eq!(names.get(now), Some(&made));
            }
        }
    }
}
