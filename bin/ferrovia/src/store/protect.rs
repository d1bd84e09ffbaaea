// SPDX-License-Identifier: Apache-2.0
//! Interfaces that stay down because a line that filters or protects couldn't be run at the start.
//!
//! A router starts with all lines that can be run. Without its filters it would let through what
//! they were to keep out, so the interfaces that such a line names go down again, and all of them
//! if it names none. The lines that set them up are pending then: `save` keeps them, and `retry
//! config pending` runs them after the filter.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use cli::Tree;

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
    let parsed = tree.parse(line).ok().flatten()?;
    let m = parsed.matches();
    let is_up =
        parsed.command().path == "set interface state" && matches!(m.str("state"), "up" | "enable");
    is_up.then(|| m.str("interface").to_string())
}

/// Takes down the interfaces that came up without their filters. Called when a file's lines were
/// run.
pub fn take_down<W: World>(tree: &Tree<W>, world: &W) {
    let (failed, raised) = {
        let mut all = pending::all();
        let filters = all.failed.iter().filter(|p| protects(&p.text));
        let filters: Vec<Pending> = filters.cloned().collect();
        if LAX.load(Ordering::Relaxed) || filters.is_empty() {
            return;
        }
        (filters, std::mem::take(&mut all.raised))
    };
    let names: BTreeSet<&str> = raised.iter().map(|(name, _)| name.as_str()).collect();
    let mut down: BTreeSet<&str> = BTreeSet::new();
    for filter in &failed {
        let named: Vec<&str> =
            filter.text.split_whitespace().filter(|word| names.contains(word)).collect();
        let held: Vec<&str> =
            if named.is_empty() { names.iter().copied().collect() } else { named };
        let (text, interfaces) = (&filter.text, held.join(", "));
        log::error!(target: "config", "`{text}' failed: {interfaces} stay down, see `show config pending'");
        down.extend(held);
    }
    for (name, line) in &raised {
        if !down.contains(name.as_str()) {
            pending::all().raised.push((name.clone(), line.clone()));
            continue;
        }
        let command = format!("set interface state {} down", cli::quote(name));
        match world.restore(|| tree.execute(world, &command)) {
            Ok(_) => pending::all().failed.push(line.clone()),
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
        reason: "stays down: a line that filters or protects failed".into(),
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
