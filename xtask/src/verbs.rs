// SPDX-License-Identifier: Apache-2.0
//! The short verbs.

use std::path::PathBuf;
use std::process::Stdio;

use crate::builds::{Build, target_dir};
use crate::sh::{self, Res, root};
use crate::{docs, layers, licences, setup, sources};

/// Build the daemon and its client optimised; gives back the directory they lie in.
pub fn build_release() -> Res<PathBuf> {
    setup::ensure(&[setup::BUILD])?;
    if !root().join("bin/ferrovia").exists() {
        return Err("bin/ferrovia is not in the tree yet, so there is no daemon to build".into());
    }
    println!("== building the programs (optimised; the first time takes a few minutes)");
    // Named one by one: with the whole workspace selected, what ships would get the features that
    // its tests ask for.
    sh::run(&mut sh::cargo("build --release -p ferrovia -p ferroctl -p ferrotest --bins"))?;
    Ok(target_dir().join("release"))
}

/// Build both programs as they are while one works on them: optimised, in a fraction of the time.
/// Gives back their directory.
pub fn build_quick() -> Res<PathBuf> {
    setup::ensure(&[setup::BUILD])?;
    println!(
        "== building the daemon (profile quick; the first time takes some minutes, after a change some seconds)"
    );
    sh::run(&mut sh::cargo("build --profile quick -p ferrovia -p ferroctl --bins"))?;
    Ok(target_dir().join("quick"))
}

/// The daemon in the foreground, with its CLI on this terminal. Its sockets are below target/run
/// unless a file (`-c FILE`) or its words name others.
/// `--release` is a word of ours: the build that ships.
pub fn run(config: &[&str]) -> Res {
    let (built, config) = match config {
        ["--release", rest @ ..] => (build_release()?, rest),
        all => (build_quick()?, all),
    };
    let dir = target_dir().join("run");
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let own = format!("unix {{ runtime-dir {} }}", dir.display());
    let mut command = sh::cmd(&built.join("ferrovia").to_string_lossy());
    command.args(run_words(&own, config));
    sh::run(command.stdin(Stdio::inherit()))
}

/// The daemon's words: it stays in the foreground whatever they are; a later word overrides an
/// earlier one.
fn run_words<'w>(own: &'w str, config: &[&'w str]) -> Vec<&'w str> {
    // A file is named first.
    let (file, rest) =
        config.split_at(if config.first() == Some(&"-c") { config.len().min(2) } else { 0 });
    let interactive = ["unix", "{", "interactive", "}"];
    let own = if file.is_empty() { own } else { "" };
    file.iter()
        .copied()
        .chain(own.split_whitespace())
        .chain(interactive)
        .chain(rest.iter().copied())
        .collect()
}

/// Format, or with `check` say what isn't.
pub fn fmt(check: bool) -> Res {
    let tail = if check { " --check" } else { "" };
    sh::run(&mut sh::cargo(&format!("fmt --all{tail}")))
}

/// Clippy over the packages of a build, warnings are errors.
pub fn clippy(build: &Build) -> Res {
    setup::ensure(&[setup::BUILD])?;
    // In the profile of the tests: build scripts and macros are then built once for both.
    // Not `--all-targets`: that takes libraries a second time, as test programs of their own.
    let targets = "clippy --lib --bins --tests --examples";
    sh::run(build.cargo(targets).args(["--", "-D", "warnings"]))
}

/// All that can be said of the source without running it.
pub fn lint() -> Res {
    let dev = Build::dev();
    let steps: [&dyn Fn() -> Res; 7] = [
        &|| fmt(true),
        &|| clippy(&dev),
        &layers::verb,
        &sources::verb,
        &licences::verb,
        &|| docs::verb(true),
        &|| doc(&dev),
    ];
    // Every step runs: one look shows everything.
    let faults: Vec<_> = steps.iter().filter_map(|step| step().err()).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\nxtask: ")) }
}

/// API documentation.
pub fn doc(build: &Build) -> Res {
    setup::ensure(&[setup::BUILD])?;
    let mut command = build.cargo("doc --no-deps --document-private-items");
    sh::run(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    println!("doc: {}", target_dir().join("doc").display());
    Ok(())
}

/// The benchmarks of benches/, whose program takes `args`: of the forwarding path; if the first is
/// `lookup`, of route lookups alone; if it is `failover` or `load`, of what packets notice of
/// changes. A short run, whose figures mean nothing, takes the build of the tests.
pub fn bench(args: &[&str], tests: &Build) -> Res {
    if !root().join("benches/Cargo.toml").exists() {
        println!("bench: benches/ is not in the tree yet: nothing was measured");
        return Ok(());
    }
    let hosts: &[setup::Need] = if args.first() == Some(&"host") { setup::HOSTS } else { &[] };
    setup::ensure(&[setup::BUILD, hosts])?;
    let (package, program, args) = match args {
        ["lookup", rest @ ..] => ("ferrovia-bench-lookup", "ferrovia-bench-lookup", rest),
        ["failover" | "load" | "learn" | "table", ..] => {
            ("ferrovia-bench-live", "bench-live", args)
        }
        ["host", rest @ ..] => ("ferrovia-bench-host", "bench-host", rest),
        all => ("ferrovia-bench", "bench", all),
    };
    let release = Build::release();
    let build = if args.contains(&"--smoke") { tests } else { &release };
    let (mut packages, mut programs) = (vec![package], vec![program]);
    if program == "bench-host" {
        // It starts the daemon.
        packages.extend(["ferrovia", "ferroctl"]);
        programs.extend(["ferrovia", "ferroctl"]);
    }
    let built = build.programs(&packages, &programs)?;
    let program = built.join(program);
    sh::run(sh::cmd(&program.to_string_lossy()).env("FERROVIA_PROGRAMS", built).args(args))
}

/// Remove what was built.
pub fn clean() -> Res {
    sh::run(&mut sh::cargo("clean"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemon_stays_in_the_foreground_whatever_it_is_told() {
        let words = |config: &[&str]| run_words("unix { runtime-dir /d }", config).join(" ");
        assert_eq!(words(&[]), "unix { runtime-dir /d } unix { interactive }");
        assert_eq!(
            words(&["cpu", "{", "}"]),
            "unix { runtime-dir /d } unix { interactive } cpu { }"
        );
        assert_eq!(words(&["-c", "/etc/f", "cpu { }"]), "-c /etc/f unix { interactive } cpu { }");
    }
}
