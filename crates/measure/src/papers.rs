// SPDX-License-Identifier: Apache-2.0
//! Experiments of two studies that compare routers in software: plans, tables in their form, and
//! the published figures that are known here, all of other hardware.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::report::{Table, grouped};
use crate::stats::{Summary, relative_to_half, scale_up};
use crate::{Direction, Family, Measurement, Mode, Profile, Results, Size};

/// Study whose experiments can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paper {
    /// Kosák and Lencse, 2025: IPv4 and IPv6 throughput by number of cores.
    KosakLencse,
    /// Slavík: rates, loss and latency, one-way and bidirectional, by frame size.
    Slavik,
}

impl Paper {
    /// All studies.
    pub const ALL: [Paper; 2] = [Paper::KosakLencse, Paper::Slavik];

    /// Name, as the command line takes it.
    pub fn name(self) -> &'static str {
        match self {
            Paper::KosakLencse => "kosak-lencse",
            Paper::Slavik => "slavik",
        }
    }

    /// Measurements to run on a router with up to `cores` cores, without results. Sizes of the
    /// second plan are common ones of RFC 2544: five, as in the study.
    pub fn plan(self, device: &str, cores: u32) -> Vec<Measurement> {
        let mut plan = Vec::new();
        match self {
            Paper::KosakLencse => {
                for (family, bytes) in [(Family::Ip4, 64), (Family::Ip6, 84)] {
                    let powers = (0..32).map(|i| 1u32 << i).take_while(|n| *n <= cores.max(1));
                    for n in powers {
                        let mut m = Measurement::new(Mode::Throughput, device, Profile::Rfc2544);
                        (m.family, m.size, m.cores) = (family, Size::Bytes(bytes), n);
                        plan.push(m);
                    }
                }
            }
            Paper::Slavik => {
                by_size_and_direction(
                    &mut plan,
                    device,
                    &[Mode::Throughput, Mode::Loss, Mode::Latency],
                );
            }
        }
        plan
    }

    /// Measurements to run on a device that translates addresses; none in the first study.
    pub fn plan_of_nat(self, device: &str) -> Vec<Measurement> {
        let mut plan = Vec::new();
        if self == Paper::Slavik {
            by_size_and_direction(&mut plan, device, &[Mode::NatThroughput]);
        }
        plan
    }

    /// Tables of the results in the study's form, and a table of published figures.
    pub fn tables(self, results: &Results) -> Vec<Table> {
        let mut tables = match self {
            Paper::KosakLencse => by_cores(results),
            Paper::Slavik => [Mode::Throughput, Mode::NatThroughput]
                .into_iter()
                .flat_map(|mode| by_size(results, mode))
                .collect(),
        };
        tables.extend(self.published());
        tables
    }

    /// Published figures, as far as they are known here: none of Slavík's.
    pub fn published(self) -> Option<Table> {
        if self == Paper::Slavik {
            return None;
        }
        let mut table = Table::new(
            "Figures published by Kosák and Lencse (2025), on other hardware. They are for \
             orientation only: rates on different machines don't compare.",
            &["Condition", "Figure", ">Value"],
        );
        for (condition, figure, value) in PUBLISHED {
            table.row([*condition, *figure, *value]);
        }
        Some(table)
    }
}

/// Slavík's five sizes, one-way and bidirectional, with these modes.
fn by_size_and_direction(plan: &mut Vec<Measurement>, device: &str, modes: &[Mode]) {
    let both = [Direction::Forward, Direction::Reverse];
    for directions in [&both[..1], &both[..]] {
        for bytes in [64, 256, 512, 1024, 1518] {
            for mode in modes {
                let mut m = Measurement::new(*mode, device, Profile::Thesis);
                m.directions = directions.to_vec();
                m.size = Size::Bytes(bytes);
                plan.push(m);
            }
        }
    }
}

