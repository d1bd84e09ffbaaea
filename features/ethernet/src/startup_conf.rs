// SPDX-License-Identifier: Apache-2.0
//! The section `ethernet` of startup.conf.

use startup::section::within;
use startup::{Section, Word};

/// The MTU unless another one is given, and the largest that may be.
const MTU: u16 = 9000;

/// The settings of the section `ethernet`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Startup {
    default_mtu: Option<u32>,
}

impl Startup {
    /// The MTU of a new interface that no host or device gives one.
    pub fn default_mtu(&self) -> u16 {
        self.default_mtu.and_then(|mtu| mtu.try_into().ok()).unwrap_or(MTU)
    }
}

impl startup::Startup for Startup {
    const SECTIONS: &'static [Section<Self>] = &[Section::new(
        "ethernet",
        "Ethernet interfaces",
        &[Word::new(
            "default-mtu",
            |c: &mut Self| &mut c.default_mtu,
            "MTU of new interfaces [9000]",
        )
        .check(|c| within(c.default_mtu, 64, MTU.into()))],
    )];
}
