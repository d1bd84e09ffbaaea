// SPDX-License-Identifier: Apache-2.0
//! Sets the commit that the program is built from, its date, and the compiler. `FERROVIA_COMMIT`
//! and `FERROVIA_DATE` take the place of git's answers, for builds without git; the date is the
//! commit's, so two builds of one source are the same.

use std::path::Path;
use std::process::Command;

/// Runs a command and returns its output without the trailing newline; an empty string if it fails.
fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().ok().filter(|o| o.status.success());
    output.map_or_else(String::new, |o| String::from_utf8_lossy(&o.stdout).trim().to_string())
}

fn main() {
    let given = |variable: &str, arguments: &[&str]| {
        println!("cargo::rerun-if-env-changed={variable}");
        std::env::var(variable).unwrap_or_else(|_| output_of("git", arguments))
    };
    let commit = given("FERROVIA_COMMIT", &["rev-parse", "--short=12", "HEAD"]);
    let date = given("FERROVIA_DATE", &["show", "--no-patch", "--format=%cs", "HEAD"]);
    let compiler =
        output_of(&std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into()), &["--version"]);
    println!("cargo::rustc-env=FERROVIA_COMMIT={commit}");
    println!("cargo::rustc-env=FERROVIA_DATE={date}");
    println!("cargo::rustc-env=FERROVIA_COMPILER={compiler}");
    // Generic functions for types of the same layout have the same code: one copy of it is kept.
    // The linker of this target, which comes with the compiler, can do this.
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|is| is == value);
    if is("PROFILE", "release") && is("TARGET", "x86_64-unknown-linux-gnu") {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
    // The commit changes where HEAD, or the branch that it names, does.
    println!("cargo::rerun-if-changed=build.rs");
    let branch = output_of("git", &["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "packed-refs", &branch].into_iter().filter(|name| !name.is_empty()) {
        let path = output_of("git", &["rev-parse", "--git-path", name]);
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}
