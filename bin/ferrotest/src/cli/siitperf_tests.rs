// SPDX-License-Identifier: Apache-2.0
//! Whole configuration files of siitperf, as command lines take them.

use clap::Parser as _;
use measure::siitperf::Vary;
use measure::{Direction, Mode};

use crate::cli::{Action, Arguments};
use crate::run::Plan;
use crate::traffic::Kind;
use crate::traffic::random::Spread;

/// A router with IPv4 on both sides.
const ROUTER: &str = "\
# two hosts, one router
IP-L-Vers 4
IP-R-Vers 4
IPv4-L-Real 198.18.0.2
IPv4-R-Real 198.19.0.2
MAC-L-Tester 02:00:00:00:00:01
MAC-R-Tester 02:00:00:00:00:02
MAC-L-DUT 02:00:00:00:00:03
MAC-R-DUT 02:00:00:00:00:04
Forward 1
Reverse 0 # one direction
Promisc 0
Num-L-Nets 1
Num-R-Nets 1
CPU-L-Send 1
CPU-R-Recv 2
MEM-Channels 2
Fwd-var-sport 3
Fwd-var-dport 0
";

/// A NAT with four million sessions.
const NAT: &str = "\
IP-L-Vers 4 # private
IP-R-Vers 4 # public
IPv4-L-Real 198.18.0.2
IPv4-R-Real 198.19.0.2
MAC-L-Tester 02:00:00:00:00:01
MAC-R-Tester 02:00:00:00:00:02
MAC-L-DUT 02:00:00:00:00:03
MAC-R-DUT 02:00:00:00:00:04
Forward 1
Reverse 1
Num-L-Nets 1
Num-R-Nets 1
CPU-L-Send 1
CPU-R-Recv 2
CPU-R-Send 3
CPU-L-Recv 4
Fwd-var-sport 3
Fwd-var-dport 3
Fwd-sport-min 10001
Fwd-sport-max 50000
Fwd-dport-min 201
Fwd-dport-max 300
Rev-var-sport 0
Rev-var-dport 0
Stateful 1
Enumerate-ports 3
Responder-tuples 3
";

fn plan(text: &str, words: &str) -> Result<Plan, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("siitperf.conf");
    std::fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    let words = ["ferrotest"].into_iter().chain(words.split_whitespace());
    let words = words.chain(["--siitperf", &path]);
    let arguments = Arguments::try_parse_from(words).map_err(|error| error.to_string())?;
    match arguments.verb.action()? {
        Action::Run(plan, _) => Ok(*plan),
        other => Err(format!("{other:?}")),
    }
}

/// The file with other values of keys that it has.
fn with(text: &str, pairs: &[(&str, &str)]) -> String {
    pairs.iter().fold(text.to_string(), |text, (key, value)| {
        let lines = text.lines().map(|line| match line.split_whitespace().next() == Some(key) {
            true => format!("{key} {value}\n"),
            false => format!("{line}\n"),
        });
        let changed: String = lines.collect();
        assert_ne!(changed, text, "{key}");
        changed
    })
}

#[suite::test]
fn a_stateless_file_runs() {
    let plan = plan(ROUTER, "throughput linux --sizes 64,128").unwrap();
    assert_eq!(plan.traffic.len(), 2);
    let traffic = &plan.traffic[0];
    assert_eq!((traffic.kind, &traffic.directions[..]), (Kind::Ip4, &[Direction::Forward][..]));
    let ports = traffic.ports[0];
    assert_eq!(
        (ports.source.vary, ports.source.min, ports.source.max),
        (Vary::Random, 1024, 65535)
    );
    // A port that doesn't vary is that of RFC 2544, not the first of a range.
    let fixed = ports.destination;
    assert_eq!((fixed.vary, fixed.min, fixed.max), (Vary::Fixed, 7, 7));
    assert_eq!(
        (plan.settings.sessions, plan.settings.orders),
        (10_000, (Vary::Random, Vary::Random))
    );
    assert_eq!((traffic.src, traffic.dst), (Spread::Fixed, Spread::Fixed));
}

#[suite::test]
fn many_networks_are_many_addresses() {
    let text = with(ROUTER, &[("Num-R-Nets", "256")]);
    let plan = plan(&text, "throughput linux --sizes 64").unwrap();
    let traffic = &plan.traffic[0];
    assert_eq!((traffic.src, traffic.dst), (Spread::Fixed, Spread::Random(256)));
}

