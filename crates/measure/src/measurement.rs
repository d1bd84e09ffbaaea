// SPDX-License-Identifier: Apache-2.0
//! One measurement: a mode applied to a device with one kind of traffic.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::stats::Summary;
use crate::{Direction, Latency, Mode, Profile, Trial};

/// Protocol of the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Ethernet, switched.
    Ethernet,
    /// IPv4.
    Ip4,
    /// IPv6.
    Ip6,
    /// IPv4 on one side, IPv6 on the other.
    Translation,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Ethernet => "Ethernet",
            Family::Ip4 => "IPv4",
            Family::Ip6 => "IPv6",
            Family::Translation => "IPv4/IPv6",
        })
    }
}

/// Length of the frames, with the frame check sequence. JSON has a number or `"imix"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Size {
    /// All frames have this length in bytes.
    Bytes(u32),
    /// 28 × 64, 16 × 570 and 4 × 1518 bytes.
    Imix,
}

impl Size {
    /// Mean length of a frame in bytes.
    pub fn mean_bytes(self) -> f64 {
        match self {
            Size::Bytes(n) => f64::from(n),
            Size::Imix => (28.0 * 64.0 + 16.0 * 570.0 + 4.0 * 1518.0) / 48.0,
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Bytes(n) => write!(f, "{n}"),
            Size::Imix => f.write_str("imix"),
        }
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        match text.parse() {
            Ok(n) if (64..=65_535).contains(&n) => Ok(Size::Bytes(n)),
            Err(_) if text.eq_ignore_ascii_case("imix") => Ok(Size::Imix),
            _ => Err(format!("no frame size `{text}`: expected 64 to 65535 bytes, or imix")),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Size::Bytes(n) => serializer.serialize_u32(*n),
            Size::Imix => serializer.serialize_str("imix"),
        }
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Bytes(u32),
            Name(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Bytes(n) => Ok(Size::Bytes(n)),
            Form::Name(name) if name == "imix" => Ok(Size::Imix),
            Form::Name(name) => Err(D::Error::custom(format!("no frame size `{name}`"))),
        }
    }
}

/// Values of one figure, one for each repeat. JSON has the statistics beside the values.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Series {
    /// Name of the figure: `throughput`, `ndr`, `pdr`, `mrr`, `b2b`, `latency_p50` …
    pub name: String,
    /// Unit: `pps` per direction, `ns`, `s`, `frames`, `ratio`, `1/s` …
    pub unit: String,
    /// Value of each repeat, in the order of measurement. JSON has null for one that isn't a
    /// number.
    #[serde(deserialize_with = "numbers")]
    pub values: Vec<f64>,
}

fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let values = Vec::<Option<f64>>::deserialize(deserializer)?;
    Ok(values.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect())
}

fn unlimited<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let values = Vec::<Option<f64>>::deserialize(deserializer)?;
    Ok(values.into_iter().map(|v| v.unwrap_or(f64::INFINITY)).collect())
}

fn finite<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|v| v.is_finite().then_some(v)))
}

impl Series {
    /// Series without values.
    pub fn new(name: impl Into<String>, unit: impl Into<String>) -> Series {
        Series { name: name.into(), unit: unit.into(), values: Vec::new() }
    }

    /// Statistics of the values; None without values.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.values)
    }
}

impl Serialize for Series {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Form<'a> {
            name: &'a str,
            unit: &'a str,
            values: &'a [f64],
            summary: Option<Summary>,
        }
        let Series { name, unit, values } = self;
        Form { name, unit, values, summary: self.summary() }.serialize(serializer)
    }
}

/// Loss at one load: a point of the frame loss rate's curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatePoint {
    /// Intended load in frames per second, per direction.
    pub rate: f64,
    /// Lost frames as a share of the frames sent.
    pub loss_ratio: f64,
    /// Frames received per second, over all directions.
    pub forwarding_rate: f64,
}

/// Latency at one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyAt {
    /// Load in words: `no load`, `10 % of NDR`, `throughput`.
    pub load: String,
    /// Intended load in frames per second, per direction.
    pub rate: f64,
    /// Direction; None if the histogram has both.
    pub direction: Option<Direction>,
    /// Histogram.
    pub latency: Latency,
}

/// Result of one goal of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Name of the goal: `ndr`, `pdr`.
    pub goal: String,
    /// Loss ratio that the goal allows.
    pub loss_ratio: f64,
    /// Highest load known to meet the goal, in frames per second per direction.
    pub lower: Option<f64>,
    /// Lowest load known not to meet it.
    pub upper: Option<f64>,
    /// Conditional throughput at the lower bound (RFC 9971), in frames per second per direction.
    pub conditional_throughput: Option<f64>,
}

/// CPU time that the device used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CpuCost {
    /// CPU-seconds of the device.
    pub cpu_seconds: f64,
    /// Frames that it forwarded meanwhile.
    pub packets: u64,
    /// Clock of the device's cores in Hz.
    pub hz: f64,
}

/// Energy that the device or the machine used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Source: `rapl`, or the name of a power meter.
    pub source: String,
    /// Watt-hours.
    pub watt_hours: f64,
    /// Frames delivered meanwhile.
    pub packets: u64,
    /// Bytes of these frames.
    pub bytes: u64,
}

