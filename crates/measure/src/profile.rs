// SPDX-License-Identifier: Apache-2.0
//! Profiles: how long trials are, how often they are repeated, and how close a search goes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Named set of durations, repeats and widths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Short trials for a first look. Results are marked "not RFC 2544".
    Quick,
    /// Trials of 60 s, 20 repeats, as RFC 2544 demands.
    Rfc2544,
    /// Trials of 1 s, 21 s of them at each bound, width 0.5 %, as FD.io CSIT measures.
    Csit,
    /// Trials of 120 s, 20 repeats.
    Thesis,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Profile; 4] =
        [Profile::Quick, Profile::Rfc2544, Profile::Csit, Profile::Thesis];

    /// Name, as the command line takes it.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Quick => "quick",
            Profile::Rfc2544 => "rfc2544",
            Profile::Csit => "csit",
            Profile::Thesis => "thesis",
        }
    }

    /// Duration of a trial in seconds.
    pub fn duration(self) -> f64 {
        match self {
            Profile::Quick | Profile::Csit => 1.0,
            Profile::Rfc2544 => 60.0,
            Profile::Thesis => 120.0,
        }
    }

    /// Repeats of a measurement.
    pub fn repeats(self) -> u32 {
        match self {
            Profile::Quick => 3,
            Profile::Csit => 10,
            Profile::Rfc2544 | Profile::Thesis => 20,
        }
    }

    /// Width of the final interval of a search, relative to its upper bound.
    pub fn width(self) -> f64 {
        match self {
            Profile::Quick => 0.01,
            Profile::Csit => 0.005,
            Profile::Rfc2544 | Profile::Thesis => 0.001,
        }
    }

    /// Seconds of trials that decide a bound of MLRsearch.
    pub fn duration_sum(self) -> f64 {
        match self {
            Profile::Quick => 3.0,
            Profile::Csit => 21.0,
            Profile::Rfc2544 => 60.0,
            Profile::Thesis => 120.0,
        }
    }

    /// True if the trials are as long as RFC 2544, section 24, demands: 60 s.
    pub fn is_rfc2544(self) -> bool {
        self.duration() >= 60.0
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Profile, String> {
        let names = || Profile::ALL.map(Profile::name).join(", ");
        let found = Profile::ALL.into_iter().find(|p| p.name() == text);
        found.ok_or_else(|| format!("no profile `{text}`: expected one of {}", names()))
    }
}
