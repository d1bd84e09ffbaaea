// SPDX-License-Identifier: Apache-2.0
//! `make soak`: the daemon that ships, or one under AddressSanitizer, below everything that
//! `tests/soak` does to it.

use crate::builds::Build;
use crate::sanitizer::{ASAN_FLAGS, ASAN_OPTIONS, TARGET, sanitized, sanitized_dir};
use crate::setup;
use crate::sh::{self, Res};
use crate::verbs;

/// MiB that an instrumented daemon may hold: it keeps what was freed for a while.
const ASAN_MEMORY: &str = "1536";

/// The verb `soak`, whose program is of the build of the tests. `--asan` chooses the daemon,
/// everything else goes to the program.
pub fn verb(args: &[&str], tests: &Build) -> Res {
    setup::ensure(&[setup::BUILD, setup::HOSTS])?;
    let asan = args.contains(&"--asan");
    let programs = if asan { build_sanitized()? } else { verbs::build_release()? };
    let program = tests.programs(&["ferrovia-soak"], &["ferrovia-soak"])?.join("ferrovia-soak");
    let mut command = sh::cmd(&program.to_string_lossy());
    command.args(args.iter().filter(|arg| **arg != "--asan")).env("FERROVIA_PROGRAMS", programs);
    if asan {
        command.args(["--memory", ASAN_MEMORY]).env("ASAN_OPTIONS", ASAN_OPTIONS);
    }
    sh::run(&mut command)
}

/// Builds the daemon and its client under AddressSanitizer; gives back the directory they lie in.
fn build_sanitized() -> Res<std::path::PathBuf> {
    let mut command = sh::cargo("build --profile asan -p ferrovia -p ferroctl --bins");
    sh::run(sanitized(&mut command, ASAN_FLAGS).env("CARGO_TARGET_DIR", sanitized_dir()))?;
    Ok(sanitized_dir().join(TARGET).join("asan"))
}
