// SPDX-License-Identifier: Apache-2.0
//! The toy world that the crate's tests act on.

mod completing;
mod long;
mod random;
mod reading;

use crate::{Command, Error, Live, Matches, Output, Result, Table, Task, TaskState, Tree, retval};
use std::cell::RefCell;
use std::time::Duration;

/// Interfaces, and a log of the arguments that commands were given.
#[derive(Default)]
pub(crate) struct Toy {
    pub interfaces: Vec<&'static str>,
    pub log: RefCell<Vec<String>>,
}

impl Toy {
    pub fn new() -> Self {
        Self { interfaces: vec!["local0", "host-eth0", "host-eth1"], log: RefCell::default() }
    }

    /// The log of the commands since the last call.
    pub fn said(&self) -> String {
        self.log.take().join("\n")
    }
}

impl Live for Toy {
    fn candidates(&self, kind: &str, prefix: &str) -> Vec<String> {
        let names = if kind == "interface" { &self.interfaces[..] } else { &[] };
        names.iter().filter(|n| n.starts_with(prefix)).map(|n| n.to_string()).collect()
    }
}

fn log(w: &Toy, m: &Matches<'_>) -> Result<Output, Error> {
    w.log.borrow_mut().push(format!("{m:?}"));
    Ok(Output::empty())
}

fn show_interface(w: &Toy, m: &Matches<'_>) -> Result<Output, Error> {
    let only: Vec<String> = m.all("interface")?;
    if let Some((arg, span)) = m.args("interface").find(|(a, _)| !w.interfaces.contains(&a.text)) {
        return Err(Error::not_found(format!("no interface `{}'", arg.text))
            .at(span)
            .retval(retval::INVALID_SW_IF_INDEX));
    }
    let mut t = Table::new().left("Name").right("Idx");
    for (i, name) in w
        .interfaces
        .iter()
        .enumerate()
        .filter(|(_, n)| only.is_empty() || only.iter().any(|o| o == *n))
    {
        t.row([(*name).into(), i.into()]);
    }
    Ok(t.into())
}

/// Counts down at each poll.
struct Count {
    left: u32,
    cancelled: bool,
}

impl Task for Count {
    fn poll(&mut self, _now: Duration) -> TaskState {
        if self.cancelled {
            return TaskState::Done(Output::both(
                "cancelled",
                serde_json::json!({"left": self.left}),
            ));
        }
        match self.left {
            0 => TaskState::Done(Output::both("lift-off", serde_json::json!({"left": 0}))),
            n => {
                self.left -= 1;
                TaskState::Chunk(format!("{n}\n"))
            }
        }
    }

    fn cancel(&mut self) {
        self.cancelled = true;
    }
}

const fn command(path: &'static str, usage: &'static str, help: &'static str) -> Command<Toy> {
    Command { path, usage, help, run: log }
}

pub(crate) static TOY: &[Command<Toy>] = &[
    Command {
        path: "show interface",
        usage: "[<interface:interface>]...",
        help: "Interfaces",
        run: show_interface,
    },
    command("show interface address", "[<interface:interface>]", "Addresses of interfaces"),
    command("show ip fib", "[summary] [table <table:u32>] [<prefix:prefix>]", "The FIB"),
    command("show ip6 fib", "", "The IPv6 FIB"),
    command("show errors", "", "Error counters"),
    Command {
        path: "show version",
        usage: "[verbose]",
        help: "What runs here",
        run: |_, m| Ok(if m.flag("verbose") { "toy 1\nbuilt by hand" } else { "toy 1" }.into()),
    },
    command(
        "set interface state",
        "<interface:interface> {up|down}",
        "Bring an interface up or down",
    ),
    command(
        "set interface mtu",
        "[packet|ip4|ip6] <mtu:64-9216> <interface:interface>",
        "Set an MTU",
    ),
    command(
        "set interface ip address",
        "[del] <interface:interface> {<prefix:prefix> | all}",
        "Addresses",
    ),
    command(
        "ip route",
        "{add|del} <prefix:prefix> [table <table:u32>] [count <count:u32>] \
         {via <nexthop:ip> [<interface:interface>] [weight <weight:u32>] [preference <preference:u8>] | drop}...",
        "Routes",
    ),
    command(
        "packet-generator new",
        "{<spec:block> | pcap <file:word> [limit <limit:u64>]...}",
        "New stream",
    ),
    Command {
        path: "echo",
        usage: "[<text:rest>]",
        help: "Say it",
        run: |_, m| Ok(m.str("text").into()),
    },
    Command {
        path: "count",
        usage: "<from:u32>",
        help: "Count down",
        run: |_, m| Ok(Output::task(Count { left: m.req("from")?, cancelled: false })),
    },
    Command {
        path: "endless",
        usage: "",
        help: "Numbers without an end",
        run: |_, _| {
            Ok(Output::list(0u64.., |_: &Toy, n, out: &mut crate::Writer| {
                out.text(|text| *text += &format!("{n}\n"));
                out.value(|| n);
                Ok(())
            }))
        },
    },
    Command {
        path: "exec",
        usage: "<text:string>",
        help: "Run a text",
        run: |_, m| Ok(Output::script("text", m.str("text").replace(';', "\n"))),
    },
    Command {
        path: "fail",
        usage: "[<retval:i32>]",
        help: "Fail",
        run: |_, m| {
            let retval = match m.get("retval") {
                Some(-3) => retval::NO_SUCH_FIB,
                Some(-7) => retval::INVALID_VALUE,
                _ => retval::UNSPECIFIED,
            };
            Err(Error::failed("it failed").retval(retval))
        },
    },
];

pub(crate) fn tree() -> Tree<Toy> {
    Tree::new(TOY).expect("a good tree")
}

/// A task that sets its next time counts from its first poll, which is due at once.
#[suite::test]
fn a_task_is_polled_as_soon_as_it_is_there() {
    let (tree, world) = (tree(), Toy::new());
    let (mut runner, mut said, now) =
        (crate::Runner::default(), Vec::new(), Duration::from_secs(7));
    runner.line(&tree, &world, "count 1", false, &mut said);
    assert_eq!(runner.wake_at(now), Some(now));
    assert!(runner.poll(&tree, &world, now, &mut said).is_none());
    assert!(runner.wake_at(now).is_some_and(|at| at > now), "afterwards it has its own pace");
}
