// SPDX-License-Identifier: Apache-2.0
//! Rules for every source file: its licence line, its length, and where `unsafe` may live; and that
//! shared state is declared.

use std::path::{Path, PathBuf};

use crate::sh::{self, Res};
use crate::{comments, states, suites};

/// A file past this many lines asks to be split.
const LONG: usize = 500;
/// A file past this many is a fault.
const TOO_LONG: usize = 1000;

/// The platform crates that may hold `unsafe`; every other crate forbids it.
const UNSAFE: &[&str] = &["mem", "simd", "sync", "buffer", "graph"];

/// The findings of [`check`] in one file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Findings {
    faults: Vec<String>,
    warnings: Vec<String>,
}

/// The lints that the crate root at `path` (relative, `/`-separated) has to set: any one of them
/// will do.
fn safety(path: &str) -> &'static [&'static str] {
    let parts: Vec<_> = path.split('/').collect();
    match parts[..] {
        ["features", _, "src", "lib.rs"] => &["#![forbid(unsafe_code)]"],
        // A driver's ring module says allow where it has to.
        ["drivers", _, "src", "lib.rs"] => &["#![forbid(unsafe_code)]", "#![deny(unsafe_code)]"],
        ["crates", name, "src", "lib.rs"] if !UNSAFE.contains(&name) => {
            &["#![forbid(unsafe_code)]", "#![deny(unsafe_code)]"]
        }
        _ => &[],
    }
}

/// The faults of tests that plain runs leave out: each is a long one, which `make test-long` finds
/// by its name, or a helper that another test starts.
fn ignored(content: &str) -> impl Iterator<Item = String> {
    let lines: Vec<_> = content.lines().map(str::trim).collect();
    let name_after = |at: usize| {
        let name = lines[at..].iter().find_map(|l| l.strip_prefix("fn "))?;
        name.split('(').next()
    };
    let fault = |(at, line): (usize, &&str)| {
        let reason = line.strip_prefix("#[ignore")?;
        let (is_long, is_helper) =
            (reason.starts_with(" = \"long: "), reason.starts_with(" = \"helper: "));
        let name = name_after(at)?;
        if !is_long && !is_helper {
            return Some(format!(
                "{name}: ignored tests say `= \"long: …\"]` or `= \"helper: …\"]`"
            ));
        }
        (is_long != name.starts_with("long_"))
            .then(|| format!("{name}: long tests, and only these, are named `long_…`"))
    };
    lines.iter().enumerate().filter_map(fault).collect::<Vec<_>>().into_iter()
}

/// Hold one Rust file against the rules.
fn check(path: &str, content: &str) -> Findings {
    let mut found = Findings::default();
    let head = || content.lines().take(5);
    if !head().any(|l| l.starts_with("// SPDX-License-Identifier: ")) {
        found.faults.push(format!("{path}: no SPDX line (// SPDX-License-Identifier: Apache-2.0)"));
    }
    let lints = safety(path);
    if !lints.is_empty() && !content.lines().any(|l| lints.contains(&l.trim())) {
        found.faults.push(format!("{path}: does not say {}", lints.join(" or ")));
    }
    found.faults.extend(ignored(content).map(|why| format!("{path}: {why}")));
    found.faults.extend(comments::vague(content).into_iter().map(|(line, word)| {
        format!("{path}:{line}: a comment begins with `{word}`: begin with what the item is or does (CONTRIBUTING.md, \"Words\")")
    }));
    found.faults.extend(comments::wide(content).into_iter().map(|line| {
        format!("{path}:{line}: a comment is wider than {} columns: wrap it", comments::COLUMNS)
    }));
    let lines = content.lines().count();
    if lines > LONG && !head().any(|l| l.contains("@generated")) {
        if lines > TOO_LONG {
            found
                .faults
                .push(format!("{path}: {lines} lines, more than {TOO_LONG} is a fault: split it"));
        } else {
            found
                .warnings
                .push(format!("{path}: {lines} lines, more than {LONG} asks to be split"));
        }
    }
    found
}

/// Every Rust file below `dir`, without what was built.
pub fn rust_files(dir: &Path, into: &mut Vec<PathBuf>) -> Res {
    let entries = std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_symlink() || name.starts_with('.') || name == "target" {
            continue;
        } else if path.is_dir() {
            rust_files(&path, into)?;
        } else if name.ends_with(".rs") {
            into.push(path);
        }
    }
    Ok(())
}

