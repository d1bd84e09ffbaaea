// SPDX-License-Identifier: Apache-2.0
//! Any usage string and any line: an answer, never a panic, never a hang.

use super::*;
use crate::program::Program;
use proptest::prelude::*;

fn usage() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[a-c]{1,2}",
        Just("<x>".to_string()),
        Just("<n:u8>".to_string()),
        Just("<p:prefix>".to_string()),
        Just("<r:rest>".to_string()),
        Just("<b:block>".to_string()),
        Just("<m:a|b>".to_string()),
        Just("<i:interface>".to_string()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|v| v.join(" ")),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|v| format!("{{{}}}", v.join("|"))),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|v| format!("[{}]", v.join("] ["))),
            prop::collection::vec((inner.clone(), any::<bool>()), 1..4).prop_map(|v| {
                let part = |(s, required): &(String, bool)| {
                    if *required { format!("{{{s}}}") } else { format!("[{s}]") }
                };
                format!("({})", v.iter().map(part).collect::<Vec<_>>().join(" "))
            }),
            inner.clone().prop_map(|s| format!("{{{s}}}...")),
            inner.prop_map(|s| format!("[{s}]...")),
        ]
    })
}

fn line() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-c]{1,2}",
        Just("{ a }".into()),
        Just("\"q r\"".into()),
        Just("7".into()),
        Just("10.0.0.0/8".into()),
        ".{0,4}"
    ];
    prop::collection::vec(word, 0..12).prop_map(|v| v.join(" "))
}

fn tree_of(usage: String) -> Tree<Toy> {
    let usage: &'static str = Box::leak(usage.into_boxed_str());
    let c: &'static Command<Toy> = Box::leak(Box::new(command("x", usage, "")));
    Tree::new([c]).unwrap_or_else(|e| panic!("{usage}: {e}"))
}

proptest! {
    #[suite::test]
    fn any_text_as_usage(usage in "[a-c<>:|{}()\\[\\]. ]{0,40}") {
        let _ = Program::compile(Box::leak(usage.into_boxed_str()));
    }

    #[suite::test]
    fn any_line_against_any_grammar(usage in usage(), lines in prop::collection::vec(line(), 1..8)) {
        let tree = tree_of(usage);
        for l in lines {
            let line = format!("x {l}");
            if let Err(e) = tree.check(&line) {
                prop_assert!(!e.message().is_empty());
                if let Some(s) = e.span() {
                    prop_assert!(line.get(s).is_some());
                }
            }
        }
    }

    #[suite::test]
    fn tab_and_help_anywhere(usage in usage(), l in line(), cursor in 0usize..60) {
        let line = format!("x {l}");
        let found = tree_of(usage).complete(&Toy::new(), &line, cursor);
        prop_assert!(found.start <= line.len() && line.is_char_boundary(found.start));
        let typed = &line[found.start..line.floor_char_boundary(cursor)];
        for w in found.words() {
            prop_assert!(w.starts_with(typed), "{w:?} for {typed:?}");
        }
        prop_assert!(found.help().ends_with('\n'));
    }

    /// A word that Tab offers behind a line that is right so far never makes it wrong.
    #[suite::test]
    fn what_is_offered_is_taken(usage in usage(), picks in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let (tree, world) = (tree_of(usage), Toy::new());
        let mut line = "x ".to_string();
        for pick in picks {
            let found = tree.complete(&world, &line, line.len());
            let words = found.words();
            if words.is_empty() {
                break;
            }
            line += words[pick.index(words.len())];
            let after = tree.complete(&world, &format!("{line} "), line.len() + 1);
            prop_assert!(!after.candidates.is_empty(), "{line:?}");
            line.push(' ');
        }
    }

    #[suite::test]
    fn any_text_as_line(text in "\\PC{0,60}", cut in 0usize..200) {
        let tree = tree();
        let _ = tree.check(&text);
        let real = "ip route add 10.0.0.0/8 table 3 via 10.1.1.1 host-eth0 weight 2";
        let _ = tree.check(&format!("{}{text}", &real[..cut.min(real.len())]));
    }

    /// A line made by following the grammar is accepted, and its values are read back.
    #[suite::test]
    fn routes_come_back(
        octets: [u8; 4], len in 0u8..=32, table in prop::option::of(0u32..), drop_last: bool,
        paths in prop::collection::vec((any::<u32>(), prop::option::of(0u32..), prop::bool::ANY), 1..5),
    ) {
        let prefix = wire::Ip4Prefix::new(octets.into(), len).unwrap();
        let mut line = format!("ip route del {prefix}");
        if let Some(t) = table {
            line += &format!(" table {t}");
        }
        for (nh, weight, dev) in &paths {
            line += &format!(" via {}", std::net::Ipv4Addr::from(*nh));
            if *dev {
                line += " host-eth0";
            }
            if let Some(w) = weight {
                line += &format!(" weight {w}");
            }
        }
        if drop_last {
            line += " drop";
        }
        let tree = tree();
        let parsed = tree.parse(&line).unwrap().unwrap();
        let m = parsed.matches();
        prop_assert_eq!(m.get::<wire::Ip4Prefix>("prefix").unwrap(), prefix);
        prop_assert_eq!(m.get::<u32>("table"), table);
        let back: Vec<_> = m
            .groups("via")
            .map(|g| (u32::from(g.get::<std::net::Ipv4Addr>("nexthop").unwrap()), g.get("weight"), g.has("interface")))
            .collect();
        prop_assert_eq!(back, paths);
        prop_assert_eq!(m.flag("drop"), drop_last);
    }
}
