// SPDX-License-Identifier: Apache-2.0
//! Order and texts of a report.

use super::figures::Figure;
use super::labels::Labels;
use super::{Block, Document, Table, scaling, tables};
use crate::{Mark, Outcome, Results};

/// Sections of the report, without those that have nothing to show.
pub(super) fn document(results: &Results, published: &[Table], figures: &[Figure]) -> Document {
    let mut blocks = Vec::new();
    // Before all else: what makes the rest doubtful.
    let first = [results.environment.shares_cores(), results.mostly_invalid()];
    blocks.extend(first.into_iter().flatten().map(|text| Block::Warning(capital(&text) + ".")));
    blocks.push(Block::Text(lead(results)));
    blocks.extend(warnings(results).into_iter().map(Block::Warning));
    let mut section = |heading: &str, tables: Vec<Table>, figures: Vec<&Figure>| {
        let tables: Vec<_> = tables.into_iter().filter(|t| !t.is_empty()).collect();
        if tables.is_empty() && figures.is_empty() {
            return;
        }
        blocks.push(Block::Heading(heading.into()));
        blocks.extend(figures.into_iter().cloned().map(Block::Figure));
        blocks.extend(tables.into_iter().map(Block::Table));
    };
    let named = |prefix: &str| figures.iter().filter(|f| f.name.starts_with(prefix)).collect();
    let rates = figures.iter().filter(|f| {
        !f.name.starts_with("latency-percentiles")
            && !f.name.starts_with("latency-histogram")
            && !f.name.starts_with("loss-by-rate")
    });
    section("Assertions", vec![tables::asserts(results)], vec![]);
    section(
        "Results",
        vec![
            tables::comparison(results),
            tables::series(results),
            scaling::scaling(results),
            tables::bounds(results),
            tables::spread(results),
        ],
        rates.collect(),
    );
    section("Published figures, other hardware", published.to_vec(), vec![]);
    section("Frame loss", vec![tables::loss(results)], named("loss-by-rate"));
    let mut latency: Vec<&Figure> = named("latency-percentiles");
    latency.extend(named("latency-histogram"));
    section("Latency", vec![tables::latency(results)], latency);
    section("Cost", vec![tables::cost(results)], vec![]);
    section(
        "Trials and their validity",
        vec![tables::selftests(results), tables::counts(results), tables::invalid(results)],
        vec![],
    );
    section("Traffic and procedure", vec![tables::method(results)], vec![]);
    section("Environment", vec![tables::environment(results)], vec![]);
    blocks.push(Block::Heading("Method".into()));
    blocks.extend(method(results).into_iter().map(Block::Text));
    let title = match results.title.as_str() {
        "" => "Network measurements",
        title => title,
    };
    Document { title: title.into(), blocks }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default() + letters.as_str()
}

fn lead(results: &Results) -> String {
    let mut devices: Vec<&str> = Vec::new();
    for m in &results.measurements {
        if !devices.contains(&m.device.as_str()) {
            devices.push(&m.device);
        }
    }
    let trials: usize = results.measurements.iter().map(|m| m.trials.len()).sum();
    let mut text = format!(
        "{} measurements of {} with {trials} trials",
        results.measurements.len(),
        if devices.is_empty() { "no device".to_string() } else { devices.join(", ") },
    );
    if !results.program.is_empty() {
        text += &format!(", by {}", results.program);
    }
    if !results.started.is_empty() {
        text += &format!(", started {}", results.started);
    }
    if !results.finished.is_empty() {
        text += &format!(", finished {}", results.finished);
    }
    text += ".";
    if let Some(first) = results.measurements.first() {
        let labels = Labels::of(results.measurements.iter());
        let common = labels.common(first, &[]);
        if results.measurements.len() > 1 && !common.is_empty() {
            text += &format!(" In all of them: {common}.");
        }
    }
    text
}

/// Sentences that a reader has to see before the results.
fn warnings(results: &Results) -> Vec<String> {
    let mut texts = Vec::new();
    let has = |mark: &Mark| results.measurements.iter().any(|m| m.marks.contains(mark));
    if !results.complete {
        texts.push("The plan of this run was not completed: results are missing.".to_string());
    }
    if has(&Mark::NotRfc2544) {
        texts.push(
            "Results marked \"not RFC 2544\" come from trials that are shorter or fewer than \
             RFC 2544 demands: 60 s (section 24), repeated (section 26)."
                .into(),
        );
    }
    if has(&Mark::TesterBound) {
        texts.push(
            "Results marked \"tester-bound\" are close to the limit of the tester: the device may \
             be faster."
                .into(),
        );
    }
    if has(&Mark::AboveLimit) {
        texts.push(
            "A device was faster than the tester itself: results marked \"above the tester's own \
             limit\" show that the limit was measured too low, since the machine was busy \
             otherwise, or was idle when the device was measured."
                .into(),
        );
    }
    let (_, invalid) = results.trials();
    match invalid {
        0 => {}
        1 => texts.push("1 trial was not valid; it is listed with its reasons below.".into()),
        n => texts.push(format!("{n} trials were not valid; they are listed with reasons below.")),
    }
    let failed = results.measurements.iter().filter(|m| m.outcome != Outcome::Done).count();
    if failed > 0 {
        texts.push(format!("{failed} of {} measurements did not end.", results.measurements.len()));
    }
    if results.selftests.is_empty() {
        texts
            .push("The tester's own limit was not measured: no result can be tester-bound.".into());
    }
    if results.asserts.iter().any(|a| !a.holds) {
        texts.push("Some assertions fail.".into());
    }
    texts
}

fn method(results: &Results) -> Vec<String> {
    let rules = &results.rules;
    vec![
        format!(
            "A trial is valid if sending took at most {} times its duration, if the frames sent \
             differ from rate times duration by at most {} in each direction, and if a hypervisor \
             took at most {} of the CPU time. Frames carry a signature, by which loss, duplicates, \
             reordering and late frames are told apart.",
            rules.sending_time,
            super::format::percent(rules.shortfall),
            super::format::percent(rules.steal),
        ),
        "The median is the middle of the repeats. Its 95 % interval is the narrowest symmetric pair of \
         order statistics that holds the median with a probability of at least 95 %, whatever the \
         distribution; it needs six repeats. Percentiles of repeats are interpolated, and need twenty repeats. \
         Quotients and clocks have two digits with fewer than ten repeats, three with fewer than \
         twenty."
            .into(),
        format!("The seed of the run's random numbers is {}.", results.seed),
    ]
}
