// SPDX-License-Identifier: Apache-2.0
//! A command that reads a struct, whose line and JSON come from the same declaration.

use crate::{Arguments, Choice, Members};
use cli::{Command, Error, Output};
use graph::drive::Bench;
use graph::{Plugin, World};
use std::net::IpAddr;
use wire::MacAddr;

#[derive(Clone, Copy, PartialEq, Debug, Default)]
enum Mode {
    #[default]
    Xor,
    Lacp,
}

impl Choice for Mode {
    const ALL: &'static [(&'static str, Self)] = &[("xor", Self::Xor), ("lacp", Self::Lacp)];
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
enum Version {
    #[default]
    V2,
    V3,
}

impl Choice for Version {
    const ALL: &'static [(&'static str, Self)] = &[("v2", Self::V2), ("v3", Self::V3)];
}

#[derive(Arguments, Clone, PartialEq, Debug)]
struct Timers {
    #[words("[interval <interval:u32>]", default = 30, json = "interval_s")]
    interval: u32,
}

fn no_group(mac: Option<MacAddr>) -> cli::Result<Option<MacAddr>> {
    match mac {
        Some(mac) if mac.is_multicast() => Err(Error::parse("expected the address of one host")),
        _ => Ok(mac),
    }
}

#[derive(Arguments, Clone, PartialEq, Debug)]
struct Port {
    #[words("{mode <mode:xor|lacp>}")]
    mode: Mode,
    #[words("{peer <peer:ip>}")]
    peer: IpAddr,
    #[words("[v2] [v3]", default)]
    version: Version,
    #[words("[hw-addr <mac:mac>]", then = no_group)]
    mac: Option<MacAddr>,
    #[words("[numa-only]")]
    numa_only: bool,
    #[words("[tag <tag:string>]", default)]
    tag: String,
    #[part]
    timers: Timers,
    #[unsaid]
    packets: u64,
}

/// Its answer is the line that it writes, and its JSON what the object is.
const COMMANDS: &[Command<World>] = &[Command {
    path: "port",
    usage: cli::join!("(", Port::USAGE, ")"),
    help: "Read a port",
    run: |w, m| {
        let port = Port::read(w, m)?;
        let mut members = Members::new();
        port.members(w, &mut members);
        Ok(Output::both(port.words(w), members))
    },
}];

static PLUGINS: &[&Plugin] =
    &[&Plugin { name: "ports", about: "Ports", cli: COMMANDS, ..Plugin::EMPTY }];

fn run(line: &str) -> cli::Result<(String, serde_json::Value)> {
    let mut bench = Bench::new(PLUGINS);
    let json = bench.cli(&format!("{line} -j"))?;
    Ok((bench.cli(line)?.trim_end().to_string(), serde_json::from_str(&json).expect("JSON")))
}

#[suite::test]
fn a_line_is_read_written_and_read_again() {
    let (line, json) = run("port peer 192.0.2.1 mode lacp").expect("read");
    assert_eq!(line, " mode lacp peer 192.0.2.1");
    assert_eq!(
        json.to_string(),
        r#"{"mode":"lacp","peer":"192.0.2.1","version":"v2","mac":null,"numa_only":false,"tag":"","interval_s":30}"#
    );
    let all = " mode xor peer 2001:db8::1 v3 hw-addr 02:00:00:00:00:01 numa-only tag \"to the west\" interval 5";
    let (line, json) = run(&format!("port{all}")).expect("read");
    assert_eq!(line, all);
    assert_eq!(
        json.to_string(),
        r#"{"mode":"xor","peer":"2001:db8::1","version":"v3","mac":"02:00:00:00:00:01","numa_only":true,"tag":"to the west","interval_s":5}"#
    );
    // Defaults that are given aren't written.
    assert_eq!(
        run("port mode xor peer 192.0.2.1 v2 interval 30").expect("read").0,
        " mode xor peer 192.0.2.1"
    );
}

#[suite::test]
fn errors_name_the_argument() {
    for (line, why) in [
        ("port mode xor peer 192.0.2.1 v2 v3", "either v2 or v3"),
        (
            "port mode xor peer 192.0.2.1 hw-addr 01:00:00:00:00:01",
            "expected the address of one host",
        ),
    ] {
        let error = run(line).expect_err(line).to_string();
        assert!(error.contains(why), "{error}");
    }
    assert_eq!(
        crate::Words(&[("dst", "to"), ("group", "")]).missing().to_string(),
        "expected dst <to> or group"
    );
}
