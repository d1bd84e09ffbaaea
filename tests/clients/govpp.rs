// SPDX-License-Identifier: Apache-2.0
//! GoVPP, the module that is on the Go proxy, against the daemon: with the bindings that it ships,
//! and with bindings that its generator makes of our descriptions.
//!
//! Covers: bin/ferrovia, features/interface, features/fib, features/ip.

use std::path::{Path, PathBuf};
use std::time::Duration;

use testkit::lab::{self, Command, Lab};

use crate::suite::{FETCH, Subject, kept, skip, source};

/// The Go module, ready to be built.
struct Module {
    dir: PathBuf,
}

/// `go1.26.8` as (1, 26).
fn version(text: &str) -> Option<(u32, u32)> {
    let number = text.split(' ').find_map(|word| word.strip_prefix("go1."))?;
    Some((1, number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?))
}

impl Module {
    /// A copy of `govpp/` below `target/`, beside caches of its own, so that nothing is written
    /// into the tree.
    fn new(lab: &Lab, name: &str) -> Result<Module, String> {
        // Go as go.mod requires it, or Go of Debian 12, for which an earlier GoVPP is the newest.
        let flavor =
            match version(&lab.command("go").args(["version"]).env("GOTOOLCHAIN", "local").ok()) {
                Some(go) if go >= (1, 24) => "go",
                Some(go) if go >= (1, 19) => "go119",
                go => return Err(format!("Go {go:?} is too old")),
            };
        let (dir, _lock) = kept("govpp");
        let module = Module { dir };
        let sources = source("govpp");
        let to = module.sources(name);
        // Nothing of an earlier run is tested.
        let _ = std::fs::remove_dir_all(&to);
        copy(&sources, &to);
        for kind in ["mod", "sum"] {
            let file = sources.join(format!("{flavor}.{kind}"));
            std::fs::copy(&file, to.join(format!("go.{kind}"))).expect("a copy");
        }
        let output = module.go(lab, name, &["mod", "download"], FETCH).run();
        if output.success() { Ok(module) } else { Err(output.complaint()) }
    }

    fn sources(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn go(&self, lab: &Lab, name: &str, arguments: &[&str], timeout: Duration) -> Command {
        // `go -C` is younger than Debian 12.
        let shell = lab
            .command("sh")
            .args(["-c", "cd \"$0\" && exec go \"$@\""])
            .args([self.sources(name)]);
        self.env(shell.args(arguments)).timeout(timeout)
    }

    /// Environment of every `go`: its caches, no other toolchain, files that can be removed again.
    fn env(&self, command: Command) -> Command {
        command
            .env("GOMODCACHE", self.dir.join("modules"))
            .env("GOCACHE", self.dir.join("built"))
            .env("GOTOOLCHAIN", "local")
            .env("GOFLAGS", "-modcacherw -buildvcs=false")
    }
}

/// The Go files of a folder.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("the sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            copy(&path, &to.join(entry.file_name()));
        } else if path.extension().is_some_and(|e| e == "go") {
            std::fs::copy(&path, to.join(entry.file_name())).expect("a copy");
        }
    }
}

#[test]
fn shipped() {
    suite("shipped", ".");
}

#[test]
fn generated() {
    suite("generated", "./generated");
}

#[track_caller]
fn suite(name: &str, package: &str) {
    let Some(lab) = lab::require(&["root", "go"]) else { return };
    let module = match Module::new(&lab, name) {
        Ok(module) => module,
        Err(why) => return skip(&why),
    };
    let subject = Subject::new(lab.clone(), "cpu { workers 1 } statseg { update-interval 1 }");
    if name == "generated" {
        let api = subject.router.file("api").to_string_lossy().into_owned();
        let generate = [
            "run",
            "go.fd.io/govpp/cmd/binapi-generator",
            "--output-dir=binapi",
            "--import-prefix=ferrovia.test/clients/binapi",
            "--input",
            &api,
        ];
        module.go(&lab, name, &generate, FETCH).ok();
    }
    // Built first, so that the tests' time is their own.
    module.go(&lab, name, &["test", "-c", "-o", "suite", package], FETCH).ok();
    let program = module.sources(name).join("suite");
    let command = subject.command(&program.to_string_lossy(), &["-test.v", "-test.timeout=200s"]);
    subject.pass(command);
}
