// SPDX-License-Identifier: Apache-2.0
//! Expressions of `--assert`: `ndr>=1.5M`, `loss<=0.1%`, `latency_p99{device=linux}<=50us`.
//!
//! An expression is a figure, filters in braces if there are any, a comparison and a value. It has
//! to hold for each measurement that meets the filters and has the figure, and it fails if there
//! is none.
//!
//! | figure | value |
//! |---|---|
//! | `NAME` | median of the series of this name: `throughput`, `ndr`, `pdr`, `mrr`, `b2b` … |
//! | `NAME.STAT` | `min`, `max`, `mean`, `stdev`, `p1`, `p99`, `dispersion` of the series |
//! | `loss` | largest loss ratio of the curve, or of the valid trials |
//! | `latency_STAT` | `min`, `max`, `mean`, `p50`, `p99.9` …: the largest over all loads |
//! | `pdv` | packet delay variation: the largest over all loads, unless there is such a series |
//! | `invalid_trials`, `duplicated`, `reordered`, `late`, `changed` | counts over all trials |
//!
//! Filters are `device`, `mode`, `family`, `size`, `cores`, `flows`, `profile`, `load` (of
//! latencies), and names of parameters. Values are numbers with a unit of their kind: `k`, `M`,
//! `G` (and `pps`), `%`, or `ns`, `us`, `ms`, `s`.

use std::str::FromStr;

use crate::{AssertOutcome, Counts, Measurement, Results};

/// Comparison of a figure with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    AtLeast,
    AtMost,
    Above,
    Below,
    Equal,
}

impl Comparison {
    fn holds(self, actual: f64, expected: f64) -> bool {
        match self {
            Comparison::AtLeast => actual >= expected,
            Comparison::AtMost => actual <= expected,
            Comparison::Above => actual > expected,
            Comparison::Below => actual < expected,
            Comparison::Equal => actual == expected,
        }
    }
}

/// Kind of a number, by its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Rates, frames, counts.
    Number,
    /// Shares, of which 1 is all.
    Share,
    /// Times in nanoseconds.
    Time,
}

impl Kind {
    fn words(self) -> &'static str {
        match self {
            Kind::Number => "a number: write it plainly, or with k, M or G",
            Kind::Share => "a share: write it with %, or as a number from 0 to 1",
            Kind::Time => "a time: write it with ns, us, ms or s",
        }
    }

    /// Kind of a series' unit, and the factor that makes its values nanoseconds.
    fn of_unit(unit: &str) -> (Kind, f64) {
        match unit {
            "ns" => (Kind::Time, 1.0),
            "us" => (Kind::Time, 1e3),
            "ms" => (Kind::Time, 1e6),
            "s" => (Kind::Time, 1e9),
            "ratio" => (Kind::Share, 1.0),
            _ => (Kind::Number, 1.0),
        }
    }
}

/// Expression that results can be held against.
#[derive(Debug, Clone, PartialEq)]
pub struct Assert {
    text: String,
    figure: String,
    filters: Vec<(String, String)>,
    comparison: Comparison,
    value: f64,
    /// None for a number without a unit, which fits a number and a share.
    kind: Option<Kind>,
}

impl FromStr for Assert {
    type Err = String;

    fn from_str(text: &str) -> Result<Assert, String> {
        let example = "for instance ndr>=1.5M or latency_p99{size=64}<=50us";
        // Braces may hold comparison signs.
        let after = text.find('{').and_then(|open| Some(open + text[open..].find('}')? + 1));
        let from = after.unwrap_or(0);
        let at = text[from..].find(['<', '>', '=']).map(|at| at + from);
        let at = at
            .ok_or_else(|| format!("`{text}` has no comparison: write FIGURE>=VALUE, {example}"))?;
        let (left, rest) = text.split_at(at);
        let signs = [
            (">=", Comparison::AtLeast),
            ("<=", Comparison::AtMost),
            ("==", Comparison::Equal),
            (">", Comparison::Above),
            ("<", Comparison::Below),
            ("=", Comparison::Equal),
        ];
        let sign = signs.iter().find_map(|(s, c)| Some((*c, rest.strip_prefix(s)?)));
        let (comparison, value) = sign.ok_or_else(|| format!("`{text}` has no comparison"))?;
        let (figure, filters) = match left.split_once('{') {
            None => (left, Vec::new()),
            Some((figure, inside)) => {
                let inside = inside.trim_end().strip_suffix('}');
                let inside = inside.ok_or_else(|| format!("`{left}` has no closing brace"))?;
                (figure, filters(inside)?)
            }
        };
        let figure = figure.trim().to_string();
        if figure.is_empty() || figure.contains(char::is_whitespace) {
            return Err(format!("`{text}` names no figure: write FIGURE>=VALUE, {example}"));
        }
        let (value, kind) = number(value.trim())?;
        Ok(Assert { text: text.trim().to_string(), figure, filters, comparison, value, kind })
    }
}

