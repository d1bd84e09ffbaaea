// SPDX-License-Identifier: Apache-2.0
//! Partial orders by names: the features of an arc, the phases of the configuration.

use crate::{Feature, Phase, Plugin, rank};

/// The constraints of an element of an order, by names.
#[derive(Clone, Copy)]
pub(crate) struct Constraints {
    /// The element's name.
    name: &'static str,
    /// Names of elements that come earlier.
    after: &'static [&'static str],
    /// Names of elements that come later.
    before: &'static [&'static str],
}

impl From<Feature> for Constraints {
    fn from(Feature { node: name, after, before, .. }: Feature) -> Self {
        Self { name, after, before }
    }
}

impl From<Phase> for Constraints {
    fn from(Phase { name, after, before }: Phase) -> Self {
        Self { name, after, before }
    }
}

/// Checks the order of features and configuration phases over all plugins of a build, disabled ones
/// included: features name only features of their own arc, phases only phases, and there is no
/// cycle.
///
/// # Errors
/// The feature or phase and the unknown name, with the nearest known one; or the cycle.
pub fn check_order(plugins: &[&Plugin]) -> Result<(), String> {
    let features = || plugins.iter().flat_map(|p| p.features);
    for feature in features() {
        let Feature { arc, node, .. } = feature;
        let known: Vec<_> = features().filter(|f| f.arc == *arc).map(|f| f.node).collect();
        check_names(*feature, &known, &rank::ALL).map_err(|(name, hint)| {
            format!("feature {node}: arc {arc} has no feature {name}; {hint}")
        })?;
    }
    for def in plugins.iter().flat_map(|p| p.arcs) {
        let of_arc = features().filter(|f| f.arc == def.name).map(|f| (*f, ()));
        sorted_features(def.name, of_arc.collect())?;
    }
    let phases = Phase::all(plugins);
    let known: Vec<_> = phases.iter().map(|phase| phase.name).collect();
    for (at, phase) in phases.iter().enumerate() {
        let name = phase.name;
        if known[..at].contains(&name) {
            return Err(format!("two phases of the configuration are named {name}"));
        }
        check_names(*phase, &known, &[])
            .map_err(|(other, hint)| format!("phase {name}: there is no phase {other}; {hint}"))?;
    }
    Phase::in_order(plugins).map(|_| ())
}

/// Checks that the constraints name known elements only, or ranks.
///
/// # Errors
/// The first unknown name, and a hint.
fn check_names(
    of: impl Into<Constraints>,
    known: &[&str],
    ranks: &[&str],
) -> Result<(), (&'static str, String)> {
    let Constraints { after, before, .. } = of.into();
    let Some(name) =
        before.iter().chain(after).find(|name| !known.contains(name) && !ranks.contains(name))
    else {
        return Ok(());
    };
    let hint = match cli::nearest(name, known) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("known are {}", known.join(", ")),
    };
    Err((name, hint))
}

/// Sorts the features of an arc, and the [`rank`]s among them.
///
/// # Errors
/// A cycle, by names.
pub(crate) fn sorted_features<T>(
    arc: &str,
    features: Vec<(Feature, T)>,
) -> Result<Vec<(Feature, T)>, String> {
    let ranks = rank::ALL.iter().enumerate().map(|(at, name)| {
        let constraints = Constraints { name, after: &rank::ALL[..at], before: &[] };
        (constraints, None)
    });
    let mut features: Vec<_> =
        features.into_iter().map(|feature| (feature.0.into(), Some(feature))).collect();
    features.sort_by_key(by_name);
    let order = format!("arc {arc}: the order of features");
    let sorted = in_order(&order, ranks.chain(features).collect())?;
    Ok(sorted.into_iter().flatten().collect())
}

/// Sorts elements so that all constraints between them hold. Constraints that name absent elements
/// are ignored. Elements without a constraint between them are sorted by name, so that the order of
/// the plugins doesn't matter. `order` names the order in errors.
///
/// # Errors
/// A cycle, by names.
pub(crate) fn sorted<E: Copy + Into<Constraints>, T>(
    order: &str,
    elements: Vec<(E, T)>,
) -> Result<Vec<(E, T)>, String> {
    let mut elements: Vec<_> =
        elements.into_iter().map(|element| (element.0.into(), element)).collect();
    elements.sort_by_key(by_name);
    in_order(order, elements)
}

fn by_name<T>((constraints, _): &(Constraints, T)) -> &'static str {
    constraints.name
}

/// Takes the first element that no other one has to come before, until none is left.
fn in_order<T>(order: &str, mut left: Vec<(Constraints, T)>) -> Result<Vec<T>, String> {
    let mut done = Vec::new();
    while !left.is_empty() {
        let all: Vec<Constraints> = left.iter().map(|(constraints, _)| *constraints).collect();
        match all.iter().position(|element| predecessor(*element, &all).is_none()) {
            Some(i) => done.push(left.remove(i).1),
            None => return Err(format!("{order} is a cycle: {}", cycle(&all))),
        }
    }
    Ok(done)
}

/// An element that has to come before this one.
fn predecessor(of: Constraints, all: &[Constraints]) -> Option<Constraints> {
    let earlier =
        |other: &&Constraints| of.after.contains(&other.name) || other.before.contains(&of.name);
    all.iter().find(earlier).copied()
}

/// A cycle among elements that each have a predecessor among them.
fn cycle(all: &[Constraints]) -> String {
    // Steps back until a name comes again: the cycle starts there.
    let mut path = Vec::new();
    let mut at = all.first().copied();
    while let Some(element) = at {
        if let Some(start) = path.iter().position(|name| *name == element.name) {
            path.drain(..start);
            path.push(element.name);
            break;
        }
        path.push(element.name);
        at = predecessor(element, all);
    }
    path.reverse();
    path.join(" before ")
}

