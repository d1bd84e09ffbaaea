// SPDX-License-Identifier: Apache-2.0
//! `show errors`: every way out that is counted, and what went there.

use cli::{Error, Matches, Output, Table, Writer};
use graph::{World, counters};

pub fn show(world: &World, _: &Matches) -> Result<Output, Error> {
    let table = Table::new()
        .right("Count")
        .min_width(10)
        .left("Node")
        .min_width(24)
        .left("Reason")
        .min_width(40)
        .left("Severity");
    let (counter, reasons) = (world.stats.simple(counters::ERRORS), world.reasons());
    Ok(table.list(reasons.into_iter().enumerate(), move |_: &World, (i, reason), out: &mut Writer| {
        let count = counter.sum(i);
        if count > 0 {
            let severity = if reason.drop { "error" } else { "info" };
            out.row([count.into(), (&*reason.node).into(), reason.text.into(), severity.into()]);
        }
        Ok(())
    }))
}