fn filters(text: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |part: &str| {
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| format!("`{part}` is no filter: write {{NAME=VALUE,NAME=VALUE}}"))?;
        Ok((name.trim().to_string(), value.trim().to_string()))
    };
    text.split(',').filter(|p| !p.trim().is_empty()).map(pair).collect()
}

/// Number with its unit: value, and kind unless it has no unit.
fn number(text: &str) -> Result<(f64, Option<Kind>), String> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || ".-+_".contains(c)));
    // An exponent: 1e6.
    let end = match end {
        Some(at) if text[at..].starts_with(['e', 'E']) => {
            let digits = text[at + 1..].find(|c: char| !(c.is_ascii_digit() || "-+".contains(c)));
            digits.map(|d| d + at + 1)
        }
        end => end,
    };
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let value: f64 = digits
        .replace('_', "")
        .parse()
        .ok()
        .filter(|v: &f64| v.is_finite())
        .ok_or_else(|| format!("`{text}` is no number: for instance 1.5M, 0.1% or 50us"))?;
    let rate = unit.trim().strip_suffix("pps").or(unit.trim().strip_suffix("fps"));
    let (factor, kind) = match rate.unwrap_or(unit.trim()) {
        "" if rate.is_none() => (1.0, None),
        "" => (1.0, Some(Kind::Number)),
        "k" | "K" => (1e3, Some(Kind::Number)),
        "M" => (1e6, Some(Kind::Number)),
        "G" => (1e9, Some(Kind::Number)),
        "%" if rate.is_none() => (0.01, Some(Kind::Share)),
        "ns" if rate.is_none() => (1.0, Some(Kind::Time)),
        "us" | "µs" | "μs" if rate.is_none() => (1e3, Some(Kind::Time)),
        "ms" if rate.is_none() => (1e6, Some(Kind::Time)),
        "s" if rate.is_none() => (1e9, Some(Kind::Time)),
        _ => {
            return Err(format!("`{unit}` is no unit: expected k, M, G, pps, %, ns, us, ms or s"));
        }
    };
    Ok((value * factor, kind))
}

impl Assert {
    /// Holds the results against the expression. An error says that the value's unit doesn't fit
    /// the figure.
    pub fn evaluate(&self, results: &Results) -> Result<Vec<AssertOutcome>, String> {
        let mut outcomes = Vec::new();
        for m in results.measurements.iter().filter(|m| self.selects(m)) {
            let Some((actual, kind)) = self.actual(m) else { continue };
            let fits = match self.kind {
                None => kind != Kind::Time,
                Some(own) => own == kind,
            };
            if !fits {
                return Err(format!("`{}`: {} is {}", self.text, self.figure, kind.words()));
            }
            outcomes.push(AssertOutcome {
                expression: self.text.clone(),
                measurement: m.key(),
                actual: Some(actual),
                holds: self.comparison.holds(actual, self.value),
            });
        }
        if outcomes.is_empty() {
            outcomes.push(AssertOutcome {
                expression: self.text.clone(),
                measurement: "none of the measurements has this figure".into(),
                actual: None,
                holds: false,
            });
        }
        Ok(outcomes)
    }

    fn selects(&self, m: &Measurement) -> bool {
        self.filters.iter().all(|(name, value)| match name.as_str() {
            "device" => m.device == *value,
            "mode" => m.mode.name() == value,
            "family" => {
                let short = serde_json::to_value(m.family).ok();
                m.family.to_string() == *value || short.is_some_and(|s| s == value.as_str())
            }
            "size" => m.size.to_string() == *value,
            "cores" => m.cores.to_string() == *value,
            "flows" => m.flows.to_string() == *value,
            "profile" => m.profile.name() == value,
            "load" => m.latency.iter().any(|l| l.load == *value),
            name => m.parameters.get(name) == Some(value),
        })
    }

    /// Value of the figure, in frames per second, as a share, or in nanoseconds.
    fn actual(&self, m: &Measurement) -> Option<(f64, Kind)> {
        let (name, statistic) = match self.figure.split_once('.') {
            // The point of latency_p99.9 belongs to the percentile.
            Some((name, statistic)) if !name.starts_with("latency_p") => (name, Some(statistic)),
            _ => (self.figure.as_str(), None),
        };
        if let Some(series) = m.series(name) {
            let summary = series.summary()?;
            let (kind, factor) = Kind::of_unit(&series.unit);
            let value = match statistic {
                None | Some("median" | "p50") => summary.median,
                Some("min") => summary.min,
                Some("max") => summary.max,
                Some("mean") => summary.mean,
                Some("stdev") => summary.stdev,
                Some("p1") => summary.p1,
                Some("p99") => summary.p99,
                Some("dispersion") => return Some((summary.dispersion? / 100.0, Kind::Share)),
                Some(_) => return None,
            };
            return Some((value * factor, kind));
        }
        let count = |of: fn(&Counts) -> u64| {
            let counts = m.trials.iter().flat_map(|t| &t.directions);
            let sum: u64 = counts.map(of).fold(0, u64::saturating_add);
            (!m.trials.is_empty()).then_some((sum as f64, Kind::Number))
        };
        match self.figure.as_str() {
            "loss" => {
                let curve = m.loss.iter().map(|p| p.loss_ratio);
                let trials = m.trials.iter().filter(|t| t.valid()).map(|t| t.loss_ratio());
                let trials = trials.filter(|_| m.loss.is_empty());
                Some((curve.chain(trials).reduce(f64::max)?, Kind::Share))
            }
            "invalid_trials" => Some((m.invalid_trials() as f64, Kind::Number)),
            "duplicated" => count(|c| c.duplicated),
            "reordered" => count(|c| c.reordered),
            "late" => count(|c| c.late),
            "changed" => count(|c| c.changed),
            "pdv" => self.largest_latency(m, |l| l.pdv() as f64),
            figure => {
                let statistic = figure.strip_prefix("latency_")?;
                match statistic {
                    "min" => self.largest_latency(m, |l| l.min() as f64),
                    "max" => self.largest_latency(m, |l| l.max() as f64),
                    "mean" => self.largest_latency(m, crate::Latency::mean),
                    _ => {
                        let percent: f64 =
                            statistic.strip_prefix('p')?.replace('_', ".").parse().ok()?;
                        let percent = Some(percent).filter(|p| (0.0..=100.0).contains(p))?;
                        self.largest_latency(m, |l| l.percentile(percent) as f64)
                    }
                }
            }
        }
    }