/// Condition, figure and value. Conditions are named as far as the source of the value does.
const PUBLISHED: &[(&str, &str, &str)] = &[
    ("Linux kernel, IPv4, 1 core at 3.2 GHz", "million frames/s per direction", "0.747"),
    ("VPP, IPv4, 1 core at 3.2 GHz", "million frames/s per direction", "6.95"),
    ("Linux kernel, IPv6, 1 core at 3.2 GHz", "million frames/s per direction", "0.729"),
    ("VPP, IPv6, 1 core at 3.2 GHz", "million frames/s per direction", "6.25"),
    ("first series, 1 core", "median, frames/s", "442,782"),
    ("first series, 1 core", "minimum, frames/s", "442,352"),
    ("first series, 1 core", "maximum, frames/s", "443,848"),
    ("first series, 1 core", "dispersion", "0.34 %"),
    ("first series, 12 cores", "median, frames/s", "3,923,150"),
    ("first series, 12 cores", "S(12)", "0.7384"),
    ("second series, 1 core", "median, frames/s", "728,805"),
    ("second series, 16 cores", "median, frames/s", "6,505,859"),
    ("second series, 16 cores", "S(16)", "0.5579"),
];

impl fmt::Display for Paper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Paper {
    type Err = String;

    fn from_str(text: &str) -> Result<Paper, String> {
        let names = || Paper::ALL.map(Paper::name).join(", ");
        let found = Paper::ALL.into_iter().find(|p| p.name() == text);
        found.ok_or_else(|| format!("no paper `{text}`: expected one of {}", names()))
    }
}

/// Statistics of the throughput of each measurement with a mode that has one.
fn rates(results: &Results, mode: Mode) -> Vec<(&Measurement, Summary)> {
    let name = mode.to_string();
    let measured = results.measurements.iter().filter(|m| m.mode == mode);
    measured.filter_map(|m| Some((m, m.series(&name)?.summary()?))).collect()
}

/// A table for each device and protocol, with a column for each number of cores.
fn by_cores(results: &Results) -> Vec<Table> {
    let mut groups: BTreeMap<(String, Family, Size), BTreeMap<u32, Summary>> = BTreeMap::new();
    for (m, summary) in rates(results, Mode::Throughput) {
        let key = (m.device.clone(), m.family, m.size);
        groups.entry(key).or_default().entry(m.cores).or_insert(summary);
    }
    let table = |((device, family, size), cores): ((String, Family, Size), BTreeMap<u32, _>)| {
        let names: Vec<String> = cores.keys().map(|n| format!(">{n}")).collect();
        let mut head = vec!["Number of cores"];
        head.extend(names.iter().map(String::as_str));
        let caption =
            format!("Throughput of {device} with {family}, {size} bytes, frames/s per direction.");
        let mut table = Table::new(caption, &head);
        let mut row = |name: &str, cell: &dyn Fn(u32, &Summary) -> Option<String>| {
            let cells = cores.iter().map(|(n, s)| cell(*n, s).unwrap_or_else(|| "–".into()));
            table.row(std::iter::once(name.to_string()).chain(cells));
        };
        let median = |n: u32| cores.get(&n).map(|s: &Summary| s.median);
        row("Median", &|_, s| Some(grouped(s.median)));
        row("Minimum", &|_, s| Some(grouped(s.min)));
        row("Maximum", &|_, s| Some(grouped(s.max)));
        row("Dispersion (%)", &|_, s| Some(format!("{:.2}", s.dispersion?)));
        row("Relative to half as many cores", &|n, s| {
            let half = median(n / 2).filter(|_| n % 2 == 0)?;
            Some(format!("{:.3}", relative_to_half(half, s.median)?))
        });
        row("Relative scale-up S(n)", &|n, s| {
            Some(format!("{:.4}", scale_up(median(1)?, n, s.median)?))
        });
        table
    };
    groups.into_iter().map(table).collect()
}