/// Every Rust file of the tree: its path, relative and `/`-separated, and its content.
pub fn all() -> Res<Vec<(String, String)>> {
    let root = sh::root();
    let mut files = Vec::new();
    rust_files(&root, &mut files)?;
    files.sort();
    let read = |file: PathBuf| {
        let name = file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().into_owned();
        Ok((name, sh::read(&file)?))
    };
    files.into_iter().map(read).collect()
}

/// The verb `sources`.
pub fn verb() -> Res {
    let files = all()?;
    let files = || files.iter().map(|(name, content)| (&**name, &**content));
    let mut found = Findings { faults: states::undeclared(files()), warnings: Vec::new() };
    found.faults.extend(suites::files(files()));
    for (name, content) in files() {
        let here = check(name, content);
        found.faults.extend(here.faults);
        found.warnings.extend(here.warnings);
    }
    found.warnings.iter().for_each(|w| println!("sources: warning: {w}"));
    found.faults.iter().for_each(|f| eprintln!("sources: {f}"));
    match found.faults.len() {
        0 => {
            println!("sources: {} files, every one in order", files().count());
            Ok(())
        }
        n => Err(format!("sources: {n} faults")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPDX: &str = "// SPDX-License-Identifier: Apache-2.0\n";

    fn faults(path: &str, content: &str) -> Vec<String> {
        check(path, content).faults
    }

    #[test]
    fn the_licence_line_is_asked_for() {
        assert!(faults("bin/x/src/main.rs", "fn main() {}\n")[0].contains("no SPDX line"));
        assert!(faults("bin/x/src/main.rs", SPDX).is_empty());
    }

    #[test]
    fn unsafe_is_forbidden_where_it_has_no_place() {
        for path in ["features/ip/src/lib.rs", "drivers/tap/src/lib.rs", "crates/wire/src/lib.rs"] {
            assert!(
                faults(path, SPDX)[0].contains("does not say #![forbid(unsafe_code)]"),
                "{path}"
            );
            assert!(
                faults(path, &format!("{SPDX}//! Docs.\n#![forbid(unsafe_code)]\n")).is_empty(),
                "{path}"
            );
            assert_eq!(
                faults(path, &format!("{SPDX}// #![forbid(unsafe_code)]\n")).len(),
                1,
                "{path}"
            );
        }
        let deny = format!("{SPDX}#![deny(unsafe_code)]\n");
        assert!(faults("drivers/tap/src/lib.rs", &deny).is_empty());
        assert_eq!(faults("features/ip/src/lib.rs", &deny).len(), 1);
        assert!(faults("crates/mem/src/lib.rs", SPDX).is_empty());
        assert!(faults("features/ip/src/node.rs", SPDX).is_empty());
    }

    #[test]
    fn ignored_tests_are_long_or_helpers() {
        let file = |reason: &str, name: &str| {
            format!("{SPDX}    #[test]\n    #[ignore{reason}]\n    fn {name}() {{\n")
        };
        for (reason, name, n) in [
            (" = \"long: a minute\"", "long_walk", 0),
            (" = \"helper: is killed\"", "victim", 0),
            (" = \"long: a minute\"", "walk", 1),
            (" = \"helper: is killed\"", "long_victim", 1),
            (" = \"broken\"", "walk", 1),
            ("", "walk", 1),
        ] {
            assert_eq!(faults("a.rs", &file(reason, name)).len(), n, "{reason} {name}");
        }
    }

    #[test]
    fn long_files_warn_then_fail() {
        let file = |lines: usize| format!("{SPDX}{}", "\n".repeat(lines - 1));
        assert_eq!(check("a.rs", &file(LONG)), Findings::default());
        assert_eq!(check("a.rs", &file(LONG + 1)).warnings.len(), 1);
        assert_eq!(faults("a.rs", &file(TOO_LONG)).len(), 0);
        assert_eq!(faults("a.rs", &file(TOO_LONG + 1)).len(), 1);
        assert!(faults("a.rs", &format!("// @generated\n{}", file(TOO_LONG + 1))).is_empty());
    }
}
