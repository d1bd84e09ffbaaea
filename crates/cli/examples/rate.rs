// SPDX-License-Identifier: Apache-2.0
//! Measures the rate at which scripts are read: `cargo run --release -p ferrovia-cli --example
//! rate`.

use cli::{Command, Output, Runner, Tree};
use std::cell::Cell;
use std::fmt::Write;
use std::time::{Duration, Instant};

static CLI: &[Command<Cell<u64>>] = &[
    Command {
        path: "show interface",
        usage: "[<interface:interface>]...",
        help: "",
        run: |_, _| Ok(Output::empty()),
    },
    Command {
        path: "ip route",
        usage: "{add|del} <prefix:prefix> [table <table:u32>] [count <count:u32>] \
                {via <nexthop:ip> [<interface:interface>] [weight <weight:u32>] [preference <preference:u8>] | drop}...",
        help: "",
        run: |w, m| {
            let prefix: wire::Ip4Prefix = m.req("prefix")?;
            for path in m.groups("via") {
                let via: std::net::Ipv4Addr = path.req("nexthop")?;
                w.set(w.get() ^ u64::from(u32::from(via)) ^ u64::from(u32::from(prefix.addr())));
            }
            Ok(Output::empty())
        },
    },
];

fn main() {
    const LINES: u32 = 1_000_000;
    let tree = Tree::new(CLI).expect("the grammar above");
    let mut text = String::new();
    for i in 0..LINES {
        let p = std::net::Ipv4Addr::from(i << 8);
        writeln!(text, "ip route add {p}/24 via 10.0.0.1 host-eth0").expect("memory");
    }
    let start = Instant::now();
    let errors = cli::script::check(&tree, &text);
    let checked = start.elapsed();
    assert!(errors.is_empty());
    let world = Cell::new(0);
    let mut runner = Runner::default();
    let start = Instant::now();
    runner.script("bench", text, false);
    let (mut turns, mut longest) = (0, Duration::ZERO);
    loop {
        let turn = Instant::now();
        let done = runner.poll(&tree, &world, Duration::ZERO, &mut vec![]);
        longest = longest.max(turn.elapsed());
        turns += 1;
        if let Some(result) = done {
            result.expect("good lines");
            break;
        }
    }
    let ran = start.elapsed();
    let rate = |t: Duration| f64::from(LINES) / t.as_secs_f64() / 1e6;
    println!(
        "check {:.2} M lines/s; check and run {:.2} M lines/s in {turns} turns, longest {longest:?}",
        rate(checked),
        rate(ran)
    );
}
