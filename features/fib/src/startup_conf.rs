// SPDX-License-Identifier: Apache-2.0
//! Sections of startup.conf that size VPP's tables.

use startup::section::{GROWS, NUMBER, SIZE};
use startup::{Section, Word};

/// Nothing: the tables need no sizes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Startup;

impl startup::Startup for Startup {
    const SECTIONS: &'static [Section<Self>] = &[
        Section::new("ip", "the IPv4 tables", &[Word::unused("heap-size", SIZE, GROWS)]),
        Section::new(
            "ip6",
            "the IPv6 tables",
            &[Word::unused("heap-size", SIZE, GROWS), Word::unused("hash-buckets", NUMBER, GROWS)],
        ),
        Section::new(
            "l3fib",
            "the tables of routes",
            &[
                Word::unused("fib-entry-pool-size", SIZE, GROWS),
                Word::unused("ip4-mtrie-pool-size", SIZE, GROWS),
                Word::unused("load-balance-pool-size", SIZE, GROWS),
                Word::unused("load-balance-size", SIZE, GROWS),
            ],
        ),
    ];
}
