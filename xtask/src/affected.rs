// SPDX-License-Identifier: Apache-2.0
//! The effects of a change: packages whose tests have to run again, laboratories, and the smoke of
//! the programs that ship.
//!
//! A package is affected if one of its files changed, or if it depends on one that is. What
//! everything stands on affects everything, and so does a file of which it isn't known who reads
//! it.

use std::collections::{BTreeMap, BTreeSet};

use crate::changes::{self, Base};
use crate::labs::{self, Chosen, Lab};
use crate::sh::{self, Res};
use crate::workspace::{self, Package};
use crate::{layers, sources};

/// Files and folders (with a `/`) that decide how everything is built or tested.
const ALL: &[&str] = &[
    "xtask/",
    ".ci/",
    ".config/",
    ".cargo/",
    "Cargo.toml",
    "Cargo.lock",
    "clippy.toml",
    "rust-toolchain.toml",
];

/// Files that only the checks of text read, beside the tests that name them.
const TEXT: &[&str] = &[
    changes::RECORDS,
    ".ci/limits.tsv",
    ".gitignore",
    "LICENSE",
    "Makefile",
    "deny.toml",
    "rustfmt.toml",
];

/// Packages whose tests read the whole tree: they run after every change of code.
const ALWAYS: &[&str] = &[labs::DIR, "xtask"];

/// Where `unsafe` code, devices and the start of the daemon are: after a change there, the programs
/// that ship are tried.
const SMOKE: &[&str] = &[
    "crates/mem/",
    "crates/simd/",
    "crates/sync/",
    "crates/buffer/",
    "crates/graph/",
    "crates/startup/",
    "drivers/",
    "bin/ferrovia/",
];

/// The result of [`decide`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Affected {
    /// The reason why everything is.
    pub all: Option<String>,
    /// Directories of packages whose tests run, and why.
    pub packages: BTreeMap<String, String>,
    /// The ones of them that run tests of several crates, and now of the affected ones only.
    pub narrowed: BTreeSet<String>,
    pub labs: Chosen,
    /// The reason why the programs that ship are tried.
    pub smoke: Option<String>,
}

impl Affected {
    /// Everything.
    pub fn all(why: &str) -> Affected {
        Affected { all: Some(why.into()), smoke: Some(why.into()), ..Affected::default() }
    }

    /// True if only texts changed.
    pub fn is_text(&self) -> bool {
        self.all.is_none() && self.packages.is_empty()
    }

    /// True if the tests of this package run.
    fn has(&self, package: &Package) -> bool {
        self.all.is_some() || self.packages.contains_key(&package.dir)
    }
}

/// Our packages and laboratories.
pub struct Tree {
    pub packages: Vec<Package>,
    pub labs: Vec<Lab>,
}

impl Tree {
    pub fn read() -> Res<Tree> {
        Ok(Tree { packages: workspace::packages()?, labs: labs::read(&sh::root())? })
    }

    /// The package that a file belongs to, and its path there: the innermost folder counts.
    fn owner<'a>(&self, path: &'a str) -> Option<(&Package, &'a str)> {
        let inside =
            |p: &Package| path.strip_prefix(&p.dir).and_then(|rest| rest.strip_prefix('/'));
        let owners = self.packages.iter().filter_map(|p| Some((p, inside(p)?)));
        owners.max_by_key(|(p, _)| p.dir.len())
    }
}

fn is_of(list: &[&str], path: &str) -> bool {
    list.iter()
        .any(|entry| if entry.ends_with('/') { path.starts_with(entry) } else { path == *entry })
}

/// True if a file of a package, with this path there, is of its tests only: nothing that depends on
/// the package sees it.
fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs" || part.ends_with("_tests.rs"))
}

/// Changed files by what they change: the first of each is the reason.
#[derive(Default)]
struct Changes {
    all: Option<String>,
    smoke: Option<String>,
    /// Directories of packages whose library changed.
    libraries: BTreeMap<String, String>,
    /// Directories of packages of which only the tests did.
    tests: BTreeMap<String, String>,
    labs: Chosen,
}

impl Changes {
    fn add(&mut self, tree: &Tree, file: &str, why: &str) {
        let Some((Package { dir, .. }, rest)) = tree.owner(file) else { return };
        let insert = |into: &mut BTreeMap<String, String>| {
            into.entry(dir.clone()).or_insert(why.into());
        };
        if layers::is_foundation(dir) {
            self.all.get_or_insert(format!("{why}: everything stands on {dir}"));
        } else if dir == labs::DIR {
            self.labs.extend(labs::of_file(&tree.labs, rest));
            let is_library = rest.starts_with("fixture/") || rest == "Cargo.toml";
            insert(if is_library { &mut self.libraries } else { &mut self.tests });
        } else if is_test(rest) {
            insert(&mut self.tests);
        } else {
            insert(&mut self.libraries);
        }
    }

