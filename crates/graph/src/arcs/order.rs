// SPDX-License-Identifier: Apache-2.0
//! The order of the features of an arc.

use super::Feature;
use crate::Plugin;

/// Checks the features of all plugins of a build, disabled ones included: each names only features of its own arc in `before` and
/// `after`, and no arc's order is a cycle.
///
/// # Errors
/// The feature, its arc and the unknown name, with the nearest known one; or the cycle.
pub fn check_features(plugins: &[&Plugin]) -> Result<(), String> {
    let all = || plugins.iter().flat_map(|p| p.features);
    let on = |arc: &'static str| all().filter(move |f| f.arc == arc);
    for feature in all() {
        for name in feature.before.iter().chain(feature.after) {
            let known: Vec<_> = on(feature.arc).map(|f| f.node).collect();
            if !known.contains(name) {
                let hint = match cli::nearest(name, &known) {
                    Some(meant) => format!("did you mean {meant}?"),
                    None => format!("it has {}", known.join(", ")),
                };
                let Feature { arc, node, .. } = feature;
                return Err(format!("feature {node}: arc {arc} has no feature {name}; {hint}"));
            }
        }
    }
    for def in plugins.iter().flat_map(|p| p.arcs) {
        sorted(def.name, on(def.name).map(|f| (*f, ())).collect())?;
    }
    Ok(())
}

/// Puts the features of an arc in an order that keeps all constraints between those that are there; among the free ones, by name,
/// so that the order doesn't depend on that of the plugins.
///
/// # Errors
/// A cycle, by names.
pub(super) fn sorted<T>(arc: &str, mut features: Vec<(Feature, T)>) -> Result<Vec<(Feature, T)>, String> {
    features.sort_by_key(|(f, _)| f.node);
    let mut done = Vec::new();
    while !features.is_empty() {
        match features.iter().position(|(f, _)| predecessor(f, &features).is_none()) {
            Some(i) => done.push(features.remove(i)),
            None => {
                return Err(format!("arc {arc}: the order of features is a cycle: {}", cycle(&features)));
            }
        }
    }
    Ok(done)
}

/// A feature that has to come before this one.
fn predecessor<T>(of: &Feature, features: &[(Feature, T)]) -> Option<Feature> {
    let earlier = |f: &Feature| of.after.contains(&f.node) || f.before.contains(&of.node);
    features.iter().map(|(f, _)| *f).find(earlier)
}

/// A cycle among features that each have a predecessor among them.
fn cycle<T>(features: &[(Feature, T)]) -> String {
    // Steps back until a feature comes again: the cycle starts there.
    let mut path = Vec::new();
    let mut at = features.first().map(|(f, _)| *f);
    while let Some(f) = at {
        if let Some(start) = path.iter().position(|node| *node == f.node) {
            path.drain(..start);
            path.push(f.node);
            break;
        }
        path.push(f.node);
        at = predecessor(&f, features);
    }
    path.reverse();
    path.join(" before ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ArcDef;

    const fn on(
        arc: &'static str,
        node: &'static str,
        before: &'static [&'static str],
        after: &'static [&'static str],
    ) -> Feature {
        Feature { arc, node, before, after }
    }

    fn feature(
        node: &'static str,
        after: &'static [&'static str],
        before: &'static [&'static str],
    ) -> (Feature, ()) {
        (on("a", node, before, after), ())
    }

    #[test]
    fn constraints_hold_and_names_decide_the_rest() {
        let list = vec![
            feature("nat", &["acl"], &[]),
            feature("zz", &[], &["acl"]),
            feature("acl", &[], &[]),
            feature("aa", &["disabled"], &[]),
        ];
        let names: Vec<_> = sorted("a", list).expect("no cycle").iter().map(|(f, _)| f.node).collect();
        assert_eq!(names, ["aa", "zz", "acl", "nat"]);
    }

    #[test]
    fn a_cycle_is_named_without_what_comes_behind_it() {
        let list = vec![
            feature("behind", &["x"], &[]),
            feature("free", &[], &[]),
            feature("x", &["y"], &[]),
            feature("y", &[], &["z"]),
            feature("z", &["y"], &["y"]),
        ];
        let error = sorted("a", list).expect_err("a cycle");
        assert_eq!(error, "arc a: the order of features is a cycle: y before z before y");
        let error = sorted("a", vec![feature("x", &["x"], &[])]).expect_err("a cycle");
        assert!(error.ends_with("x before x"), "{error}");
    }

    #[test]
    fn names_of_features_are_checked_on_their_own_arc() {
        static BASE: Plugin = Plugin {
            arcs: &[ArcDef { name: "input", starts: &[], end: "end" }],
            features: &[on("input", "lookup", &[], &["filter"]), on("output", "counter", &[], &[])],
            ..Plugin::EMPTY
        };
        static FILTER: Plugin = Plugin { features: &[on("input", "filter", &[], &[])], ..Plugin::EMPTY };
        static TYPO: Plugin = Plugin { features: &[on("input", "nat", &["lokup"], &[])], ..Plugin::EMPTY };
        static OTHER_ARC: Plugin =
            Plugin { features: &[on("input", "nat", &[], &["counter"])], ..Plugin::EMPTY };
        static CIRCLE: Plugin =
            Plugin { features: &[on("input", "nat", &["filter"], &["lookup"])], ..Plugin::EMPTY };
        let error = |with: &'static Plugin| check_features(&[&BASE, &FILTER, with]).expect_err("refused");
        assert_eq!(check_features(&[&BASE, &FILTER]), Ok(()));
        assert_eq!(error(&TYPO), "feature nat: arc input has no feature lokup; did you mean lookup?");
        assert_eq!(
            error(&OTHER_ARC),
            "feature nat: arc input has no feature counter; it has lookup, filter, nat"
        );
        assert_eq!(
            error(&CIRCLE),
            "arc input: the order of features is a cycle: filter before lookup before nat before filter"
        );
        let error = check_features(&[&BASE]).expect_err("the filter isn't part of this build");
        assert_eq!(error, "feature lookup: arc input has no feature filter; it has lookup");
    }
}