#[cfg(feature = "tests")]
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

    #[suite::test]
    fn constraints_hold_and_names_decide_the_rest() {
        let list = vec![
            feature("nat", &["acl"], &[]),
            feature("zz", &[], &["acl"]),
            feature("acl", &[], &[]),
            feature("aa", &["disabled"], &[]),
        ];
        let names: Vec<_> =
            sorted("the order", list).expect("no cycle").iter().map(|(f, _)| f.node).collect();
        assert_eq!(names, ["aa", "zz", "acl", "nat"]);
    }

    #[suite::test]
    fn features_stand_in_their_ranks() {
        let list = vec![
            feature("a-steer", &[rank::POLICY], &[rank::STEER]),
            feature("b-end", &[rank::STEER], &[rank::END]),
            feature("c-behind", &[rank::END], &[]),
            feature("d-policy", &[rank::REASSEMBLY], &[rank::POLICY]),
            feature("e-policy", &[rank::REASSEMBLY], &[rank::POLICY, "d-policy"]),
            feature("f-security", &[], &[rank::SECURITY]),
        ];
        let names: Vec<_> =
            sorted_features("a", list).expect("no cycle").iter().map(|(f, _)| f.node).collect();
        assert_eq!(names, ["f-security", "e-policy", "d-policy", "a-steer", "b-end", "c-behind"]);
        let list = vec![feature("x", &[rank::STEER], &[rank::POLICY])];
        let error = sorted_features("a", list).expect_err("a cycle");
        assert!(error.starts_with("arc a: the order of features is a cycle: "), "{error}");
        assert!(error.contains("x before end of policy"), "{error}");
    }

    #[suite::test]
    fn a_cycle_is_named_without_what_comes_behind_it() {
        let list = vec![
            feature("behind", &["x"], &[]),
            feature("free", &[], &[]),
            feature("x", &["y"], &[]),
            feature("y", &[], &["z"]),
            feature("z", &["y"], &["y"]),
        ];
        let error = sorted("the order", list).expect_err("a cycle");
        assert_eq!(error, "the order is a cycle: y before z before y");
        let error = sorted("the order", vec![feature("x", &["x"], &[])]).expect_err("a cycle");
        assert!(error.ends_with("x before x"), "{error}");
    }

    #[suite::test]
    fn names_of_features_are_checked_on_their_own_arc() {
        static BASE: Plugin = Plugin {
            arcs: &[ArcDef { name: "input", starts: &[], end: "end" }],
            features: &[on("input", "lookup", &[], &["filter"]), on("output", "counter", &[], &[])],
            ..Plugin::EMPTY
        };
        static FILTER: Plugin =
            Plugin { features: &[on("input", "filter", &[], &[])], ..Plugin::EMPTY };
        static TYPO: Plugin =
            Plugin { features: &[on("input", "nat", &["lokup"], &[])], ..Plugin::EMPTY };
        static OTHER_ARC: Plugin =
            Plugin { features: &[on("input", "nat", &[], &["counter"])], ..Plugin::EMPTY };
        static CIRCLE: Plugin =
            Plugin { features: &[on("input", "nat", &["filter"], &["lookup"])], ..Plugin::EMPTY };
        let error =
            |with: &'static Plugin| check_order(&[&BASE, &FILTER, with]).expect_err("refused");
        assert_eq!(check_order(&[&BASE, &FILTER]), Ok(()));
        assert_eq!(
            error(&TYPO),
            "feature nat: arc input has no feature lokup; did you mean lookup?"
        );
        assert_eq!(
            error(&OTHER_ARC),
            "feature nat: arc input has no feature counter; known are lookup, filter, nat"
        );
        assert_eq!(
            error(&CIRCLE),
            "arc input: the order of features is a cycle: filter before lookup before nat before filter"
        );
        let error = check_order(&[&BASE]).expect_err("the filter isn't part of this build");
        assert_eq!(error, "feature lookup: arc input has no feature filter; known are lookup");
    }
    #[suite::test]
    fn phases_are_checked_over_all_plugins() {
        const fn phase(
            name: &'static str,
            after: &'static [&'static str],
            before: &'static [&'static str],
        ) -> Phase {
            Phase { name, after, before }
        }
        static TUNNELS: Plugin =
            Plugin { phases: &[phase("tunnels", &["tables"], &["interfaces"])], ..Plugin::EMPTY };
        static TYPO: Plugin =
            Plugin { phases: &[phase("typo", &["tunels"], &[])], ..Plugin::EMPTY };
        static TWICE: Plugin = Plugin { phases: &[phase("routes", &[], &[])], ..Plugin::EMPTY };
        static CIRCLE: Plugin =
            Plugin { phases: &[phase("late", &["up"], &["tunnels"])], ..Plugin::EMPTY };
        let names = Phase::in_order(&[&TUNNELS]).expect("an order");
        let place = |name| names.iter().position(|phase| phase.name == name).expect("a phase");
        assert!(place("tables") < place("tunnels") && place("tunnels") < place("interfaces"));
        assert_eq!(check_order(&[&TUNNELS]), Ok(()));
        let error = |with: &'static Plugin| check_order(&[&TUNNELS, with]).expect_err("refused");
        assert_eq!(error(&TYPO), "phase typo: there is no phase tunels; did you mean tunnels?");
        assert_eq!(error(&TWICE), "two phases of the configuration are named routes");
        let circle = error(&CIRCLE);
        assert!(
            circle.starts_with("the order of the configuration's phases is a cycle: "),
            "{circle}"
        );
        assert!(circle.contains("late before tunnels"), "{circle}");
    }
}
