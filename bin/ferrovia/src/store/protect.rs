// SPDX-License-Identifier: Apache-2.0
//! Interfaces that stay down because a line that filters or protects couldn't be run at the start.
//!
//! A router starts with all lines that can be run. Without its filters it would let through what
//! they were to keep out, so the interfaces that such a line names don't come up, and none does if
//! it names none. In a saved configuration interfaces come up behind the filters; one that a script
//! has set up before goes down at once. The lines that set them up are pending then: `save` keeps
//! them, and `retry config pending` runs them after the filter.

use std::sync::atomic::{AtomicBool, Ordering};

use cli::{Error, Result, Tree};

use super::pending::{self, Pending, PendingText};
use crate::world::World;

/// Set by `config { lax }` and `compat { vpp }`: interfaces come up without their filters.
static LAX: AtomicBool = AtomicBool::new(false);

/// Lets interfaces come up without their filters.
pub fn set_lax(lax: bool) {
    LAX.store(lax, Ordering::Relaxed);
}

/// Words with which commands begin that filter, translate, encrypt or police, those of VPP that
/// aren't built among them.
const FILTERS: &[&str] = &[
    "acl-plugin",
    "classify session",
    "classify table",
    "cnat",
    "configure policer",
    "det44",
    "dslite",
    "firewall",
    "ikev2",
    "ipsec",
    "macsec",
    "mactime",
    "nat",
    "nat44",
    "nat64",
    "nat66",
    "policer",
    "pnat",
    "set acl-plugin",
    "set dslite",
    "set firewall",
    "set interface acl",
    "set interface det44",
    "set interface firewall",
    "set interface input acl",
    "set interface ip source-and-port-range-check",
    "set interface ipsec",
    "set interface nat44",
    "set interface nat64",
    "set interface nat66",
    "set interface output acl",
    "set interface policer",
    "set ip source-and-port-range-check",
    "set nat",
    "set nat44",
    "set nat64",
    "set policer",
    "set pnat",
    "set urpf",
    "wireguard",
];

/// True if a line filters or protects.
pub fn protects(line: &str) -> bool {
    let begins = |filter: &str| {
        let mut words = line.split_whitespace();
        filter.split(' ').all(|part| words.next() == Some(part))
    };
    FILTERS.iter().any(|filter| begins(filter))
}

/// The interface that a line sets up, if it does.
pub fn raised<W>(tree: &Tree<W>, line: &str) -> Option<String> {
    // Most of a million lines aren't parsed for this.
    let last = line.trim_end().rsplit(' ').next().unwrap_or_default();
    if !matches!(last, "up" | "enable") {
        return None;
    }
    let parsed = tree.parse(line).ok().flatten()?;
    let m = parsed.matches();
    let is_up =
        parsed.command().path == "set interface state" && matches!(m.str("state"), "up" | "enable");
    is_up.then(|| m.str("interface").to_string())
}

/// The words of a filter that name interfaces; none if it is for all of them.
fn named<W: World>(world: &W, filter: &str) -> Vec<String> {
    let is_name = |word: &&str| world.candidates("interface", word).iter().any(|name| name == word);
    filter.split_whitespace().filter(is_name).map(String::from).collect()
}

/// The filter that failed and keeps this interface down, if there is one.
fn keeps_down<W: World>(world: &W, interface: &str) -> Option<String> {
    if LAX.load(Ordering::Relaxed) {
        return None;
    }
    let all = pending::all();
    let failed = all.failed.iter().map(|p| &p.text).filter(|text| protects(text));
    let texts: Vec<String> = failed.cloned().collect();
    drop(all);
    texts.into_iter().find(|text| {
        let named = named(world, text);
        named.is_empty() || named.iter().any(|name| name == interface)
    })
}

/// Refuses a line that sets an interface up whose filter has failed.
///
/// # Errors
/// It stays down.
pub fn check<W: World>(tree: &Tree<W>, world: &W, line: &str) -> Result<()> {
    match raised(tree, line).and_then(|name| keeps_down(world, &name)) {
        None => Ok(()),
        Some(filter) => Err(Error::failed(format!("stays down: `{filter}' failed"))),
    }
}

/// Takes down the interfaces that came up before this filter failed.
pub fn take_down<W: World>(tree: &Tree<W>, world: &W, filter: &str) {
    if LAX.load(Ordering::Relaxed) || !protects(filter) {
        return;
    }
    log::error!(target: "config", "`{filter}' failed: interfaces stay down, see `show config pending'");
    let of = named(world, filter);
    // In a statement of its own: the head of a loop would hold the lock.
    let raised = std::mem::take(&mut pending::all().raised);
    for (name, mut line) in raised {
        if !of.is_empty() && !of.contains(&name) {
            pending::all().raised.push((name, line));
            continue;
        }
        let command = format!("set interface state {} down", cli::quote(&name));
        match world.restore(|| tree.execute(world, &command)) {
            Ok(_) => {
                line.reason = format!("stays down: `{filter}' failed");
                pending::all().failed.push(line);
            }
            // It is gone already.
            Err(e) => log::warn!(target: "config", "{command}: {}", e.brief()),
        }
    }
}

/// The entry of a line that set an interface up, in case it has to go down again.
pub fn entry(file: &PendingText, line: usize, text: &str) -> Pending {
    Pending {
        file: file.file.clone(),
        line,
        text: text.to_string(),
        reason: String::new(),
        needs: None,
        kept: file.kept,
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn lines_that_filter() {
        for line in [
            "set acl-plugin interface loop0 input acl 3",
            "  nat44  plugin enable",
            "ipsec sa add 10",
            "firewall zone add lan",
            "set interface input acl intfc t0 ip4-table 0",
        ] {
            assert!(protects(line), "{line}");
        }
        for line in ["set interface state t0 up", "ip route add 10.0.0.0/8 via drop", "natural", ""]
        {
            assert!(!protects(line), "{line}");
        }
    }
}
