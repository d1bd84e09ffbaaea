// SPDX-License-Identifier: Apache-2.0
//! Fuzzing with libFuzzer on the pinned toolchain: coverage is a code generation option of stable
//! rustc, so neither cargo-fuzz nor a nightly has to be installed. `--asan` adds AddressSanitizer;
//! the libraries are then those of the verb `asan`.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::builds::target_dir;
use crate::sanitizer::{self, ASAN_OPTIONS, FUZZER_FLAGS, TARGET};
use crate::setup;
use crate::sh::{self, Res};

/// Arguments of the verb.
#[derive(Debug, PartialEq, Eq)]
struct Options<'a> {
    seconds: u32,
    asan: bool,
    keep: bool,
    only: Vec<&'a str>,
}

fn options<'a>(args: &[&'a str]) -> Res<Options<'a>> {
    let mut options = Options { seconds: 30, asan: false, keep: false, only: Vec::new() };
    let mut args = args.iter();
    while let Some(&arg) = args.next() {
        match arg {
            "--smoke" => options.seconds = 3,
            "--seconds" => {
                let value = args.next().and_then(|v| v.parse().ok());
                options.seconds = value.ok_or("fuzz: --seconds wants a number")?;
            }
            "--asan" => options.asan = true,
            "--keep" => options.keep = true,
            _ if arg.starts_with('-') => {
                return Err(format!(
                    "fuzz: unknown: {arg} (there are --smoke, --seconds N, --keep, --asan, TARGET…)"
                ));
            }
            target => options.only.push(target),
        }
    }
    Ok(options)
}

/// Names of the targets that the manifest declares.
fn targets(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let ours = packages.filter(|p| p["name"] == "ferrovia-fuzz");
    let targets = ours.flat_map(|p| p["targets"].as_array().into_iter().flatten());
    let programs =
        targets.filter(|t| t["kind"].as_array().is_some_and(|kinds| kinds.contains(&"bin".into())));
    programs.filter_map(|t| t["name"].as_str().map(String::from)).collect()
}

/// Names of all targets.
pub fn all() -> Res<Vec<String>> {
    let text = sh::output(&mut sh::cargo("metadata --no-deps --format-version 1"))?;
    Ok(targets(&serde_json::from_str(&text).map_err(|e| format!("cargo metadata: {e}"))?))
}

/// The verb `fuzz`: each target for a while, from the kept corpus and what earlier runs found.
pub fn verb(args: &[&str]) -> Res {
    let options = options(args)?;
    setup::ensure(&[setup::BUILD, setup::FUZZ])?;
    let all = all()?;
    if let Some(odd) = options.only.iter().find(|name| !all.iter().any(|t| t == *name)) {
        return Err(format!("fuzz: there is no target {odd}; there are {}", all.join(", ")));
    }
    let programs = build(options.asan)?;
    let wanted =
        all.iter().filter(|t| options.only.is_empty() || options.only.contains(&t.as_str()));
    let faults: Vec<_> =
        wanted.filter_map(|target| fuzz(target, &programs, &options).err()).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\nxtask: ")) }
}

/// Builds all targets; gives back the directory they lie in.
fn build(asan: bool) -> Res<PathBuf> {
    let profile = if asan { "asan" } else { "fuzz" };
    let mut command = sh::cargo("build -p ferrovia-fuzz --features libfuzzer --profile");
    command.args([profile, "--target", TARGET]);
    let dir = match asan {
        false => {
            command.env("RUSTFLAGS", FUZZER_FLAGS);
            target_dir().join("fuzz")
        }
        true => {
            sanitizer::watched(&mut command);
            sanitizer::sanitized_dir()
        }
    };
    sh::run(command.env("CARGO_TARGET_DIR", &dir))?;
    Ok(dir.join(TARGET).join(profile))
}

