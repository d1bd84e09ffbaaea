// SPDX-License-Identifier: Apache-2.0
//! Circles between the files of one crate: groups of files each of which names all others, through
//! however many files.
//!
//! An arrow goes from a file to the one whose items it names by a path that begins with `crate` or
//! `super`. A parent that names items of its children by relative paths collects them, which is its
//! purpose, and no arrow. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};

use crate::tokens;

/// The path of a module within its crate.
type Module = Vec<String>;

/// The module of a file, whose path is relative to `src/`; `None` for tests.
fn module(path: &str) -> Option<Module> {
    let path = path.strip_suffix(".rs")?;
    let mut parts: Vec<&str> = path.split('/').collect();
    if parts.iter().any(|part| *part == "tests" || part.ends_with("_tests")) {
        return None;
    }
    let last = *parts.last()?;
    if last == "mod" || (parts.len() == 1 && matches!(last, "lib" | "main")) {
        parts.pop();
    }
    Some(parts.into_iter().map(String::from).collect())
}

/// Paths of items that code names from the top of the crate, as they are written in the file of
/// `own`.
fn named(own: &Module, code: &str) -> Vec<Module> {
    let tokens = tokens::without_tests(code);
    let (mut found, mut at) = (Vec::new(), 0);
    // The modules around the code, and where each of those that stand in this file ends.
    let (mut around, mut ends) = (own.clone(), Vec::new());
    while at < tokens.len() {
        while ends.last().is_some_and(|end| *end <= at) {
            ends.pop();
            around.pop();
        }
        let before = |n: usize| at.checked_sub(n).map_or("", |at| tokens[at]);
        let is_visibility = before(1) == "in" && before(2) == "(";
        match tokens[at..] {
            ["mod", name, "{", ..] => {
                around.push(name.into());
                ends.push(at + 2 + tokens::block(&tokens[at + 2..]));
                at += 3;
            }
            ["crate" | "super", "::", ..]
                if before(1) != "::" && before(1) != "$" && !is_visibility =>
            {
                at += tree(&tokens[at..], &around, &mut found);
            }
            _ => at += 1,
        }
    }
    found
}

/// Reads the path, or the tree of paths, that `tokens` begin with; gives back how many belong
/// to it.
fn tree(tokens: &[&str], around: &Module, found: &mut Vec<Module>) -> usize {
    let (mut path, mut at) = (Module::new(), 0);
    if tokens[0] == "crate" {
        at = 2;
    } else if tokens[0] == "super" {
        path.clone_from(around);
        while let ["super", "::", ..] = tokens[at..] {
            path.pop();
            at += 2;
        }
    }
    branches(&tokens[at..], path, found) + at
}

fn branches(tokens: &[&str], mut path: Module, found: &mut Vec<Module>) -> usize {
    let is_name = |t: &str| t.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let mut at = 0;
    loop {
        match tokens[at..] {
            ["{", ..] => {
                at += 1;
                while at < tokens.len() && tokens[at] != "}" {
                    at += match tokens[at] {
                        name if is_name(name) || name == "{" => {
                            branches(&tokens[at..], path.clone(), found).max(1)
                        }
                        _ => 1,
                    };
                }
                return at + 1;
            }
            [name, "::", ..] if is_name(name) => {
                path.push(name.into());
                at += 2;
            }
            [name, ..] if is_name(name) => {
                path.push(name.into());
                found.push(path);
                // `as other`
                return at + if tokens.get(at + 1) == Some(&"as") { 3 } else { 1 };
            }
            // `*`, `<T>`
            _ => {
                found.push(path);
                return at;
            }
        }
    }
}

/// The files that can be reached from this one along the arrows.
fn reach<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&'a str> = arrows[from].iter().copied().collect();
    while let Some(file) = open.pop() {
        if seen.insert(file) {
            open.extend(&arrows[file]);
        }
    }
    seen
}

/// The circles of one crate: its files' paths below `src/`, and their code.
pub fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Vec<String>> {
    let mut modules: BTreeMap<Module, (&str, &str)> = BTreeMap::new();
    for (path, code) in files {
        // A program beside its library is a crate of its own that has one file.
        let is_taken = path == "main.rs" && modules.contains_key(&Module::new());
        if let Some(module) = module(path).filter(|_| !is_taken) {
            modules.insert(module, (path, code));
        }
    }
    let file_of = |path: &Module| (0..=path.len()).rev().find_map(|n| modules.get(&path[..n]));
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (own, (path, code)) in &modules {
        let to = named(own, code).iter().filter_map(|p| Some(file_of(p)?.0)).collect();
        arrows.insert(path, to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|file| (*file, reach(&arrows, file))).collect();
    let mut circles = BTreeSet::new();
    for (file, others) in &reached {
        let circle = others.iter().filter(|other| reached[**other].contains(file));
        let circle: Vec<_> = circle.map(|other| other.to_string()).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_modules() {
        let path = |file: &str| module(file).map(|m| m.join("::"));
        assert_eq!(path("lib.rs").as_deref(), Some(""));
        assert_eq!(path("a.rs").as_deref(), Some("a"));
        assert_eq!(path("a/mod.rs").as_deref(), Some("a"));
        assert_eq!(path("a/main.rs").as_deref(), Some("a::main"));
        assert_eq!(path("a/tests/b.rs"), None);
        assert_eq!(path("a_tests.rs"), None);
    }

    #[test]
    fn paths_are_read_with_their_branches() {
        let own = vec!["a".to_string(), "b".to_string()];
        let names = |code: &str| -> Vec<String> {
            named(&own, code).into_iter().map(|path| path.join("::")).collect()
        };
        assert_eq!(
            names("use crate::{x::{self, Y as Z}, w::*}; use super::c::D;"),
            ["x::self", "x::Y", "w", "a::c::D"]
        );
        assert_eq!(names("fn f() { super::super::g(crate::h::<T>()) }"), ["g", "h"]);
        assert_eq!(names("mod inner { use super::X; } use super::Y;"), ["a::b::X", "a::Y"]);
        assert_eq!(names("pub(crate) fn f() {} pub(in crate::a) fn g() { $crate::h() }"), [""; 0]);
        assert_eq!(names("use c::D; use self::e::F; use std::fmt;"), [""; 0]);
        assert_eq!(names("#[cfg(test)] mod tests { use super::*; }"), [""; 0]);
        assert_eq!(names("use super::*;"), ["a"]);
    }

    #[test]
    fn files_that_name_each_other_are_a_circle() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d; pub use a::A;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use super::c::C;"),
            ("c.rs", "fn f() { crate::a::g() }"),
            ("d.rs", "use crate::a::A; // and a knows nothing of it"),
            ("e.rs", "use crate::e::own; use super::A;"),
            ("main.rs", "use crate::e;"),
        ];
        assert_eq!(of(files), [["a.rs", "b.rs", "c.rs"]]);
        let two = [("lib.rs", ""), ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::a::A;")];
        assert_eq!(of(two), [["a.rs", "b.rs"]]);
        assert!(of([("lib.rs", "use crate::a::A;"), ("a.rs", "")]).is_empty());
    }
}
