// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
#![warn(missing_docs)]
//! The arithmetic of a network tester: what a trial counted, when it is valid, the statistics of
//! repeated trials, and the document that holds a run.
//!
//! Nothing here sends a packet, opens a file or reads a clock. The tester fills [`Trial`] and
//! [`Latency`], and collects them in [`Measurement`] and [`Results`].

mod environment;
mod latency;
mod measurement;
mod profile;
mod results;
pub mod stats;
mod trial;

pub use environment::{Cpu, Environment, Interface};
pub use latency::{Delays, Latency};
pub use measurement::{
    Bound, CpuCost, Energy, Family, LatencyAt, Mark, Measurement, Mode, Outcome, RatePoint, Series,
    Size,
};
pub use profile::Profile;
pub use results::{AssertOutcome, ReadError, Results, SCHEMA_VERSION, SelfTest};
pub use trial::{Counts, Direction, Fault, Rules, Trial};
