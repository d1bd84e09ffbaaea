// SPDX-License-Identifier: Apache-2.0
//! Fixture of suites in other languages: a daemon to connect to, and the client packages as they
//! are published.
//!
//! Packages are fetched once and kept below `target/clients/`; without network, and with nothing
//! kept, a suite is skipped aloud, but in CI it fails.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fixture::{Router, programs};
use testkit::lab::{Command, Lab};

/// Packages come over the network.
pub const FETCH: Duration = Duration::from_secs(300);
/// A suite takes seconds; this is for a loaded machine.
pub const SUITE: Duration = Duration::from_secs(240);

/// The folder of a suite's sources.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(name)
}

/// A folder that outlives the tests, locked until the value goes: two tests don't fill it at once.
pub fn kept(name: &str) -> (PathBuf, File) {
    let target =
        programs().ferrovia.ancestors().nth(2).expect("target/PROFILE/ferrovia").to_path_buf();
    let dir = target.join("clients").join(name);
    std::fs::create_dir_all(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let file = File::create(dir.join(".lock")).expect("a lock");
    file.lock().expect("a lock");
    (dir, file)
}

/// Skips a suite whose packages can't be had, with the last lines of why.
#[track_caller]
pub fn skip(why: &str) {
    let why = why.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>();
    let why = why[why.len().saturating_sub(6)..].join(" | ");
    testkit::skip(&format!("the client's packages can't be had: {why}"));
}

/// A daemon, and the folder with the descriptions of its messages.
pub struct Subject {
    pub router: Router,
    pub lab: Lab,
}

impl Subject {
    /// A fresh daemon.
    #[track_caller]
    pub fn new(lab: Lab, more: &str) -> Subject {
        let router = Router::start(&lab.netns("router"), more);
        let api = router.file("api").to_string_lossy().into_owned();
        lab.command(&programs().ferrovia.to_string_lossy()).args(["--dump-api", &api]).ok();
        Subject { router, lab }
    }

    /// Command of a suite, with the daemon's directories and process ID in its environment.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = self.lab.command(program).args(arguments).timeout(SUITE);
        let variables: [(&str, OsString); 3] = [
            ("FERROVIA_RUN", self.router.dir().into()),
            ("FERROVIA_API", self.router.file("api").into()),
            ("FERROVIA_PID", self.router.id().to_string().into()),
        ];
        for (name, value) in variables {
            command = command.env(name, value);
        }
        command
    }

    /// Runs a suite, shows its output, and ends the daemon, which has to be well.
    #[track_caller]
    pub fn pass(self, command: Command) {
        let output = command.run();
        println!("{}{}", output.stdout, output.stderr);
        assert!(output.success(), "the suite failed; the daemon's log:\n{}", self.router.log());
        let log = self.router.stop();
        assert!(!log.contains("panicked"), "{log}");
    }
}
