// SPDX-License-Identifier: Apache-2.0
//! The router between two hosts, as the hosts see it, in IPv6. The kernel as router passes the same
//! tests.
//!
//! Covers: features/ip, features/icmp, features/ip6-nd, features/path-mtu.

use fixture::{Cable, RouterKind, Side, Site, eventually, iperf};
use testkit::lab::{Lab, require};

const ADDRESSES: [(&str, &str); 2] =
    [("2001:db8:1::2", "2001:db8:1::1"), ("2001:db8:2::2", "2001:db8:2::1")];

/// A site whose hosts and router have IPv6 beside IPv4.
pub fn site(which: RouterKind) -> Option<(Lab, Site)> {
    let lab = require(&["root", "ping", "traceroute", "iperf3", "/usr/bin/python3"])?;
    let site = Site::new(&lab, which);
    if which == RouterKind::Linux {
        site.netns.sysctl("net/ipv6/conf/all/forwarding", "1");
    }
    for (side, (address, gateway)) in site.sides().into_iter().zip(ADDRESSES) {
        let Side { host, port, .. } = side;
        for name in ["all", "eth0"] {
            host.sysctl(&format!("net/ipv6/conf/{name}/disable_ipv6"), "0");
        }
        host.ip(&format!("-6 addr add {address}/64 dev eth0 nodad"));
        host.ip(&format!("-6 route add default via {gateway}"));
        match &site.router {
            Some(router) => {
                drop(router.run(&format!("set interface ip address {port} {gateway}/64")))
            }
            None => {
                for name in ["all", port] {
                    site.netns.sysctl(&format!("net/ipv6/conf/{name}/disable_ipv6"), "0");
                }
                site.netns.ip(&format!("-6 addr add {gateway}/64 dev {port} nodad"));
            }
        }
    }
    // Waits until all link-local addresses may be used.
    for (side, (_, gateway)) in site.sides().into_iter().zip(ADDRESSES) {
        eventually("the router answers", || side.host.ping("-c1", gateway).success().then_some(()));
    }
    Some((lab, site))
}

pub const VETH: RouterKind = RouterKind::Ferrovia(1, Cable::Veth);
const TAP: RouterKind = RouterKind::Ferrovia(0, Cable::Tap);

fn on_every_router(test: fn(&Site)) {
    for which in [RouterKind::Linux, VETH, TAP] {
        println!("{which:?}");
        let Some((_lab, site)) = site(which) else { return };
        test(&site);
        site.finish();
    }
}

/// A counter of a host's IPv6 stack.
fn counter(side: &Side, name: &str) -> u64 {
    let text = side.host.sh("cat /proc/net/snmp6").ok();
    let line = text.lines().find(|l| l.split_whitespace().next() == Some(name));
    line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or_else(|| panic!("no {name} in {text}"))
}

#[test]
fn hosts_ping_each_other_and_the_router_in_ipv6() {
    on_every_router(|site| {
        let [left, right] = ADDRESSES;
        for (from, to) in [(&site.left, right), (&site.right, left)] {
            let text = from.host.pings("-c3 -i0.05", to.0);
            assert!(text.contains("ttl=63"), "{text}");
            for gateway in [left.1, right.1] {
                let text = from.host.pings("-c2 -i0.05 -s 1000", gateway);
                assert!(text.contains("ttl=64"), "{text}");
            }
            // IPv4 goes on beside it.
            from.host.pings("-c1", from.gateway);
        }
    });
}

#[test]
fn expired_packets_show_the_way_in_ipv6() {
    on_every_router(|site| {
        let [(_, gateway), (to, _)] = ADDRESSES;
        let text =
            site.left.host.command("traceroute").args(["-6", "-n", "-q2", "-w2", "-m4", to]).ok();
        let hops: Vec<_> =
            text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1)).collect();
        assert_eq!(hops, [gateway, to], "{text}");
        let output = site.left.host.ping("-c1 -t1", to);
        let expected = format!("From {gateway} icmp_seq=1 Time exceeded: Hop limit");
        assert!(output.stdout.contains(&expected), "{}", output.complaint());
        let output = site.left.host.ping("-c1", "3fff::1");
        let expected = format!("From {gateway} icmp_seq=1 Destination unreachable: No route");
        assert!(output.stdout.contains(&expected), "{}", output.complaint());
    });
}

#[test]
fn a_smaller_mtu_is_told_to_the_sender_in_ipv6() {
    on_every_router(|site| {
        let [(_, gateway), (to, _)] = ADDRESSES;
        site.mtu(&site.right, 1400);
        site.left.host.pings("-c1 -Mdo -s1352", to);
        let output = site.left.host.ping("-c1 -Mdo -s1353", to);
        let expected = format!("From {gateway} icmp_seq=1 Packet too big: mtu=1400");
        assert!(output.stdout.contains(&expected), "{}", output.complaint());
        let route = site.left.host.ip(&format!("-6 route get {to}"));
        assert!(route.contains(" mtu 1400"), "the sender has learned it: {route}");
        // And TCP finds its size by it.
        transfer6(site, to);
    });
}

