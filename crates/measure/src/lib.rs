// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
#![warn(missing_docs)]
//! The arithmetic of a network tester: what a trial counted, when it is valid, the statistics of
//! repeated trials, and the document that holds a run.
//!
//! [`report`] prints a result as HTML, Markdown, CSV, SVG and PNG.
//!
//! Searches ([`search`]) are state machines: they name the trial that they need, and take its
//! result. Nothing here sends a packet, opens a file or reads a clock. The tester fills [`Trial`]
//! and [`Latency`], and collects them in [`Measurement`] and [`Results`].

pub mod assert;
mod environment;
pub mod events;
mod latency;
mod limit;
mod measurement;
mod mode;
pub mod papers;
mod profile;
pub mod report;
mod results;
mod schema;
pub mod search;
pub mod siitperf;
pub mod stats;
mod trial;

pub use environment::{Cpu, Environment, Interface};
pub use latency::{Delays, Ipdv, Latency};
pub use limit::{RESERVE, is_tester_bound};
pub use measurement::{
    Bound, CpuCost, Energy, Family, LatencyAt, Mark, Measurement, Outcome, RatePoint, Series, Size,
};
pub use mode::Mode;
pub use profile::Profile;
pub use results::{AssertOutcome, ReadError, Results, SCHEMA_VERSION, SelfTest};
pub use schema::SCHEMA;
pub use trial::{Counts, Direction, Fault, Rules, Trial};
