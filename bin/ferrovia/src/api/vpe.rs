// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `vpe`: which program this is, its clock, its log.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::cli::Result;
use graph::World;
use msg::{Messages, Module};
use net::api::Timestamp;

use crate::build;
use crate::logging;

/// The module.
pub const API: Module<World> = Module::core("vpe", messages);

fn messages(m: &mut Messages<World>) {
    m.call(show_version);
    m.call(|_, _: ShowVpeSystemTime| Ok(stamp(SystemTime::now())));
    m.dump(log_dump);
}

fn stamp(time: SystemTime) -> Timestamp {
    Timestamp(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64())
}

msg::messages! {
    /// Asks which program this is.
    ShowVersion,
    /// This one.
    ShowVersionReply,
    /// Asks for the time of day.
    ShowVpeSystemTime,
    /// Severity of a line of the log.
    LogLevel,
    /// Asks for the log.
    LogDump,
    /// A line of the log.
    LogDetails,
}

/// The date is the commit's: two builds of one source are the same.
fn show_version(_: &World, _: ShowVersion) -> Result<ShowVersionReply> {
    Ok(ShowVersionReply {
        program: "ferrovia".into(),
        version: build::VERSION.into(),
        build_date: build::DATE.into(),
        build_directory: build::directory().into(),
    })
}

fn log_dump(_: &World, r: LogDump) -> Result<Vec<LogDetails>> {
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
