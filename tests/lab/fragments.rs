// SPDX-License-Identifier: Apache-2.0
//! Datagrams of Linux hosts that are larger than the link: to the router itself, and reassembled by
//! it on their path.
//!
//! Covers: features/ip, features/icmp, features/ip-reassembly.

use fixture::{Cable, RouterKind, Site, iperf};

use crate::host::{checksum_errors, counter};

fn site(workers: usize, cable: Cable) -> Option<Site> {
    let lab = testkit::lab::require(&["root", "ping", "iperf3"])?;
    Some(Site::new(&lab, RouterKind::Ferrovia(workers, cable)))
}

/// Number of packets that a node has counted for a reason.
fn counted(site: &Site, node: &str, reason: &str) -> u64 {
    let errors = site.router().json("show errors");
    let all = errors.as_array().expect("a list").iter();
    let this = all
        .filter(|e| e["node"] == node && e["reason"].as_str().is_some_and(|r| r.contains(reason)));
    this.map(|e| e["count"].as_u64().expect("a number")).sum()
}

fn large_pings(site: Site) {
    for side in site.sides() {
        for size in [1473, 8000, 65_000] {
            let text = side.host.pings(&format!("-c3 -i0.05 -s{size}"), side.gateway);
            assert!(text.contains("ttl=64"), "{text}");
        }
    }
    assert_eq!(counted(&site, "ip4-local-full-reassembly", "datagrams reassembled"), 18);
    let shown = site.router().json("show ip4-full-reassembly");
    assert_eq!(shown["under_way"], 0, "{shown}");
    site.router().run("set ip local-reassembly ip4 disable");
    let left = &site.left;
    assert!(!left.host.ping("-c1 -W1 -s8000", left.gateway).success(), "nobody puts them together");
    left.host.pings("-c1 -s1000", left.gateway);
    site.finish();
}

#[test]
fn pings_of_64_kib_to_the_router() {
    if let Some(site) = site(0, Cable::Veth) {
        large_pings(site);
    }
}

#[test]
fn pings_of_64_kib_to_a_router_with_workers() {
    if let Some(site) = site(2, Cable::Tap) {
        large_pings(site);
    }
}

#[test]
fn datagrams_are_put_together_and_cut_again() {
    let Some(site) = site(2, Cable::Veth) else { return };
    let (left, right, router) = (&site.left, &site.right, site.router());
    for side in site.sides() {
        router.run(&format!("set interface reassembly {} on", side.port));
    }
    left.host.pings("-c3 -i0.05 -s8000", right.address);
    let node = "ip4-full-reassembly-feature";
    assert_eq!(counted(&site, node, "datagrams reassembled"), 6);
    let before = counter(&right.host, "Ip", "ReasmOKs");
    let report = iperf(&left.host, &right.host, right.address, "-u -b40M -l8000 -t1");
    let sum = |field: &str| report["end"]["sum"][field].as_u64().unwrap_or(0);
    println!("{} of {} datagrams lost", sum("lost_packets"), sum("packets"));
    assert!(sum("packets") > sum("lost_packets"), "{report:#}");
    let arrived = counter(&right.host, "Ip", "ReasmOKs") - before;
    assert!(arrived > 0 && counted(&site, node, "datagrams reassembled") >= 6 + arrived);
    assert_eq!(checksum_errors(&right.host), 0);
    // The sender of an incomplete datagram gets an error from its destination: the router (RFC
    // 792).
    router.run(&format!("set interface reassembly {} off", left.port));
    router.run("set ip4-full-reassembly timeout 200 expire-walk-interval 50");
    let fragment = format!(
        "from socket import *
s = socket(AF_INET, SOCK_RAW, IPPROTO_RAW)
header = bytes([0x45, 0, 0, 28, 0, 7, 0x20, 0, 9, 17, 0, 0]) + inet_aton('{}') + inet_aton('{}')
s.sendto(header + bytes([4, 0, 4, 1, 0, 99, 0, 0]), ('{}', 0))",
        left.address, left.gateway, left.gateway
    );
    let told = || counter(&left.host, "Icmp", "InTimeExcds");
    let before = told();
    left.host.command("/usr/bin/python3").args(["-c", &fragment]).ok();
    fixture::eventually("the message of what timed out", || (told() > before).then_some(()));
    site.finish();
}

#[test]
fn ports_of_fragments_are_known_without_holding_them() {
    let Some(site) = site(2, Cable::Veth) else { return };
    let (left, right, router) = (&site.left, &site.right, site.router());
    for side in site.sides() {
        router.run(&format!("set interface virtual-reassembly {} on", side.port));
    }
    left.host.pings("-c3 -i0.05 -s8000", right.address);
    let report = iperf(&left.host, &right.host, right.address, "-u -b40M -l8000 -t1");
    let sum = |field: &str| report["end"]["sum"][field].as_u64().unwrap_or(0);
    assert!(sum("packets") > sum("lost_packets"), "{report:#}");
    assert!(counted(&site, "ip4-sv-reassembly-feature", "datagrams whose first") > 6);
    assert_eq!(checksum_errors(&right.host), 0);
    site.finish();
}

#[test]
fn pings_of_64_kib_to_the_router_by_ip6() {
    let Some(site) = site(2, Cable::Veth) else { return };
    let (host, router) = (&site.left.host, site.router());
    for scope in ["all", "default", "eth0"] {
        host.sysctl(&format!("net/ipv6/conf/{scope}/disable_ipv6"), "0");
    }
    host.ip("addr add 2001:db8:1::2/64 dev eth0 nodad");
    router.run(&format!("set interface ip address {} 2001:db8:1::1/64", site.left.port));
    // Both sides look for duplicates first.
    let answered = || host.ping("-c1 -W1", "2001:db8:1::1").success().then_some(());
    fixture::eventually("the first answer", answered);
    for size in [1453, 8000, 65_000] {
        host.pings(&format!("-c3 -i0.05 -s{size}"), "2001:db8:1::1");
    }
    assert_eq!(counted(&site, "ip6-local-full-reassembly", "datagrams reassembled"), 9);
    site.finish();
}
