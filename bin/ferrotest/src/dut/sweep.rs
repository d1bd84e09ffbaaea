// SPDX-License-Identifier: Apache-2.0
//! Removal of processes and folders that a killed tester left behind. Each process that the tester
//! starts carries the name of its run in its environment, each folder in its name.

use std::os::unix::fs::MetadataExt as _;
use std::process::Command;
use std::{env, fs, io};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The variable that names the run: PID namespace, process id and start time of the tester.
const TAG: &str = "FERROTEST_RUN";
/// Beginning of the folders' names. The name of the run follows, and a random end.
const FOLDER: &str = "ferrotest-";

/// When a process started, in ticks since boot (proc(5), field 22 of `stat`).
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in parentheses and may contain anything.
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

/// The PID namespace of this process: its number at the kernel, 0 if there is none to be seen.
fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |file| file.ino())
}

fn run_name() -> String {
    let pid = std::process::id();
    format!("{}-{pid}-{}", namespace(), start_time(pid).unwrap_or(0))
}

/// Marks a command as started by this run.
pub fn tag(command: &mut Command) -> &mut Command {
    command.env(TAG, run_name())
}

/// Makes a folder of this run, among the temporary files.
///
/// # Errors
/// The system's.
pub fn folder() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(&format!("{FOLDER}{}-", run_name())).tempdir()
}

/// Returns true if a run has ended. Of a run in another PID namespace, a container for example, it
/// can't be known: the number of its process is another process's here.
fn is_over(run: &str) -> bool {
    let numbers: Vec<Option<u64>> = run.split('-').map(|number| number.parse().ok()).collect();
    match numbers[..] {
        [Some(space), Some(pid), Some(start)] if space == namespace() => {
            u32::try_from(pid).ok().and_then(start_time) != Some(start)
        }
        _ => false,
    }
}

/// Kills the processes of runs that have ended without taking their device down, and removes their
/// folders.
pub fn sweep() {
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let run = environment.split(|&byte| byte == 0).find_map(|entry| {
            let value = entry.strip_prefix(TAG.as_bytes())?.strip_prefix(b"=")?;
            std::str::from_utf8(value).ok()
        });
        if run.is_some_and(is_over)
            && let Some(pid) = Pid::from_raw(pid)
        {
            // It may have ended on its own.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    for entry in fs::read_dir(env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let run = name.to_str().and_then(|name| name.strip_prefix(FOLDER)?.rsplit_once('-'));
        if run.is_some_and(|(run, _)| is_over(run)) {
            // Another user's stays.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn runs_that_are_over_are_known() {
        let pid = std::process::id();
        let now = start_time(pid).unwrap();
        let here = namespace();
        assert!(!is_over(&format!("{here}-{pid}-{now}")));
        assert!(is_over(&format!("{here}-{pid}-1")), "same number, started at another time");
        assert!(is_over(&format!("{here}-4194999-5")), "beyond the greatest process number");
        assert!(!is_over(&format!("{}-4194999-5", here + 1)), "another PID namespace");
        assert!(!is_over(&format!("{here}-x-5")) && !is_over("") && !is_over("7-5"));
    }

    #[suite::test]
    fn folders_of_ended_runs_are_removed() {
        let ours = folder().unwrap();
        let of = |name: &str| {
            let prefix = format!("{FOLDER}{name}");
            tempfile::Builder::new().prefix(&prefix).tempdir().unwrap().keep()
        };
        let (dead, other) = (of(&format!("{}-4194999-5-", namespace())), of("x"));
        fs::write(dead.join("log"), "").unwrap();
        sweep();
        assert!(ours.path().exists() && other.exists() && !dead.exists());
        fs::remove_dir(other).unwrap();
    }
}
