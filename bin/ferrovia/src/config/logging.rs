// SPDX-License-Identifier: Apache-2.0
//! The section `logging`.

use super::slot::LogClasses;
use startup::value::Level;

/// The `logging` section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Logging {
    /// Lines that `show log` keeps.
    pub size: Option<u32>,
    /// Log level of classes without one of their own.
    pub default_log_level: Option<Level>,
    /// Syslog level of classes without one of their own.
    pub default_syslog_log_level: Option<Level>,
    /// Seconds until a throttled class logs again.
    pub unthrottle_time: Option<u32>,
    /// Settings of single classes.
    pub classes: LogClasses,
}
