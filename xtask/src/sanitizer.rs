// SPDX-License-Identifier: Apache-2.0
//! Builds under AddressSanitizer, and with the counters of LLVM's fuzzer.

use std::path::PathBuf;
use std::process::Command;

use crate::builds::target_dir;

/// Compiler flags for libFuzzer: counters for edges, hints from compares. Comparing short strings
/// stays a call, which libFuzzer intercepts; expanded into loads it would be invisible to it.
pub const FUZZER_FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cllvm-args=-max-loads-per-memcmp=0";

/// Target of AddressSanitizer builds: named, so that build scripts and macros aren't instrumented.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Instruments memory accesses, and makes free packet buffers a fault to touch.
pub const ASAN_FLAGS: &str = "-Zsanitizer=address --cfg ferrovia_asan";

/// Options of the programs that run: leaks are no fault of a process that ends, the soak detects
/// memory that grows.
pub const ASAN_OPTIONS: &str = "detect_leaks=0:abort_on_error=1:quarantine_size_mb=64";

/// `command` with the variables of an AddressSanitizer build. The sanitizer's runtime comes with
/// every toolchain, but only an unstable option links it; the variable lets the pinned compiler
/// take that option, so that what is tested is made by the compiler that makes what ships, and
/// nothing has to be installed.
pub fn sanitized<'a>(command: &'a mut Command, flags: &str) -> &'a mut Command {
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", flags).env("CARGO_BUILD_TARGET", TARGET);
    command.env("ASAN_OPTIONS", ASAN_OPTIONS)
}

/// [`sanitized`] with the fuzzer's counters: the tests and the fuzzer's programs then take the same
/// libraries, which CI so compiles once.
pub fn watched(command: &mut Command) -> &mut Command {
    sanitized(command, &format!("{} {ASAN_FLAGS}", FUZZER_FLAGS))
}

/// Where AddressSanitizer builds go.
pub fn sanitized_dir() -> PathBuf {
    target_dir().join("asan")
}
