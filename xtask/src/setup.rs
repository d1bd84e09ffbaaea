// SPDX-License-Identifier: Apache-2.0
//! Requirements of verbs on the machine: installed when missing, and never asked for twice.

use std::path::Path;
use std::process::Stdio;

use crate::sh::{self, Res};

/// Something a verb needs and the Debian package that has it.
pub struct Need {
    /// A program's name, the path of a file when it starts with `/`, or a command that succeeds
    /// when it has words.
    probe: &'static str,
    package: &'static str,
}

const fn need(probe: &'static str, package: &'static str) -> Need {
    Need { probe, package }
}

/// To compile the workspace.
pub const BUILD: &[Need] = &[need("cc", "gcc"), need("/usr/include/pcap/pcap.h", "libpcap-dev")];

/// To compile libFuzzer's runtime.
pub const FUZZ: &[Need] = &[need("c++", "g++")];

/// To install.
pub const STRIP: &[Need] = &[need("objcopy", "binutils")];

/// To start what an image holds.
pub const CONTAINER: &[Need] = &[need("bwrap", "bubblewrap")];

/// To try a package in a fresh root, and its unit.
pub const FRESH_ROOT: &[Need] =
    &[need("unshare", "util-linux"), need("ip", "iproute2"), need("systemd-analyze", "systemd")];

/// To draw.
pub const DRAW: &[Need] = &[need("dot", "graphviz")];

/// To make two hosts and let them talk.
pub const HOSTS: &[Need] = &[
    need("unshare", "util-linux"),
    need("ip", "iproute2"),
    need("ping", "iputils-ping"),
    need("iperf3", "iperf3"),
    need("ethtool", "ethtool"),
    need("sysctl", "procps"),
];

/// Programs that tests compare our packets and captures with; a terminal for our CLI, and a
/// disassembler for our code.
pub const PEERS: &[Need] = &[
    need("script", "bsdutils"),
    need("less", "less"),
    need("objdump", "binutils"),
    need("tcpdump", "tcpdump"),
    need("tshark", "tshark"),
    need("traceroute", "traceroute"),
    need("radvd", "radvd"),
    need("linux.uml", "user-mode-linux"),
    need("modprobe", "kmod"),
    need("lldpd", "lldpd"),
    need("nfcapd", "nfdump"),
    need("bird", "bird2"),
    need("/usr/lib/frr/zebra", "frr"),
    need("keepalived", "keepalived"),
    need("dnsmasq", "dnsmasq-base"),
    need("udhcpc", "udhcpc"),
    need("nft", "nftables"),
    need("conntrack", "conntrack"),
    need("pppd", "ppp"),
    need("pppoe-server", "pppoe"),
    need("dpdk-testpmd", "dpdk-dev"),
    need("qemu-system-x86_64", "qemu-system-x86"),
    need("/usr/share/doc/linux-image-cloud-amd64", "linux-image-cloud-amd64"),
    need("/usr/share/doc/busybox-static", "busybox-static"),
    need("cpio", "cpio"),
    need("python3", "python3"),
    need("python3 -m ensurepip --version", "python3-venv"),
    need("go", "golang-go"),
    need("/usr/lib/python3/dist-packages/scapy/__init__.py", "python3-scapy"),
];

/// Packages whose daemons Debian starts when they are installed, with the names of their units.
/// Only tests want them, and start them themselves.
const DAEMONS: &[(&str, &str)] = &[
    ("bird2", "bird"),
    ("frr", "frr"),
    ("keepalived", "keepalived"),
    ("lldpd", "lldpd"),
    ("nfdump", "nfdump"),
    ("radvd", "radvd"),
];

fn is_there(need: &Need) -> bool {
    match need.probe {
        path if path.starts_with('/') => Path::new(path).exists(),
        line if line.contains(' ') => sh::output(&mut sh::cmd(line)).is_ok(),
        program => sh::have(program),
    }
}

/// Install whatever of `needs` is missing. Nothing is looked up or changed when nothing is missing.
pub fn ensure(needs: &[&[Need]]) -> Res {
    let mut packages: Vec<_> =
        needs.iter().flat_map(|n| n.iter()).filter(|n| !is_there(n)).map(|n| n.package).collect();
    packages.dedup();
    if packages.is_empty() {
        return Ok(());
    }
    let list = packages.join(" ");
    if !sh::have("apt-get") {
        return Err(format!(
            "missing here: {list} (Debian's names), and there is no apt-get to install them"
        ));
    }
    println!("== installing {list}");
    // -n: a sudo that would ask for a password says no instead.
    let sudo = if sh::is_root() { "" } else { "sudo -n " };
    let apt = |line: &str| {
        let mut command = sh::cmd(&format!("{sudo}apt-get -qq -o DPkg::Lock::Timeout=300 {line}"));
        command.env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
        sh::run(&mut command)
    };
    apt("update")
        .and_then(|()| apt(&format!("-y --no-install-recommends install {list}")))
        .map_err(|why| {
            format!("{why}\nInstall these packages by hand, then run this again: {list}")
        })?;
    let has_systemd = Path::new("/run/systemd/system").exists();
    let started = |(package, _): &&(&str, &str)| has_systemd && packages.contains(package);
    for (_, unit) in DAEMONS.iter().filter(started) {
        sh::run(&mut sh::cmd(&format!("{sudo}systemctl --quiet disable --now {unit}")))?;
    }
    Ok(())
}

/// A cargo subcommand that is built from source when it is missing, in the version that this tree
/// was tried with.
pub struct Tool {
    name: &'static str,
    version: &'static str,
    takes: &'static str,
}

/// The test runner.
pub const NEXTEST: Tool = Tool { name: "cargo-nextest", version: "0.9.151", takes: "two minutes" };

/// The checker of the whole deny.toml.
pub const DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2", takes: "one minute" };

impl Tool {
    /// True if it is there already.
    pub fn is_there(&self) -> bool {
        sh::have(self.name)
    }

    /// See to it that it is there.
    pub fn ensure(&self) -> Res {
        if self.is_there() {
            return Ok(());
        }
        let Tool { name, version, takes } = self;
        println!("== installing {name} {version}, once: about {takes} on two cores");
        // Without optimisation it builds in less than half of the time, and does its work no
        // slower.
        let line =
            format!("install --locked --quiet --debug --no-default-features {name}@{version}");
        sh::run(sh::cargo(&line).env("CARGO_PROFILE_DEV_DEBUG", "0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_name_a_file_by_path_a_module_by_a_command() {
        assert!(is_there(&need("sh", "dash")));
        assert!(is_there(&need("/proc/self/status", "")));
        assert!(!is_there(&need("no-such-program-anywhere", "")));
        assert!(!is_there(&need("/no/such/file", "")));
        assert!(is_there(&need("sh -c true", "dash")));
        assert!(!is_there(&need("sh -c false", "dash")));
        assert!(!is_there(&need("no-such-program at all", "")));
    }

    #[test]
    fn nothing_happens_when_nothing_is_missing() {
        assert_eq!(ensure(&[&[need("sh", "dash")]]), Ok(()));
    }
}
