// SPDX-License-Identifier: Apache-2.0
//! Two hosts and a router as network namespaces, joined by veth pairs, and what runs in them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::Router;
use crate::sh::{self, Res};

/// One of the two hosts and its cable.
pub struct Host {
    /// Name of its namespace.
    pub name: &'static str,
    /// Its address; the prefix is a /24.
    pub address: &'static str,
    /// The router's address on the same cable.
    pub gateway: &'static str,
    /// The router's end of the cable.
    pub port: &'static str,
}

/// The host that sends.
pub const LEFT: Host =
    Host { name: "left", address: "10.0.1.2", gateway: "10.0.1.1", port: "to-left" };
/// The host that answers.
pub const RIGHT: Host =
    Host { name: "right", address: "10.0.2.2", gateway: "10.0.2.1", port: "to-right" };

/// Where the daemon keeps its sockets: below a file system that only the lab sees.
const RUNTIME: &str = "/run/ferrovia";

/// The running lab: the kernel takes it away when its first process, ours, ends.
pub struct Lab {
    programs: Option<PathBuf>,
    log: PathBuf,
    daemon: Option<Child>,
}

/// `line` as a command in namespace `name`, ended after `seconds` at the latest.
pub fn within(name: &str, seconds: u32, line: &str) -> Command {
    sh::cmd(&format!("ip netns exec {name} timeout --kill-after=2 {seconds} {line}"))
}

fn ip(line: &str) -> Res {
    sh::output(&mut sh::cmd(&format!("ip {line}"))).map(|_| ())
}

fn sysctl(name: &str, key: &str, value: &str) -> Res {
    let mut command = sh::cmd(&format!("ip netns exec {name} sh -c"));
    command.arg(format!("echo {value} >/proc/sys/net/{key}"));
    sh::output(&mut command).map(|_| ())
}

fn wire(host: &Host) -> Res {
    let Host { name, address, gateway, port } = host;
    ip(&format!("netns add {name}"))?;
    sysctl(name, "ipv6/conf/default/disable_ipv6", "1")?;
    ip(&format!("link add eth0 netns {name} type veth peer name {port} netns router"))?;
    ip(&format!("-n {name} link set lo up"))?;
    ip(&format!("-n {name} addr add {address}/24 dev eth0"))?;
    ip(&format!("-n {name} link set eth0 up"))?;
    ip(&format!("-n router link set {port} up"))?;
    ip(&format!("-n {name} route add default via {gateway}"))
}

impl Lab {
    /// Cable everything up and start the router; what it says goes to a log file in `out`.
    pub fn up(router: &Router, out: &Path) -> Res<Lab> {
        // The names of namespaces and the sockets of the daemon: in memory, seen by the lab only.
        sh::output(&mut sh::cmd("mount -t tmpfs lab /run"))?;
        ip("netns add router")?;
        // The kernel is only the cable on the router's side: no address, no chatter of its own.
        sysctl("router", "ipv6/conf/default/disable_ipv6", "1")?;
        wire(&LEFT)?;
        wire(&RIGHT)?;
        let mut lab = Lab { programs: None, log: out.join("ferrovia.log"), daemon: None };
        match router {
            Router::Ferrovia(programs) => {
                lab.programs = Some(programs.clone());
                lab.start()?;
            }
            Router::Linux => {
                for host in [LEFT, RIGHT] {
                    ip(&format!("-n router addr add {}/24 dev {}", host.gateway, host.port))?;
                }
                sysctl("router", "ipv4/ip_forward", "1")?;
            }
        }
        Ok(lab)
    }

    fn start(&mut self) -> Res {
        let programs = self.programs.as_deref().expect("the daemon is the router");
        let config =
            format!("unix {{ nodaemon runtime-dir {RUNTIME} cli-listen {RUNTIME}/cli.sock }}");
        println!("$ ferrovia {config}");
        std::fs::create_dir_all(RUNTIME).map_err(|e| format!("{RUNTIME}: {e}"))?;
        let log = File::create(&self.log).map_err(|e| format!("{}: {e}", self.log.display()))?;
        let copy = log.try_clone().map_err(|e| e.to_string())?;
        let mut command =
            sh::cmd(&format!("ip netns exec router {}/ferrovia {config}", programs.display()));
        let child =
            command.stdout(copy).stderr(log).spawn().map_err(|e| format!("the daemon: {e}"))?;
        let daemon = self.daemon.insert(child);
        let start = Instant::now();
        while !Path::new(RUNTIME).join("cli.sock").exists() {
            if let Ok(Some(status)) = daemon.try_wait() {
                return Err(format!(
                    "the daemon ended at once ({status}); it said:\n{}",
                    self.said()
                ));
            }
            if start.elapsed() > Duration::from_secs(20) {
                return Err(format!("no CLI socket after 20 s; the daemon said:\n{}", self.said()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// The last lines of the daemon's log.
    pub fn said(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    /// True if a daemon can be asked.
    pub fn has_cli(&self) -> bool {
        self.daemon.is_some()
    }

    /// Give the router's CLI one command; what it answers.
    pub fn ctl(&mut self, command: &str) -> Res<String> {
        let programs = self.programs.as_deref().ok_or("Linux has no such CLI")?;
        if let Some(Ok(Some(status))) = self.daemon.as_mut().map(Child::try_wait) {
            return Err(format!("the daemon has ended ({status}); it said:\n{}", self.said()));
        }
        let client = format!(
            "timeout --kill-after=2 10 {}/ferroctl -s {RUNTIME}/cli.sock",
            programs.display()
        );
        let out = sh::cmd(&client).args(command.split_whitespace()).output();
        let out = out.map_err(|e| format!("ferroctl: {e}"))?;
        if out.status.success() {
            return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
        }
        Err(format!("`ferroctl {command}` failed: {}", String::from_utf8_lossy(&out.stderr).trim()))
    }

    /// Ask the daemon to end, and see that it does.
    pub fn down(mut self) -> Res {
        let Some(mut daemon) = self.daemon.take() else { return Ok(()) };
        sh::quiet(sh::cmd("sh -c").arg(format!("kill -TERM {}", daemon.id())))?;
        let start = Instant::now();
        loop {
            match daemon.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => {
                    return Err(format!(
                        "the daemon ended badly ({status}); it said:\n{}",
                        self.said()
                    ));
                }
                _ if start.elapsed() > Duration::from_secs(5) => {
                    return Err("the daemon was still there 5 s after SIGTERM".into());
                }
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}
