// SPDX-License-Identifier: Apache-2.0
//! The section `vhost-user` of startup.conf.

use startup::{Section, Word};

/// The settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Startup {
    dont_dump_memory: bool,
}

impl startup::Startup for Startup {
    const SECTIONS: &'static [Section<Self>] = &[Section::new(
        "vhost-user",
        "Interfaces to virtual machines",
        &[Word::new(
            "dont-dump-memory",
            |c: &mut Self| &mut c.dont_dump_memory,
            "leave guests' memory out of core dumps, which is always done",
        )],
    )];
}
