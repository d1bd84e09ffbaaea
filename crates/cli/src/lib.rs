// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Commands: their declaration by plugins, the parsing of lines, and answers.
//!
//! The crate knows no protocol and no socket. `W` is the world that commands act on; the daemon
//! chooses it.
//!
//! ```
//! use cli::{Command, Error, Live, Matches, Output, Table, Tree};
//! use std::net::IpAddr;
//!
//! struct World { interfaces: Vec<&'static str> }
//! impl Live for World {
//!     fn candidates(&self, kind: &str, prefix: &str) -> Vec<String> {
//!         let names = if kind == "interface" { &self.interfaces[..] } else { &[] };
//!         names.iter().filter(|n| n.starts_with(prefix)).map(|n| n.to_string()).collect()
//!     }
//! }
//!
//! static CLI: &[Command<World>] = &[
//!     Command {
//!         path: "show interface",
//!         usage: "[<interface:interface>]...",
//!         help: "Interfaces and their counters",
//!         run: |w, m| {
//!             let only: Vec<String> = m.all("interface")?;
//!             let mut t = Table::new().left("Name").right("Idx");
//!             for (i, name) in w.interfaces.iter().enumerate() {
//!                 if only.is_empty() || only.iter().any(|o| o == name) {
//!                     t.row([(*name).into(), i.into()]);
//!                 }
//!             }
//!             Ok(t.into())
//!         },
//!     },
//!     Command {
//!         path: "ip route",
//!         usage: "{add|del} <prefix:prefix> [table <table:u32>] \
//!                 {via <nexthop:ip> [<interface:interface>] [weight <weight:0-255>] | drop}...",
//!         help: "Add or delete a route",
//!         run: ip_route,
//!     },
//! ];
//!
//! fn ip_route(w: &World, m: &Matches) -> Result<Output, Error> {
//!     let table: u32 = m.get("table").unwrap_or(0);
//!     for path in m.groups("via") {
//!         let nexthop: IpAddr = path.req("nexthop")?;
//!         let weight: u8 = path.get("weight").unwrap_or(1);
//!         let name = path.str("interface");
//!         if path.has("interface") && !w.interfaces.contains(&name) {
//!             return Err(Error::not_found(format!("no interface `{name}'"))
//!                 .near(name, &w.interfaces).at(path.span("interface")).retval(cli::retval::INVALID_SW_IF_INDEX));
//!         }
//!         // control::route(…, m.flag("del"), table, nexthop, weight)?
//! #       let _ = (table, nexthop, weight);
//!     }
//!     Ok(Output::empty())
//! }
//!
//! let tree = Tree::new(CLI).unwrap();
//! let world = World { interfaces: vec!["local0", "host-eth0"] };
//! let out = tree.execute(&world, "sh int host-eth0 -j").unwrap();
//! assert_eq!(out.output.to_json().to_string(), r#"[{"name":"host-eth0","idx":1}]"#);
//! tree.execute(&world, "ip route add 10.0.0.0/8 via 10.1.1.1 host-eth0 weight 2 via 10.1.1.2").unwrap();
//! let e = tree.execute(&world, "ip route add 10.0.0.0/8 vai 10.1.1.1").unwrap_err();
//! assert!(e.to_string().contains("did you mean `via'?"), "{e}");
//! ```
//!
//! # Usage strings
//!
//! A usage string is the only source for parsing, `?`, completion, error messages and the checking
//! of scripts.
//!
//! | written | means |
//! |---|---|
//! | `word` | the word itself; [`Matches::flag`] returns true if it was there |
//! | `{a \| b}` | one of these |
//! | `[x]` | may be left out; optional parts side by side come in any order, each at most once |
//! | `(x [y])` | these in any order, each once; what stands in brackets may be left out |
//! | `x...` | once or more; `[x]...` any number of times; each turn of a `{…}...` is one of [`Matches::groups`] |
//! | `<name>` | a word |
//! | `<name:type>` | a value: `u8 u16 u32 u64 i32 f64 rate size ip4 ip6 ip prefix4 prefix6 prefix ifaddr4 ifaddr6 ifaddr mac word string secret block rest range` |
//! | `<name:1-255>` | a number within bounds |
//! | `<name:up\|down>` | one of these words, taken as value |
//! | `<name:interface>` | any other type is a live kind: a word that [`Live`] completes and the command looks up |
//!
//! Of several readings of a line, one that takes a literal where it stands is preferred to one that
//! takes it as a word, then numbers and addresses to words. A line ending in `-j` or `json` asks
//! for JSON, unless a `rest` takes it. Words of a path may be abbreviated as long as they are
//! unique; literals of a usage string may not.
//!
//! # Long commands and scripts
//!
//! A command never blocks: an answer that grows with a table is an [`Output::list`], whose rows are
//! made as the client reads them; a command that takes time returns [`Output::task`], which the
//! control loop polls; `exec` returns [`Output::script`], a command that is made of others
//! [`Output::sequence`]. A [`Runner`] drives all four, in slices. Scripts are checked whole
//! ([`script`]): all errors are reported with line and column, and nothing is run unless every line
//! is correct.
//!
//! # Serving
//!
//! [`Console`] is everything of a CLI connection but the socket: telnet, `vppctl`'s protocol,
//! `ferroctl`'s [`frames`], editing, completion, pager ([`session`]).

mod commands;
mod complete;
mod console;
mod date;
mod error;
mod explain;
mod file;
mod filter;
pub mod frames;
mod grammar;
mod join;
mod kind;
mod lex;
mod list;
mod matcher;
mod matches;
mod near;
mod notes;
mod output;
mod program;
mod quote;
pub mod retval;
mod runner;
pub mod script;
mod sequence;
pub mod session;
mod table;
mod terminal;
mod tree;
mod writer;

#[cfg(feature = "tests")]
mod tests;

pub use commands::{answered, help};
pub use complete::{Candidate, Completion};
pub use console::Console;
pub use date::Date;
pub use error::{Error, ErrorKind, Result};
pub use file::{is_public, open_regular};
pub use join::{joined, joined_len};
pub use kind::{Kind, Value};
pub use lex::is_open;
pub use list::{List, SLICE, pieces, slice};
pub use matches::{Arg, FromArg, Matches};
pub use near::nearest;
pub use output::{Output, Task, TaskState};
pub use quote::quote;
pub use runner::{OutputPiece, Runner};
pub use script::close_blocks;
pub use sequence::{Sequence, Step};
pub use table::{Cell, Table, centre};
pub use tree::{
    Command, CommandHook, Expand, Foreign, HIDDEN, Live, Meaning, Outcome, Parsed, Tree,
};
pub use writer::Writer;