fn transfer6(site: &Site, to: &str) {
    const SERVER: &str = "
import socket, sys
s = socket.create_server(('::', 5001), family=socket.AF_INET6)
print('listening', flush=True)
c, n = s.accept()[0], 0
while b := c.recv(1 << 20): n += len(b)
print(n, flush=True)
";
    const CLIENT: &str = "
import socket, sys
c = socket.create_connection((sys.argv[1], 5001), timeout=20)
c.sendall(bytes(1 << 20)); c.close()
";
    let mut server = site.right.host.command("/usr/bin/python3").args(["-c", SERVER]).spawn();
    server.wait_for("listening", fixture::PATIENCE);
    site.left.host.command("/usr/bin/python3").args(["-c", CLIENT, to]).ok();
    assert_eq!(server.wait(fixture::PATIENCE), Some(0), "{}", server.stderr());
    assert_eq!(server.stdout().trim_start_matches("listening\n").trim(), (1 << 20).to_string());
}

#[test]
fn tcp_and_udp_at_full_speed_in_ipv6() {
    on_every_router(|site| {
        let [_, (to, _)] = ADDRESSES;
        for options in ["-6 -t1", "-6 -t1 -R"] {
            let report = iperf(&site.left.host, &site.right.host, to, options);
            let received = report["end"]["sum_received"]["bytes"].as_f64().unwrap_or(0.0);
            println!("tcp {options}: {:.2} Gbit/s", received * 8e-9);
            assert!(received > 0.0, "{report:#}");
        }
        let report = iperf(&site.left.host, &site.right.host, to, "-6 -u -b100M -l1400 -t1");
        let sum = |field: &str| report["end"]["sum"][field].as_u64().unwrap_or(0);
        println!("udp: {} of {} packets lost", sum("lost_packets"), sum("packets"));
        assert!(sum("packets") > sum("lost_packets"), "{report:#}");
        assert_eq!(counter(&site.right, "Udp6InCsumErrors"), 0);
    });
}

#[test]
fn only_who_sends_fragments_in_ipv6() {
    on_every_router(|site| {
        let [_, (to, gateway)] = ADDRESSES;
        let before = counter(&site.right, "Ip6ReasmOKs");
        site.left.host.pings("-c3 -i0.05 -s3000", to);
        assert_eq!(counter(&site.right, "Ip6ReasmOKs") - before, 3);
        // The router puts together what is for it, and sends its answers in fragments.
        let before = counter(&site.right, "Ip6ReasmOKs");
        site.right.host.pings("-c3 -i0.05 -s3000", gateway);
        assert_eq!(counter(&site.right, "Ip6ReasmOKs") - before, 3);
        assert_eq!(counter(&site.right, "Ip6ReasmFails"), 0);
    });
}

#[test]
fn the_router_pings_and_traces_in_ipv6() {
    let Some((_lab, site)) = site(VETH) else { return };
    let [_, (to, _)] = ADDRESSES;
    let text = site.router().run(&format!("ping {to} repeat 3 interval 0.05"));
    assert!(text.contains("3 sent, 3 received"), "{text}");
    let text = site.router().run(&format!("ping {to} repeat 2 interval 0.05 size 3000"));
    assert!(text.contains("2 sent, 2 received"), "{text}");
    let text = site.router().run(&format!("traceroute {to} interval 0.5"));
    assert!(text.contains(&format!("1: {to}:")), "{text}");
    let link = site.right.host.sh("ip -6 -o addr show dev eth0 scope link").ok();
    let link = link
        .split_whitespace()
        .nth(3)
        .and_then(|a| a.split('/').next())
        .expect("a link-local address");
    // The host has to be sure of its address first.
    let line = format!("ping {link} source {} repeat 1", site.right.port);
    eventually("the host answers from its link", || {
        site.router().run(&line).contains("1 received").then_some(())
    });
    let own = site.router().json(&format!("show ip6 interface {}", site.right.port));
    let own = own[0]["link_local"].as_str().expect("a link-local address").to_string();
    site.right.host.pings("-c2 -i0.05", &format!("{own}%eth0"));
    site.finish();
}

#[test]
fn a_path_mtu_that_was_set_is_told_in_ipv6() {
    let Some((_lab, site)) = site(VETH) else { return };
    let [(_, gateway), (to, _)] = ADDRESSES;
    drop(site.router().run(&format!("ip path-mtu {to} 1300")));
    let output = site.left.host.ping("-c1 -Mdo -s1400", to);
    let expected = format!("From {gateway} icmp_seq=1 Packet too big: mtu=1300");
    assert!(output.stdout.contains(&expected), "{}", output.complaint());
    site.finish();
}
