// SPDX-License-Identifier: Apache-2.0
//! Tries the package of Debian in a fresh root: installs an older version, configures it, upgrades
//! it, and purges it. Nothing of this machine is changed: the root is an overlay in memory, in
//! namespaces of mounts and networks of its own.

use std::path::Path;

use crate::builds::target_dir;
use crate::setup;
use crate::sh::{self, Res};

/// Version of the package from which is upgraded.
const OLD: &str = "0.0.1";

/// Makes the root and runs [`INSIDE`] in it; `$1` is a folder for it, `$2` the one with the
/// packages.
const OUTSIDE: &str = r#"
set -eu
mount -t tmpfs tmpfs "$1"
mkdir "$1/up" "$1/work" "$1/root" "$1/packages"
cp "$2"/*.deb "$2/inside" "$1/packages"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/up,workdir=$1/work" "$1/root"
mount -t proc proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
mount -t tmpfs tmpfs "$1/root/dev/shm"
mount -t tmpfs tmpfs "$1/root/run"
mkdir "$1/root/packages"
mount --bind "$1/packages" "$1/root/packages"
ip link set lo up
chroot "$1/root" /bin/sh /packages/inside
"#;

/// Steps of an administrator, with a check behind each. A stub stands for systemctl, and writes
/// down each of its calls.
const INSIDE: &str = r##"
set -eu
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive
cd /
fail() { echo "package: $*" >&2; exit 1; }
mkdir -p /run/systemd/system /usr/local/bin
printf '#!/bin/sh\necho "$*" >>/systemctl.log\n' >/usr/local/bin/systemctl
chmod 755 /usr/local/bin/systemctl
asked() { grep -qx -- "$1" /systemctl.log || fail "systemctl wasn't asked for: $1"; }
start() {
    ferrovia -c /etc/ferrovia/startup.conf >/daemon.log 2>&1 &
    for _ in $(seq 100); do
        ferroctl show version >/dev/null 2>&1 && return
        sleep 0.1
    done
    cat /daemon.log >&2
    fail "the daemon doesn't start with the package's configuration"
}
stop() { kill "$(pidof ferrovia)"; while pidof ferrovia >/dev/null; do sleep 0.1; done; }
! getent group ferrovia >/dev/null || groupdel ferrovia
rm -rf /var/lib/ferrovia /etc/ferrovia

echo "== install"
dpkg --install /packages/old.deb
for file in /usr/bin/ferrovia /usr/bin/ferroctl /usr/bin/ferrotest /etc/ferrovia/startup.conf \
    /usr/lib/systemd/system/ferrovia.service /usr/share/man/man8/ferrovia.8 \
    /usr/share/man/man1/ferrotest.1 /usr/share/bash-completion/completions/ferroctl \
    /usr/share/ferrovia/api; do
    test -e "$file" || fail "$file isn't there"
done
getent group ferrovia >/dev/null || fail "no group ferrovia"
asked daemon-reload
! grep -q restart /systemctl.log || fail "a first installation restarts nothing"

echo "== verify the unit"
if command -v systemd-analyze >/dev/null; then
    # A tool that can't work here would find no fault in ours either.
    unit=/usr/lib/systemd/system/ferrovia.service
    sed 's/^Type=.*/Type=nonsense/' "$unit" >/etc/systemd/system/ferrovia-faulty.service
    systemd-analyze verify --man=no ferrovia-faulty.service 2>/faulty.log || true
    grep -q 'ferrovia-faulty.*nonsense' /faulty.log || fail "systemd-analyze verify finds no fault in a faulty unit: $(cat /faulty.log)"
    rm /etc/systemd/system/ferrovia-faulty.service
    systemd-analyze verify --man=no ferrovia.service 2>/verify.log || true
    # Faults of other units of this machine aren't ours.
    ! grep ferrovia /verify.log || fail "systemd-analyze verify finds faults"
else
    echo "SKIPPED: systemd-analyze isn't here (package systemd)"
fi

echo "== configure"
echo "# a line of the administrator's" >>/etc/ferrovia/startup.conf
start
test "$(stat -c %G /run/ferrovia/cli.sock)" = ferrovia || fail "the CLI's socket isn't the group's"
ferroctl create loopback interface >/dev/null
ferroctl save
stop

echo "== upgrade"
dpkg --force-confold --install /packages/new.deb
asked "try-restart ferrovia.service"
grep -qx "# a line of the administrator's" /etc/ferrovia/startup.conf || fail "startup.conf is another"
start
ferroctl show interface | grep -q loop0 || fail "what was saved isn't in force after the upgrade"
stop

echo "== remove, purge"
dpkg --remove ferrovia
asked "disable --now ferrovia.service"
test -e /etc/ferrovia/startup.conf || fail "removed without a purge, startup.conf is gone"
dpkg --purge ferrovia
for file in /usr/bin/ferrovia /etc/ferrovia /var/lib/ferrovia /usr/share/ferrovia \
    /usr/share/doc/ferrovia /usr/lib/systemd/system/ferrovia.service; do
    test ! -e "$file" || fail "$file is left"
done
! getent group ferrovia >/dev/null || fail "the group is left"
echo "== the package installs, upgrades and goes"
"##;

/// Tries a package.
///
/// # Errors
/// A step that failed; a machine on which no such root can be made.
pub fn run(package: &Path) -> Res {
    if !sh::is_root() {
        return Err("deb --try: needs root, for a fresh root of its own".into());
    }
    setup::ensure(&[setup::FRESH_ROOT])?;
    let dir = target_dir().join("deb-try");
    let (tree, packages, root) = (dir.join("old"), dir.join("packages"), dir.join("root"));
    if dir.exists() {
        std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    sh::run(sh::cmd("mkdir -p").arg(&tree).arg(&packages).arg(&root))?;
    sh::run(sh::cmd("cp").arg(package).arg(packages.join("new.deb")))?;
    // The version before differs in its number, and in the file that the administrator changes.
    sh::run(sh::cmd("dpkg-deb --raw-extract").arg(package).arg(&tree))?;
    let control = tree.join("DEBIAN/control");
    let version = format!("Version: {}", env!("CARGO_PKG_VERSION"));
    sh::write(&control, sh::read(&control)?.replace(&version, &format!("Version: {OLD}")))?;
    let startup = tree.join("etc/ferrovia/startup.conf");
    sh::write(&startup, format!("# an older comment\n{}", sh::read(&startup)?))?;
    let old = packages.join("old.deb");
    sh::run(sh::cmd("dpkg-deb -Zgzip -z1 --root-owner-group --build").arg(&tree).arg(old))?;
    sh::write(packages.join("inside"), INSIDE)?;
    println!("== trying the package in a fresh root");
    let mut command = sh::cmd("unshare --mount --net --pid --fork --kill-child /bin/sh -c");
    sh::run(command.arg(OUTSIDE).arg("try").arg(&root).arg(&packages))
}
