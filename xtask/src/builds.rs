// SPDX-License-Identifier: Apache-2.0
//! Builds of tests and of the tools that run beside them.

use std::path::PathBuf;
use std::process::Command;

use crate::sh::{self, Res, root};

/// A profile, and the packages that are selected. Cargo unites the features that the selected
/// packages ask for, so steps that select the same ones share what is built.
#[derive(Debug, Clone)]
pub struct Build {
    profile: &'static str,
    selection: Vec<String>,
}

impl Build {
    /// The whole workspace, as one works on it.
    pub fn dev() -> Build {
        Build { profile: "dev", selection: vec!["--workspace".into()] }
    }

    /// The build that ships, with nothing but the packages that are asked for: no test adds its
    /// features.
    pub fn release() -> Build {
        Build { profile: "release", selection: Vec::new() }
    }

    /// The one build of a run of CI: `selection` are cargo's words for the packages.
    pub fn ci(selection: Vec<String>) -> Build {
        Build { profile: "ci", selection }
    }

    /// Where cargo puts programs.
    pub fn dir(&self) -> PathBuf {
        target_dir().join(if self.profile == "dev" { "debug" } else { self.profile })
    }

    /// `cargo SUBCOMMAND` for the selected packages in this profile.
    pub fn cargo(&self, subcommand: &str) -> Command {
        let mut command = sh::cargo(subcommand);
        command.args(["--profile", self.profile]).args(&self.selection);
        command
    }

    /// `cargo nextest run`, likewise.
    pub fn nextest(&self) -> Command {
        let mut command = nextest();
        command.args(["--cargo-profile", self.profile]).args(&self.selection);
        command
    }

    /// Builds programs of these packages; gives back the directory they lie in.
    pub fn programs(&self, packages: &[&str], names: &[&str]) -> Res<PathBuf> {
        let mut command = self.cargo("build");
        if !self.is_whole() {
            command.args(packages.iter().flat_map(|name| ["-p", name]));
        }
        sh::run(command.args(names.iter().flat_map(|name| ["--bin", name])))?;
        Ok(self.dir())
    }

    /// True if every package is selected.
    pub fn is_whole(&self) -> bool {
        self.selection == ["--workspace"]
    }

    /// The daemon, its client and the tester, for tests that start them; gives back their
    /// directory.
    pub fn daemon(&self) -> Res<PathBuf> {
        let names = ["ferrovia", "ferroctl", "ferrotest"];
        self.programs(&names, &names)
    }
}

/// `cargo nextest run`.
pub fn nextest() -> Command {
    let mut command = sh::cargo("nextest run");
    if std::env::var_os("CI").is_some() {
        command.args(["--profile", "ci"]);
    }
    command
}

/// Where cargo builds.
pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |dir| root().join(dir))
}
