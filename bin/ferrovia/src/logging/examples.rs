// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::hosts(
    "log",
    "set logging class ip level debug syslog-level error rate-limit 7
     set logging class arp level warn
     set logging class arp default
     set logging size 100
     set logging unthrottle-time 9",
)];