    fn largest_latency(
        &self,
        m: &Measurement,
        of: impl Fn(&crate::Latency) -> f64,
    ) -> Option<(f64, Kind)> {
        let load = self.filters.iter().find(|(name, _)| name == "load").map(|(_, load)| load);
        let chosen = m.latency.iter().filter(|l| load.is_none_or(|load| l.load == *load));
        let chosen = chosen.filter(|l| !l.latency.is_empty());
        Some((chosen.map(|l| of(&l.latency)).reduce(f64::max)?, Kind::Time))
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn evaluate(text: &str) -> Vec<(Option<f64>, bool)> {
        let results = crate::report::tests::example();
        let outcomes = text.parse::<Assert>().unwrap().evaluate(&results).unwrap();
        outcomes.into_iter().map(|o| (o.actual, o.holds)).collect()
    }

    #[suite::test]
    fn expressions_are_held_against_all_measurements_with_the_figure() {
        assert_eq!(evaluate("ndr >= 7M").len(), 4);
        assert!(evaluate("ndr>=7Mpps").iter().all(|(_, holds)| *holds));
        let [(Some(ndr), false)] = evaluate("ndr{cores=1}<7e6")[..] else { panic!("one result") };
        assert!((ndr - 7_095_562.5).abs() < 1e-3);
        assert_eq!(evaluate("ndr{cores=3}>=1"), [(None, false)]);
        assert_eq!(evaluate("speed>=1"), [(None, false)]);
        assert_eq!(evaluate("throughput.x{device=linux,family=ip4,size=64}>1"), [(None, false)]);
        let loss = evaluate("loss{mode=loss,device=ferrovia}<=20%");
        assert!(loss.len() == 1 && loss[0].1);
        assert!(evaluate("latency_p99{device=linux,load=no load}<=30us")[0].1);
        assert!(!evaluate("latency_p99{device=linux}<=30us")[0].1);
        assert!(evaluate("latency_p99.9<1s").iter().all(|(_, holds)| *holds));
        assert!(evaluate("pdv>1us").iter().all(|(_, holds)| *holds));
        assert!(evaluate("throughput.dispersion<=5%").iter().all(|(_, holds)| *holds));
        let invalid = evaluate("invalid_trials{device=linux,mode=throughput}=0");
        assert_eq!(invalid.iter().filter(|(_, holds)| !holds).count(), 1);
        assert_eq!(evaluate("changed{cores=1,device=linux,size=512}=0").len(), 2);
    }

    #[suite::test]
    fn wrong_expressions_are_explained() {
        let error = |text: &str| text.parse::<Assert>().unwrap_err();
        assert!(error("ndr").contains("no comparison: write FIGURE>=VALUE"));
        assert_eq!(error("ndr>=fast"), "`fast` is no number: for instance 1.5M, 0.1% or 50us");
        assert_eq!(
            error("ndr>=1.5parsec"),
            "`parsec` is no unit: expected k, M, G, pps, %, ns, us, ms or s"
        );
        assert!(error("ndr>=5 %pps").contains("no unit"));
        assert!(error(">=5").contains("names no figure"));
        assert!(error("ndr{x>=5").contains("closing brace"));
        assert!(error("ndr{x}>=5").contains("`x` is no filter"));
        assert!(error("ndr>=1e999").contains("no number"));
        let results = crate::report::tests::example();
        let unit = |text: &str| text.parse::<Assert>().unwrap().evaluate(&results).unwrap_err();
        assert_eq!(
            unit("latency_p99<=50"),
            "`latency_p99<=50`: latency_p99 is a time: write it with ns, us, ms or s"
        );
        assert!(unit("ndr>=5%").contains("is a number"));
        assert!(unit("loss<=5us").contains("is a share"));
    }
}
