// SPDX-License-Identifier: Apache-2.0
//! The command.

use crate::convert::Ignored;
use crate::process::{Netlink, Report};
use cli::{Command, Matches, Output, Result};
use graph::World;
use serde_json::json;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Changes that come from the kernel: numbers and rates, losses, comparisons
    "show lcp netlink" => show;
};

fn show(w: &World, _: &Matches) -> Result<Output> {
    let Report {
        is_open,
        namespace,
        counts,
        rate,
        peak,
        is_behind,
        overruns,
        resyncs,
        resync_time,
        is_comparing,
    } = w.get::<Netlink>().report();
    let ignored = |why| counts.ignored.get(&why).copied().unwrap_or_default();
    let ignored = [
        ("ignored_own", "kernel's own routes", ignored(Ignored::Own)),
        ("ignored_elsewhere", "routes over other links", ignored(Ignored::Elsewhere)),
        ("ignored_encapsulated", "routes with encapsulation", ignored(Ignored::Encapsulated)),
        ("ignored_hops", "routes with too many hops", ignored(Ignored::TooMany)),
        ("ignored_objects", "routes by next-hop object", ignored(Ignored::NextHopObject)),
        ("ignored_sources", "routes for some sources", ignored(Ignored::OfSources)),
        ("ignored_refused", "routes refused", ignored(Ignored::Refused)),
    ];
    let state = match (is_open, is_comparing) {
        (false, _) => "closed: no pair is in the default namespace",
        (true, true) => "comparing",
        (true, false) => "following",
    };
    let mut lines = vec![
        ("socket", state.to_string()),
        ("namespace", namespace.clone().unwrap_or_else(|| "of this process".into())),
        ("links", counts.links.to_string()),
        ("addresses", counts.addresses.to_string()),
        ("neighbors", counts.neighbors.to_string()),
        ("routes", counts.routes.to_string()),
        ("changes a second", format!("{rate}, {peak} at most")),
        ("queue", if is_behind { "not empty" } else { "empty" }.to_string()),
        ("overruns", overruns.to_string()),
        ("comparisons", format!("{resyncs}, the last in {} ms", resync_time / 1_000_000)),
    ];
    lines.extend(ignored.iter().map(|(_, text, n)| (*text, n.to_string())));
    let text = lines.iter().map(|(name, value)| format!("{name:<26}{value}\n")).collect::<String>();
    let mut value = json!({
        "open": is_open,
        "comparing": is_comparing,
        "namespace": namespace,
        "links": counts.links,
        "addresses": counts.addresses,
        "neighbors": counts.neighbors,
        "routes": counts.routes,
        "rate": rate,
        "peak": peak,
        "behind": is_behind,
        "overruns": overruns,
        "comparisons": resyncs,
        "comparison_ns": resync_time,
    });
    ignored.iter().for_each(|(name, _, n)| value[*name] = (*n).into());
    Ok(Output::both(text, value))
}
