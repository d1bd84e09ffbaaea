// SPDX-License-Identifier: Apache-2.0
//! The metrics of this build: the exporter's own, and the plugins' ones.

use stats::metric::{Kind, Metric};

use crate::{build, plugins};

/// Prefix of all names.
pub const PREFIX: &str = "ferrovia";

/// The program, first of all.
static BUILD: Metric = Metric::info("build", &["version", "commit", "date"], "The program", |s| {
    s.push([build::VERSION, build::COMMIT, build::DATE], 1);
});

/// The exporter's own metric, which comes last: series left out because a metric had too many.
pub static OMITTED: Metric = Metric::gauge(
    "series_omitted",
    &[],
    "Series left out of this answer because a metric had too many",
    |_| {},
);

/// All metrics but [`OMITTED`], in the order in which they are reported: that of the plugins.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    [&BUILD].into_iter().chain(plugins::ALL.iter().flat_map(|p| p.metrics))
}

/// The name that a metric's samples have.
pub fn sample_name(metric: &Metric) -> String {
    let unit = metric.unit.map(|unit| format!("_{unit}")).unwrap_or_default();
    let suffix = match metric.kind {
        Kind::Counter => "_total",
        Kind::Gauge => "",
        Kind::Info => "_info",
    };
    format!("{PREFIX}_{}{unit}{suffix}", metric.name)
}
