// SPDX-License-Identifier: Apache-2.0
//! The table of metrics as OpenMetrics text.

use std::fmt;
use std::io;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use stats::Reader;
use stats::metric::{Kind, Metric, Series, Snapshot};

use super::metrics::{self, OMITTED, PREFIX};

/// Left out: counters by route and by adjacency, as too many; symlinks of interfaces and nodes, as
/// repetitions.
const LEFT_OUT: [&str; 5] =
    ["/net/route/", "/net/adjacency", "/net/mroute", "/interfaces/", "/nodes/"];

/// The whole answer to a scrape.
///
/// # Errors
/// The segment can't be read.
pub fn text(reader: &Reader) -> io::Result<String> {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(Scrape(Snapshot::read(reader, is_wanted)?)));
    let mut text = String::new();
    encode(&mut text, &registry).map_err(io::Error::other)?;
    Ok(text)
}

fn is_wanted(name: &str) -> bool {
    !LEFT_OUT.iter().any(|prefix| name.starts_with(prefix))
}

#[derive(Debug)]
struct Scrape(Snapshot);

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut omitted = 0;
        for metric in metrics::all() {
            let mut series = Series::new(&self.0);
            (metric.fill)(&mut series);
            omitted += series.limit();
            let samples = series.samples.into_iter().map(|sample| (sample.labels, sample.value));
            family(&mut encoder, metric, samples)?;
        }
        family(&mut encoder, &OMITTED, [(Vec::new(), omitted)])
    }
}

/// A metric with its samples; nothing where there are none.
fn family(
    encoder: &mut DescriptorEncoder<'_>,
    metric: &Metric,
    samples: impl IntoIterator<Item = (Vec<String>, u64)>,
) -> fmt::Result {
    let mut samples = samples.into_iter().peekable();
    if samples.peek().is_none() {
        return Ok(());
    }
    let kind = match metric.kind {
        Kind::Counter => MetricType::Counter,
        Kind::Gauge => MetricType::Gauge,
        Kind::Info => MetricType::Info,
    };
    let unit = metric.unit.map(|unit| Unit::Other(unit.into()));
    let mut descriptor =
        encoder.encode_descriptor(metric.name, metric.help, unit.as_ref(), kind)?;
    for (values, value) in samples {
        let labels: Vec<(&str, &str)> =
            metric.labels.iter().copied().zip(values.iter().map(String::as_str)).collect();
        match metric.kind {
            Kind::Info => descriptor.encode_info(&labels)?,
            _ if labels.is_empty() => one(&mut descriptor, metric, value)?,
            _ => one(&mut descriptor.encode_family(&labels)?, metric, value)?,
        }
    }
    Ok(())
}

fn one(sample: &mut MetricEncoder<'_>, metric: &Metric, value: u64) -> fmt::Result {
    let exact = value as f64 / 1000.0;
    match metric.kind {
        Kind::Counter if metric.thousandths => {
            sample.encode_counter::<NoLabelSet, f64, u64>(&exact, None)
        }
        _ if metric.thousandths => sample.encode_gauge(&exact),
        Kind::Counter => sample.encode_counter::<NoLabelSet, u64, u64>(&value, None),
        _ => sample.encode_gauge(&value),
    }
}
