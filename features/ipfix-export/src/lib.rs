// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! IPFIX exporter: records of features go to collectors (RFC 7011).
//!
//! A feature declares its templates ([`Ipfix::open`]) and hands over records on the control
//! thread ([`Ipfix::record`]); reports of its workers come there by bounded rings ([`Reports`]).
//! Records of a kind are held back until a message is full, for ten seconds at most, or until
//! `ipfix flush`. A collector gets the templates before their first records, and again after the
//! template interval.
//!
//! A *stream* is an observation domain from one source port. It has its own sequence of records,
//! and numbers of templates from 256 on. Features that name the same stream share it. Another
//! collector, port, source or table begins all streams of the exporter anew.
//!
//! A record is never waited for, and traffic never waits for a record. What is lost is counted by
//! its reason: a full ring, no collector, a record longer than the path's MTU allows, no route to
//! the collector, no packet buffer.
//!
//! Limits: UDP alone; no options templates, no elements of variable length.
//!
//! Tests: messages byte by byte; generated records against a reader of templates; nfcapd (in
//! `tests/lab/nat_log.rs`).

mod api;
mod cli;
mod exporter;
mod reports;
mod settings;
mod stream;
pub mod template;
#[cfg(feature = "tests")]
mod tests;

pub use exporter::{DEFAULT, Ipfix, SourceId};
pub use reports::{Drained, PERIOD, Reporter, Reports};
pub use settings::PORT;
pub use stream::StreamName;
pub use template::{Element, Template};

use ::graph::{Plugin, StateDef};

/// IPFIX exporter.
pub static PLUGIN: Plugin = Plugin {
    name: "ipfix-export",
    about: "IPFIX exporter: records about traffic, to collectors",
    area: "management",
    does: &[
        "Records of features go to collectors by UDP over IPv4 and IPv6, each in a table of choice, \
         with templates that are repeated (`set ipfix exporter`, `ipfix exporter add`, `ipfix \
         flush`, `show ipfix exporters`)",
    ],
    spec: &["RFC 7011", "RFC 7012"],
    limits: &[
        "UDP alone: no TCP, no SCTP, no TLS",
        "No reports about sessions of classifier tables",
    ],
    state: &[StateDef::of::<Ipfix>()],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    api: &[api::API],
    start: |world| {
        Ipfix::start(world);
        Ok(())
    },
    unmoved: &[("/ipfix/*", "features/ipfix-export/src/tests")],
    transient: &[("ipfix flush", "sends what waits")],
    ..Plugin::EMPTY
};
