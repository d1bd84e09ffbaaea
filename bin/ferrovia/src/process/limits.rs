// SPDX-License-Identifier: Apache-2.0
//! Core dumps.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::model::Unix;
use crate::config::values::Limit;

/// Applies `coredump-size` and `full-coredump`. A size above the hard limit is lowered to it, which is noted.
pub fn apply(unix: &Unix) -> io::Result<Option<String>> {
    let mut note = None;
    if let Some(limit) = unix.coredump_size {
        let old = getrlimit(Resource::Core);
        let wanted = match limit {
            Limit::Unlimited => None,
            Limit::Bytes(n) => Some(n),
        };
        let raised = Rlimit { current: wanted, maximum: larger(old.maximum, wanted) };
        if setrlimit(Resource::Core, raised).is_err() {
            setrlimit(Resource::Core, Rlimit { current: old.maximum, maximum: old.maximum })?;
            note = old.maximum.map(|n| format!("coredump-size: the system allows {n} bytes only"));
        }
    }
    if unix.full_coredump {
        // Every kind of mapping (man 5 core), DAX included.
        std::fs::write("/proc/self/coredump_filter", "0x1ff")
            .map_err(|e| io::Error::new(e.kind(), format!("full-coredump: {e}")))?;
    }
    Ok(note)
}

/// The larger of two limits, `None` being infinite.
fn larger(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a?.max(b?))
}
