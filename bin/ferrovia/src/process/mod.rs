// SPDX-License-Identifier: Apache-2.0
//! The daemon as a process: arguments, paths, the background, the pid file, signals, limits,
//! rights, crash reports, systemd.

pub mod account;
pub mod arguments;
pub mod crash;
pub mod limits;
pub mod paths;
pub mod pidfile;
#[allow(unsafe_code)]
pub mod platform;
pub mod rights;
pub mod service;
pub mod signals;
