// SPDX-License-Identifier: Apache-2.0
//! The section `l2learn` of startup.conf.

use crate::domain::DEFAULT_LEARN_LIMIT;
use startup::section::within;
use startup::{Section, Word};

/// The settings of the section `l2learn`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Startup {
    limit: Option<u32>,
}

impl Startup {
    /// Addresses that all domains learn at most.
    pub fn limit(&self) -> u32 {
        self.limit.unwrap_or(DEFAULT_LEARN_LIMIT)
    }
}

impl startup::Startup for Startup {
    const SECTIONS: &'static [Section<Self>] = &[Section::new(
        "l2learn",
        "learning of MAC addresses",
        &[Word::new(
            "limit",
            |c: &mut Self| &mut c.limit,
            "MAC addresses learned at most [16777216]",
        )
        .check(|c| within(c.limit, 1, DEFAULT_LEARN_LIMIT))],
    )];
}
