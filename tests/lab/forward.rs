// SPDX-License-Identifier: Apache-2.0
//! The router between two hosts, as the hosts see it. The kernel as router passes the same tests:
//! they require only what hosts are used to.
//!
//! Covers: features/ip, features/icmp, features/arp, features/ethernet, drivers/af_packet,
//! drivers/tap.

use fixture::{NOWHERE, Site, iperf};
use testkit::lab::Netns;

use crate::host::{checksum_errors, counter, transfer};

/// Each function is a test for each router.
macro_rules! for_every_router {
    ($($test:ident),* $(,)?) => {
        for_every_router!(@ linux, fixture::RouterKind::Linux, $($test),*);
        for_every_router!(@ veth_0_workers, fixture::RouterKind::Ferrovia(0, fixture::Cable::Veth), $($test),*);
        for_every_router!(@ veth_1_worker, fixture::RouterKind::Ferrovia(1, fixture::Cable::Veth), $($test),*);
        for_every_router!(@ veth_2_workers, fixture::RouterKind::Ferrovia(2, fixture::Cable::Veth), $($test),*);
        for_every_router!(@ xdp_0_workers, fixture::RouterKind::Ferrovia(0, fixture::Cable::Xdp), $($test),*);
        for_every_router!(@ xdp_1_worker, fixture::RouterKind::Ferrovia(1, fixture::Cable::Xdp), $($test),*);
        for_every_router!(@ tap_0_workers, fixture::RouterKind::Ferrovia(0, fixture::Cable::Tap), $($test),*);
        for_every_router!(@ tap_2_workers, fixture::RouterKind::Ferrovia(2, fixture::Cable::Tap), $($test),*);
    };
    (@ $name:ident, $which:expr, $($test:ident),*) => {
        mod $name {
            $(#[test]
            fn $test() {
                let needs = ["root", "ping", "traceroute", "iperf3", "/usr/bin/python3"];
                let Some(lab) = testkit::lab::require(&needs) else { return };
                let site = fixture::Site::new(&lab, $which);
                super::$test(&site);
                site.finish();
            })*
        }
    };
}

for_every_router!(
    hosts_ping_each_other_and_the_router,
    expired_packets_show_the_way,
    what_has_no_route_is_said_to_be_unreachable,
    a_smaller_mtu_is_told_to_the_sender,
    packets_that_may_be_are_fragmented,
    tcp_arrives_as_it_was_sent,
    tcp_and_udp_at_full_speed,
    frames_of_9000_bytes,
);

fn hosts_ping_each_other_and_the_router(site: &Site) {
    let (left, right) = (&site.left, &site.right);
    for (from, to) in [(left, right), (right, left)] {
        let text = from.host.pings("-c3 -i0.05", to.address);
        assert!(text.contains("ttl=63"), "{text}");
        for address in [from.gateway, to.gateway] {
            let text = from.host.pings("-c2 -i0.05 -s 1000", address);
            assert!(text.contains("ttl=64"), "{text}");
        }
        let neighbors = from.host.ip("neigh show dev eth0");
        assert!(neighbors.starts_with(&format!("{} lladdr ", from.gateway)), "{neighbors}");
        assert_eq!(neighbors.lines().count(), 1, "the host asks for its gateway only: {neighbors}");
    }
}

fn expired_packets_show_the_way(site: &Site) {
    let (left, right) = (&site.left, &site.right);
    let text =
        left.host.command("traceroute").args(["-n", "-q2", "-w2", "-m4", right.address]).ok();
    let hops: Vec<_> =
        text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(hops, [left.gateway, right.address], "{text}");
    let output = left.host.ping("-c1 -t1", right.address);
    let expected = format!("From {} icmp_seq=1 Time to live exceeded", left.gateway);
    assert!(output.stdout.contains(&expected), "{}", output.complaint());
}

fn what_has_no_route_is_said_to_be_unreachable(site: &Site) {
    let output = site.left.host.ping("-c1", NOWHERE);
    let expected = format!("From {} icmp_seq=1 Destination Net Unreachable", site.left.gateway);
    assert!(output.stdout.contains(&expected), "{}", output.complaint());
}

