// SPDX-License-Identifier: Apache-2.0
//! `make demo`: two Linux hosts, the router between them, real traffic, and the router's view of
//! it.
//!
//! The whole lab lives in network, mount and process namespaces of its own. When its first process
//! ends, however it ends, the kernel takes everything else away: processes, interfaces, addresses,
//! sockets. Nothing of the host's is touched and nothing can be left behind, by an interrupted run
//! neither.

mod lab;
mod report;
mod show;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::sh::{self, Res};
use crate::{setup, verbs};

/// The verb by which the first process of the lab is started.
pub const INSIDE: &str = "demo-inside";

/// The router between the hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Router {
    /// The daemon and its client, in this directory.
    Ferrovia(PathBuf),
    /// The kernel, to compare with and to try the lab itself.
    Linux,
}

/// The verb `demo`.
pub fn verb(args: &[&str]) -> Res {
    setup::ensure(&[setup::HOSTS, setup::DRAW])?;
    let programs = match args {
        [] => verbs::build_release()?,
        ["--linux"] => PathBuf::new(),
        ["--programs", dir] => sh::root().join(dir),
        _ => {
            let there = "--linux: the kernel as the router; --programs DIR: what is built already";
            return Err(format!("demo: unknown: {} (there are {there})", args.join(" ")));
        }
    };
    let out = crate::builds::target_dir().join("demo");
    std::fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;

    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|e| format!("signal: {e}"))?;
    }
    let mut lab = enclosure()?;
    let own = std::env::current_exe().map_err(|e| format!("where am I: {e}"))?;
    lab.arg(own).arg(INSIDE).arg(&out).arg(&programs);
    // A process group of its own: Ctrl-C reaches us alone, and we end the lab as a whole.
    lab.process_group(0);
    let mut lab = lab.spawn().map_err(|e| format!("the lab did not start: {e}"))?;
    let result = wait(&mut lab, &stop);
    println!("demo: hosts, router and interfaces are gone");
    result
}

/// A command prefix that runs what follows as the first process of new namespaces, and ends it if
/// we end.
fn enclosure() -> Res<Command> {
    let user = if sh::is_root() { "" } else { "--user --map-root-user" };
    let full = format!("unshare {user} --net --mount --pid --fork --kill-child");
    let mut why = String::new();
    // A container may hide parts of /proc and so refuse a new one; the lab does without.
    for line in [format!("{full} --mount-proc"), full] {
        match sh::output(sh::cmd(&line).arg("true")) {
            Ok(_) => return Ok(sh::cmd(&format!("setpriv --pdeathsig KILL {line}"))),
            Err(error) => why = error,
        }
    }
    Err(format!(
        "{why}\nThe demo makes network namespaces: run it as root, or allow user namespaces"
    ))
}

/// Wait for the lab's end; on a signal end it.
fn wait(lab: &mut Child, stop: &AtomicBool) -> Res {
    loop {
        match lab.try_wait().map_err(|e| format!("the lab: {e}"))? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("the demo failed ({status})")),
            None if stop.load(Ordering::Relaxed) => {
                println!("\ndemo: interrupted, taking everything down");
                end(lab);
                return Err("the demo was interrupted".into());
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// End the lab, and come back when its last process is gone.
fn end(lab: &mut Child) {
    let children = format!("/proc/{0}/task/{0}/children", lab.id());
    let first = std::fs::read_to_string(children).unwrap_or_default();
    // `unshare` ends: the kernel kills its child, the first process of the lab, and with it all
    // others.
    let _ = lab.kill();
    let _ = lab.wait();
    let start = Instant::now();
    for pid in first.split_whitespace() {
        while Path::new("/proc").join(pid).exists() && start.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The first process of the lab; `args` are the directory for results and that of the programs
/// (empty: Linux).
pub fn inside(args: &[&str]) -> Res {
    let [out, programs] = args else { return Err("demo-inside is for `demo` alone".into()) };
    let router =
        if programs.is_empty() { Router::Linux } else { Router::Ferrovia(programs.into()) };
    show::run(&router, Path::new(out))
}
