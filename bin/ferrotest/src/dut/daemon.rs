// SPDX-License-Identifier: Apache-2.0
//! Ferrovia and FD.io VPP, which have one CLI: on interfaces of the lab by AF_PACKET, or by memif.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::change::{Block, Routes, Verb};
use super::{Device, sweep};
use crate::lab::{End, LINK, Lab, ROUTE, quiet};
use crate::port::interface::Kind as PortKind;
use crate::port::memif::{self, BUFFER, ID, RING};

/// The program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Ferrovia.
    Ferrovia,
    /// FD.io VPP.
    Vpp,
}

/// A running daemon.
#[derive(Debug)]
pub struct Daemon {
    kind: Kind,
    program: PathBuf,
    version: String,
    workers: u32,
    ports: PortKind,
    dir: TempDir,
    child: Option<Child>,
}

/// Time in which a daemon ends by itself.
const PATIENCE: Duration = Duration::from_secs(5);

impl Daemon {
    /// Starts the daemon in the lab.
    ///
    /// # Errors
    /// There is no such program, or it ended at once; the text has the end of its log.
    pub fn up(kind: Kind, program: Option<&Path>, lab: &Lab, workers: u32) -> Result<Self, String> {
        let program = find(kind, program)?;
        let dir = sweep::folder();
        let dir = dir.map_err(|error| format!("a temporary directory: {error}"))?;
        let version = version(&program);
        // The kernel is only the cable on the device's side: no address, no packets of its own.
        quiet(&lab.device)?;
        let ports = lab.ports;
        let mut daemon = Self { kind, program, version, workers, ports, dir, child: None };
        daemon.start(lab)?;
        Ok(daemon)
    }

