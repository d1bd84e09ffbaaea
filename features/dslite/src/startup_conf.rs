// SPDX-License-Identifier: Apache-2.0
//! The section `dslite` of startup.conf.

use startup::{Section, Word};

/// The settings of the section `dslite`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Startup {
    /// This router is a B4 (customer edge), and no AFTR.
    pub ce: bool,
}

impl startup::Startup for Startup {
    const SECTIONS: &'static [Section<Self>] = &[Section::new(
        "dslite",
        "DS-Lite",
        &[Word::new("ce", |c: &mut Self| &mut c.ce, "be a B4 instead of an AFTR")],
    )];
}
