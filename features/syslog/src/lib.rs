// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Syslog: messages of RFC 5424 about what happens to traffic.
//!
//! This is the format and the transport; features make the messages, on the control thread.
//!
//! | module | content |
//! |---|---|
//! | [`message`] | a message: header, structured data, text |
//! | [`sender`] | `set syslog sender`: messages to a collector through the graph, routed as packets of the router are |
//! | [`server`] | messages to a server that the host reaches, by a socket of the kernel |
//!
//! The daemon's own log is another one (`set logging`).
//!
//! Limits: UDP alone, without retransmission (RFC 5426); no TLS.
//!
//! Tests: messages against a plain parser of RFC 5424, with generated names and values; datagrams
//! byte by byte.

mod api;
mod cli;
pub mod message;
pub mod sender;
pub mod server;
#[cfg(feature = "tests")]
mod tests;

pub use message::{Message, Severity};
pub use sender::Syslog;
pub use server::Server;

use ::graph::{Plugin, StateDef};

/// Syslog.
pub static PLUGIN: Plugin = Plugin {
    name: "syslog",
    about: "Syslog: messages about traffic, to a collector",
    area: "management",
    does: &[
        "Messages of features about traffic go to a collector by UDP, in a table of choice; a \
         filter by severity (`set syslog sender`, `set syslog filter`, `test syslog`)",
    ],
    spec: &["RFC 5424", "RFC 5426"],
    limits: &["UDP over IPv4 alone: no TCP, no TLS", "Messages that are lost aren't sent again"],
    state: &[StateDef::of::<Syslog>()],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    api: &[api::API],
    unmoved: &[("/syslog/*", "features/syslog/src/tests")],
    transient: &[("test syslog", "sends a message")],
    ..Plugin::EMPTY
};
