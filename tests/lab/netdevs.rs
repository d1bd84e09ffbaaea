// SPDX-License-Identifier: Apache-2.0
//! Netdevs of the host that the daemon uses: their settings are the same before and after, however
//! the daemon ends, and one that the host needs itself is refused.
//!
//! Covers: drivers/af_packet, drivers/af_xdp.

use fixture::{Router, eventually};
use testkit::lab::{Lab, Netns, require};

/// The addresses, settings and routes of a namespace. The queueing discipline of a netdev is made
/// by the kernel when it goes up for the first time, and stays.
fn settings(netns: &Netns) -> String {
    let without_qdisc = |line: &str| match line.split_once(" qdisc ") {
        Some((before, after)) => {
            format!("{before} {}", after.split_once(' ').map_or("", |(_, rest)| rest))
        }
        None => line.to_string(),
    };
    let addresses: Vec<_> = netns.ip("addr").lines().map(without_qdisc).collect();
    let routes = ["route show table all", "-6 route show table all"].map(|line| netns.ip(line));
    format!("{}\n{}", addresses.join("\n"), routes.join("\n"))
}

/// A namespace with the netdev `used`, which is up and has addresses and routes, and `spare`, which
/// is down; and the namespace of their other ends.
fn host(lab: &Lab) -> (Netns, Netns) {
    let (netns, other) = (lab.netns("router"), lab.netns("other"));
    for name in ["used", "spare"] {
        lab.veth((&other, name), (&netns, name));
        other.up(name);
    }
    netns.up("lo");
    netns.up("used");
    netns.down("spare");
    netns.addr("used", "10.9.0.2/24");
    netns.addr("used", "fd09::2/64");
    netns.route("10.8.0.0/16", "10.9.0.1");
    netns.mtu("used", 1600);
    // The kernel has its own address for the link once the carrier is there.
    eventually("the link-local address is used", || {
        let text = netns.ip("-6 addr show dev used");
        (text.contains("fe80::") && !text.contains("tentative")).then_some(())
    });
    (netns, other)
}

/// The netdevs.
const BOTH: [&str; 2] = ["used", "spare"];

/// Makes interfaces of netdevs, and changes their settings.
fn take(router: &Router, xdp: bool, netdevs: &[&str]) {
    for netdev in netdevs {
        let (name, create) = match xdp {
            true => (format!("{netdev}/0"), "create interface af_xdp host-if"),
            false => (format!("host-{netdev}"), "create host-interface name"),
        };
        router.script(&format!(
            "{create} {netdev}
             set interface mtu 1400 {name}
             set interface promiscuous on {name}
             set interface state {name} up"
        ));
    }
}

/// A netdev is up with the MTU that the daemon has set.
fn is_changed(netns: &Netns, netdev: &str) -> bool {
    let link = netns.ip(&format!("link show dev {netdev}"));
    link.contains("mtu 1400") && link.contains(",UP")
}

#[test]
fn settings_are_the_same_before_and_after() {
    let Some(lab) = require(&["root"]) else { return };
    for xdp in [false, true] {
        let (netns, _other) = host(&lab);
        let before = settings(&netns);
        let restored = || {
            eventually("the settings are restored", || (settings(&netns) == before).then_some(()));
        };
        let dir = tempfile::tempdir().expect("a temporary directory");
        let section = format!("config {{ file {} load }}", dir.path().join("conf").display());
        let mut router = Router::start(&netns, &section);
        let all_changed = || BOTH.iter().all(|netdev| is_changed(&netns, netdev));
        // Interfaces that are deleted.
        take(&router, xdp, &BOTH);
        assert!(all_changed(), "{}", settings(&netns));
        let words = match xdp {
            true => "delete interface af_xdp used/0\ndelete interface af_xdp spare/0",
            false => "delete host-interface name used\ndelete host-interface name spare",
        };
        router.script(words);
        restored();
        assert!(!router.file("netdevs").exists(), "there is nothing left to restore");
        // A clean end.
        take(&router, xdp, &BOTH);
        assert!(all_changed());
        router.end();
        restored();
        // A crash: the next start restores.
        router.restart();
        take(&router, xdp, &BOTH);
        router.kill();
        assert!(all_changed() && router.file("netdevs").exists());
        router.restart();
        restored();
        // But not a netdev that its configuration uses.
        take(&router, xdp, &["used"]);
        router.run("save");
        take(&router, xdp, &["spare"]);
        router.kill();
        assert!(all_changed());
        router.restart();
        eventually("the other one is restored", || (!is_changed(&netns, "spare")).then_some(()));
        assert!(is_changed(&netns, "used"), "{}", settings(&netns));
        let log = router.stop();
        restored();
        assert!(!log.contains("panicked"), "{log}");
    }
}

#[test]
fn a_netdev_that_the_host_needs_is_refused() {
    let Some(lab) = require(&["root"]) else { return };
    let (netns, _other) = host(&lab);
    netns.route("default", "10.9.0.1");
    let before = settings(&netns);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let section = format!("config {{ file {} load }}", dir.path().join("conf").display());
    let mut router = Router::start(&netns, &section);
    let lines = ["create host-interface name used", "create interface af_xdp host-if used"];
    for line in lines {
        let error = router.ctl(line).expect_err("refused");
        assert!(error.contains("default via 10.9.0.1 dev used"), "{error}");
        assert!(error.contains("ip route del default via 10.9.0.1 dev used"), "{error}");
        assert_eq!(settings(&netns), before);
    }
    // Another netdev isn't.
    router.run("create host-interface name spare");
    router.run("create host-interface name used force");
    let config = router.run("show running-config");
    assert!(config.contains("create host-interface name used force"), "{config}");
    assert!(config.contains("create host-interface name spare\n"), "{config}");
    router.run("save");
    router.end();
    // The saved line has the word.
    router.restart();
    let shown = router.run("show interface");
    assert!(shown.contains("host-used") && shown.contains("host-spare"), "{shown}");
    router.run("delete host-interface name used");
    router.run("create interface af_xdp host-if used force");
    let config = router.run("show running-config");
    assert!(config.contains("host-if used name used/0 force"), "{config}");
    router.stop();
    // The kernel takes the program off a moment later.
    eventually("the settings are restored", || (settings(&netns) == before).then_some(()));
}
