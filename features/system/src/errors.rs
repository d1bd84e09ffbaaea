// SPDX-License-Identifier: Apache-2.0
//! `show errors`: every counted edge and drop reason, with its packets.

use cli::{Error, Matches, Output, Table, Writer};
use graph::{World, counters};
use serde_json::json;
use std::fmt::Write;

pub fn show(world: &World, m: &Matches) -> Result<Output, Error> {
    if m.flag("verbose") {
        return Ok(by_thread(world));
    }
    let table = Table::new()
        .right("Count")
        .min_width(10)
        .left("Node")
        .min_width(24)
        .left("Reason")
        .min_width(40)
        .left("Severity");
    let (counter, reasons) = (world.stats.simple(counters::ERRORS), world.reasons());
    Ok(table.list(
        reasons.into_iter().enumerate(),
        move |_: &World, (i, reason), out: &mut Writer| {
            let count = counter.sum(i);
            if count > 0 {
                out.row([
                    count.into(),
                    (&*reason.node).into(),
                    reason.text.into(),
                    severity(reason.drop).into(),
                ]);
            }
            Ok(())
        },
    ))
}

fn severity(drop: bool) -> &'static str {
    if drop { "error" } else { "info" }
}

/// A block for each thread and one for all, with the index of each counter. In JSON the rows of all
/// threads together have none.
fn by_thread(world: &World) -> Output {
    let counter = world.stats.simple(counters::ERRORS);
    let reasons: Vec<_> = world.reasons().into_iter().collect();
    let threads: Vec<_> = world.thread_list().into_iter().map(|t| t.name).collect();
    let n = reasons.len();
    // Threads and then all; in each block its head and then its counters.
    let parts = (0..=threads.len()).flat_map(move |block| (0..=n).map(move |line| (block, line)));
    let line =
        |text: &mut String, count: &str, node: &str, reason: &str, severity: &str, index: &str| {
            writeln!(text, "{count:>10}  {node:<24}  {reason:<40}  {severity:<8}  {index:>5}")
        };
    Output::list(parts, move |_: &World, (block, at), out: &mut Writer| {
        let thread = threads.get(block);
        let Some(i) = at.checked_sub(1) else {
            out.text(|text| {
                match thread {
                    Some(name) => writeln!(text, "Thread {block} ({name}):")?,
                    None => writeln!(text, "Total:")?,
                }
                line(text, "Count", "Node", "Reason", "Severity", "Index")
            });
            return Ok(());
        };
        let reason = &reasons[i];
        let count = if thread.is_some() { counter.of_thread(block, i) } else { counter.sum(i) };
        if count > 0 {
            let (node, severity) = (&*reason.node, severity(reason.drop));
            out.text(|text| {
                line(text, &count.to_string(), node, reason.text, severity, &i.to_string())
            });
            out.value(|| {
                let thread = thread.map(|_| block);
                json!({ "thread": thread, "count": count, "node": node, "reason": reason.text, "severity": severity, "index": i })
            });
        }
        Ok(())
    })
}
