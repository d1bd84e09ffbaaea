// SPDX-License-Identifier: Apache-2.0
//! A Linux kernel of its own with what this machine's kernel may lack (VLAN devices, bonding):
//! Debian's User-Mode Linux, which runs as an ordinary process, sees this machine's files, and
//! reaches taps as `vec0`, `vec1`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use testkit::lab::Netns;

/// Runs shell commands in a guest whose `vec0` is the other end of `tap`, an interface of `netns`,
/// and gives what they print. The guest ends with them. `modules` are loaded first, with those that
/// they need.
#[track_caller]
pub fn run(netns: &Netns, tap: &str, modules: &[&str], commands: &str) -> String {
    run_on(netns, &[tap], modules, commands)
}

/// As [`run`], with a link for each tap.
#[track_caller]
pub fn run_on(netns: &Netns, taps: &[&str], modules: &[&str], commands: &str) -> String {
    const DONE: &str = "guest: all done";
    let dir = tempfile::tempdir().expect("a directory");
    let init = dir.path().join("init");
    let script = format!(
        "#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
# The console loses what is said shortly before the end.
mount -t hostfs -o {} none /mnt
export TMPDIR=/mnt
(
    exec 2>&1
    set -ex
    modprobe -d {} -a {}
    ip link set lo up
    for n in {}; do ip link set vec$n up; done
    {commands}
    echo {DONE}
) >/mnt/output
echo o >/proc/sysrq-trigger
sleep 60
",
        dir.path().display(),
        dir.path().display(),
        modules.join(" "),
        (0..taps.len()).map(|n| n.to_string()).collect::<Vec<_>>().join(" ")
    );
    let link =
        |(n, tap): (usize, &&str)| format!("vec{n}:transport=tap,ifname={tap},depth=64,gro=0");
    fs::create_dir(dir.path().join("lib")).expect("made");
    symlink("/usr/lib/uml/modules", dir.path().join("lib/modules")).expect("made");
    fs::write(&init, script).expect("written");
    fs::set_permissions(&init, fs::Permissions::from_mode(0o755)).expect("executable");
    let output = netns
        .command("linux.uml")
        .args("mem=128M root=/dev/root rootfstype=hostfs rootflags=/ ro con=null con0=fd:0,fd:1 con1=null quiet".split(' '))
        .args([format!("init={}", init.display())])
        .args(taps.iter().enumerate().map(link))
        .env("HOME", dir.path())
        .input("")
        .timeout(Duration::from_secs(120))
        .run();
    let said = fs::read_to_string(dir.path().join("output")).unwrap_or_default();
    assert!(said.contains(DONE), "{said}\n{}", output.complaint());
    said
}