/// A table for each device, with a row for each frame size.
fn by_size(results: &Results, mode: Mode) -> Vec<Table> {
    let figure = match mode {
        Mode::NatThroughput => "Throughput of open NAT sessions of",
        _ => "Throughput of",
    };
    let mut groups: BTreeMap<(String, Family, bool), BTreeMap<Size, Summary>> = BTreeMap::new();
    for (m, summary) in rates(results, mode) {
        let key = (m.device.clone(), m.family, m.directions.len() > 1);
        groups.entry(key).or_default().entry(m.size).or_insert(summary);
    }
    let table = |((device, family, both), sizes): ((String, Family, bool), BTreeMap<Size, _>)| {
        let direction = if both { "bidirectional" } else { "one-way" };
        let mut table = Table::new(
            format!("{figure} {device} with {family}, {direction}."),
            &[
                ">Frame size, bytes",
                ">Frames/s per direction",
                ">Frames/s in total",
                ">Mbit/s in total",
            ],
        );
        for (size, s) in sizes {
            let s: Summary = s;
            let total = s.median * if both { 2.0 } else { 1.0 };
            // Bits on an Ethernet: preamble and gap take 20 bytes.
            let bits = total * (size.mean_bytes() + 20.0) * 8.0 / 1e6;
            table.row([size.to_string(), grouped(s.median), grouped(total), grouped(bits)]);
        }
        table
    };
    groups.into_iter().map(table).collect()
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn plans_fit_the_machine() {
        let cores = |n| -> Vec<u32> {
            let plan = Paper::KosakLencse.plan("linux", n);
            plan.iter().filter(|m| m.family == Family::Ip4).map(|m| m.cores).collect()
        };
        assert_eq!(cores(16), [1, 2, 4, 8, 16]);
        assert_eq!(cores(3), [1, 2]);
        assert_eq!(cores(0), [1]);
        let plan = Paper::Slavik.plan("ferrovia", 2);
        assert_eq!(plan.len(), 30);
        let mut keys: Vec<_> = plan.iter().map(Measurement::key).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 30);
        assert_eq!(Paper::Slavik.plan_of_nat("linux:nat").len(), 10);
        assert_eq!(Paper::KosakLencse.plan_of_nat("linux:nat").len(), 0);
        assert_eq!("slavik".parse(), Ok(Paper::Slavik));
        assert!("moongen".parse::<Paper>().unwrap_err().contains("kosak-lencse, slavik"));
    }

    /// The published medians give the published scale-up and dispersion in the table.
    #[suite::test]
    fn tables_have_the_papers_form() {
        let mut results = Results::default();
        for (n, values) in [(1, vec![442_352.0, 442_782.0, 443_848.0]), (12, vec![3_923_150.0; 3])]
        {
            let mut m = Measurement::new(Mode::Throughput, "linux", Profile::Rfc2544);
            m.cores = n;
            m.series_mut("throughput", "pps").values = values;
            results.measurements.push(m);
        }
        let tables = Paper::KosakLencse.tables(&results);
        assert_eq!(tables.len(), 2);
        let text = format!("{:?}", tables[0]);
        for cell in ["442,782", "443,848", "0.34", "3,923,150", "0.7384"] {
            assert!(text.contains(cell), "{cell} in {text}");
        }
        assert!(Paper::Slavik.published().is_none());
        assert_eq!(Paper::Slavik.tables(&results).len(), 1);
        let mut m = Measurement::new(Mode::NatThroughput, "linux:nat", Profile::Thesis);
        m.series_mut("nat-throughput", "pps").values = vec![123_456.0; 3];
        results.measurements.push(m);
        let text = format!("{:?}", Paper::Slavik.tables(&results)[1]);
        for cell in ["open NAT sessions of linux:nat with IPv4", "\"123,456\""] {
            assert!(text.contains(cell), "{cell} in {text}");
        }
    }
}
