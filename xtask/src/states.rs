// SPDX-License-Identifier: Apache-2.0
//! Every shared state has a declaration, without which nobody can ask for it.

use std::collections::BTreeSet;

/// Where a type of state is made known.
const DECLARES: [&str; 2] = ["StateDef::of::<", "declare::<"];

/// States of a type of their owner's: a property of interfaces, and what each thread has.
const OF_A_TYPE: [&str; 2] = ["Column<", "PerThread<"];

/// Traits of shared states, and of the types that they are of.
const TRAITS: [&str; 3] = ["Shared for ", "Property for ", "ThreadState for "];

/// The crate that a path (relative, `/`-separated) belongs to.
fn package(path: &str) -> &str {
    let end = path.match_indices('/').nth(1).map_or(path.len(), |(at, _)| at);
    &path[..end]
}

/// The last name in front of a type's parameters: `Ways` of `punt::Ways<Ip4>`.
fn name(of: &str) -> &str {
    let path = of.split(['<', '>', ' ', '(', '{']).next().unwrap_or_default();
    path.rsplit("::").next().unwrap_or_default()
}

/// The types that files (relative path, content) implement as shared state and that their own crate
/// doesn't declare, nor a user with a type of its own. Tests declare for themselves.
pub fn undeclared<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let (mut declared, mut made) = (BTreeSet::new(), Vec::new());
    for (path, content) in files {
        let is_test = path.split('/').any(|part| matches!(part, "tests" | "tests.rs"));
        if is_test {
            continue;
        }
        let package = package(path);
        for declaration in DECLARES {
            for behind in content.split(declaration).skip(1).map(str::trim_start) {
                let of_a_type = OF_A_TYPE.iter().filter_map(|state| behind.split_once(state));
                let of_a_type = of_a_type.filter(|(path, _)| !path.contains(['<', '>']));
                declared.insert((package, name(behind)));
                // A state for a type of its user's is in the user's list, with the path to it.
                let owner = behind.trim_start_matches("::").split("::").next();
                declared.extend(owner.map(|owner| (owner, name(behind))));
                declared.extend(of_a_type.map(|(_, of)| (package, name(of))));
            }
        }
        for line in content.lines().filter(|line| line.starts_with("impl")) {
            let Some((_, of)) = TRAITS.iter().find_map(|of| line.split_once(of)) else {
                continue;
            };
            // For every type that is shared: what the framework itself says of them.
            let is_any = ["PerThread<", "Both<"].iter().any(|any| of.starts_with(any));
            if !line.contains("AnyShared") && !is_any {
                made.push((path, package, name(of)));
            }
        }
    }
    made.retain(|(_, package, of)| {
        let crate_name = package.rsplit('/').next().unwrap_or_default().replace('-', "_");
        ![package, crate_name.as_str()].iter().any(|by| declared.contains(&(by, of)))
    });
    let fault = |(path, _, of): (&str, _, &str)| {
        format!(
            "{path}: {of} is shared state, but in no plugin's list (`state: &[StateDef::of::<{of}>()]`)"
        )
    };
    made.into_iter().map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::undeclared;

    const MADE: (&str, &str) =
        ("features/a/src/x.rs", "impl<F: Net> graph::Shared for Ways<F> {\n");

    #[test]
    fn what_is_declared_is_in_order() {
        for list in [
            "state: &[StateDef::of::<x::Ways<Ip4>>()]",
            "StateDef::of::<\n    Ways<F>,\n>()",
            "world.declare::<Ways>();",
        ] {
            assert_eq!(undeclared([MADE, ("features/a/src/lib.rs", list)]), [""; 0], "{list}");
        }
        let user = ("features/b/src/lib.rs", "state: &[StateDef::of::<::a::x::Ways<Settings>>()]");
        assert_eq!(undeclared([MADE, user]), [""; 0]);
    }

    #[test]
    fn a_column_is_declared_by_its_type() {
        let made = ("features/a/src/x.rs", "impl<F: Family> Property for Notes<F> {}\n");
        let list = ("features/a/src/lib.rs", "StateDef::of::<Column<x::Notes<Ip4>>>()");
        assert_eq!(undeclared([made, list]), [""; 0]);
        assert_eq!(undeclared([made]).len(), 1);
    }

    #[test]
    fn a_state_of_each_thread_is_declared_by_its_type() {
        let made = ("features/a/src/x.rs", "impl graph::ThreadState for Flows {\n");
        let list = ("features/a/src/lib.rs", "StateDef::of::<PerThread<x::Flows>>()");
        assert_eq!(undeclared([made, list]), [""; 0]);
        assert_eq!(undeclared([made]).len(), 1);
        let framework =
            ("crates/graph/src/x.rs", "impl<T: ThreadState> Shared for PerThread<T> {\n");
        assert_eq!(undeclared([framework]), [""; 0]);
    }

    #[test]
    fn what_is_not_declared_is_named() {
        let other = [
            ("features/a/src/lib.rs", "StateDef::of::<x::Way>()"),
            ("features/b/src/lib.rs", "StateDef::of::<x::Ways<Ip4>>()"),
            ("features/a/src/tests/mod.rs", "StateDef::of::<x::Ways<Ip4>>()"),
        ];
        for other in other {
            let found = undeclared([MADE, other]);
            assert!(
                found.len() == 1 && found[0].starts_with("features/a/src/x.rs: Ways is"),
                "{found:?}"
            );
        }
    }

    #[test]
    fn tests_and_the_framework_are_left_out() {
        assert_eq!(undeclared([("features/a/src/tests/mod.rs", MADE.1)]), [""; 0]);
        assert_eq!(
            undeclared([("crates/graph/src/shared.rs", "impl<T: Shared> AnyShared for T {")]),
            [""; 0]
        );
    }
}
