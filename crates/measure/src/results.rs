// SPDX-License-Identifier: Apache-2.0
//! The document of a run, `result.json`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Environment, Measurement, Rules, Size};

/// Version of the document's schema. It grows when a reader of the previous one would fail.
pub const SCHEMA_VERSION: u32 = 2;

/// Oldest version that is read: later fields have defaults.
const OLDEST_VERSION: u64 = 1;

/// Limit of the tester itself, measured once with its ports connected to each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelfTest {
    /// Kind of port.
    pub port: String,
    /// Length of the frames.
    pub size: Size,
    /// Frames per second and direction that the tester sends and checks without loss.
    pub rate: f64,
    /// Median latency of the tester in nanoseconds.
    pub latency_ns: u64,
    /// Start, in seconds since the start of the run.
    #[serde(default)]
    pub at: f64,
}

/// Expression of `--assert` with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssertOutcome {
    /// Expression as it was given.
    pub expression: String,
    /// Measurement to which it was applied.
    pub measurement: String,
    /// Actual value in the unit of the series; None if the measurement has no such value.
    pub actual: Option<f64>,
    /// True if the expression holds.
    pub holds: bool,
}

/// All that a run measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Version of the schema.
    pub schema_version: u32,
    /// Program that measured, with its version.
    pub program: String,
    /// Title for the report.
    pub title: String,
    /// Start of the run in UTC, as RFC 3339 writes it.
    pub started: String,
    /// End of the run; empty while it runs.
    pub finished: String,
    /// True if the whole plan was measured.
    pub complete: bool,
    /// Seed of the random numbers, for a run that is to be repeated.
    pub seed: u64,
    /// Rules by which trials were judged.
    pub rules: Rules,
    /// Machine, software and command.
    pub environment: Environment,
    /// Limits of the tester, before the first repeat and after each.
    pub selftests: Vec<SelfTest>,
    /// Measurements in the order in which they ran.
    pub measurements: Vec<Measurement>,
    /// Expressions of `--assert`.
    pub asserts: Vec<AssertOutcome>,
}

impl Default for Results {
    fn default() -> Results {
        Results {
            schema_version: SCHEMA_VERSION,
            program: String::new(),
            title: String::new(),
            started: String::new(),
            finished: String::new(),
            complete: false,
            seed: 0,
            rules: Rules::default(),
            environment: Environment::default(),
            selftests: Vec::new(),
            measurements: Vec::new(),
            asserts: Vec::new(),
        }
    }
}

/// Reason why a text isn't a result document.
#[derive(Debug)]
pub enum ReadError {
    /// The text isn't JSON, or lacks fields.
    Json(serde_json::Error),
    /// The document has another version.
    Version(u64),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Json(e) => write!(f, "not a result document of the tester: {e}"),
            ReadError::Version(n) => write!(
                f,
                "the result document has schema version {n}, this program reads {SCHEMA_VERSION}"
            ),
        }
    }
}

impl std::error::Error for ReadError {}

impl Results {
    /// Document as JSON text, indented.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("all keys are strings");
        text.push('\n');
        text
    }

    /// Document from JSON text.
    pub fn from_json(text: &str) -> Result<Results, ReadError> {
        let value: serde_json::Value = serde_json::from_str(text).map_err(ReadError::Json)?;
        match value.get("schema_version").and_then(serde_json::Value::as_u64) {
            Some(n) if !(OLDEST_VERSION..=u64::from(SCHEMA_VERSION)).contains(&n) => {
                Err(ReadError::Version(n))
            }
            _ => {
                let results: Results = serde_json::from_value(value).map_err(ReadError::Json)?;
                Ok(Results { schema_version: SCHEMA_VERSION, ..results })
            }
        }
    }

    /// Measurement with this key ([`Measurement::key`]).
    pub fn measurement(&self, key: &str) -> Option<&Measurement> {
        self.measurements.iter().find(|m| m.key() == key)
    }

    /// Trials, and those of them that aren't valid.
    pub fn trials(&self) -> (usize, usize) {
        let all = self.measurements.iter().map(|m| m.trials.len()).sum();
        (all, self.measurements.iter().map(Measurement::invalid_trials).sum())
    }

    /// Sentence to a reader if more than half of the trials aren't valid.
    pub fn mostly_invalid(&self) -> Option<String> {
        let (all, invalid) = self.trials();
        (2 * invalid > all).then(|| {
            format!(
                "most trials were not valid: {invalid} of {all}; the results can't be relied on"
            )
        })
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::{Mode, Profile};

    #[suite::test]
    fn a_document_survives_json() {
        let mut results = Results::default();
        let mut m = Measurement::new(Mode::Throughput, "linux", Profile::Quick);
        m.size = Size::Imix;
        m.series_mut("throughput", "pps").values.extend([1.0, 2.5]);
        m.parameters.insert("routes".into(), "1000".into());
        let key = m.key();
        results.measurements.push(m);
        let text = results.to_json();
        let back = Results::from_json(&text).unwrap();
        assert_eq!(back, results);
        assert_eq!(back.to_json(), text);
        assert_eq!(key, "throughput/linux/quick/IPv4/imix/1/1/both/routes=1000");
        assert!(back.measurement(&key).is_some());
    }

    #[suite::test]
    fn other_versions_and_other_texts_are_refused() {
        let text = Results::default().to_json();
        let other = text.replace("\"schema_version\": 2", "\"schema_version\": 7");
        let error = Results::from_json(&other).unwrap_err().to_string();
        assert_eq!(error, "the result document has schema version 7, this program reads 2");
        assert!(Results::from_json("{}").unwrap_err().to_string().contains("missing field"));
        assert!(Results::from_json("[1").is_err());
    }
}
