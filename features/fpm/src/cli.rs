// SPDX-License-Identifier: Apache-2.0
//! The commands, and the line that saves what they set.

use crate::process::{Fpm, Report};
use crate::refused::Refused;
use crate::server::WAITING;
use crate::settings::Settings;
use cli::{Command, Matches, Output, Result};
use graph::{Phase, RunningConfig, Script, World};
use serde_json::{Map, Value, json};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Take routes over that FRR's zebra sends by FPM, from one peer at a time
    "fpm enable",
    "[listen <address:word> | socket <path:string>] [netns <namespace:string>] \
     [stale-time <stale:u32>] [settle-time <settle:u32>] [max-routes <most:u32>] [offload]"
        => |w, m| w.get::<Fpm>().set(w, Some(Settings::of_words(m)?));
    /// Close the listener and its connections; routes that came by FPM go
    "fpm disable" => |w, _| w.get::<Fpm>().set(w, None);
    /// The peer that sends routes by FPM, its messages, and those that aren't taken over
    "show fpm" => show;
};

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "routes by FPM at a port that the system chooses",
    "fpm enable listen 127.0.0.1:0
     fpm disable
     fpm enable listen 127.0.0.1:0 stale-time 300 settle-time 10 max-routes 100000 offload",
)];

/// Writes the line that enables or disables FPM, unless startup.conf says the same.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let (now, usual) = (world.get::<Fpm>().settings(), Settings::of_startup(world));
    if now != usual {
        let line = |of: &Option<Settings>| Settings::line(of.as_ref());
        config.push(Phase::FEATURES, line(&now), line(&usual));
    }
}

/// Whole seconds until a time.
fn seconds_until(n: u64) -> u64 {
    n.div_ceil(1_000_000_000)
}

fn seconds(n: u64) -> u64 {
    n / 1_000_000_000
}

fn show(w: &World, _: &Matches) -> Result<Output> {
    let report = w.get::<Fpm>().report(w);
    let mut text: String =
        lines(&report).into_iter().map(|(name, value)| format!("{name:<26}{value}\n")).collect();
    let refused = |why| report.counts.refused.get(&why).copied().unwrap_or_default();
    for why in Refused::ALL {
        text += &format!("{:<26}{}\n", why.text(), refused(why));
    }
    Ok(Output::both(text, value(&report)))
}

fn lines(report: &Report) -> Vec<(&'static str, String)> {
    let Report { connections, counts, routes: [four, six], .. } = report;
    let listener = match (&report.settings, &report.address, &report.failure) {
        (None, ..) => "disabled".to_string(),
        (_, Some(address), _) => address.clone(),
        (_, None, why) => format!("none: {}", why.as_deref().unwrap_or("not open yet")),
    };
    let peer = match (&report.peer, report.lost) {
        (Some((peer, since)), _) => format!("{peer}, for {} s", seconds(*since)),
        (None, Some(lost)) => format!("none, lost {} s ago", seconds(lost)),
        (None, None) => "none".to_string(),
    };
    let sweep = report.sweep_in.map(|at| format!(", for {} s more", seconds_until(at)));
    vec![
        ("listener", listener),
        ("peer", peer),
        ("waiting", format!("{} of {WAITING}", report.waiting)),
        ("connections", connections.accepted.to_string()),
        ("  refused", connections.refused.to_string()),
        ("  closed for bad frames", connections.broken.to_string()),
        ("  closed for silence", connections.silent.to_string()),
        ("  not accepted", connections.failed.to_string()),
        ("frames", connections.frames.to_string()),
        ("routes set", counts.routes.to_string()),
        ("routes withdrawn", counts.withdrawn.to_string()),
        ("next-hop objects set", counts.objects.to_string()),
        ("messages a second", format!("{}, {} at most", report.rate, report.peak)),
        ("answers", counts.answers.to_string()),
        ("IPv4 routes", four.routes.to_string()),
        ("IPv6 routes", six.routes.to_string()),
        ("stale routes", format!("{}{}", four.stale + six.stale, sweep.unwrap_or_default())),
        ("stale routes removed", report.swept.to_string()),
        ("next-hop objects", report.objects.to_string()),
    ]
}

fn value(report: &Report) -> Value {
    let Report { connections, counts, routes: [four, six], .. } = report;
    let number = |why: &Refused| counts.refused.get(why).copied().unwrap_or_default();
    let refused: Map<String, Value> =
        Refused::ALL.iter().map(|why| (why.name().to_string(), number(why).into())).collect();
    json!({
        "enabled": report.settings.is_some(),
        "listener": report.address,
        "failure": report.failure,
        "peer": report.peer.as_ref().map(|(peer, _)| peer),
        "peer_s": report.peer.as_ref().map(|(_, since)| seconds(*since)),
        "lost_s": report.lost.map(seconds),
        "waiting": report.waiting,
        "connections": connections.accepted,
        "connections_refused": connections.refused,
        "connections_broken": connections.broken,
        "connections_silent": connections.silent,
        "connections_failed": connections.failed,
        "frames": connections.frames,
        "bytes": connections.bytes,
        "set": counts.routes,
        "withdrawn": counts.withdrawn,
        "objects_set": counts.objects,
        "answers": counts.answers,
        "rate": report.rate,
        "peak": report.peak,
        "ip4_routes": four.routes,
        "ip6_routes": six.routes,
        "stale": four.stale + six.stale,
        "sweep_in_s": report.sweep_in.map(seconds_until),
        "swept": report.swept,
        "objects": report.objects,
        "refused": refused,
    })
}
