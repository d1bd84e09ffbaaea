// SPDX-License-Identifier: Apache-2.0
//! A virtual machine of QEMU with Debian's kernel, behind vhost-user.
//!
//! host `left` — 10.0.1.0/24 — router — vhost-user, 10.0.3.0/24 — virtual machine
//!
//! Covers: drivers/vhost-user.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fixture::Router;
use testkit::lab::{Lab, Netns, require};

use crate::memif::{beside, configure};

/// A kernel without acceleration takes seconds for what a processor does in one.
const BOOT: Duration = Duration::from_secs(120);

/// The virtual machine's first process. The archive of files that it boots from has busybox, and
/// modules in `/m`, numbered in the order in which they depend on each other. It sends back what it
/// receives.
const INIT: &str = "#!/bin/sh
b=/bin/busybox
$b mount -t proc p /proc
for m in /m/*; do $b insmod $m; done
until $b ip link show eth0 >/dev/null 2>&1; do $b sleep 0.1; done
$b ip link set eth0 up
$b ip addr add 10.0.3.2/24 dev eth0
$b ip route add default via 10.0.3.1
echo guest: booted
$b ping -c 3 -W 5 10.0.1.2 && echo guest: pinged
echo guest: listens
$b nc -l -p 7000 >/received
$b nc 10.0.1.2 7001 </received
echo guest: sent
$b sleep 100
";

/// Sends bytes to the virtual machine, and compares them with those that come back.
const ECHO: &str = "
import random, socket, time
data = random.Random(1).randbytes(1_000_000)
back = socket.create_server(('10.0.1.2', 7001))
back.settimeout(60)
for left in range(100, -1, -1):
    try:
        there = socket.create_connection(('10.0.3.2', 7000), 5)
        break
    except OSError:
        if not left: raise
        time.sleep(0.1)
there.settimeout(60)
there.sendall(data)
there.shutdown(socket.SHUT_WR)
conn, _ = back.accept()
conn.settimeout(60)
got = bytearray()
while part := conn.recv(65536): got += part
print('equal' if got == data else f'{len(got)} other bytes')
";

/// Debian's kernel for virtual machines: the program, and its release.
fn kernel() -> Option<(PathBuf, String)> {
    let mut all: Vec<_> = fs::read_dir("/boot")
        .ok()?
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let release = name.strip_prefix("vmlinuz-")?;
            release.ends_with("-cloud-amd64").then(|| release.to_owned())
        })
        .collect();
    all.sort();
    let release = all.pop()?;
    Some((Path::new("/boot").join(format!("vmlinuz-{release}")), release))
}

/// Writes the archive of files that the kernel boots from.
fn archive(lab: &Lab, dir: &Path, release: &str) -> PathBuf {
    let root = dir.join("root");
    for name in ["bin", "m", "proc"] {
        fs::create_dir_all(root.join(name)).expect("made");
    }
    let script = |text: &str| lab.command("sh").args(["-c", text]).ok();
    let depends = format!("modprobe -S {release} --show-depends -a virtio_pci virtio_net");
    let mut modules: Vec<String> = Vec::new();
    for line in script(&depends).lines() {
        let Some(file) = line.strip_prefix("insmod ").and_then(|rest| rest.split(' ').next())
        else {
            continue;
        };
        if !modules.iter().any(|known| known == file) {
            modules.push(file.into());
        }
    }
    for (n, file) in modules.iter().enumerate() {
        fs::copy(file, root.join(format!("m/{n:02}.ko"))).expect("copied");
    }
    fs::copy("/bin/busybox", root.join("bin/busybox")).expect("copied");
    fs::write(root.join("init"), INIT).expect("written");
    let (root, file) = (root.display(), dir.join("files.cpio"));
    script(&format!(
        "cd {root} && ln -s busybox bin/sh && chmod +x init && find . | cpio -o -H newc >{}",
        file.display()
    ));
    file
}

#[track_caller]
fn boots(host: &Netns, netns: &Netns, kernel: &Path, files: &Path, socket: &str, device: &str) {
    // The network card has no MSI-X: without acceleration QEMU 7.2 fails at its vectors as soon as
    // a vhost device is behind it, whatever the other end is.
    let device = format!("virtio-net-pci,netdev=n,vectors=0,mac=52:54:00:00:00:01{device}");
    let machine = netns
        .command("qemu-system-x86_64")
        .args("-accel tcg -machine q35 -nodefaults -no-reboot -nographic -serial stdio".split(' '))
        .args("-m 256 -object memory-backend-memfd,id=m,size=256M,share=on".split(' '))
        .args("-numa node,memdev=m -append console=ttyS0".split(' '))
        .args(["-kernel".as_ref(), kernel.as_os_str(), "-initrd".as_ref(), files.as_os_str()])
        .args(["-chardev", &format!("socket,id=c,path={socket}")])
        .args(["-netdev", "vhost-user,id=n,chardev=c", "-device", &device])
        .spawn();
    machine.wait_for("guest: listens", BOOT);
    assert!(machine.stdout().contains("guest: pinged"), "{}", machine.stdout());
    let echo = host.command("/usr/bin/python3").args(["-c", ECHO]).timeout(BOOT).ok();
    assert_eq!(echo.trim(), "equal", "{}", machine.stdout());
    machine.wait_for("guest: sent", BOOT);
}

#[test]
fn a_virtual_machine_talks_in_both_roles() {
    let programs = ["root", "qemu-system-x86_64", "cpio", "modprobe", "/bin/busybox"];
    let Some(lab) = require(&programs) else { return };
    let Some((kernel, release)) = kernel() else {
        return testkit::skip("no kernel vmlinuz-*-cloud-amd64 in /boot");
    };
    let dir = tempfile::tempdir().expect("a directory");
    let files = archive(&lab, dir.path(), &release);
    let (host, netns) = beside(&lab, "left", 1);
    let router = Router::start(&netns, "cpu { workers 1 }");
    configure(&router, 1);
    for (at, (ours, theirs, device)) in
        [("server", "", ""), ("packed", ",server=on", ",packed=on")].into_iter().enumerate()
    {
        let socket = router.dir().join(format!("{at}.sock")).display().to_string();
        let port = "VirtualEthernet0/0/0";
        router.script(&format!(
            "create vhost-user socket {socket} {ours}
             set interface ip address {port} 10.0.3.1/24
             set interface state {port} up"
        ));
        boots(&host, &netns, &kernel, &files, &format!("{socket}{theirs}"), device);
        router.run(&format!("delete vhost-user {port}"));
    }
    router.stop();
}
