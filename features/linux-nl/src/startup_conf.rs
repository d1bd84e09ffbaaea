// SPDX-License-Identifier: Apache-2.0
//! The section `linux-nl` of startup.conf.

use startup::section::NUMBER;
use startup::{Section, Word};

/// The reason why settings of batches are ignored.
const BATCHES: &str = "not needed: what has come is one batch, without a delay";

/// The settings of the section `linux-nl`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Startup {
    /// Bytes for notifications that aren't read yet.
    pub buffer: Option<u32>,
}

impl startup::Startup for Startup {
    const SECTIONS: &'static [Section<Self>] = &[Section::new(
        "linux-nl",
        "links, addresses, neighbours and routes of the host's kernel",
        &[
            Word::new(
                "nl-rx-buffer-size",
                |c| &mut c.buffer,
                "bytes for the kernel's notifications that aren't read yet",
            ),
            Word::unused("nl-batch-size", NUMBER, BATCHES),
            Word::unused("nl-batch-delay-ms", NUMBER, BATCHES),
        ],
    )];
}
