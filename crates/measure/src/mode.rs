// SPDX-License-Identifier: Apache-2.0
//! Modes: kinds of measurement.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Kind of measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Tester against itself.
    Selftest,
    /// Throughput by RFC 2544, 26.1.
    Throughput,
    /// No-drop and partial-drop rate by MLRsearch, RFC 9971.
    Ndrpdr,
    /// Maximum receive rate at the highest load.
    Mrr,
    /// One load for a long time.
    Soak,
    /// Frame loss rate by RFC 2544, 26.3.
    Loss,
    /// Latency by RFC 8219, 7.2.
    Latency,
    /// Packet delay variation by RFC 8219, 7.3.1.
    Pdv,
    /// Inter-packet delay variation by RFC 8219, 7.3.2.
    Ipdv,
    /// Back-to-back frames by RFC 2544, 26.4, and RFC 9004.
    B2b,
    /// System recovery by RFC 2544, 26.5.
    Recovery,
    /// Reset by RFC 6201.
    Reset,
    /// Time for which a change of the configuration blocks traffic.
    Reconfig,
    /// New sessions per second of a NAT, RFC 9693.
    NatCps,
    /// Session removals per second of a NAT, RFC 9693.
    NatTeardown,
    /// Sessions that a NAT holds, RFC 9693.
    NatCapacity,
    /// Throughput of a NAT with its sessions in place, RFC 9693.
    NatThroughput,
    /// Figures as workers, flows, routes, rules or sessions grow.
    Scale,
    /// Replay of a capture file.
    Replay,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 19] = [
        Mode::Selftest,
        Mode::Throughput,
        Mode::Ndrpdr,
        Mode::Mrr,
        Mode::Soak,
        Mode::Loss,
        Mode::Latency,
        Mode::Pdv,
        Mode::Ipdv,
        Mode::B2b,
        Mode::Recovery,
        Mode::Reset,
        Mode::Reconfig,
        Mode::NatCps,
        Mode::NatTeardown,
        Mode::NatCapacity,
        Mode::NatThroughput,
        Mode::Scale,
        Mode::Replay,
    ];

    /// Name, as the command line and the JSON document have it.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Selftest => "selftest",
            Mode::Throughput => "throughput",
            Mode::Ndrpdr => "ndrpdr",
            Mode::Mrr => "mrr",
            Mode::Soak => "soak",
            Mode::Loss => "loss",
            Mode::Latency => "latency",
            Mode::Pdv => "pdv",
            Mode::Ipdv => "ipdv",
            Mode::B2b => "b2b",
            Mode::Recovery => "recovery",
            Mode::Reset => "reset",
            Mode::Reconfig => "reconfig",
            Mode::NatCps => "nat-cps",
            Mode::NatTeardown => "nat-teardown",
            Mode::NatCapacity => "nat-capacity",
            Mode::NatThroughput => "nat-throughput",
            Mode::Scale => "scale",
            Mode::Replay => "replay",
        }
    }

    /// Title and source for a report.
    pub fn title(self) -> &'static str {
        match self {
            Mode::Selftest => "Self-test of the tester",
            Mode::Throughput => "Throughput (RFC 2544, 26.1)",
            Mode::Ndrpdr => "No-drop and partial-drop rate (MLRsearch, RFC 9971)",
            Mode::Mrr => "Maximum receive rate",
            Mode::Soak => "Soak",
            Mode::Loss => "Frame loss rate (RFC 2544, 26.3)",
            Mode::Latency => "Latency (RFC 8219, 7.2)",
            Mode::Pdv => "Packet delay variation (RFC 8219, 7.3.1)",
            Mode::Ipdv => "Inter-packet delay variation (RFC 8219, 7.3.2)",
            Mode::B2b => "Back-to-back frames (RFC 2544, 26.4; RFC 9004)",
            Mode::Recovery => "System recovery (RFC 2544, 26.5)",
            Mode::Reset => "Reset (RFC 6201)",
            Mode::Reconfig => "Reconfiguration under load",
            Mode::NatCps => "NAT: new sessions per second (RFC 9693)",
            Mode::NatTeardown => "NAT: session removals per second (RFC 9693)",
            Mode::NatCapacity => "NAT: capacity (RFC 9693)",
            Mode::NatThroughput => "NAT: throughput (RFC 9693)",
            Mode::Scale => "Scaling",
            Mode::Replay => "Replay",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Mode, String> {
        let found = Mode::ALL.into_iter().find(|m| m.name() == text);
        found.ok_or_else(|| {
            let names = Mode::ALL.map(Mode::name).join(", ");
            format!("no mode `{text}`: expected one of {names}")
        })
    }
}