    /// Adds a file that belongs to no package: those that read it count as changed. The checks of
    /// text are xtask's, and run always.
    fn add_loose(&mut self, tree: &Tree, file: &str, readers: &[String]) {
        let is_text = is_of(TEXT, file) || file.ends_with(".md") || file.ends_with(".svg");
        if readers.is_empty() && !is_text {
            self.all.get_or_insert(format!("{file}: nobody knows who reads it"));
        }
        for reader in readers {
            let why = format!("{reader} reads {file}");
            if !reader.starts_with("xtask/") {
                self.add(tree, reader, &why);
            } else if !is_text {
                self.tests.entry("xtask".into()).or_insert(why);
            }
        }
    }
}

/// Decides from changed files. `readers` gives the Rust files that name a file which belongs to no
/// package.
pub fn decide(tree: &Tree, files: &[String], readers: impl Fn(&str) -> Vec<String>) -> Affected {
    let mut changes = Changes::default();
    for file in files {
        if is_of(ALL, file) && !is_of(TEXT, file) {
            changes.all.get_or_insert(file.clone());
        }
        let owner = tree.owner(file);
        if is_of(SMOKE, file) && !owner.is_some_and(|(_, rest)| is_test(rest)) {
            changes.smoke.get_or_insert(file.clone());
        }
        if owner.is_some() {
            changes.add(tree, file, file);
        } else if !is_of(ALL, file) || is_of(TEXT, file) {
            changes.add_loose(tree, file, &readers(file));
        }
    }
    let Changes { all, smoke, libraries, tests: mut own, mut labs } = changes;
    if all.is_some() {
        return Affected { all, smoke, ..Affected::default() };
    }
    let is_device = |dir: &str| dir.starts_with("features/") || dir.starts_with("drivers/");
    let plain = closure(&tree.packages, &libraries, |_| true);
    // The daemon has every feature; a laboratory of it runs if the daemon itself changed.
    let narrow = closure(&tree.packages, &libraries, is_device);
    labs.extend(labs::covering(&tree.labs, |dir| {
        narrow.contains_key(dir) || own.contains_key(dir)
    }));
    for package in &tree.packages {
        let used = package.deps.iter().find(|(to, dev)| *dev && plain.contains_key(to));
        if let Some((to, _)) = used {
            own.entry(package.dir.clone()).or_insert_with(|| format!("its tests use {to}"));
        }
    }
    own.extend(plain);
    // Families run the tests of their crates, and nothing of their own.
    let mut narrowed = BTreeSet::new();
    for family in tree.packages.iter().filter(|p| p.is_family() && !libraries.contains_key(&p.dir))
    {
        let n = family.suites.iter().filter(|dir| own.contains_key(*dir)).count();
        own.remove(&family.dir);
        if n > 0 {
            let why = format!("tests of {n} of its {} crates", family.suites.len());
            own.insert(family.dir.clone(), why);
            narrowed.insert(family.dir.clone());
        }
    }
    if !own.is_empty() {
        for dir in ALWAYS {
            own.entry((*dir).into()).or_insert_with(|| "runs after every change".into());
        }
    }
    Affected { all: None, packages: own, narrowed, labs, smoke }
}

/// The changed packages and those that depend on them, as far as `counts` lets them in.
fn closure(
    packages: &[Package],
    changed: &BTreeMap<String, String>,
    counts: impl Fn(&str) -> bool,
) -> BTreeMap<String, String> {
    let mut all = changed.clone();
    loop {
        let before = all.len();
        for package in packages.iter().filter(|p| counts(&p.dir)) {
            if all.contains_key(&package.dir) {
                continue;
            }
            if let Some((to, _)) =
                package.deps.iter().find(|(to, dev)| !dev && all.contains_key(to))
            {
                all.insert(package.dir.clone(), format!("depends on {to}"));
            }
        }
        if all.len() == before {
            return all;
        }
    }
}

/// Cargo's words for the packages to build: those whose tests run, in the one selection that every
/// step of a run takes, so that each package is built with the same features in all of them.
pub fn selection(tree: &Tree, affected: &Affected) -> Vec<String> {
    if affected.all.is_some() {
        return vec!["--workspace".into()];
    }
    let chosen = tree.packages.iter().filter(|p| affected.has(p));
    chosen.flat_map(|p| ["-p".to_string(), p.name.clone()]).collect()
}

