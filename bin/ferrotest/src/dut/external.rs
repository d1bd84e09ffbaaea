// SPDX-License-Identifier: Apache-2.0
//! A device that a script sets up: `SCRIPT up`, `SCRIPT down`, `SCRIPT describe`, `SCRIPT restart`,
//! `SCRIPT add-routes FILE GATEWAY`, `SCRIPT delete-routes FILE GATEWAY`; the file has a prefix in
//! each line. A script that translates addresses has `SCRIPT clear-sessions`.
//!
//! The script runs in the lab's middle namespace, with the names of the interfaces and the
//! addresses in its environment.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::change::{Routes, Verb};
use super::{Device, sweep};
use crate::lab::{End, LINK, Lab, ROUTE};

/// The script.
#[derive(Debug)]
pub struct External {
    script: PathBuf,
    description: String,
    /// The lab's namespace, for `down`.
    namespace: netlink::Namespace,
}

fn run(script: &Path, namespace: &netlink::Namespace, words: &[&str]) -> Result<String, String> {
    let mut command = Command::new(script);
    sweep::tag(&mut command).args(words).stdin(Stdio::null());
    for end in End::BOTH {
        let (all, upper) = (end.addresses(), end.name().to_uppercase());
        for (name, value) in [
            ("INTERFACE", end.name().to_string()),
            ("IP4", format!("{}/{}", all.device.0, LINK.0)),
            ("IP6", format!("{}/{}", all.device.1, LINK.1)),
            ("TESTER_IP4", all.tester.0.to_string()),
            ("TESTER_IP6", all.tester.1.to_string()),
            ("NETWORK_IP4", format!("{}/{}", all.network.0, ROUTE.0)),
            ("NETWORK_IP6", format!("{}/{}", all.network.1, ROUTE.1)),
        ] {
            command.env(format!("FERROTEST_{upper}_{name}"), value);
        }
    }
    let output = namespace.run(|| command.output());
    let output = output.map_err(|error| format!("{}: {error}", script.display()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_string());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(format!("{} {}: {}\n{}", script.display(), words.join(" "), output.status, why.trim()))
}

impl External {
    /// Runs `up` and `describe`.
    ///
    /// # Errors
    /// The script failed; the text has its standard error.
    pub fn up(script: &Path, lab: &Lab) -> Result<Self, String> {
        let again = lab.device.run(netlink::Namespace::current);
        let namespace = again.map_err(|error| format!("the lab's namespace: {error}"))?;
        run(script, &namespace, &["up"])?;
        let mut this = Self { script: script.into(), description: String::new(), namespace };
        this.description = run(script, &this.namespace, &["describe"])?;
        Ok(this)
    }
}

impl Device for External {
    fn describe(&self) -> String {
        self.description.clone()
    }

    fn restart(&mut self, _lab: &Lab) -> Result<(), String> {
        run(&self.script, &self.namespace, &["restart"]).map(drop)
    }

    fn clear_sessions(&mut self, _lab: &Lab) -> Result<(), String> {
        run(&self.script, &self.namespace, &["clear-sessions"]).map(drop)
    }

    fn routes(&mut self, _lab: &Lab, routes: Routes, verb: Verb) -> Result<(), String> {
        let verb = match verb {
            Verb::Add => "add-routes",
            Verb::Delete => "delete-routes",
        };
        let mut file =
            tempfile::NamedTempFile::new().map_err(|error| format!("a temporary file: {error}"))?;
        let path = file.path().display().to_string();
        file.write_all(routes.lines("", "").as_bytes())
            .map_err(|error| format!("{path}: {error}"))?;
        let via = routes.via().to_string();
        run(&self.script, &self.namespace, &[verb, &path, &via]).map(drop)
    }
}

impl Drop for External {
    fn drop(&mut self) {
        if let Err(error) = run(&self.script, &self.namespace, &["down"]) {
            eprintln!("ferrotest: {error}");
        }
    }
}
