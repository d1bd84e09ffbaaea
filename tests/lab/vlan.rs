// SPDX-License-Identifier: Apache-2.0
//! Sub-interfaces towards a Linux kernel with VLAN devices.
//!
//! Covers: features/ethernet, features/interface.

use fixture::Site;
use testkit::lab::{answered, require};

use crate::{guest, six};

#[test]
fn a_linux_host_on_vlans_reaches_the_router_and_what_is_behind_it() {
    let Some(lab) = require(&["root", "linux.uml", "modprobe", "tcpdump", "ping", "iperf3"]) else {
        return;
    };
    let site = Site::new(&lab, six::VETH);
    let (router, right) = (site.router(), &site.right);
    site.netns.ip("tuntap add dev uml mode tap");
    site.netns.sysctl("net/ipv6/conf/uml/disable_ipv6", "1");
    site.netns.up("uml");
    router.script(
        "create host-interface name uml
         set interface state host-uml up
         create sub-interfaces host-uml 100
         create sub-interfaces host-uml 7 dot1q 200 inner-dot1q 7 exact-match
         create sub-interfaces host-uml 8 dot1ad 200 inner-dot1q 8 exact-match
         set interface state host-uml.100 up
         set interface state host-uml.7 up
         set interface state host-uml.8 up
         set interface ip address host-uml.100 10.100.0.1/24
         set interface ip address host-uml.100 2001:db8:100::1/64
         set interface ip address host-uml.7 10.7.0.1/24
         set interface ip address host-uml.8 10.8.0.1/24",
    );
    let capture = site.netns.command("tcpdump").args("-i uml -l -e -n -Q out".split(' ')).spawn();
    let server = right.host.command("iperf3").args(["-s", "-1"]).spawn();
    let text = guest::run(
        &site.netns,
        "uml",
        &["ipv6", "8021q"],
        "ip link add link vec0 name v100 type vlan id 100
ip link add link vec0 name q200 type vlan id 200
ip link add link q200 name q7 type vlan id 7
ip link add link vec0 name s200 type vlan proto 802.1ad id 200
ip link add link s200 name s8 type vlan id 8
for link in v100 q200 q7 s200 s8; do ip link set $link up; done
ip addr add 10.100.0.2/24 dev v100
ip -6 addr add 2001:db8:100::2/64 dev v100 nodad
ip addr add 10.7.0.2/24 dev q7
ip addr add 10.8.0.2/24 dev s8
ip route add default via 10.100.0.1
ping -n -c 3 -i 0.2 -w 20 -s 1000 10.7.0.1
ping -n -c 3 -i 0.2 -w 20 -s 1000 10.8.0.1
ping -n -c 3 -i 0.2 -w 20 2001:db8:100::1
ping -n -c 3 -i 0.2 -w 20 -s 1472 10.0.2.2
ping -n -c 3 -i 0.2 -w 20 -I 10.7.0.2 10.0.2.2
iperf3 -c 10.0.2.2 -t 2",
    );
    assert_eq!(answered(&text), 5, "{text}");
    drop(server);
    let frames = capture.kill().stdout;
    for tags in [
        "802.1Q (0x8100)",
        "vlan 200, p 0, ethertype 802.1Q (0x8100), vlan 7",
        "802.1Q-QinQ (0x88a8)",
    ] {
        assert!(frames.contains(tags), "no {tags} in\n{frames}");
    }
    let table = router.run("show sub-interfaces");
    assert!(table.contains("dot1ad 200 inner-dot1q 8 exact-match"), "{table}");
    let counters = router.run("show interface host-uml.100");
    assert!(counters.contains("rx packets") && counters.contains("tx packets"), "{counters}");
    site.finish();
}
