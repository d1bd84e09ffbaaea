// SPDX-License-Identifier: Apache-2.0
//! The logic behind `make`: what a person or CI does often, as one verb each.

#![forbid(unsafe_code)]

mod affected;
mod builds;
mod changes;
mod ci;
mod circles;
mod comments;
mod conformance;
mod counts;
mod demo;
mod docs;
mod feature;
mod fuzz;
mod graph;
mod image;
mod inlining;
mod labs;
mod layers;
mod licences;
mod limits;
mod package;
mod package_try;
mod passed;
mod sanitizer;
mod setup;
mod sh;
mod soak;
mod sources;
mod states;
mod steps;
mod suites;
mod testing;
mod tokens;
mod verbs;
mod workspace;

use std::process::ExitCode;

use builds::Build;
use counts::Counts;
use sh::Res;

const USAGE: &str = "\
usage: cargo xtask VERB [ARGUMENT…]

  demo [--linux | --programs DIR]
                         two hosts, the router between them, real traffic
  run [CONFIG…]          the daemon in the foreground, its CLI on this terminal
  install [PREFIX]       all programs and the API's files below PREFIX [/usr/local]
  deb [--try]            a package for Debian of what is built, in target/ (--try: install it in a fresh root)
  image [--try]          an image for containers of that package, in target/ (--try: start it)
  test [NEXTEST-ARG…]    every test and the documentation's
  test-release           tests of the build that ships, and the laboratory with its programs
  asan [NEXTEST-ARG…]    tests of graph, drivers and buffers under AddressSanitizer
  test-long [NEXTEST-ARG…]
                         tests that take minutes each
  soak [--seconds N] [--seed N] [--only KIND,…] [--asan]
                         a daemon under all kinds of traffic, changes and clients, for an hour
  conformance [-d DAEMON] [-j N] [FILE[,FILE]…]
                         tests that VPP publishes, their results into docs/conformance.md
  models                 concurrent code under every interleaving (loom)
  affected [--since COMMIT]
                         what has to be tested again since the last commit that passed, and why
  ci [--minutes N]       what every landing runs: checks of text, and tests of what is affected;
                         then other steps, the oldest first, while they end within N minutes
  ci-full                everything that CI does, in more than an hour
  nightly                what takes hours: long tests, soak, fuzz and all benches
  lint                   format, clippy, layers, sources, licences, docs --check, doc
  fmt                    format all Rust code
  layers                 the arrows between our packages
  sources                licence lines, lengths, where unsafe lives
  licences               what comes in from outside
  inlining               what hot code calls that it should contain
  docs [--check]         fill the code blocks of our pages from the tree
  doc                    API documentation, warnings are errors
  graph [--check]        the packet graph as a picture in docs/
  bench [--smoke]        clocks per packet
  bench lookup [--smoke] clocks per route lookup, beside other structures
  bench failover [--smoke] packets lost when a link fails
  bench load [--smoke]   packets lost while routes come and go
  bench learn [--smoke]  stations that a bridge learns a second, frames lost while they age out
  bench host [--smoke]   a router between two namespaces: the kernel beside ours
  churn [SECONDS]        routes at random, with readers, against a model
  new-feature NAME       a feature that compiles: one node, one command, one test
  fuzz [--smoke | --seconds N] [--keep] [--asan] [TARGET…]
                         every parser for a while, from the kept corpus
  clean                  remove everything that was built
";

/// Runs tests and prints how many passed, failed and were skipped.
fn counted(run: impl FnOnce(&mut Counts) -> Res) -> Res {
    let mut counts = Counts::default();
    let result = run(&mut counts);
    println!("{counts}");
    result
}

fn dispatch(verb: &str, args: &[String]) -> Res {
    let words: Vec<_> = args.iter().map(String::as_str).collect();
    match (verb, &words[..]) {
        ("demo", rest) => demo::verb(rest),
        (demo::INSIDE, rest) => demo::inside(rest),
        ("graph", []) => graph::verb(false),
        ("graph", ["--check"]) => graph::verb(true),
        ("run", config) => verbs::run(config),
        ("install", []) => package::install("/usr/local"),
        ("install", [prefix]) => package::install(prefix),
        ("deb", []) => package::deb().map(drop),
        ("deb", ["--try"]) => package::deb().and_then(|file| package_try::run(&file)),
        ("image", rest) => image::verb(rest),
        ("test", rest) => counted(|counts| testing::test(rest, counts)),
        ("test-release", []) => counted(testing::release),
        ("asan", rest) => counted(|counts| testing::asan(rest, counts)),
        ("test-long", rest) => counted(|counts| testing::long(rest, counts)),
        ("models", []) => counted(testing::models),
        ("soak", rest) => soak::verb(rest, &Build::dev()),
        ("conformance", rest) => conformance::verb(rest),
        ("affected", rest) => affected::verb(rest),
        ("ci", rest) => ci::verb(rest),
        ("ci-full", []) => ci::full(),
        ("nightly", []) => ci::nightly(),
        ("lint", []) => verbs::lint(),
        ("fmt", []) => verbs::fmt(false),
        ("layers", []) => layers::verb(),
        ("sources", []) => sources::verb(),
        ("inlining", []) => inlining::verb(),
        ("licences", []) => licences::verb(),
        ("docs", []) => docs::verb(false),
        ("docs", ["--check"]) => docs::verb(true),
        ("doc", []) => verbs::doc(&Build::dev()),
        ("bench", rest) => verbs::bench(rest, &Build::dev()),
        ("churn", []) => testing::churn("600"),
        ("churn", [seconds]) => testing::churn(seconds),
        ("new-feature", [name]) => feature::verb(name),
        ("fuzz", rest) => fuzz::verb(rest),
        ("clean", []) => verbs::clean(),
        ("help" | "--help" | "-h", _) => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("unknown: {verb} {}\n\n{USAGE}", words.join(" "))),
    }
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let verb = args.next().unwrap_or_else(|| "help".into());
    match dispatch(&verb, &args.collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}