/// Run one target.
fn fuzz(target: &str, programs: &Path, options: &Options) -> Res {
    let (root, work) = (sh::root().join("fuzz"), target_dir().join("fuzz"));
    let (kept, found) = (root.join("corpus").join(target), work.join("corpus").join(target));
    let artifacts = root.join("artifacts").join(target);
    for dir in [&kept, &found, &artifacts] {
        std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    let program = programs.join(target);
    let base = || {
        let mut command = sh::cmd(&program.to_string_lossy());
        command.env("ASAN_OPTIONS", ASAN_OPTIONS);
        command.args(["-timeout=5", "-rss_limit_mb=1024", "-max_len=2048", "-print_final_stats=1"]);
        command.arg(format!("-artifact_prefix={}/", artifacts.display()));
        let dict = root.join("dict").join(format!("{target}.dict"));
        if dict.exists() {
            command.arg(format!("-dict={}", dict.display()));
        }
        command
    };
    let log = work.join(format!("{target}.log"));
    let mut command = base();
    // One seed: what a short run sees depends on the code and the corpus only.
    command
        .arg(format!("-max_total_time={}", options.seconds))
        .arg("-seed=1")
        .args([&found, &kept]);
    let file = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let status = command.stderr(file).status().map_err(|e| format!("fuzz: {target}: {e}"))?;
    let said = String::from_utf8_lossy(&std::fs::read(&log).unwrap_or_default()).into_owned();
    if !status.success() {
        let lines: Vec<_> = said.lines().collect();
        eprintln!("{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        return Err(format!(
            "fuzz: {target}: found a fault; the input is in fuzz/artifacts/{target}, again with: {} INPUT",
            program.display()
        ));
    }
    println!("fuzz: {target}: {}", summary(&said));
    if options.keep {
        sh::output(base().arg("-merge=1").args([&kept, &found]))?;
        println!("fuzz: {target}: what is new lies in fuzz/corpus/{target}");
    }
    Ok(())
}

/// One line out of libFuzzer's log.
fn summary(log: &str) -> String {
    let stat = |name: &str| {
        let line = log.lines().find_map(|l| l.strip_prefix(&format!("stat::{name}:")));
        line.map_or("?", str::trim).to_string()
    };
    let coverage = log.lines().rev().find_map(|l| l.split_once("cov: ")?.1.split(' ').next());
    let runs = stat("number_of_executed_units");
    format!(
        "{runs} inputs, {} edges, {} kept, no fault",
        coverage.unwrap_or("?"),
        stat("new_units_added")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read() {
        let expected = Options { seconds: 600, asan: false, keep: true, only: vec!["packet"] };
        assert_eq!(options(&["--seconds", "600", "--keep", "packet"]), Ok(expected));
        assert_eq!(options(&["--smoke"]).unwrap().seconds, 3);
        assert!(options(&["--seconds"]).is_err());
        assert!(options(&["--second", "1"]).is_err());
    }

    #[test]
    fn the_log_is_summed_up() {
        let log = "#2 INITED cov: 12 ft: 13\n#90 DONE   cov: 47 ft: 60 corp: 3/9b\n\
            stat::number_of_executed_units: 90\nstat::average_exec_per_sec:     45\nstat::new_units_added:          3\n";
        assert_eq!(summary(log), "90 inputs, 47 edges, 3 kept, no fault");
    }

    #[test]
    fn every_target_has_a_file_and_a_corpus() {
        let manifest = sh::read(sh::root().join("fuzz/Cargo.toml")).unwrap();
        // The names of the package and of the library come first.
        let names: Vec<_> =
            manifest.lines().filter_map(|l| l.strip_prefix("name = \"")).skip(2).collect();
        let library = sh::read(sh::root().join("fuzz/src/lib.rs")).unwrap();
        assert!(!names.is_empty());
        for name in names.iter().map(|n| n.trim_end_matches('"')) {
            assert!(sh::root().join(format!("fuzz/targets/{name}.rs")).exists(), "{name}");
            let corpus = sh::root().join("fuzz/corpus").join(name);
            assert!(
                corpus.read_dir().is_ok_and(|mut d| d.next().is_some()),
                "{}",
                corpus.display()
            );
            assert!(
                library.contains(&format!("kept_and_changed(\"{name}\"")),
                "{name} is in no test of fuzz/src/lib.rs"
            );
        }
    }
}