#[suite::test]
fn a_stateful_file_has_sessions_and_their_ports() {
    let found = plan(NAT, "nat-throughput linux:nat --session-rate 50000").unwrap();
    let traffic = &found.traffic[0];
    let ports = traffic.ports[0];
    assert_eq!((ports.source.min, ports.source.max), (10_001, 50_000));
    assert_eq!((ports.destination.min, ports.destination.max), (201, 300));
    assert_eq!(traffic.directions, [Direction::Forward, Direction::Reverse]);
    assert_eq!((found.settings.sessions, found.settings.session_rate), (4_000_000, 50_000.0));
    assert_eq!(found.settings.orders, (Vary::Random, Vary::Random));
    // The command line's number goes before the file's.
    let found = plan(NAT, "nat-cps linux:nat --sessions 7").unwrap();
    assert_eq!(found.settings.sessions, 7);
    // Earlier versions of siitperf have another name for the last key.
    let text = with(NAT, &[("Enumerate-ports", "2")]);
    let text = text.replace("Responder-tuples 3", "Responder-ports 1");
    let found = plan(&text, "nat-capacity linux:nat").unwrap();
    assert_eq!(found.settings.orders, (Vary::Decrease, Vary::Increase));
}

#[suite::test]
fn an_initiator_on_the_right_is_seen_from_the_other_side() {
    let text = with(NAT, &[("Stateful", "2"), ("Forward", "0")]);
    let text = text.replace("Fwd-", "X-").replace("Rev-", "Fwd-").replace("X-", "Rev-");
    let found = plan(&text, "nat-throughput linux:nat").unwrap();
    let ports = found.traffic[0].ports[0];
    assert_eq!((ports.source.min, ports.destination.max), (10_001, 300));
    // From right to left, which is the initiator's direction.
    assert_eq!(found.traffic[0].directions, [Direction::Forward]);
    assert_eq!(found.settings.sessions, 4_000_000);
    // Its ports are those of the other direction.
    let error = plan(&with(NAT, &[("Stateful", "2")]), "nat-cps linux:nat").unwrap_err();
    assert!(error.contains("Rev-var-sport 0"), "{error}");
}

#[suite::test]
fn a_first_phase_alone_needs_no_direction() {
    let text = with(NAT, &[("Forward", "0"), ("Reverse", "0")]);
    let found = plan(&text, "nat-cps linux:nat").unwrap();
    assert_eq!(found.traffic[0].directions, [Direction::Forward]);
    let error = plan(&text, "nat-throughput linux:nat").unwrap_err();
    assert!(error.contains("expected Forward 1 or Reverse 1"), "{error}");
}

#[suite::test]
fn keys_without_a_counterpart_are_named() {
    for (pairs, text) in [
        (&[("IP-L-Vers", "6")][..], "between IPv4 and IPv6"),
        (&[("IP-L-Vers", "6"), ("IP-R-Vers", "6")], "IP-L-Vers 6"),
        (&[("Enumerate-ports", "0")], "Enumerate-ports 0"),
        (&[("Fwd-var-sport", "1")], "Fwd-var-sport 1"),
        (&[("Fwd-var-dport", "0")], "Fwd-var-dport 0"),
        (&[("Num-R-Nets", "2")], "Num-R-Nets 2"),
    ] {
        let error = plan(&with(NAT, pairs), "nat-cps linux:nat").unwrap_err();
        assert!(error.contains("siitperf.conf: ") && error.contains(text), "{error}");
    }
    let vary = "IP-L-var 3\nIP-R-var 3\n";
    let error = plan(&format!("{NAT}{vary}Enumerate-ips 3\n"), "nat-cps linux:nat").unwrap_err();
    assert!(error.contains("Enumerate-ips 3"), "{error}");
    let all = with(NAT, &[("Fwd-sport-min", "0"), ("Fwd-sport-max", "65535")]);
    let all = with(&all, &[("Fwd-dport-min", "0"), ("Fwd-dport-max", "65535")]);
    let error = plan(&all, "nat-cps linux:nat").unwrap_err();
    assert!(error.contains("4294967296 sessions, expected --sessions"), "{error}");
    assert!(plan(&all, "nat-cps linux:nat --sessions 5").is_ok());
}

#[suite::test]
fn a_stateful_file_is_for_modes_of_nat() {
    for words in ["throughput linux:nat", "compare linux none --modes nat-cps,throughput"] {
        let error = plan(NAT, words).unwrap_err();
        assert!(error.contains("not for throughput"), "{error}");
    }
    let found = plan(NAT, "compare linux:nat none --modes nat-cps,nat-capacity").unwrap();
    assert_eq!(found.modes, [Mode::NatCps, Mode::NatCapacity]);
}
