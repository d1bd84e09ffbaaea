// SPDX-License-Identifier: Apache-2.0
//! `show errors`: every way out that is counted, and what went there.

use cli::{Error, Matches, Output, Table};
use graph::{World, counters};

pub fn show(world: &World, _: &Matches) -> Result<Output, Error> {
    let counter = world.stats.simple(counters::ERRORS);
    let mut table = Table::new()
        .right("Count")
        .min_width(10)
        .left("Node")
        .min_width(24)
        .left("Reason")
        .min_width(40)
        .left("Severity");
    for (i, reason) in world.reasons().iter().enumerate() {
        let count = counter.sum(i);
        if count > 0 {
            let severity = if reason.drop { "error" } else { "info" };
            table.row([count.into(), (&*reason.node).into(), reason.text.into(), severity.into()]);
        }
    }
    Ok(table.into())
}
