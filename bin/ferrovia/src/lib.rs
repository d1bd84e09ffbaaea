// SPDX-License-Identifier: Apache-2.0
//! The daemon around the packet graph: startup configuration, process, log, sockets, the control
//! thread's loop.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod api;
#[cfg(feature = "tests")]
mod bare;
pub mod build;
pub mod commands;
pub mod config;
pub mod connection_slots;
pub mod control;
pub mod event;
pub mod instance;
pub mod logging;
mod macros;
pub mod origin;
pub mod plugins;
pub mod process;
pub mod prometheus;
pub mod reference;
pub mod run;
pub mod server;
pub mod socket;
pub mod stats_socket;
pub mod store;
pub mod world;
