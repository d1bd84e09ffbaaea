// SPDX-License-Identifier: Apache-2.0
//! Links behind the next router that take less: the router's own packets, and those in tunnels.
//!
//! Covers: features/path-mtu, features/track-mtu, features/tunnel, features/vxlan.

use fixture::{Cable, RouterKind, Site, eventually, iperf};
use testkit::lab::{Lab, Netns, require};

/// A host, 10.0.9.2 and 2001:db8:9::2, behind a link of 1400 bytes of the host on the right.
fn behind_a_smaller_link(lab: &Lab, site: &Site) -> Netns {
    let (gateway, router) = (&site.right.host, site.router());
    let far = lab.netns("far");
    lab.veth((gateway, "eth1"), (&far, "eth0"));
    for (netns, name) in [(gateway, "eth0"), (gateway, "eth1"), (&far, "eth0")] {
        netns.ip(&format!("link set {name} up"));
        netns.sysctl("net/ipv6/conf/all/disable_ipv6", "0");
        netns.sysctl(&format!("net/ipv6/conf/{name}/disable_ipv6"), "0");
    }
    for (netns, name) in [(gateway, "eth1"), (&far, "eth0")] {
        netns.ip(&format!("link set {name} mtu 1400"));
    }
    gateway.sysctl("net/ipv4/ip_forward", "1");
    gateway.sysctl("net/ipv6/conf/all/forwarding", "1");
    for (netns, name, four, six) in [
        (gateway, "eth0", "", "2001:db8:2::2/64"),
        (gateway, "eth1", "10.0.9.1/24", "2001:db8:9::1/64"),
        (&far, "eth0", "10.0.9.2/24", "2001:db8:9::2/64"),
    ] {
        if !four.is_empty() {
            netns.addr(name, four);
        }
        netns.ip(&format!("-6 addr add {six} dev {name} nodad"));
    }
    far.ip("route add default via 10.0.9.1");
    far.ip("-6 route add default via 2001:db8:9::1");
    let port = &site.right.port;
    router.script(&format!(
        "ip6 nd {port} ra-suppress\nset interface ip address {port} 2001:db8:2::1/64\n\
         ip route add 10.0.9.0/24 via 10.0.2.2 {port}\nip route add 2001:db8:9::/64 via 2001:db8:2::2 {port}\n"
    ));
    far
}

#[test]
fn the_router_learns_the_path_mtu_of_what_it_sends() {
    let Some(lab) = require(&["root", "ping"]) else { return };
    let site = Site::new(&lab, RouterKind::Ferrovia(1, Cable::Veth));
    let far = behind_a_smaller_link(&lab, &site);
    let router = site.router();
    let learned = |ip: &str| {
        let all = router.json("show ip pmtu");
        let one = all
            .as_array()
            .expect("a list")
            .iter()
            .find(|n| n["host_or_next_hop"] == ip)
            .cloned()?;
        (one["from"] == "learned").then(|| one["path_mtu"].as_u64()).flatten()
    };
    for (ip, df) in [("10.0.9.2", " df"), ("2001:db8:9::2", "")] {
        eventually("the far host answers", || {
            router
                .run(&format!("ping {ip} repeat 1 interval 0.5"))
                .contains("1 received")
                .then_some(())
        });
        assert_eq!(learned(ip), None);
        let large = format!("ping {ip} repeat 1 interval 0.5 size 1430");
        let text = router.run(&format!("{large}{df}"));
        assert!(
            text.contains("0 received") && text.contains("1400"),
            "told by the other router: {text}"
        );
        assert_eq!(eventually("that is learned", || learned(ip)), 1400);
        // From now on it fits: in two parts, if need be.
        let text = router.run(&large);
        assert!(text.contains("1 received"), "{text}");
    }
    // One that may not be cut up is told here.
    let text = router.run("ping 10.0.9.2 repeat 1 interval 0.5 size 1430 df");
    assert!(text.contains("From 10.0.2.1") && text.contains("1400"), "{text}");
    // A large request from there: the answers, at first too big, come in parts that fit.
    router.run("ip path-mtu 2001:db8:9::2 del");
    let large = || far.ping("-c1 -s2000 -W1", "2001:db8:2::1").success();
    eventually("an answer that fits", || large().then_some(()));
    assert_eq!(learned("2001:db8:9::2"), Some(1400));
    // They are not configuration, and go when ten minutes have passed.
    assert!(!router.run("show running-config").contains("path-mtu"));
    router.run("set clock adjust 601");
    eventually("that it is forgotten", || learned("2001:db8:9::2").is_none().then_some(()));
    site.finish();
}

#[test]
fn senders_into_a_tunnel_learn_what_its_path_carries() {
    let Some(lab) = require(&["root", "ping", "iperf3"]) else { return };
    let site = Site::new(&lab, RouterKind::Ferrovia(1, Cable::Veth));
    let far = behind_a_smaller_link(&lab, &site);
    let (router, left) = (site.router(), &site.left.host);
    router.script(
        "create vxlan tunnel src 10.0.2.1 dst 10.0.9.2 vni 7 encap-set-df track-mtu
         set interface state vxlan_tunnel0 up
         set interface ip address vxlan_tunnel0 10.7.0.1/24",
    );
    far.ip("link add vx type vxlan id 7 dstport 4789 local 10.0.9.2 remote 10.0.2.1");
    far.ip("link set vx mtu 1450 up");
    far.addr("vx", "10.7.0.2/24");
    far.ip("route add 10.0.1.0/24 via 10.7.0.1");
    eventually("the far host answers", || left.ping("-c1 -W1", "10.7.0.2").success().then_some(()));
    // 1450 bytes fit the link of the router, whose next router reports the smaller one.
    let large = || left.ping("-c1 -W1 -M do -s 1422", "10.7.0.2");
    let text = eventually("the sender is told", || {
        let output = large();
        let text = format!("{}{}", output.stdout, output.stderr);
        text.contains("mtu").then_some(text)
    });
    assert!(text.contains("1350"), "{text}");
    let shown = router.json("show tunnel mtu");
    assert_eq!((&shown[0]["path"], &shown[0]["mtu"]), (&1400.into(), &1350.into()), "{shown}");
    assert!(left.ping("-c1 -W2 -M do -s 1322", "10.7.0.2").success());
    // TCP, whose segments may not be fragmented, gets through.
    left.ip("route flush cache");
    let result = iperf(left, &far, "10.7.0.2", "-n 20M");
    let received = result["end"]["sum_received"]["bytes"].as_u64();
    assert!(received.is_some_and(|bytes| bytes >= 15_000_000), "{received:?}: {result}");
    site.finish();
}
