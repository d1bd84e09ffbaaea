// SPDX-License-Identifier: Apache-2.0
//! Interfaces that the site hasn't: without link layer, and on their way to other modes.
//!
//! Covers: features/interface, drivers/af_packet, drivers/tap.

use std::time::{Duration, Instant};

use fixture::{Cable, Router, RouterKind, Site};
use testkit::lab::{self, Lab, Netns};

use crate::host::{checksum_errors, transfer};

/// A host whose only way is a device without link layer, and the router's address on it.
struct Point {
    host: Netns,
    address: &'static str,
}

fn points(lab: &Lab) -> [Point; 2] {
    [("left", "10.0.1.2"), ("right", "10.0.2.2")].map(|(name, address)| {
        let host = lab.netns(name);
        host.sysctl("net/ipv6/conf/default/disable_ipv6", "1");
        Point { host, address }
    })
}

fn talk([left, right]: &[Point; 2]) {
    for (from, to) in [(left, right), (right, left)] {
        let text = from.host.pings("-c3 -i0.05", to.address);
        assert!(text.contains("ttl=63"), "{text}");
        from.host.pings("-c3 -i0.05 -s1400", to.address);
        transfer(&from.host, &to.host, to.address, 8);
        assert_eq!(checksum_errors(&from.host), 0);
    }
}

#[test]
fn tun_interfaces_carry_packets_without_link_layer() {
    let Some(lab) = lab::require(&["root", "ping", "/usr/bin/python3"]) else { return };
    for workers in [0, 2] {
        let points = points(&lab);
        let router = Router::start(&lab.netns("router"), &format!("cpu {{ workers {workers} }}"));
        for (n, Point { host, address }) in points.iter().enumerate() {
            let (n, ns) = (n + 1, host.name().expect("a namespace of its own"));
            router.script(&format!(
                "create tap tun id {n} host-ns {ns} host-if-name point0 host-ip4-addr {address}/24\n\
                 set interface ip address tun{n} 10.0.{n}.1/24\n\
                 set interface state tun{n} up\n"
            ));
            host.route("default", &format!("10.0.{n}.1"));
        }
        talk(&points);
        let shown = router.run("show tun");
        assert!(shown.contains("tun1") && shown.contains("point0"), "{shown}");
        router.stop();
    }
}

#[test]
fn host_interfaces_carry_packets_without_link_layer() {
    let Some(lab) = lab::require(&["root", "ping"]) else { return };
    let [Point { host, address }, _] = points(&lab);
    let netns = lab.netns("near");
    let (far, near) = (Router::start(&lab.netns("far"), ""), Router::start(&netns, ""));
    let (point, here) = (host.name().expect("its own"), netns.name().expect("its own"));
    // host: point0 - far: tun0, tun1 - near: host-ip0, by way of the kernel's end of tun1
    far.script(&format!(
        "create tap tun id 0 host-ns {point} host-if-name point0 host-ip4-addr {address}/24\n\
         create tap tun id 1 host-ns {here} host-if-name ip0\n\
         set interface ip address tun0 10.0.1.1/24\n\
         set interface ip address tun1 10.1.1.1/24\n\
         set interface state tun0 up\n\
         set interface state tun1 up\n"
    ));
    near.script(
        "create host-interface name ip0 mode ip\n\
         set interface ip address host-ip0 10.1.1.2/24\n\
         set interface state host-ip0 up\n\
         ip route add 10.0.1.0/24 via 10.1.1.1 host-ip0\n",
    );
    host.route("default", "10.0.1.1");
    let text = host.pings("-c3 -i0.05", "10.1.1.2");
    assert!(text.contains("ttl=63"), "{text}");
    let shown = near.run("show hardware-interfaces host-ip0");
    assert!(shown.contains("Linux interface ip0"), "{shown}");
    near.stop();
    far.stop();
}

#[test]
fn an_idle_router_with_interfaces_sleeps() {
    let Some(lab) = lab::require(&["root", "ping"]) else { return };
    for cable in [Cable::Veth, Cable::Tap] {
        let site = Site::new(&lab, RouterKind::Ferrovia(2, cable));
        site.left.host.pings("-c2 -i0.05", site.right.address);
        std::thread::sleep(Duration::from_millis(300));
        let (start, before) = (Instant::now(), site.router().cpu_time());
        std::thread::sleep(Duration::from_secs(2));
        let spent = site.router().cpu_time() - before;
        let percent = spent.as_secs_f64() / start.elapsed().as_secs_f64() * 100.0;
        println!("idle with two interfaces ({cable:?}): {percent:.2} % of a core");
        // The aim is 1 %. Time on a core isn't latency: it doesn't grow because others run, but for
        // cold caches.
        assert!(percent < 3.0, "an idle router spends {percent:.2} % of a core");
        site.finish();
    }
}
