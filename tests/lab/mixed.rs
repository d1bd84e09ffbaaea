// SPDX-License-Identifier: Apache-2.0
//! IPv4 over next hops of IPv6 (RFC 8950): a link without any IPv4 address between us and a Linux
//! router.
//!
//! Covers: features/ip, features/arp, features/ip6-nd, features/fib.

use fixture::eventually;
use testkit::lab::{Netns, require};

use crate::host::transfer;
use crate::star::Star;

fn hops(host: &Netns, to: &str) -> Vec<String> {
    let text = host.command("traceroute").args(["-n", "-q1", "-w2", "-m5", to]).ok();
    text.lines().skip(1).filter_map(|l| l.split_whitespace().nth(1)).map(str::to_string).collect()
}

#[test]
fn ip4_passes_a_link_that_has_only_ip6() {
    let Some(lab) = require(&["root", "ping", "traceroute", "/usr/bin/python3"]) else { return };
    let star = Star::new(&lab, &[("near", 1, 0), ("linux", 2, 0)]);
    let [near, linux] = &star.spokes[..] else { panic!("two") };
    let router = &star.router;
    // Behind the Linux router a host that knows of IPv4 only.
    let far = lab.netns("far");
    lab.veth((&far, "eth0"), (&linux.host, "eth1"));
    linux.host.addr("eth1", "10.0.9.1/24");
    far.addr("eth0", "10.0.9.2/24");
    far.route("default", "10.0.9.1");
    linux.host.sysctl("net/ipv4/ip_forward", "1");
    // The link between the routers has IPv6 only.
    let [ip4, _] = linux.addresses();
    linux.host.ip(&format!("addr del {ip4}/24 dev eth0"));
    router.run(&format!("set interface ip address {} {}/24 del", linux.port, linux.gateways()[0]));
    router.run(&format!("set interface unnumbered {} use {}", linux.port, near.port));
    let [_, here] = linux.gateways();
    let [_, there] = linux.addresses();
    linux.host.ip(&format!("route add 10.0.1.0/24 via inet6 {here} dev eth0"));
    let link_local = linux.host.ip("-6 -o addr show dev eth0 scope link");
    let link_local =
        link_local.split_whitespace().nth(3).and_then(|a| a.split('/').next()).expect("one");
    let [from, gateway] = [&near.addresses()[0], &near.gateways()[0]];
    for nexthop in [there.as_str(), link_local] {
        let route = format!("10.0.9.0/24 via {nexthop} {}", linux.port);
        router.run(&format!("ip route add {route}"));
        eventually("the first answer", || {
            near.host.ping("-c1 -W1", "10.0.9.2").success().then_some(())
        });
        let text = near.host.pings("-c3 -i0.05", "10.0.9.2");
        assert!(text.contains("ttl=62"), "{text}");
        far.pings("-c3 -i0.05", from);
        assert_eq!(hops(&near.host, "10.0.9.2"), [gateway, "10.0.9.1", "10.0.9.2"]);
        // Our side of that link has the address that it borrows.
        assert_eq!(hops(&far, from), ["10.0.9.1", gateway, from]);
        transfer(&near.host, &far, "10.0.9.2", 4);
        transfer(&far, &near.host, from, 4);
        // Nobody was asked by ARP.
        let known = router.run("show ip4 neighbors");
        assert!(!known.contains(linux.port.as_str()), "{known}");
        router.run(&format!("ip route del {route}"));
        assert!(!near.host.ping("-c1 -W1", "10.0.9.2").success());
    }
    drop(star.router.stop());
}
