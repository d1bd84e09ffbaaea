// SPDX-License-Identifier: Apache-2.0
//! The section `acl-plugin` of startup.conf.

use startup::section::{GROWS, NUMBER, SIZE, within};
use startup::{Section, Word};

/// Sessions at most, if startup.conf names no other number.
const MOST_SESSIONS: u32 = 500_000;
/// Without effect: lookups take the same time for any number of rules.
const FLAT: &str = "not needed: the time of a lookup doesn't depend on the number of rules";

/// The settings of the section `acl-plugin`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Startup {
    most_sessions: Option<u32>,
}

impl Startup {
    /// Sessions at most.
    pub fn most_sessions(&self) -> u32 {
        self.most_sessions.unwrap_or(MOST_SESSIONS)
    }
}

impl startup::Startup for Startup {
    const SECTIONS: &'static [Section<Self>] = &[Section::new(
        "acl-plugin",
        "access control lists",
        &[
            Word::new(
                "connection count max",
                |c: &mut Self| &mut c.most_sessions,
                "sessions at most [500000]",
            )
            .check(|c| within(c.most_sessions, 1, u32::MAX)),
            Word::unused("connection hash buckets", NUMBER, GROWS),
            Word::unused("connection hash memory", SIZE, GROWS),
            Word::unused("hash lookup heap size", SIZE, GROWS),
            Word::unused("hash lookup hash buckets", NUMBER, GROWS),
            Word::unused("hash lookup hash memory", SIZE, GROWS),
            Word::unused("use tuple merge", NUMBER, FLAT),
            Word::unused("tuple merge split threshold", NUMBER, FLAT),
            Word::unused("reclassify sessions", NUMBER, "sessions are always judged again"),
        ],
    )];
}
