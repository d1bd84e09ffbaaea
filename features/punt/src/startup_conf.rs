// SPDX-License-Identifier: Apache-2.0
//! The section `punt` of startup.conf.

use startup::value::SocketPath;
use startup::{Section, Word};

/// The settings of the section `punt`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Startup {
    /// Path of the socket that clients send packets to.
    pub socket: Option<SocketPath>,
}

impl startup::Startup for Startup {
    const SECTIONS: &'static [Section<Self>] = &[Section::new(
        "punt",
        "packets for other programs",
        &[Word::new(
            "socket",
            |c| &mut c.socket,
            "where clients send packets that answer punted ones",
        )],
    )];
}