/// Nextest's filter for the tests that run; `None` for all of them.
pub fn filter(tree: &Tree, affected: &Affected) -> Option<String> {
    if affected.all.is_some() {
        return None;
    }
    let mut parts = Vec::new();
    for package in tree.packages.iter().filter(|p| affected.has(p)) {
        let own = format!("package(={})", package.name);
        if package.dir == labs::DIR {
            let binaries = labs::PROGRAMS.map(|name| format!("binary(={name})")).join(" | ");
            parts.push(format!("({own} & not ({binaries}))"));
            parts.extend(labs::PROGRAMS.into_iter().filter_map(|program| {
                let modules = affected.labs.iter().filter(|(of, _)| of == program);
                let names = modules.map(|(_, module)| module.as_str()).collect::<Vec<_>>();
                let begin = labs::begins(Some(program), &names)?;
                Some(format!("({own} & binary(={program}) & {begin})"))
            }));
        } else if affected.narrowed.contains(&package.dir) {
            let members = tree
                .packages
                .iter()
                .filter(|p| package.suites.contains(&p.dir) && affected.has(p))
                .filter_map(|p| p.library.as_deref());
            let begin = labs::begins(None, &members.collect::<Vec<_>>());
            parts.extend(begin.map(|begin| format!("({own} & {begin})")));
        } else {
            parts.push(own);
        }
    }
    Some(parts.join(" | "))
}

/// Prints what is affected and why, and what is left out.
pub fn print(tree: &Tree, affected: &Affected) {
    if let Some(why) = &affected.all {
        println!("affected: everything: {why}");
    } else if affected.is_text() {
        println!("affected: texts only, which no test reads");
    } else {
        affected.packages.iter().for_each(|(dir, why)| println!("  {dir:<24} {why}"));
        let name = |(program, module): &(String, String)| format!("{program}::{module}");
        let chosen = affected.labs.iter().map(name).collect::<Vec<_>>();
        println!("affected: {} of {} packages", affected.packages.len(), tree.packages.len());
        println!("laboratories: {}", list(&chosen));
        let out = tree.packages.iter().filter(|p| !affected.has(p)).map(|p| p.dir.clone());
        println!("left out, as none depends on what changed: {}", list(&out.collect::<Vec<_>>()));
        let labs = tree.labs.iter().filter(|lab| lab.has_tests());
        let labs = labs.map(|lab| (lab.program.clone(), lab.module.clone()));
        let out: Vec<_> = labs.filter(|l| !affected.labs.contains(l)).map(|l| name(&l)).collect();
        println!("left out, as they cover nothing of it: {}", list(&out));
    }
    match &affected.smoke {
        Some(why) => println!("smoke of the programs that ship: {why}"),
        None => println!(
            "left out: the smoke of the programs that ship (no `unsafe` code, driver or start-up changed)"
        ),
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// Rust files whose code names `file`, or, unless it is a page, a folder below the tree's first
/// ones that it lies in.
fn readers(sources: &[(String, String)], file: &str) -> Vec<String> {
    let mut names = vec![file];
    if !file.ends_with(".md") {
        names.extend(file.match_indices('/').skip(1).map(|(at, _)| &file[..at]));
    }
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let reads = |text: &str| {
        text.lines().filter(is_code).any(|line| names.iter().any(|name| line.contains(name)))
    };
    sources.iter().filter(|(_, text)| reads(text)).map(|(path, _)| path.clone()).collect()
}

/// The state of the tree beside the commit that passed last, or beside `since`.
pub fn now(tree: &Tree, since: Option<Base>) -> Res<Affected> {
    let Some(Base { commit, why }) = since.or_else(changes::base) else {
        return Ok(Affected::all("no commit is known that passed"));
    };
    let files = changes::files(&commit)?;
    println!("affected: {} files differ from {commit:.12}, {why}", files.len());
    let sources = sources::all()?;
    Ok(decide(tree, &files, |file| readers(&sources, file)))
}

/// The verb `affected`.
pub fn verb(args: &[&str]) -> Res {
    let since = match args {
        [] => None,
        ["--since", commit] => Some(changes::named(commit)?),
        _ => {
            return Err(format!("affected: unknown: {} (there is --since COMMIT)", args.join(" ")));
        }
    };
    let tree = Tree::read()?;
    let affected = now(&tree, since)?;
    print(&tree, &affected);
    if let Some(filter) = filter(&tree, &affected).filter(|_| !affected.is_text()) {
        let packages: BTreeSet<_> = selection(&tree, &affected).into_iter().collect();
        println!("tests: -p for {} packages, -E '{filter}'", packages.len() - 1);
    }
    Ok(())
}

#[cfg(test)]
#[path = "affected_tests.rs"]
mod tests;
