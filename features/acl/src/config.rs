// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::control::Acls;
use crate::list::Direction;
use crate::macip::control::MacipAcls;
use crate::settings::{Settings, Timeout};
use crate::switched::Whitelists;
use cli::quote;
use graph::{Phase, RunningConfig, World};
use net::Interfaces;
use std::sync::atomic::{AtomicBool, Ordering};

/// ACLs, which interfaces and other features use.
pub const PHASE: Phase = Phase { name: "acls", after: &["neighbors"], before: &["routes"] };

/// Writes lines for all that isn't as at the start.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    settings(&world.get::<Settings>(), config);
    config.list(PHASE, world.get::<Acls>().list(), |_, (number, acl), lines| {
        let rules: Vec<_> = acl.rules.iter().map(ToString::to_string).collect();
        let line = format!("set acl-plugin acl at {number} {}", rules.join(", "));
        let undo = format!("delete acl-plugin acl index {number}");
        lines.push(line.trim_end().to_string() + &tag(&acl.tag), undo);
    });
    config.list(
        Phase::FEATURES,
        world.get::<Acls>().interfaces(),
        |world, (sw_if, lists), lines| {
            let name = quote(&world.get::<Interfaces>().name(sw_if));
            for direction in Direction::BOTH {
                for acl in &lists[direction as usize] {
                    let word = direction.name();
                    let line = format!("set acl-plugin interface {name} {word} acl {acl}");
                    lines.push(line.clone(), line + " del");
                }
            }
        },
    );
    config.list(PHASE, world.get::<MacipAcls>().list(None), |_, (number, acl), lines| {
        let rules: Vec<_> = acl.rules.iter().map(ToString::to_string).collect();
        let line = format!("set acl-plugin macip acl at {number} {}", rules.join(", "));
        let undo = format!("delete acl-plugin macip acl index {number}");
        lines.push(line.trim_end().to_string() + &tag(&acl.tag), undo);
    });
    let hosts = world.get::<MacipAcls>().interfaces();
    config.list(Phase::FEATURES, hosts, |world, (sw_if, acl), lines| {
        let name = quote(&world.get::<Interfaces>().name(sw_if));
        let line = format!("set acl-plugin macip interface {name} acl {acl}");
        lines.push(line.clone(), line + " del");
    });
    config.list(
        Phase::FEATURES,
        world.get::<Whitelists>().list(),
        |world, (sw_if, types), lines| {
            let name = quote(&world.get::<Interfaces>().name(sw_if));
            let mut line = format!("set acl-plugin interface whitelist {name}");
            for direction in Direction::BOTH {
                let types = &types[direction as usize];
                if !types.is_empty() {
                    line += &format!(" {}", direction.name());
                    types.iter().for_each(|kind| line += &format!(" {kind:04x}"));
                }
            }
            lines.push(line, format!("set acl-plugin interface whitelist {name} del"));
        },
    );
}

/// The words of a tag.
fn tag(tag: &str) -> String {
    if tag == crate::cli::TAG { String::new() } else { format!(" tag {}", quote(tag)) }
}

fn settings(settings: &Settings, config: &mut RunningConfig) {
    let mut push = |words: &str, value: u32, default: u32| {
        if value != default {
            let line = |value| format!("set acl-plugin {words} {value}");
            config.push(Phase::SETTINGS, line(value), line(default));
        }
    };
    for timeout in Timeout::ALL {
        let words = format!("session timeout {}", timeout.words());
        push(&words, settings.timeout(timeout), timeout.default());
    }
    let most = settings.most_sessions.load(Ordering::Relaxed);
    push("session table max-entries", most, settings.default_most_sessions);
    let is_on = |flag: &AtomicBool| u32::from(flag.load(Ordering::Relaxed));
    push("l4-match-nonfirst-fragment", is_on(&settings.match_fragments), 1);
    push("use-hash-acl-matching", is_on(&settings.hash_lookup), 1);
    push("reclassify-sessions", is_on(&settings.reclassify), 0);
    for (number, on) in settings.skipped.changed() {
        let words = format!("skip-ipv6-extension-header {number}");
        push(&words, on.into(), (!on).into());
    }
    if is_on(&settings.count_matches) == 1 {
        config.push(
            Phase::SETTINGS,
            "set acl-plugin counters enable",
            "set acl-plugin counters disable",
        );
    }
}
