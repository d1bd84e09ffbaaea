// SPDX-License-Identifier: Apache-2.0
//! Laboratories: the modules of `tests/lab` and `tests/clients`, each of which names the packages
//! that it covers, in the lines at its head that begin with `//! Covers: `.

use std::collections::BTreeSet;
use std::path::Path;

use crate::sh::{self, Res};

/// The test programs whose modules are laboratories: folders below [`DIR`].
pub const PROGRAMS: [&str; 2] = ["lab", "clients"];

/// The package of the laboratories.
pub const DIR: &str = "tests";

const MARK: &str = "//! Covers: ";

/// One module of a laboratory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lab {
    /// One of [`PROGRAMS`].
    pub program: String,
    pub module: String,
    /// Directories of packages; `None` if the module doesn't say.
    pub covers: Option<Vec<String>>,
    pub text: String,
}

impl Lab {
    fn new(program: &str, module: &str, text: String) -> Lab {
        Lab { program: program.into(), module: module.into(), covers: covers(&text), text }
    }

    /// False for a module that only helps others.
    pub fn has_tests(&self) -> bool {
        self.text
            .lines()
            .map(str::trim_start)
            .any(|line| line.starts_with("#[test]") || line.starts_with("#[suite::test"))
    }
}

/// The packages that a file names at its head. The sentence may go on in the next lines.
fn covers(text: &str) -> Option<Vec<String>> {
    let mut head = text.lines().take_while(|line| line.starts_with("//"));
    let mut list = head.by_ref().find_map(|line| line.strip_prefix(MARK))?.to_string();
    let rest = |list: &String| !list.trim_end().ends_with('.');
    while rest(&list) {
        list += head.next()?.strip_prefix("//!")?;
    }
    let list = list.trim().trim_end_matches('.');
    Some(list.split(',').map(|dir| dir.trim().to_string()).collect())
}

/// All laboratories of the tree at `root`.
pub fn read(root: &Path) -> Res<Vec<Lab>> {
    let mut labs = Vec::new();
    for program in PROGRAMS {
        let dir = root.join(DIR).join(program);
        let entries = std::fs::read_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let module = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if path.extension().is_some_and(|e| e == "rs") && module != "main" {
                labs.push(Lab::new(program, &module, sh::read(&path)?));
            }
        }
    }
    labs.sort_by(|a, b| (&a.program, &a.module).cmp(&(&b.program, &b.module)));
    Ok(labs)
}

/// The faults of laboratories: tests without a word of what they cover, and packages that `exists`
/// doesn't know.
pub fn faults(labs: &[Lab], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for lab in labs {
        let file = format!("{DIR}/{}/{}.rs", lab.program, lab.module);
        match &lab.covers {
            None if lab.has_tests() => faults.push(format!(
                "{file}: its head doesn't say what it covers (`{MARK}features/ip, drivers/tap.`)"
            )),
            None => {}
            Some(dirs) => faults.extend(
                dirs.iter()
                    .filter(|dir| !exists(dir))
                    .map(|dir| format!("{file}: covers {dir}, which is no package")),
            ),
        }
    }
    faults
}

/// A set of laboratories, each as its program and module.
pub type Chosen = BTreeSet<(String, String)>;

fn name(lab: &Lab) -> (String, String) {
    (lab.program.clone(), lab.module.clone())
}

/// The laboratories that cover one of these packages.
pub fn covering(labs: &[Lab], is_affected: impl Fn(&str) -> bool) -> Chosen {
    let covers = |lab: &&Lab| lab.covers.iter().flatten().any(|dir| is_affected(dir));
    labs.iter().filter(covers).map(name).collect()
}

/// The laboratories that a change of a file of their package concerns; `path` is relative to
/// [`DIR`]. A file that several may use concerns all of them.
pub fn of_file(labs: &[Lab], path: &str) -> Chosen {
    let of = |is: &dyn Fn(&Lab) -> bool| -> Chosen {
        labs.iter().filter(|lab| lab.has_tests() && is(lab)).map(name).collect()
    };
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    if !PROGRAMS.contains(&first) {
        // Other test programs, and the soak, are no laboratories.
        let is_other = matches!(first, "graph" | "golden" | "soak")
            || (rest.is_empty() && first.ends_with(".rs"));
        return of(&|_| !is_other);
    }
    let module = rest.split(['/', '.']).next().unwrap_or_default();
    let own = of(&|lab| lab.program == first && lab.module == module);
    if !own.is_empty() {
        return own;
    }
    // A script of one of them.
    let file = rest.rsplit('/').next().unwrap_or_default();
    let named = of(&|lab| lab.program == first && lab.text.contains(file));
    if file.ends_with(".rs") || named.is_empty() {
        return of(&|lab| lab.program == first);
    }
    named
}

