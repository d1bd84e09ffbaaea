// SPDX-License-Identifier: Apache-2.0
//! Comma-separated forms of the results.

use crate::{Family, Measurement, Results, Size};

/// Field of a CSV row (RFC 4180): quoted if it has to be.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

fn row(cells: &[String]) -> String {
    let mut line = cells.iter().map(|c| field(c)).collect::<Vec<_>>().join(",");
    line.push('\n');
    line
}

/// All values of all series, one a row.
pub fn series_csv(results: &Results) -> String {
    let head = "mode,device,profile,family,size,flows,cores,directions,parameters,outcome,marks,\
                series,unit,repeat,value\n";
    let mut out = String::from(head);
    for m in &results.measurements {
        let list = |items: Vec<String>| items.join(";");
        let parameters = m.parameters.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let outcome = match &m.outcome {
            crate::Outcome::Done => "done",
            crate::Outcome::Interrupted => "interrupted",
            crate::Outcome::Failed { .. } => "failed",
        };
        let common = [
            m.mode.to_string(),
            m.device.clone(),
            m.profile.to_string(),
            m.family.to_string(),
            m.size.to_string(),
            m.flows.to_string(),
            m.cores.to_string(),
            list(m.directions.iter().map(ToString::to_string).collect()),
            list(parameters),
            outcome.to_string(),
            list(m.marks.iter().map(ToString::to_string).collect()),
        ];
        for series in &m.series {
            for (repeat, value) in series.values.iter().enumerate() {
                let mut cells = common.to_vec();
                cells.extend([series.name.clone(), series.unit.clone(), (repeat + 1).to_string()]);
                cells.push(value.to_string());
                out.push_str(&row(&cells));
            }
        }
    }
    out
}

/// Throughput in the form that siitperf's binary search writes: a row for each repeat.
///
/// Parameters that the measurement doesn't have (`n`, `m`, `timeout_ms`, `error`) get siitperf's
/// own defaults. siitperf counts frame sizes as those of IPv6: IPv4 frames are 20 bytes shorter.
pub fn rate_csv(results: &Results) -> String {
    let mut out = String::from(
        "No, Size, Dir, n, m, Duration, Initial Rate, Timeout, Error, Date, Iterations needed, \
         rate\n",
    );
    for m in &results.measurements {
        let Some(series) = m.series("throughput") else { continue };
        for (at, rate) in series.values.iter().enumerate() {
            out.push_str(&siitperf_row(results, m, at, *rate));
        }
    }
    out
}

fn siitperf_row(results: &Results, m: &Measurement, at: usize, rate: f64) -> String {
    let parameter = |name: &str, default: &str| {
        m.parameters.get(name).map_or_else(|| default.to_string(), Clone::clone)
    };
    let size = match (m.size, m.family) {
        (Size::Bytes(n), Family::Ip4) => n.saturating_add(20).to_string(),
        (size, _) => size.to_string(),
    };
    let direction = match m.directions.as_slice() {
        [crate::Direction::Forward] => "f",
        [crate::Direction::Reverse] => "r",
        _ => "b",
    };
    let trials: Vec<_> = m.trials.iter().filter(|t| t.repeat as usize == at).collect();
    let first = trials.first().map_or(0.0, |t| t.rate);
    let duration = trials.first().map_or(m.profile.duration(), |t| t.duration);
    let end = trials.last().map_or(0.0, |t| t.at);
    let date = super::format::later(&results.started, end).unwrap_or_default();
    let cells = [
        (at + 1).to_string(),
        size,
        direction.into(),
        parameter("n", "2"),
        parameter("m", "2"),
        duration.to_string(),
        format!("{first:.0}"),
        parameter("timeout_ms", "2000"),
        parameter("error", "1"),
        date,
        trials.len().to_string(),
        format!("{rate:.0}"),
    ];
    format!("{}\n", cells.join(", "))
}
