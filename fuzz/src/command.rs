// SPDX-License-Identifier: Apache-2.0
//! Any line against a command tree that uses all of the usage grammar: it is read, or an error
//! points into the line.

use std::sync::LazyLock;

use cli::{Command, Matches, Output, Tree};

/// Read everything that was captured, in every type.
fn read(_: &(), m: &Matches) -> cli::Result<Output> {
    for name in ["a", "b", "c"] {
        let _ = (m.flag(name), m.has(name), m.str(name), m.span(name).map(|s| m.line()[s].len()));
        let _ = (m.opt::<u8>(name), m.opt::<u32>(name), m.opt::<f64>(name), m.opt::<String>(name));
        let _ = (m.opt::<std::net::IpAddr>(name), m.all::<String>(name));
        for group in m.groups(name) {
            let _ = (group.str("a"), group.str("b"), group.opt::<std::net::IpAddr>("c").is_ok());
        }
    }
    Ok(Output::empty())
}

const fn command(path: &'static str, usage: &'static str) -> Command<()> {
    Command { path, usage, help: "", run: read }
}

static COMMANDS: &[Command<()>] = &[
    command("show", "[<a:interface>]..."),
    command("show interface", "[<a:interface>]... [verbose]"),
    command("show interface address", ""),
    command(
        "ip route",
        "{add|del} <a:prefix> [table <b:u32>] {via <c:ip> [<b:interface>] [weight <a:0-255>] | drop}...",
    ),
    command("ip neighbor", "<a:interface> <b:ip4> <c:mac> [static] [no-fib-entry]"),
    command("set state", "<a:interface> <b:up|down>"),
    command("packet-generator new", "<a:block>"),
    command("rate", "[<a:rate>] [size <b:size>] [range <c:range>] [f <a:f64>] [i <b:i32>]"),
    command("say", "<a:string> [<b:word>]"),
    command("exec", "<a:rest>"),
    command("ipv6", "<a:ip6> <b:prefix6> [<c:prefix4>]"),
];

static TREE: LazyLock<Tree<()>> =
    LazyLock::new(|| Tree::new(COMMANDS).expect("the commands above are well formed"));

/// One input.
pub fn run(line: &str) {
    let _ = cli::is_open(line);
    let checked = TREE.check(line);
    if let Err(error) = &checked {
        assert!(!error.to_string().is_empty());
        if let Some(span) = error.span() {
            assert!(line.get(span.clone()).is_some(), "{span:?} of {} bytes", line.len());
        }
    }
    // Reading is a matter of the line alone.
    assert_eq!(TREE.execute(&(), line).is_ok(), checked.is_ok());
}
