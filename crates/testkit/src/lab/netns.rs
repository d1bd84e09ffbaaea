// SPDX-License-Identifier: Apache-2.0
//! One network namespace.

use std::{path::PathBuf, sync::Arc};

use rustix::process::{Pid, Signal, kill_process};
use wire::MacAddr;

use super::Command;

/// A network namespace. Clones are the same one; with the last, its processes are killed and it is
/// deleted.
#[derive(Clone, Debug)]
pub struct Netns(Option<Arc<Named>>);

#[derive(Debug)]
struct Named(String);

impl Drop for Named {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// Kills what runs in the namespace and deletes it, as far as possible.
pub(super) fn remove(name: &str) {
    kill_in(name);
    if let Err(error) = ip(&["netns", "del", name]) {
        eprintln!("namespace {name} is left behind: {error}");
    }
}

/// Kills a process.
pub(super) fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        // it may have ended on its own
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Kills every process in a namespace.
fn kill_in(name: &str) {
    let output = Command::new(None, "ip").args(["netns", "pids", name]).run();
    output.stdout.split_whitespace().filter_map(|pid| pid.parse().ok()).for_each(kill);
}

/// Runs `ip` and gives what it printed.
pub(super) fn ip(words: &[&str]) -> Result<String, String> {
    let output = Command::new(None, "ip").args(words).run();
    if output.success() {
        Ok(output.stdout)
    } else {
        Err(format!("ip {}: {}", words.join(" "), output.complaint()))
    }
}

impl Netns {
    #[track_caller]
    pub(super) fn create(name: String) -> Self {
        if let Err(error) = ip(&["netns", "add", &name]) {
            panic!("{error}");
        }
        let this = Self(Some(Arc::new(Named(name))));
        this.up("lo");
        this
    }

    pub(super) fn root() -> Self {
        Self(None)
    }

    /// Its name, as in `ip netns`; `None` for the namespace of the test.
    pub fn name(&self) -> Option<&str> {
        self.0.as_ref().map(|named| named.0.as_str())
    }

    /// The file that stands for it, to be opened for `setns`.
    pub fn path(&self) -> PathBuf {
        self.name()
            .map_or("/proc/self/ns/net".into(), |name| PathBuf::from("/run/netns").join(name))
    }

    /// A command that will run in it.
    pub fn command(&self, program: &str) -> Command {
        Command::new(Some(self.clone()), program)
    }

    /// A script that a shell will run in it; the shell stops at the first error.
    pub fn sh(&self, script: &str) -> Command {
        self.command("sh").args(["-e", "-c", script])
    }

    /// Runs `ip` in it with the words of `line` and gives what it printed.
    #[track_caller]
    pub fn ip(&self, line: &str) -> String {
        let mut words: Vec<&str> = self.name().into_iter().flat_map(|name| ["-n", name]).collect();
        words.extend(line.split_whitespace());
        ip(&words).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sets an interface up.
    #[track_caller]
    pub fn up(&self, interface: &str) {
        self.ip(&format!("link set {interface} up"));
    }

    /// Sets an interface down.
    #[track_caller]
    pub fn down(&self, interface: &str) {
        self.ip(&format!("link set {interface} down"));
    }

    /// Adds an address, `address/length`; an IPv6 address is usable at once.
    #[track_caller]
    pub fn addr(&self, interface: &str, prefix: &str) {
        // without detection of duplicates, which takes a second
        let nodad = if prefix.contains(':') { "nodad" } else { "" };
        self.ip(&format!("addr add {prefix} dev {interface} {nodad}"));
    }

    /// Adds or replaces a route to `prefix` (or `default`) by `gateway`.
    #[track_caller]
    pub fn route(&self, prefix: &str, gateway: &str) {
        let family = if gateway.contains(':') { "-6 " } else { "" };
        self.ip(&format!("{family}route replace {prefix} via {gateway}"));
    }

    /// Adds or replaces a permanent neighbour.
    #[track_caller]
    pub fn neighbor(&self, interface: &str, address: &str, mac: MacAddr) {
        self.ip(&format!("neigh replace {address} lladdr {mac} nud permanent dev {interface}"));
    }

    /// Sets the MTU.
    #[track_caller]
    pub fn mtu(&self, interface: &str, bytes: u32) {
        self.ip(&format!("link set {interface} mtu {bytes}"));
    }

    /// Sets the MAC address.
    #[track_caller]
    pub fn set_mac(&self, interface: &str, mac: MacAddr) {
        self.ip(&format!("link set {interface} address {mac}"));
    }

    /// The MAC address.
    #[track_caller]
    pub fn mac(&self, interface: &str) -> MacAddr {
        let line = self.ip(&format!("-o link show dev {interface}"));
        let mac = line.split("link/ether ").nth(1).and_then(|rest| rest.split_whitespace().next());
        mac.and_then(|mac| mac.parse().ok()).unwrap_or_else(|| panic!("no MAC address in {line:?}"))
    }

    /// Switches checksum offload, scatter-gather, segmentation (TSO, GSO) and coalescing (GRO) of
    /// an interface on or off, with ethtool.
    #[track_caller]
    pub fn offloads(&self, interface: &str, on: bool) {
        let state = if on { "on" } else { "off" };
        let words = ["rx", "tx", "sg", "tso", "gso", "gro"]
            .into_iter()
            .flat_map(|feature| [feature, state]);
        self.command("ethtool").args(["-K", interface]).args(words).ok();
    }

    /// Writes a kernel parameter of the namespace, such as `net/ipv4/ip_forward`.
    #[track_caller]
    pub fn sysctl(&self, name: &str, value: &str) {
        self.sh("printf %s \"$1\" > \"/proc/sys/$0\"").args([name, value]).ok();
    }

    /// A counter of an interface, such as `rx_packets`, from `/sys/class/net/…/statistics`.
    #[track_caller]
    pub fn counter(&self, interface: &str, name: &str) -> u64 {
        let text = self
            .command("cat")
            .args([format!("/sys/class/net/{interface}/statistics/{name}")])
            .ok();
        text.trim().parse().unwrap_or_else(|_| panic!("{name} of {interface}: {text:?}"))
    }
}
