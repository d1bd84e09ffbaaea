// SPDX-License-Identifier: Apache-2.0
//! Super-packets of TCP into tunnels whose outer packets leave by a link with the feature `gso`.
//!
//! Covers: features/tunnel, features/vxlan, features/geneve, features/gre, features/ipip,
//! features/gtpu, features/interface, features/ip.

use fixture::{Router, eventually, iperf};
use testkit::lab::{Netns, require};

/// Tunnels between the addresses `SRC` and `DST`, and their names.
const TUNNELS: [(&str, &str); 5] = [
    ("create vxlan tunnel src SRC dst DST vni 7", "vxlan_tunnel0"),
    ("create geneve tunnel local SRC remote DST vni 7", "geneve_tunnel0"),
    ("create gre tunnel src SRC dst DST", "gre0"),
    ("create ipip tunnel src SRC dst DST", "ipip0"),
    ("create gtpu tunnel src SRC dst DST teid 7", "gtpu_tunnel0"),
];

/// Router `n` of two, between its host 10.N.0.2 and the link with the addresses 10.0.0.0/24. The
/// tunnel `k` has the addresses 10.9.K.0/24.
fn start(netns: &Netns, n: usize) -> Router {
    let other = 3 - n;
    let router = Router::start(netns, "");
    for (port, address) in [("host", format!("10.{n}.0.1/24")), ("mid", format!("10.0.0.{n}/24"))] {
        router.run(&format!("create host-interface name {port}"));
        router.run(&format!("set interface ip address host-{port} {address}"));
        router.run(&format!("set interface state host-{port} up"));
    }
    for (k, (create, name)) in TUNNELS.iter().enumerate() {
        let ends = [("SRC", n), ("DST", other)].map(|(end, n)| (end, format!("10.0.0.{n}")));
        let create = ends.iter().fold(create.to_string(), |line, (end, ip)| line.replace(end, ip));
        assert_eq!(router.run(&create).trim(), *name);
        router.run(&format!("set interface ip address {name} 10.9.{k}.{n}/24"));
        router.run(&format!("set interface state {name} up"));
    }
    router
}

/// TCP passes at the speed that it has without the feature, and no frame is longer than the link
/// allows.
#[test]
fn super_packets_into_tunnels_by_a_link_with_gso() {
    let Some(lab) = require(&["root", "ping", "iperf3", "tcpdump"]) else { return };
    let (hosts, netns) = (["a", "b"].map(|n| lab.netns(n)), ["r1", "r2"].map(|n| lab.netns(n)));
    lab.veth((&netns[0], "mid"), (&netns[1], "mid"));
    let mut routers = Vec::new();
    for n in [1, 2] {
        let (host, netns) = (&hosts[n - 1], &netns[n - 1]);
        lab.veth((host, "eth0"), (netns, "host"));
        host.addr("eth0", &format!("10.{n}.0.2/24"));
        host.route("default", &format!("10.{n}.0.1"));
        netns.sysctl("net/ipv6/conf/all/disable_ipv6", "1");
        routers.push(start(netns, n));
    }
    let words = "-ni mid -l -c 1 greater 1515";
    let mut longer = netns[0].command("tcpdump").args(words.split(' ')).spawn();
    eventually("tcpdump listens", || longer.stderr().contains("listening on").then_some(()));
    let mut before = None;
    for (k, (_, name)) in TUNNELS.iter().enumerate() {
        let mut speeds = Vec::new();
        for (n, router) in (1..).zip(&routers) {
            let route = |k: usize, del: &str| {
                let other = 3 - n;
                let via = format!("via 10.9.{k}.{other} {}", TUNNELS[k].1);
                router.run(&format!("ip route {del} 10.{other}.0.0/24 {via}"));
            };
            before.into_iter().for_each(|before| route(before, "del"));
            route(k, "add");
        }
        before = Some(k);
        hosts[0].pings("-c 3 -i 0.2 -w 20 -s 3000", "10.2.0.2");
        for gso in ["disable", "enable"] {
            for router in &routers {
                let word = if gso == "enable" { "" } else { " disable" };
                router.run(&format!("set interface feature gso host-mid{word}"));
            }
            for back in ["", "-R"] {
                // At 0.2 Mb/s the client would give up.
                let report = iperf(&hosts[0], &hosts[1], "10.2.0.2", &format!("-n 40M {back}"));
                let (sent, end) = (&report["end"]["sum_sent"], &report["end"]["sum_received"]);
                let speed = end["bits_per_second"].as_f64().unwrap_or(0.0) / 1e6;
                speeds.push((speed, sent["retransmits"].as_u64().unwrap_or(0)));
                let bytes = sent["bytes"].as_u64().unwrap_or(0);
                assert!(bytes >= 40 << 20, "{name}, {gso}: {bytes} bytes sent");
            }
        }
        let text: Vec<_> = speeds.iter().map(|(s, n)| format!("{s:.0} Mb/s ({n})")).collect();
        eprintln!("{name}: there, back; with gso there, back: {}", text.join(", "));
    }
    assert!(longer.is_running(), "longer than the link's MTU: {}", longer.stdout());
    drop(longer.kill());
    for router in &routers {
        assert!(!router.run("show errors").contains("gso disabled"));
    }
}
