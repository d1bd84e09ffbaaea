// SPDX-License-Identifier: Apache-2.0
//! vhost-user with DPDK's driver net_virtio_user at the other end.
//!
//! host `left` — 10.0.1.0/24 — router — vhost-user — DPDK
//!
//! Covers: drivers/vhost-user.

use std::path::Path;

use fixture::{Router, eventually};
use testkit::lab::{Background, Netns, require};

use crate::memif::{beside, configure};

/// DPDK's driver in a program that answers ARP and echo requests to whatever address.
fn testpmd(netns: &Netns, socket: &Path, words: &str) -> Background {
    let device = format!("net_virtio_user0,path={},{words}", socket.display());
    // Two threads of any core.
    let own = ["--lcores", "0@0,1@0", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry"];
    let what = [
        "--forward-mode=icmpecho",
        "--auto-start",
        "--total-num-mbufs=4096",
        "--stats-period",
        "3600",
    ];
    let prefix = format!("ferrovia-vhost-{}", std::process::id());
    netns
        .command("dpdk-testpmd")
        .args(own)
        .args(["--file-prefix", &prefix, "--vdev", &device, "--"])
        .args(what)
        .spawn()
}

#[test]
fn dpdk_is_a_guest_in_both_roles() {
    let Some(lab) = require(&["root", "ping", "dpdk-testpmd"]) else { return };
    let (host, netns) = beside(&lab, "left", 1);
    let mut router = Router::start(&netns, "cpu { workers 1 }");
    let [ours, theirs] = ["ours.sock", "theirs.sock"].map(|name| router.dir().join(name));
    let names = ["VirtualEthernet0/0/0", "VirtualEthernet0/0/1"];
    let create = |router: &Router| {
        configure(router, 1);
        router.script(&format!(
            "create vhost-user socket {} server
             create vhost-user socket {} packed gso
             set interface ip address {} 10.0.3.1/24
             set interface ip address {} 10.0.4.1/24
             set interface state {} up
             set interface state {} up",
            ours.display(),
            theirs.display(),
            names[0],
            names[1],
            names[0],
            names[1],
        ));
    };
    create(&router);
    for (n, socket, to, words) in [
        (0, &ours, "10.0.3.2", "server=0,mrg_rxbuf=1"),
        (1, &theirs, "10.0.4.2", "server=1,packed_vq=1"),
    ] {
        let is_up =
            |router: &Router| router.json("show vhost-user")["interfaces"][n]["link_up"] == true;
        // A guest that goes away and comes again.
        for _ in 0..2 {
            let peer = testpmd(&netns, socket, words);
            eventually("DPDK is connected", || is_up(&router).then_some(()));
            eventually("DPDK answers", || {
                host.command("ping").args(["-n", "-c1", "-W1", to]).run().success().then_some(())
            });
            // The bytes that come back are those that were sent.
            host.pings("-c20 -i0.01 -s1400", to);
            drop(peer.kill());
            if n == 1 {
                // DPDK doesn't take over the file of a dead one.
                std::fs::remove_file(socket).expect("removed");
            }
            eventually("DPDK is gone", || (!is_up(&router)).then_some(()));
        }
    }
    // The router is killed while DPDK waits as the server: both find each other again.
    let peer = testpmd(&netns, &theirs, "server=1,packed_vq=1");
    let is_up =
        |router: &Router| router.json("show vhost-user")["interfaces"][1]["link_up"] == true;
    eventually("DPDK is connected", || is_up(&router).then_some(()));
    router.kill();
    router.restart();
    create(&router);
    eventually("DPDK is connected again", || is_up(&router).then_some(()));
    eventually("DPDK answers", || {
        host.command("ping").args(["-n", "-c1", "-W1", "10.0.4.2"]).run().success().then_some(())
    });
    host.pings("-c5 -i0.01 -s1400", "10.0.4.2");
    drop(peer.kill());
    let log = router.stop();
    assert!(!log.contains("panicked"), "{log}");
}
