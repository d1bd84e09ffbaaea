// SPDX-License-Identifier: Apache-2.0
//! VPP's Python client, the package that is on PyPI, against the daemon: the suites of `papi/`.
//!
//! Covers: bin/ferrovia, features/interface, features/fib, features/ip.

use std::path::PathBuf;

use testkit::lab::{self, Lab};

use crate::suite::{FETCH, Subject, kept, skip, source};

/// Python with the client, made once for these requirements.
fn python(lab: &Lab) -> Result<PathBuf, String> {
    let requirements = source("papi").join("requirements.txt");
    let wanted = std::fs::read_to_string(&requirements).expect("requirements");
    let (dir, _lock) = kept("papi");
    let (python, done) = (dir.join("venv/bin/python"), dir.join("requirements.txt"));
    if python.exists() && std::fs::read_to_string(&done).is_ok_and(|had| had == wanted) {
        return Ok(python);
    }
    let run = |program: &str, arguments: &[&str]| {
        let output = lab.command(program).args(arguments).timeout(FETCH).run();
        if output.success() { Ok(()) } else { Err(output.complaint()) }
    };
    run("python3", &["-m", "venv", "--clear", &dir.join("venv").to_string_lossy()])?;
    let file = requirements.to_string_lossy();
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--only-binary",
        ":all:",
    ];
    let pip = [&pip[..], &["--require-hashes", "-r", &file]].concat();
    run(&python.to_string_lossy(), &pip)?;
    std::fs::write(&done, &wanted).expect("a note of what is there");
    Ok(python)
}

/// One file of `papi/` against a daemon of its own.
#[track_caller]
fn suite(module: &str, more: &str) {
    let Some(lab) = lab::require(&["root", "python3"]) else { return };
    let python = match python(&lab) {
        Ok(python) => python,
        Err(why) => return skip(&why),
    };
    let subject = Subject::new(lab, more);
    let arguments = ["-B", "-W", "ignore", "-m", "unittest", "-v", module];
    let command =
        subject.command(&python.to_string_lossy(), &arguments).env("PYTHONPATH", source("papi"));
    subject.pass(command);
}

#[test]
fn session() {
    suite("session", "");
}

#[test]
fn router() {
    suite("router", "cpu { workers 1 } statseg { update-interval 1 }");
}

#[test]
fn examples() {
    suite("examples", "statseg { update-interval 0.1 per-node-counters on }");
}
