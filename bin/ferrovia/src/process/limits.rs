// SPDX-License-Identifier: Apache-2.0
//! Core dumps.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::model::Unix;
use startup::value::Limit;

/// Applies `coredump-size` and `full-coredump`. A size above the hard limit is lowered to it, which
/// is noted.
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

/// Address space that a daemon takes at its start: tables and counters reserve what they may grow
/// to, without memory.
pub const COMMON_SPACE: usize = 36 << 30;
/// Address space for each thread, mostly counters.
pub const THREAD_SPACE: usize = (4 << 30) + (256 << 20);
/// Address space for each packet buffer, at most.
const BUFFER_SPACE: usize = 4 << 10;

/// Sees that there is address space for a daemon with so many threads and buffers.
///
/// # Errors
/// A sentence with the remedy.
pub fn address_space(threads: usize, buffers: usize) -> Result<(), String> {
    let wanted = COMMON_SPACE + threads * THREAD_SPACE + buffers * BUFFER_SPACE;
    let Err(error) = mem::Reserve::<u64>::new(wanted / size_of::<u64>()) else { return Ok(()) };
    let limit = rustix::process::getrlimit(rustix::process::Resource::As).current;
    let overcommit = std::fs::read_to_string("/proc/sys/vm/overcommit_memory").unwrap_or_default();
    let advice = match limit {
        Some(limit) if limit < wanted as u64 => {
            format!(
                "the limit is {} KiB: `ulimit -v unlimited' (systemd: LimitAS=infinity) lifts it",
                limit >> 10
            )
        }
        _ if overcommit.trim() == "2" => {
            "the kernel counts what is only reserved: `sysctl vm.overcommit_memory=0' ends that"
                .into()
        }
        _ => "see `ulimit -v' and `sysctl vm.overcommit_memory'".to_string(),
    };
    Err(format!(
        "{} GiB of address space, not of memory, can't be reserved ({error}): {advice}",
        wanted >> 30
    ))
}