    fn start(&mut self, lab: &Lab) -> Result<(), String> {
        let dir = self.dir.path().to_path_buf();
        let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        let (script, log) = (dir.join("commands"), dir.join("log"));
        fs::write(&script, commands(self.ports)).map_err(|error| failed(&script, error))?;
        let config = self.config(&script);
        let out = File::create(&log).map_err(|error| failed(&log, error))?;
        let err = out.try_clone().map_err(|error| failed(&log, error))?;
        let mut command = Command::new(&self.program);
        sweep::tag(&mut command).args(config.split_whitespace());
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        // A process starts in the namespace of the thread that starts it.
        let child = lab.device.run(|| command.spawn());
        self.child = Some(child.map_err(|error| failed(&self.program, error))?);
        let start = Instant::now();
        // Commands of the start run before the socket is served.
        while !dir.join("cli.sock").exists() {
            if let Some(why) = self.failure() {
                return Err(why);
            }
            if start.elapsed() > Duration::from_secs(30) {
                return Err(format!(
                    "{} doesn't serve its CLI after 30 s\n{}",
                    self.name(),
                    self.log()
                ));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Ferrovia => "ferrovia",
            Kind::Vpp => "vpp",
        }
    }

    fn config(&self, script: &Path) -> String {
        let (dir, workers) = (self.dir.path().display(), self.workers);
        let script = script.display();
        match self.kind {
            Kind::Ferrovia => format!(
                "unix {{ nodaemon nosyslog runtime-dir {dir} exec {script} }} cpu {{ workers {workers} }}"
            ),
            Kind::Vpp => format!(
                "unix {{ nodaemon nosyslog runtime-dir {dir} cli-listen {dir}/cli.sock exec {script} }} \
                 cpu {{ workers {workers} }} api-segment {{ prefix ferrotest-{} }} \
                 plugins {{ plugin default {{ disable }} plugin {}_plugin.so {{ enable }} }}",
                std::process::id(),
                if self.ports == PortKind::Memif { "memif" } else { "af_packet" }
            ),
        }
    }

    /// The end of the daemon's log.
    fn log(&self) -> String {
        let text = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Runs a command that prints nothing unless it fails, by the daemon's client.
    fn command(&self, text: &str) -> Result<(), String> {
        let name = match self.kind {
            Kind::Ferrovia => "ferroctl",
            Kind::Vpp => "vppctl",
        };
        let client = Some(self.program.with_file_name(name)).filter(|path| path.is_file());
        let client = client.or_else(|| in_path(name)).ok_or_else(|| {
            format!("no program `{name}' beside {} or in PATH", self.program.display())
        })?;
        let mut command = Command::new(client);
        let socket = self.dir.path().join("cli.sock");
        sweep::tag(&mut command).arg("-s").arg(socket).args(text.split(' '));
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("{name}: {error}"))?;
        // vppctl succeeds whatever the daemon says.
        let words = [output.stdout, output.stderr].concat();
        if output.status.success() && words.trim_ascii().is_empty() {
            return Ok(());
        }
        Err(format!("{name} {text}: {}", String::from_utf8_lossy(&words).trim()))
    }

    fn stop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if let Some(pid) = Pid::from_raw(child.id() as i32) {
            // It may have ended on its own.
            let _ = kill_process(pid, Signal::TERM);
        }
        let start = Instant::now();
        while matches!(child.try_wait(), Ok(None)) {
            if start.elapsed() > PATIENCE {
                let _ = child.kill();
                let _ = child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Number of the memif socket of one side.
fn socket_id(end: End) -> u32 {
    match end {
        End::Left => 1,
        End::Right => 2,
    }
}

/// Name of the daemon's interface.
fn interface(ports: PortKind, end: End) -> String {
    match ports {
        PortKind::Veth | PortKind::Tap => format!("host-{}", end.name()),
        PortKind::Memif => format!("memif{}/{ID}", socket_id(end)),
    }
}

/// Interfaces, addresses and routes as CLI commands.
fn commands(ports: PortKind) -> String {
    let mut text = String::new();
    for end in End::BOTH {
        let (name, all) = (end.name(), end.addresses());
        let host = interface(ports, end);
        if ports == PortKind::Memif {
            let (id, file) = (socket_id(end), memif::socket(name));
            let _ = writeln!(text, "create memif socket id {id} filename {file}");
            // Its own address would be another one after a restart.
            let _ = writeln!(
                text,
                "create interface memif id {ID} socket-id {id} ring-size {RING} \
                 buffer-size {BUFFER} slave hw-addr 02:fe:00:00:00:{id:02x}"
            );
        } else {
            let _ = writeln!(text, "create host-interface name {name}");
        }
        let _ = writeln!(text, "set interface ip address {host} {}/{}", all.device.0, LINK.0);
        let _ = writeln!(text, "set interface ip address {host} {}/{}", all.device.1, LINK.1);
        let _ = writeln!(text, "set interface state {host} up");
        for (network, len, gateway) in [
            (all.network.0.to_string(), ROUTE.0, all.tester.0.to_string()),
            (all.network.1.to_string(), ROUTE.1, all.tester.1.to_string()),
        ] {
            let _ = writeln!(text, "ip route add {network}/{len} via {gateway} {host}");
        }
    }
    text
}

/// The program: a path that was given, beside this program, or in PATH.
fn find(kind: Kind, given: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(path) = given {
        let is_there = path.is_file();
        return is_there
            .then(|| path.to_path_buf())
            .ok_or_else(|| format!("{}: no such program", path.display()));
    }
    let name = match kind {
        Kind::Ferrovia => "ferrovia",
        Kind::Vpp => "vpp",
    };
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(|dir| dir.join(name));
    let beside = beside.filter(|path| kind == Kind::Ferrovia && path.is_file());
    beside.or_else(|| in_path(name)).ok_or_else(|| match kind {
        Kind::Ferrovia => "device ferrovia: no program `ferrovia' beside ferrotest or in PATH; \
             build it, or name it as ferrovia:PROGRAM"
            .into(),
        Kind::Vpp => "device vpp: no program `vpp' in PATH; install FD.io VPP, or name its \
             program as vpp:PROGRAM"
            .into(),
    })
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|path| path.is_file())
}

fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.unwrap_or_default().lines().next().unwrap_or_default().trim().to_string()
}

impl Device for Daemon {
    fn describe(&self) -> String {
        let name = if self.version.is_empty() { self.name() } else { &self.version };
        let interfaces = match self.ports {
            PortKind::Veth | PortKind::Tap => "host interfaces (AF_PACKET)".into(),
            PortKind::Memif => format!("memif interfaces, rings of {RING}"),
        };
        format!("{name}, {} workers, {interfaces}", self.workers)
    }

    fn restart(&mut self, lab: &Lab) -> Result<(), String> {
        self.stop();
        // The socket of the old daemon says nothing about the new one.
        let _ = fs::remove_file(self.dir.path().join("cli.sock"));
        self.start(lab)
    }

    fn routes(&mut self, _lab: &Lab, routes: Routes, verb: Verb) -> Result<(), String> {
        let verb = match verb {
            Verb::Add => "add",
            Verb::Delete => "del",
        };
        let (via, len) = (routes.via(), routes.prefix_len());
        let name = interface(self.ports, End::Right);
        routes.blocks().into_iter().try_for_each(|Block { first, count }| {
            self.command(&format!("ip route {verb} {first}/{len} count {count} via {via} {name}"))
        })
    }

    fn cpu_seconds(&self) -> Option<f64> {
        let id = self.child.as_ref()?.id();
        let tasks = fs::read_dir(format!("/proc/{id}/task")).ok()?;
        let time = |task: fs::DirEntry| {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        };
        Some(tasks.flatten().filter_map(time).sum::<u64>() as f64 / 1e9)
    }

    fn failure(&mut self) -> Option<String> {
        let status = self.child.as_mut()?.try_wait().ok()??;
        Some(format!("{} has ended ({status}); its last words:\n{}", self.name(), self.log()))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn commands_configure_both_sides() {
        let text = commands(PortKind::Veth);
        assert!(text.contains("set interface ip address host-left 198.18.0.1/24\n"));
        assert!(text.contains("set interface ip address host-right 2001:2:0:8000::1/64\n"));
        assert!(text.contains("ip route add 198.19.0.0/16 via 198.19.0.2 host-right\n"));
        assert!(text.contains("ip route add 2001:2::/49 via 2001:2::2 host-left\n"));
        let text = commands(PortKind::Memif);
        assert!(text.contains("create memif socket id 2 filename abstract:ferrotest-right\n"));
        assert!(text.contains("create interface memif id 0 socket-id 2 ring-size "));
        assert!(text.contains("ip route add 198.19.0.0/16 via 198.19.0.2 memif2/0\n"));
        assert!(!text.contains("host-"));
    }

    #[suite::test]
    fn a_missing_program_is_named() {
        let error = find(Kind::Ferrovia, Some(Path::new("/no/such/program"))).unwrap_err();
        assert!(error.contains("/no/such/program"));
    }
}
