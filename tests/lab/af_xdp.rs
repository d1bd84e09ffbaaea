// SPDX-License-Identifier: Apache-2.0
//! AF_XDP: the daemon forwards between hosts, is killed, and has DPDK's driver at the other end.
//!
//! Covers: drivers/af_xdp.

use fixture::{Cable, Router, RouterKind, Site, eventually};
use testkit::lab::{Background, Netns, require};

use crate::host::transfer;

/// The lines of `ip -d link` about programs of a namespace's netdevs.
fn programs(netns: &Netns) -> String {
    netns.ip("-d link").lines().filter(|line| line.contains("xdp")).map(str::to_string).collect()
}

#[test]
fn a_router_forwards_and_leaves_nothing_when_it_is_killed() {
    let Some(lab) = require(&["root", "ping", "ethtool", "/usr/bin/python3"]) else { return };
    let mut site = Site::new(&lab, RouterKind::Ferrovia(1, Cable::Xdp));
    for _ in 0..3 {
        assert!(programs(&site.netns).contains("xdp"), "attached");
        site.left.host.pings("-c20 -i0.01 -s1400", site.right.address);
        transfer(&site.left.host, &site.right.host, site.right.address, 4);
        transfer(&site.right.host, &site.left.host, site.left.address, 4);
        if let Some(router) = &mut site.router {
            router.kill();
            assert_eq!(programs(&site.netns), "", "the kernel takes the program off");
            router.restart();
        }
        site.configure();
    }
    let router = site.router();
    let shown = router.json("show af_xdp");
    assert_eq!((&shown[0]["interface"], &shown[0]["xdp"]), (&"left/0".into(), &"native".into()));
    assert_eq!((&shown[1]["rx_full"], &shown[1]["failed"]), (&0.into(), &0.into()), "{shown}");
    // Saved, and made again by what was saved.
    let config = router.run("show running-config");
    assert!(config.contains("create interface af_xdp host-if left name left/0"), "{config}");
    let traced = router.run("trace add af_xdp-input 4");
    assert!(traced.is_empty(), "{traced}");
    site.left.host.pings("-c3 -i0.01", site.right.address);
    let trace = router.run("show trace");
    assert!(trace.contains("right/0-tx") && trace.contains("given to the device"), "{trace}");
    site.finish();
}

/// DPDK's driver in a program that answers ARP and echo requests to whatever address.
fn testpmd(netns: &Netns) -> Background {
    let device = "net_af_xdp0,iface=eth0,start_queue=0,queue_count=1";
    // Two threads of any core.
    let own = ["--lcores", "0@0,1@0", "--no-huge", "-m", "128", "--no-pci", "--no-telemetry"];
    let what = ["--forward-mode=icmpecho", "--auto-start", "--total-num-mbufs=4096"];
    let prefix = format!("ferrovia-{}-xdp", std::process::id());
    netns
        .command("dpdk-testpmd")
        .args(own)
        .args(["--file-prefix", &prefix, "--vdev", device, "--"])
        .args(what)
        .args(["--stats-period", "3600"])
        .spawn()
}

#[test]
fn dpdk_is_a_peer() {
    let Some(lab) = require(&["root", "ping", "dpdk-testpmd"]) else { return };
    let (peer, netns) = (lab.netns("peer"), lab.netns("router"));
    for netns in [&peer, &netns] {
        netns.sysctl("net/ipv6/conf/all/disable_ipv6", "1");
    }
    lab.veth((&peer, "eth0"), (&netns, "port"));
    peer.offloads("eth0", false);
    let router = Router::start(&netns, "cpu { workers 0 }");
    router.script(
        "create interface af_xdp host-if port
         set interface ip address port/0 10.0.3.1/24
         set interface state port/0 up",
    );
    for _ in 0..2 {
        let dpdk = testpmd(&peer);
        eventually("DPDK answers", || {
            router.run("ping 10.0.3.2 repeat 1 interval 0.1").contains("1 received").then_some(())
        });
        let answer = router.run("ping 10.0.3.2 size 1400 repeat 20 interval 0.01");
        assert!(answer.contains("20 received"), "{answer}");
        drop(dpdk.kill());
    }
    let log = router.stop();
    assert!(!log.contains("panicked"), "{log}");
}
