// SPDX-License-Identifier: Apache-2.0
//! Exceptions from the tests of all plugins. Each plugin names its own, with the reason; an
//! exception that nothing needs any more fails the test.

use daemon::plugins;
use graph::{Exceptions, Plugin};
use std::path::Path;

/// A name or a pattern, and the reason.
pub type Exception = (&'static str, &'static str);

/// Exceptions of all plugins.
pub fn of_plugins(list: fn(&Plugin) -> Exceptions) -> impl Iterator<Item = Exception> {
    plugins::ALL.iter().flat_map(move |plugin| list(plugin)).copied()
}

/// Returns true if a name matches a pattern, in which `*` stands for any text.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut rest = name;
    let mut parts = pattern.split('*');
    let Some(after) = parts.next().and_then(|first| rest.strip_prefix(first)) else { return false };
    rest = after;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || pattern.ends_with('*')
}

/// Fails unless the patterns of the exceptions match each of the names, and each matches one.
#[track_caller]
pub fn cover<'n>(exceptions: &[Exception], names: impl IntoIterator<Item = &'n str>, what: &str) {
    let names: Vec<_> = names.into_iter().collect();
    let unknown: Vec<_> =
        names.iter().filter(|name| !exceptions.iter().any(|(p, _)| matches(p, name))).collect();
    let needless: Vec<_> = exceptions
        .iter()
        .filter(|(p, _)| !names.iter().any(|name| matches(p, name)))
        .map(|(p, _)| p)
        .collect();
    assert!(unknown.is_empty(), "{what}, and no plugin says why: {unknown:#?}");
    assert!(needless.is_empty(), "exceptions that nothing needs: {needless:#?}");
}

#[test]
fn a_pattern_stands_for_any_text() {
    for (pattern, name, is_match) in [
        ("a/b", "a/b", true),
        ("a/b", "a/bc", false),
        ("a/*", "a/bc", true),
        ("*/c", "a/b/c", true),
        ("a*/*c", "ab/dc", true),
        ("a*/*c", "ab/dce", false),
    ] {
        assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
    }
}

/// A reason that names a file or a folder of the tree names one that is there.
#[test]
fn tests_that_reasons_name_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let lists: [fn(&Plugin) -> Exceptions; 5] =
        [|p| p.transient, |p| p.volatile, |p| p.unmoved, |p| p.entered, |p| p.dependent];
    let mut named = 0;
    for (of, reason) in lists.into_iter().flat_map(of_plugins) {
        for word in reason.split([' ', ',']) {
            if ["crates/", "drivers/", "features/", "tests/"].iter().any(|d| word.starts_with(d)) {
                assert!(root.join(word).exists(), "{of}: there is no {word}");
                named += 1;
            }
        }
    }
    assert!(named > 40, "{named} reasons name a file");
}