fn a_smaller_mtu_is_told_to_the_sender(site: &Site) {
    let (left, right) = (&site.left, &site.right);
    site.mtu(right, 1400);
    left.host.pings("-c1 -Mdo -s1372", right.address);
    let output = left.host.ping("-c1 -Mdo -s1373", right.address);
    let expected = format!("From {} icmp_seq=1 Frag needed and DF set (mtu = 1400)", left.gateway);
    assert!(output.stdout.contains(&expected), "{}", output.complaint());
    let route = left.host.ip(&format!("route get {}", right.address));
    assert!(route.contains(" mtu 1400"), "the sender has learned it: {route}");
    // And TCP finds its size by it.
    transfer(&left.host, &right.host, right.address, 1);
}

fn packets_that_may_be_are_fragmented(site: &Site) {
    let (left, right) = (&site.left, &site.right);
    site.mtu(right, 1400);
    // Whole on the left, two fragments on the right; the answer is fragmented by the host.
    let before = counter(&right.host, "Ip", "ReasmReqds");
    left.host.pings("-c3 -i0.05 -Mdont -s1450", right.address);
    assert_eq!(counter(&right.host, "Ip", "ReasmReqds") - before, 6);
    // Fragments are fragmented again: 1500 + 1500 + 88 bytes.
    left.host.pings("-c3 -i0.05 -Mdont -s3000", right.address);
    assert_eq!(counter(&right.host, "Ip", "ReasmReqds") - before, 6 + 15);
    assert_eq!(counter(&right.host, "Ip", "ReasmOKs"), 6);
    assert_eq!(counter(&right.host, "Ip", "ReasmFails"), 0);
    assert_no_checksum_errors(site);
}

fn tcp_arrives_as_it_was_sent(site: &Site) {
    let (left, right) = (&site.left, &site.right);
    let offloads = left.host.command("ethtool").args(["-k", "eth0"]).ok();
    // Nothing in a frame of AF_XDP tells the work that its sender left: its hosts leave none.
    let is_left = !left.port.ends_with("/0");
    for offload in ["tx-checksumming", "tcp-segmentation-offload"] {
        let on = offloads.lines().any(|line| line.starts_with(&format!("{offload}: on")));
        assert_eq!(on, is_left, "this test is about {offload}: {offloads}");
    }
    transfer(&left.host, &right.host, right.address, 16);
    transfer(&right.host, &left.host, left.address, 16);
    assert_no_checksum_errors(site);
}

fn tcp_and_udp_at_full_speed(site: &Site) {
    let (left, right) = (&site.left, &site.right);
    for options in ["-t2", "-t1 -R", "-t1 -P4"] {
        let report = iperf(&left.host, &right.host, right.address, options);
        let sum = |what: &str, field: &str| report["end"][what][field].as_f64().unwrap_or(0.0);
        let (received, retransmits) =
            (sum("sum_received", "bytes"), sum("sum_sent", "retransmits"));
        let rate = sum("sum_received", "bits_per_second") / 1e9;
        println!("tcp {options}: {rate:.2} Gbit/s, {retransmits} retransmissions");
        assert!(received > 0.0, "{report:#}");
    }
    for options in ["-u -b200M -l1400 -t1", "-u -b50M -l64 -t1 -R"] {
        let report = iperf(&left.host, &right.host, right.address, options);
        let sum = |field: &str| report["end"]["sum"][field].as_u64().unwrap_or(0);
        let (packets, lost) = (sum("packets"), sum("lost_packets"));
        println!("udp {options}: {lost} of {packets} packets lost");
        assert!(packets > lost, "{report:#}");
    }
    assert_no_checksum_errors(site);
}

fn frames_of_9000_bytes(site: &Site) {
    let (left, right) = (&site.left, &site.right);
    site.mtu(left, 9000);
    site.mtu(right, 9000);
    left.host.pings("-c3 -i0.05 -Mdo -s8972", right.address);
    let received = |host: &Netns| host.counter("eth0", "rx_bytes");
    let (packets, bytes) = (right.host.counter("eth0", "rx_packets"), received(&right.host));
    transfer(&left.host, &right.host, right.address, 16);
    let (packets, bytes) =
        (right.host.counter("eth0", "rx_packets") - packets, received(&right.host) - bytes);
    assert!(bytes / packets > 3000, "{bytes} bytes in {packets} packets");
    transfer(&right.host, &left.host, left.address, 16);
    assert_no_checksum_errors(site);
}

fn assert_no_checksum_errors(site: &Site) {
    for side in site.sides() {
        assert_eq!(checksum_errors(&side.host), 0, "at {}", side.address);
    }
}