/// Nextest's words for tests whose path begins with one of these modules. A mark of a test
/// (`serial`, `netns`) stands in front of its path, and so may the name of its crate.
pub fn begins(of: Option<&str>, modules: &[&str]) -> Option<String> {
    if modules.is_empty() {
        return None;
    }
    let of = of.map_or(String::new(), |of| format!("({of}::)?"));
    Some(format!("test(/^((serial|netns)::)?{of}({})::/)", modules.join("|")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lab(program: &str, module: &str, text: &str) -> Lab {
        Lab::new(program, module, text.into())
    }

    fn some() -> Vec<Lab> {
        vec![
            lab("lab", "bridge", "//! A.\n//!\n//! Covers: features/l2, drivers/tap.\n#[test]\n"),
            lab(
                "lab",
                "odd",
                "//! Covers: features/ip.\nload(\"odd.py\")\n    #[suite::test(netns)]\n",
            ),
            lab("lab", "guest", "//! Helps others.\n"),
            lab("clients", "papi", "//! Covers: bin/ferrovia.\n#[test]\n"),
        ]
    }

    fn modules(chosen: &Chosen) -> Vec<&str> {
        chosen.iter().map(|(_, module)| module.as_str()).collect()
    }

    #[test]
    fn the_head_is_read() {
        assert_eq!(
            covers("//! T.\n//!\n//! Covers: a/b, c/d.\n"),
            Some(vec!["a/b".into(), "c/d".into()])
        );
        assert_eq!(
            covers("//! Covers: a/b,\n//! c/d.\n\nx"),
            Some(vec!["a/b".into(), "c/d".into()])
        );
        assert_eq!(covers("//! T.\n\n//! Covers: a/b.\n"), None);
        assert_eq!(covers("//! Covers: a/b\n\n"), None);
    }

    #[test]
    fn silence_and_unknown_packages_are_faults() {
        let mut labs = some();
        labs.push(lab("lab", "mute", "//! T.\n#[test]\n"));
        let found = faults(&labs, |dir| dir != "features/l2");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("tests/lab/bridge.rs: covers features/l2"));
        assert!(found[1].starts_with("tests/lab/mute.rs: its head"));
    }

    #[test]
    fn a_laboratory_is_chosen_by_what_it_covers() {
        assert_eq!(modules(&covering(&some(), |dir| dir == "drivers/tap")), ["bridge"]);
        assert_eq!(modules(&covering(&some(), |dir| dir == "bin/ferrovia")), ["papi"]);
        assert!(covering(&some(), |dir| dir == "features/gre").is_empty());
    }

    #[test]
    fn a_file_concerns_those_that_use_it() {
        let of = |path: &str| -> Vec<String> {
            of_file(&some(), path).into_iter().map(|(_, module)| module).collect()
        };
        assert_eq!(of("lab/bridge.rs"), ["bridge"]);
        assert_eq!(of("lab/odd.py"), ["odd"]);
        assert_eq!(of("clients/papi/router.py"), ["papi"]);
        assert_eq!(of("lab/guest.rs"), ["bridge", "odd"]);
        assert_eq!(of("lab/main.rs"), ["bridge", "odd"]);
        assert_eq!(of("lab/unknown.py"), ["bridge", "odd"]);
        assert_eq!(of("fixture/router.rs"), ["papi", "bridge", "odd"]);
        assert_eq!(of("Cargo.toml"), ["papi", "bridge", "odd"]);
        assert!(of("graph/names.rs").is_empty() && of("shows.rs").is_empty());
    }

    #[test]
    fn the_laboratories_of_this_tree_are_in_order() {
        let labs = read(&sh::root()).unwrap();
        assert!(labs.iter().filter(|lab| lab.has_tests()).count() > 40);
        assert!(labs.iter().any(|lab| !lab.has_tests()), "helpers are known as such");
        let is_package = |dir: &str| sh::root().join(dir).join("Cargo.toml").exists();
        assert_eq!(faults(&labs, is_package), [""; 0]);
    }
}
