// SPDX-License-Identifier: Apache-2.0
//! Removal of namespaces and processes that killed runs left behind.

use std::{fs, sync::OnceLock};

use super::netns::{kill, remove};

/// Every namespace begins with this.
const PREFIX: &str = "fvt-";

/// The variable that every process started here carries, with [`run_name`] as its value.
pub(super) const TAG: &str = "FERROVIA_LAB";

/// `fvt-PID-START`: the start time distinguishes this process from a later one with the same
/// number.
pub(super) fn run_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let pid = std::process::id();
        format!("{PREFIX}{pid}-{}", start_time(pid).unwrap_or(0))
    })
}

/// When a process started, in ticks since boot (proc(5), field 22 of `stat`); `None` if there is no
/// such process.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // the second field is a name in parentheses and may contain anything
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

/// The run that `name` begins with has ended.
fn is_over(name: &str) -> bool {
    let mut parts = name.strip_prefix(PREFIX).unwrap_or_default().split('-');
    let mut number = || parts.next()?.parse::<u64>().ok();
    let (Some(pid), Some(start)) = (number(), number()) else { return false };
    u32::try_from(pid).is_ok_and(|pid| start_time(pid) != Some(start))
}

/// Removes namespaces and processes of runs that have ended without cleaning up. Runs that go on
/// are left alone. [`super::require`] calls it once.
pub fn sweep() {
    for pid in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = pid.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let tag = environment.split(|&byte| byte == 0).find_map(|entry| {
            let value = entry.strip_prefix(TAG.as_bytes())?.strip_prefix(b"=")?;
            std::str::from_utf8(value).ok()
        });
        if tag.is_some_and(is_over) {
            kill(pid);
        }
    }
    for entry in fs::read_dir("/run/netns").into_iter().flatten().flatten() {
        if let Some(name) = entry.file_name().to_str()
            && is_over(name)
        {
            remove(name);
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn knows_the_living() {
        assert!(!is_over(run_name()));
        assert!(!is_over(&format!("{}-3-a", run_name())));
        let pid = std::process::id();
        assert!(is_over(&format!("fvt-{pid}-1-3-a")), "same number, started at another time");
        assert!(is_over("fvt-4194999-5-3-a"), "beyond the greatest process number");
        assert!(!is_over("fvt-x-5") && !is_over("other-1-2") && !is_over("fvt-") && !is_over(""));
    }
}
