// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `vpe`: which program this is, its clock, its log.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::cli::Result;
use graph::World;
use msg::{Caller, Message, Messages, Module, Str, Wire};
use net::api::Timestamp;

use crate::build;
use crate::logging;

/// The module.
pub const API: Module<World> =
    Module { name: "vpe", version: "1.7.0", crc: 0xbbfa_7484, core: true, messages };

fn messages(m: &mut Messages<World>) {
    m.call(show_version);
    m.call(|_: &World, _: &Caller<'_, World>, _: ShowVpeSystemTime| {
        Ok(ShowVpeSystemTimeReply { vpe_system_time: stamp(SystemTime::now()) })
    });
    m.dump(log_dump);
}

fn stamp(time: SystemTime) -> Timestamp {
    Timestamp(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64())
}

/// Asks which program this is.
#[derive(Message)]
#[msg(reply)]
struct ShowVersion {}

/// This one.
#[derive(Message)]
struct ShowVersionReply {
    program: Str<32>,
    version: Str<32>,
    build_date: Str<32>,
    build_directory: Str<256>,
}

/// The date is the commit's: two builds of one source are the same.
fn show_version(_: &World, _: &Caller<'_, World>, _: ShowVersion) -> Result<ShowVersionReply> {
    Ok(ShowVersionReply {
        program: "ferrovia".into(),
        version: build::VERSION.into(),
        build_date: build::DATE.into(),
        build_directory: build::directory().into(),
    })
}

/// Asks for the time of day.
#[derive(Message)]
#[msg(reply)]
struct ShowVpeSystemTime {}

/// The time of day.
#[derive(Message)]
struct ShowVpeSystemTimeReply {
    vpe_system_time: Timestamp,
}

/// Severity of a line of the log.
#[derive(Wire, Clone, Copy)]
#[repr(u32)]
#[wire(prefix = "VPE_API_LOG_LEVEL_")]
enum LogLevel {
    Emerg = 0,
    Alert = 1,
    Crit = 2,
    Err = 3,
    Warning = 4,
    Notice = 5,
    Info = 6,
    Debug = 7,
    Disabled = 8,
}

/// Asks for the log.
#[derive(Message)]
#[msg(details = LogDetails)]
struct LogDump {
    /// From this time on.
    start_timestamp: Timestamp,
}

/// A line of the log.
#[derive(Message)]
struct LogDetails {
    timestamp: Timestamp,
    level: LogLevel,
    msg_class: Str<32>,
    message: Str<256>,
}

fn log_dump(_: &World, _: &Caller<'_, World>, r: LogDump) -> Result<Vec<LogDetails>> {
    let from = Duration::try_from_secs_f64(r.start_timestamp.0).unwrap_or_default();
    let late = |e: &logging::Entry| e.time.duration_since(UNIX_EPOCH).unwrap_or_default() >= from;
    let level = |level| match level {
        log::Level::Error => LogLevel::Err,
        log::Level::Warn => LogLevel::Warning,
        log::Level::Info => LogLevel::Info,
        log::Level::Debug | log::Level::Trace => LogLevel::Debug,
    };
    let details = |e: logging::Entry| LogDetails {
        timestamp: stamp(e.time),
        level: level(e.level),
        msg_class: e.class.into(),
        message: e.text.into(),
    };
    Ok(logging::entries(usize::MAX).into_iter().filter(late).map(details).collect())
}
