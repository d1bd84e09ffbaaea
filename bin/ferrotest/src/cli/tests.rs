// SPDX-License-Identifier: Apache-2.0
//! Command lines, good and bad.

use super::*;
use crate::dut::linux::Role;
use clap::CommandFactory;
use measure::Size;

#[suite::test]
fn the_command_line_is_consistent() {
    Arguments::command().debug_assert();
}

#[suite::test]
fn a_comparison_is_read() {
    let words = "ferrotest compare linux ferrovia --sizes 64,512,imix --family ip4,ip6 \
                 --duration 200ms --one-way --html r.html --assert ndr>=5";
    let arguments = Arguments::try_parse_from(words.split_whitespace()).unwrap();
    let Ok(Action::Run(plan, outputs)) = arguments.verb.action() else { panic!() };
    assert_eq!(plan.devices, [Spec::Linux(Role::Router), Spec::Ferrovia(None)]);
    assert_eq!((plan.traffic.len(), plan.settings.duration), (6, 0.2));
    assert_eq!(plan.traffic[5].size, Size::Imix);
    assert_eq!((outputs.html, outputs.asserts.len()), (Some("r.html".into()), 1));
}

#[suite::test]
fn wrong_words_are_refused() {
    for words in [
        "compare linux",
        "throughput linux --sizes 63",
        "throughput linux --sizes 1600",
        "throughput linux --ports 5:4-3",
        "throughput linux --duration 0",
        "mrr linux --vlan 4095",
    ] {
        let all = ["ferrotest"].into_iter().chain(words.split_whitespace());
        assert!(Arguments::try_parse_from(all).is_err(), "{words}");
    }
}

#[suite::test]
fn values_of_a_scaling_become_points() {
    let plan = |words: &str| {
        let all = ["ferrotest", "scale"].into_iter().chain(words.split_whitespace());
        match Arguments::try_parse_from(all).unwrap().verb.action()? {
            Action::Run(plan, _) => Ok(plan),
            other => Err(format!("{other:?}")),
        }
    };
    let found = plan("ferrovia none:rate=1e5 --over workers --values 4,1,2,2 --by mrr").unwrap();
    assert_eq!((found.workers, found.settings.search), (vec![1, 2, 4], Mode::Mrr));
    assert_eq!(plan("linux --over routes --values 0,1000").unwrap().routes, [0, 1000]);
    let found = plan("linux --over flows --values 1,130000 --sizes 64,128").unwrap();
    let flows: Vec<_> = found.traffic.iter().map(crate::bench::Traffic::flows).collect();
    assert_eq!(flows, [1, 1, 130_000, 130_000]);
    for (words, text) in [
        ("linux --over workers --values 1,2", "can't set the workers of linux"),
        ("linux --over rules --values 1,2", "no device takes a number of rules"),
        ("ferrovia --over routes --values 20000000", "expected at most"),
        ("ferrovia --over workers --values 0", "from 1 on"),
    ] {
        let error = plan(words).unwrap_err();
        assert!(error.contains(text), "{words}: {error}");
    }
}

/// Every verb and option that isn't hidden stands in the manual page and the completions.
#[suite::test]
fn the_manual_and_the_completions_are_whole() {
    let share = tempfile::tempdir().unwrap();
    let files = extras::write(share.path()).unwrap();
    assert_eq!(files.len(), 4);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap().replace("\\-", "-");
        for verb in Arguments::command().get_subcommands() {
            let name = verb.get_name();
            let is_there = match file.ends_with("ferrotest.1") {
                true => text.contains(&format!(".SH FERROTEST {}\n", name.to_uppercase())),
                false => text.contains(name),
            };
            // Shells needn't be told of hidden verbs, and may.
            assert!(is_there || verb.is_hide_set(), "{}: {name}", file.display());
            for option in verb.get_arguments().filter(|option| !option.is_hide_set()) {
                let long = option.get_long().unwrap_or(name);
                assert!(text.contains(long) || verb.is_hide_set(), "{}: {long}", file.display());
            }
        }
    }
    let page = std::fs::read_to_string(share.path().join("man/man1/ferrotest.1")).unwrap();
    assert_eq!(page.matches("\\-\\-profile").count(), 1, "shared options stand once");
}
