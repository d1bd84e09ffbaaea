// SPDX-License-Identifier: Apache-2.0
//! Tester for packet forwarders: RFC 2544, 5180, 4814 and 8219.
#![forbid(unsafe_code)]

pub mod bench;
pub mod cli;
pub mod dut;
pub mod engine;
pub mod estimate;
pub mod lab;
pub mod limit;
pub mod method;
pub mod modes;
pub mod output;
pub mod paper;
pub mod port;
pub mod progress;
pub mod replay;
pub mod run;
pub mod show;
pub mod surroundings;
pub mod traffic;