/// Mark that a report shows beside a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mark", rename_all = "kebab-case")]
pub enum Mark {
    /// Trials or repeats are fewer or shorter than RFC 2544 demands.
    NotRfc2544,
    /// The result is above 1/1.2 of the tester's own limit.
    TesterBound,
    /// The result is above the tester's own limit, which so was measured too low.
    AboveLimit,
    /// CPU time stands in for energy.
    EnergyProxy,
    /// Less than the plan demanded was measured.
    Incomplete {
        /// Sentence for the report.
        reason: String,
    },
    /// Another mark, in the tester's words.
    Other {
        /// Sentence for the report.
        text: String,
    },
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mark::NotRfc2544 => f.write_str("not RFC 2544"),
            Mark::TesterBound => f.write_str("tester-bound"),
            Mark::AboveLimit => f.write_str("above the tester's own limit"),
            Mark::EnergyProxy => f.write_str("CPU time as a proxy of energy"),
            Mark::Incomplete { reason } => write!(f, "incomplete: {reason}"),
            Mark::Other { text } => f.write_str(text),
        }
    }
}

/// End of a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// All repeats were run.
    Done,
    /// It was stopped; the trials until then are kept.
    Interrupted,
    /// It could not be done.
    Failed {
        /// Expected and actual state, in a sentence.
        reason: String,
    },
}

/// A mode applied to a device with one kind of traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Kind of measurement.
    pub mode: Mode,
    /// Name of the device under test: `ferrovia`, `linux`, `vpp`, `external`, `none`.
    pub device: String,
    /// Description that the device gives of itself: version and configuration.
    pub description: String,
    /// Profile of the trials.
    pub profile: Profile,
    /// Protocol of the frames.
    pub family: Family,
    /// Length of the frames.
    pub size: Size,
    /// Pairs of addresses per direction; each has flows of many ports, as `method` says.
    pub flows: u64,
    /// Cores or workers of the device that forward.
    pub cores: u32,
    /// Directions that carry frames.
    pub directions: Vec<Direction>,
    /// Further parameters, by name: routes, rules, background share, address ranges.
    pub parameters: BTreeMap<String, String>,
    /// Traffic and procedure in words, for the report: each fact with its name.
    #[serde(default)]
    pub method: Vec<(String, String)>,
    /// Limit of the tester around each repeat, in frames per second and direction: the lower one of
    /// before and after. Empty if it wasn't measured; JSON has null for a repeat without one.
    #[serde(default, serialize_with = "finite", deserialize_with = "unlimited")]
    pub limits: Vec<f64>,
    /// End of the measurement.
    pub outcome: Outcome,
    /// Marks for the report.
    pub marks: Vec<Mark>,
    /// Values of the repeats, a series for each figure.
    pub series: Vec<Series>,
    /// Results of the goals of a search, for the last repeat.
    pub bounds: Vec<Bound>,
    /// Loss by load.
    pub loss: Vec<RatePoint>,
    /// Latency by load.
    pub latency: Vec<LatencyAt>,
    /// CPU time of the device.
    pub cpu: Option<CpuCost>,
    /// Energy.
    pub energy: Option<Energy>,
    /// All trials, valid or not, in the order in which they ran.
    pub trials: Vec<Trial>,
}

impl Measurement {
    /// Measurement without results: one core, one flow, both directions.
    pub fn new(mode: Mode, device: impl Into<String>, profile: Profile) -> Measurement {
        Measurement {
            mode,
            device: device.into(),
            description: String::new(),
            profile,
            family: Family::Ip4,
            size: Size::Bytes(64),
            flows: 1,
            cores: 1,
            directions: vec![Direction::Forward, Direction::Reverse],
            parameters: BTreeMap::new(),
            method: Vec::new(),
            limits: Vec::new(),
            outcome: Outcome::Done,
            marks: Vec::new(),
            series: Vec::new(),
            bounds: Vec::new(),
            loss: Vec::new(),
            latency: Vec::new(),
            cpu: None,
            energy: None,
            trials: Vec::new(),
        }
    }

    /// Text that tells this measurement from others of a run: all that was asked for, without
    /// results. A resumed run skips keys that it has.
    pub fn key(&self) -> String {
        let way = if self.directions.len() > 1 { "both" } else { "one" };
        let Measurement { mode, device, profile, family, size, flows, cores, .. } = self;
        let mut key = format!("{mode}/{device}/{profile}/{family}/{size}/{flows}/{cores}/{way}");
        for (name, value) in &self.parameters {
            key.push_str(&format!("/{name}={value}"));
        }
        key
    }

    /// Series with this name.
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|s| s.name == name)
    }

    /// Series with this name; made if there is none.
    pub fn series_mut(&mut self, name: &str, unit: &str) -> &mut Series {
        let at = self.series.iter().position(|s| s.name == name).unwrap_or_else(|| {
            self.series.push(Series::new(name, unit));
            self.series.len() - 1
        });
        &mut self.series[at]
    }

    /// Adds a mark, once.
    pub fn mark(&mut self, mark: Mark) {
        if !self.marks.contains(&mark) {
            self.marks.push(mark);
        }
    }

    /// Number of trials that aren't valid.
    pub fn invalid_trials(&self) -> usize {
        self.trials.iter().filter(|t| !t.valid()).count()
    }
}
