// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::{commands as own, plugins, store};
use cli::{ErrorKind, Tree};
use graph::World;
use std::collections::{BTreeMap, BTreeSet};

fn tree() -> Tree<World> {
    let mut tree = Tree::new(own::own::<World>()).unwrap();
    tree.add(store::commands::all::<World>()).unwrap();
    tree.add(plugins::ALL.iter().flat_map(|p| p.cli)).unwrap();
    tree.refer(commands());
    tree
}

/// Words that VPP knows after each beginning of a command.
fn words() -> BTreeMap<String, BTreeSet<&'static str>> {
    let mut after: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (path, _) in commands() {
        let mut before = String::new();
        for word in path.split(' ') {
            after.entry(before.clone()).or_default().insert(word);
            before = format!("{before} {word}").trim().to_string();
        }
    }
    after
}

/// Each word cut to what tells it apart from all others of VPP's at this point.
fn shortest(path: &str, after: &BTreeMap<String, BTreeSet<&'static str>>) -> String {
    let mut before = String::new();
    let mut cut = Vec::new();
    for word in path.split(' ') {
        let others = &after[&before];
        let unique = |n: &usize| others.iter().filter(|o| o.starts_with(&word[..*n])).count() == 1;
        let n = (1..=word.len()).find(unique).unwrap_or(word.len());
        cut.push(&word[..n]);
        before = format!("{before} {word}").trim().to_string();
    }
    cut.join(" ")
}

#[test]
fn abbreviations_of_vpp_keep_their_meaning() {
    let (tree, after) = (tree(), words());
    let mut wrong = Vec::new();
    for (path, _) in commands() {
        let short = shortest(path, &after);
        let meant = tree.meaning(&short);
        if meant != path {
            wrong.push(format!("`{short}` means `{meant}`, not `{path}`"));
        }
        assert_eq!(tree.meaning(path), path);
    }
    // A whole word of ours comes before what it would abbreviate: `clear ip' is the beginning of our own commands.
    wrong.retain(|why| !why.contains("means `clear ip`, not `clear ipsec "));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_people_type_runs_what_vpp_runs() {
    let tree = tree();
    for (typed, meant) in [
        ("sh run", "show runtime"),
        ("show run", "show runtime"),
        ("sho ver", "show version"),
        ("sh int", "show interface"),
        ("sh int addr", "show interface address"),
        ("sh err", "show errors"),
        ("sh tra", "show trace"),
        ("cle tra", "clear trace"),
        ("sh ip fib", "show ip fib"),
        ("show running", "show running-config"),
    ] {
        assert_eq!(tree.meaning(typed), meant, "{typed}");
    }
}

#[test]
fn what_is_not_built_says_what_it_belongs_to() {
    let tree = tree();
    let said = |line: &str| {
        let error = tree.check(line).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{line}: {error}");
        error.message().to_string()
    };
    assert_eq!(
        said("show nat44 sessions"),
        "`show nat44 sessions' belongs to nat_plugin.so, which is not part of this build"
    );
    assert_eq!(
        said("wireguard peer add x"),
        "`wireguard peer add' belongs to wireguard_plugin.so, which is not part of this build"
    );
    assert!(said("sh nat64").contains("nat64_plugin.so"));
    // No completion leads there.
    for (path, _) in
        commands().filter(|(path, _)| tree.check(path).is_err_and(|e| e.kind() == ErrorKind::Unsupported))
    {
        assert!(!tree.commands().iter().any(|c| c.path == path), "{path}");
    }
}

#[test]
fn the_list_is_in_order_and_names_nothing_twice() {
    let paths: Vec<_> = commands().map(|(path, _)| path).collect();
    assert!(paths.is_sorted_by(|a, b| a < b));
    let sections: Vec<_> = SECTIONS.iter().map(|(name, _)| *name).collect();
    assert!(sections.is_sorted_by(|a, b| a < b));
    assert!(OFF.iter().all(|name| OPTIONAL.contains(name)));
    assert!(OPTIONAL.iter().all(|name| plugins::ALL.iter().any(|p| p.name == *name)));
}
