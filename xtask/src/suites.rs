// SPDX-License-Identifier: Apache-2.0
//! Every test is in a program: one that no program has would pass without a word.

use crate::workspace::Package;

/// Folders of packages whose tests are in programs of `tests/units`.
const FOLDERS: &[&str] =
    &["crates/", "features/", "drivers/", "bin/", "examples/", "fuzz/", "tests/soak/"];

/// The faults of packages with tests that aren't in exactly one program.
pub fn packages(packages: &[Package]) -> Vec<String> {
    let programs = |dir: &String| packages.iter().filter(|p| p.suites.contains(dir)).count();
    let fault = |p: &Package| match programs(&p.dir) {
        1 => None,
        0 => Some(format!(
            "{}: its tests are in no program: name it in a Cargo.toml of tests/units, with features = [\"tests\"]",
            p.dir
        )),
        n => Some(format!("{}: {n} programs of tests/units run its tests", p.dir)),
    };
    packages.iter().filter(|p| p.has_tests).filter_map(fault).collect()
}

/// The faults of files: marks of tests that only a test program of one crate would see, and files
/// in a `tests` folder that no program has as a module.
pub fn files<'a>(files: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, code) in files.clone().filter(|(path, _)| is_ours(path)) {
        let plain = |line: &str| matches!(line.trim(), "#[test]" | "#[cfg(test)]");
        if let Some(at) = code.lines().position(plain) {
            faults.push(format!(
                "{path}:{}: no program runs this: expected #[suite::test], in a module with #[cfg(feature = \"tests\")]",
                at + 1
            ));
        }
        let modules = || files.clone().filter(|(path, _)| path.starts_with("tests/units/"));
        if is_program(path) && !modules().any(|(_, main)| main.contains(&format!("/{path}\""))) {
            faults.push(format!("{path}: no program of tests/units has it as a module"));
        }
    }
    faults
}

fn is_ours(path: &str) -> bool {
    FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// True for a file that cargo would make a test program of.
fn is_program(path: &str) -> bool {
    let parts: Vec<_> = path.split('/').collect();
    matches!(parts[..], [_, _, "tests", _] | [_, _, "tests", _, "main.rs"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_in_one_program() {
        let package = |dir: &str, has_tests, suites: &[&str]| Package {
            dir: dir.into(),
            has_tests,
            suites: suites.iter().map(|dir| dir.to_string()).collect(),
            ..Package::default()
        };
        let (a, b) = (package("crates/a", true, &[]), package("crates/b", false, &[]));
        let family = package("tests/units/x", false, &["crates/a"]);
        assert_eq!(packages(&[a.clone(), b.clone(), family.clone()]), [""; 0]);
        assert!(packages(&[a.clone(), b])[0].contains("in no program"));
        assert!(packages(&[a, family.clone(), family])[0].contains("2 programs"));
    }

    #[test]
    fn tests_that_no_program_sees_are_faults() {
        let main = ("tests/units/x/main.rs", "#[path = \"../../../crates/a/tests/b.rs\"]\nmod b;");
        let found = |path, code| files([main, (path, code)].into_iter());
        assert_eq!(found("crates/a/tests/b.rs", "#[suite::test]\nfn f() {}"), [""; 0]);
        assert_eq!(found("crates/a/tests/lab/mod.rs", ""), [""; 0]);
        assert!(found("crates/a/tests/c.rs", "")[0].ends_with("has it as a module"));
        assert!(found("crates/a/tests/d/main.rs", "")[0].ends_with("has it as a module"));
        assert!(found("features/a/src/lib.rs", "\n    #[test]\n")[0].contains("lib.rs:2: "));
        assert!(found("bin/a/src/lib.rs", "#[cfg(test)]")[0].contains("no program runs"));
        assert_eq!(found("xtask/src/main.rs", "#[test]"), [""; 0]);
        assert_eq!(found("tests/lab/main.rs", "#[test]"), [""; 0]);
    }
}
