// SPDX-License-Identifier: Apache-2.0
//! Version, commit, date and compiler of this build, for bug reports. The package's `build.rs` sets
//! them.

/// The version's number.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit, shortened; empty if unknown.
pub const COMMIT: &str = env!("FERROVIA_COMMIT");
/// The commit's date, `2026-01-31`; empty if unknown.
pub const DATE: &str = env!("FERROVIA_DATE");
/// The compiler, in its own words.
pub const COMPILER: &str = env!("FERROVIA_COMPILER");

/// The folder that it was built in.
pub fn directory() -> &'static str {
    let package = env!("CARGO_MANIFEST_DIR");
    package.strip_suffix("/bin/ferrovia").unwrap_or(package)
}

/// Name, version, platform and commit of this program, in one line.
pub fn line() -> String {
    let platform = format!("{} {}", std::env::consts::ARCH, std::env::consts::OS);
    let from =
        [COMMIT, DATE].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" of ");
    let from = if from.is_empty() { from } else { format!(", commit {from}") };
    format!("ferrovia {VERSION} ({platform}){from}")
}
