// SPDX-License-Identifier: Apache-2.0
//! The section `interface` of startup.conf.

use graph::InputMode;
use startup::value::Value;
use startup::{Section, Word};

/// The settings of the section `interface`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Startup {
    mode: Option<RxMode>,
}

impl Startup {
    /// Default mode of receive queues.
    pub fn default_rx_mode(&self) -> InputMode {
        self.mode.map_or(InputMode::Adaptive, |mode| mode.0)
    }
}

/// A mode in which receive queues are polled.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RxMode(InputMode);

impl Value for RxMode {
    const SYNTAX: &'static str = "polling|interrupt|adaptive";

    fn parse(word: &str) -> Result<Self, String> {
        let modes = [InputMode::Polling, InputMode::Interrupt, InputMode::Adaptive];
        let mode = modes.into_iter().find(|mode| mode.to_string() == word);
        mode.map(Self)
            .ok_or_else(|| format!("expected `polling`, `interrupt` or `adaptive`, not `{word}`"))
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

impl startup::Startup for Startup {
    const SECTIONS: &'static [Section<Self>] = &[Section::new(
        "interface",
        "defaults of interfaces",
        &[Word::new(
            "default-rx-mode",
            |c: &mut Self| &mut c.mode,
            "how receive queues are polled [adaptive]",
        )],
    )];
}
