// SPDX-License-Identifier: Apache-2.0
//! Command lines, good and bad.

use std::path::Path;

use super::*;
use crate::traffic::Kind;
use clap::CommandFactory;
use clap_complete::Shell;
use measure::siitperf::Vary;
use measure::{Direction, Size};

#[test]
fn the_command_line_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn a_comparison_is_read() {
    let words = "ferrotest compare linux ferrovia --sizes 64,512,imix --family ip4,ip6 \
                 --duration 200ms --one-way --html r.html --assert ndr>=5";
    let arguments = Arguments::try_parse_from(words.split_whitespace()).unwrap();
    let Ok(Action::Run(plan, outputs)) = arguments.verb.action() else { panic!() };
    assert_eq!(plan.devices, [Spec::Linux, Spec::Ferrovia(None)]);
    assert_eq!((plan.traffic.len(), plan.settings.duration), (6, 0.2));
    assert_eq!(plan.traffic[5].size, Size::Imix);
    assert_eq!((outputs.html, outputs.asserts.len()), (Some("r.html".into()), 1));
}

#[test]
fn a_configuration_of_siitperf_runs() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("siitperf.conf");
    let text = "IP-L-Vers 4\nIP-R-Vers 4\nForward 1\nReverse 0\nFwd-var-sport 3\nFwd-var-dport 1\n";
    std::fs::write(&path, text).unwrap();
    let words = format!("ferrotest throughput linux --sizes 64,128 --siitperf {}", path.display());
    let arguments = Arguments::try_parse_from(words.split_whitespace()).unwrap();
    let Ok(Action::Run(plan, _)) = arguments.verb.action() else { panic!() };
    assert_eq!(plan.traffic.len(), 2);
    let traffic = &plan.traffic[0];
    assert_eq!((traffic.kind, &traffic.directions[..]), (Kind::Ip4, &[Direction::Forward][..]));
    assert_eq!(traffic.ports[0].source.vary, Vary::Random);
    assert_eq!(traffic.ports[0].destination.vary, Vary::Increase);
    std::fs::write(&path, "Stateful 1\n").unwrap();
    let error = Arguments::try_parse_from(words.split_whitespace()).unwrap_err();
    assert!(error.to_string().contains("not built yet"), "{error}");
}

#[test]
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
    let arguments = Arguments::try_parse_from(["ferrotest", "nat-cps", "linux", "-x"]).unwrap();
    assert!(arguments.verb.action().unwrap_err().contains("nat-cps"));
}

/// The manual page and the completions that `make install` copies; `UPDATE=1` writes them.
#[test]
fn the_manual_and_the_completions_are_those_of_the_command_line() {
    let extras = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../extras");
    let compare = |file: &str, text: Vec<u8>| {
        let text = String::from_utf8(text).expect("text");
        testkit::golden::compare(&extras.join(file), &text);
    };
    let mut page = Vec::new();
    manual(&mut page).expect("written");
    compare("man/ferrotest.1", page);
    for (shell, file) in [
        (Shell::Bash, "ferrotest.bash"),
        (Shell::Zsh, "_ferrotest"),
        (Shell::Fish, "ferrotest.fish"),
    ] {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Arguments::command(), "ferrotest", &mut script);
        compare(&format!("completions/{file}"), script);
    }
}

/// One page with all verbs. Those that measure share their options, which stand once.
fn manual(out: &mut Vec<u8>) -> std::io::Result<()> {
    use std::io::Write as _;
    let command = Arguments::command();
    let options = Options::augment_args(clap::Command::new("options"));
    // The version would make each release change the page.
    let page = clap_mangen::Man::new(command.clone().version(None)).manual("Ferrovia");
    let mut head = Vec::new();
    page.render(&mut head)?;
    // Verbs have no pages of their own.
    let head = String::from_utf8(head).expect("text");
    write!(out, "{}", head.replace("ferrotest\\-", "").replace("(1)", ""))?;
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let name = format!("ferrotest {}", verb.get_name());
        writeln!(out, ".SH {}", name.to_uppercase())?;
        let verb = verb.clone().bin_name(name).disable_help_flag(true);
        let shared: Vec<_> =
            options.get_arguments().map(|shared| shared.get_id().clone()).collect();
        let verb = shared.into_iter().fold(verb, |verb, id| {
            let known = verb.get_arguments().any(|argument| *argument.get_id() == id);
            if known { verb.mut_arg(id, |argument| argument.hide(true)) } else { verb }
        });
        let mut section = Vec::new();
        clap_mangen::Man::new(verb).render_options_section(&mut section)?;
        write!(out, "{}", String::from_utf8_lossy(&section).replace(".SH OPTIONS\n", ""))?;
    }
    writeln!(out, ".SH OPTIONS OF MEASUREMENTS")?;
    let mut section = Vec::new();
    let options = clap_mangen::Man::new(options.disable_help_flag(true));
    options.render_options_section(&mut section)?;
    write!(out, "{}", String::from_utf8_lossy(&section).replace(".SH OPTIONS\n", ""))
}
