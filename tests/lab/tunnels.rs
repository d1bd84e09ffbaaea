// SPDX-License-Identifier: Apache-2.0
//! Tunnels whose other end is a Linux kernel.
//!
//! Covers: features/gre, features/ipip, features/vxlan, features/tunnel.

use fixture::{Router, Side, iperf};
use testkit::lab::{Netns, answered, require};

use crate::host::{checksum_errors, transfer};
use crate::{guest, six};

/// A link to a guest that has `addresses` on the router's side.
pub fn guest_link(netns: &Netns, router: &Router, addresses: &[&str]) {
    netns.ip("tuntap add dev uml mode tap");
    netns.sysctl("net/ipv6/conf/uml/disable_ipv6", "1");
    netns.up("uml");
    router.run("create host-interface name uml");
    router.run("set interface state host-uml up");
    addresses.iter().for_each(|address| {
        _ = router.run(&format!("set interface ip address host-uml {address}"))
    });
}

/// IPv4 and IPv6 in both, with TCP in both directions, and packets that have to be fragmented on
/// the way.
#[test]
fn linux_ends_of_ip_in_ip() {
    if require(&["root", "linux.uml", "modprobe"]).is_none() {
        return;
    }
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, right) = (site.router(), &site.right);
    guest_link(&site.netns, router, &["10.6.0.1/24", "2001:db8:6::1/64"]);
    router.script(
        "create ipip tunnel src 10.6.0.1 dst 10.6.0.2
         create ipip tunnel src 2001:db8:6::1 dst 2001:db8:6::2
         set interface state ipip0 up
         set interface state ipip1 up
         set interface ip address ipip0 10.7.0.1/24
         set interface ip address ipip0 2001:db8:7::1/64
         set interface ip address ipip1 10.8.0.1/24
         set interface ip address ipip1 2001:db8:8::1/64",
    );
    let server = right.host.command("iperf3").args(["-s"]).spawn();
    let text = guest::run(
        &site.netns,
        "uml",
        &["ipv6", "ipip", "sit", "ip6_tunnel"],
        "ip addr add 10.6.0.2/24 dev vec0
ip -6 addr add 2001:db8:6::2/64 dev vec0 nodad
for to in 10.6.0.1 2001:db8:6::1; do until ping -n -c 1 -W 1 $to; do :; done; done
ip link add four type ipip local 10.6.0.2 remote 10.6.0.1
ip link add six type sit local 10.6.0.2 remote 10.6.0.1
ip link add any type ip6tnl mode any encaplimit none local 2001:db8:6::2 remote 2001:db8:6::1
for link in four six any; do ip link set $link up; done
ip addr add 10.7.0.2/24 dev four
ip -6 addr add 2001:db8:7::2/64 dev six nodad
ip addr add 10.8.0.2/24 dev any
ip -6 addr add 2001:db8:8::2/64 dev any nodad
ping -n -c 3 -i 0.2 -w 20 -s 1000 10.7.0.1
ping -n -c 3 -i 0.2 -w 20 -s 1000 2001:db8:7::1
ping -n -c 3 -i 0.2 -w 20 -s 1000 10.8.0.1
ping -n -c 3 -i 0.2 -w 20 -s 1000 2001:db8:8::1
for by in 10.7.0.1 10.8.0.1; do
  ip route replace 10.0.2.0/24 via $by
  ping -n -c 3 -i 0.2 -w 20 -s 1000 10.0.2.2
  ping -n -c 3 -i 0.2 -w 20 -s 3000 10.0.2.2
  iperf3 -c 10.0.2.2 -t 1
  iperf3 -c 10.0.2.2 -t 1 -R
done
for by in 2001:db8:7::1 2001:db8:8::1; do
  ip -6 route replace 2001:db8:2::/64 via $by
  ping -n -c 3 -i 0.2 -w 20 -s 1000 2001:db8:2::2
  iperf3 -6 -c 2001:db8:2::2 -t 1
done",
    );
    assert_eq!(answered(&text), 12, "{text}");
    drop(server);
    assert_eq!(checksum_errors(&right.host), 0);
    for (node, counter) in [
        ("ipip4-input", "decapsulated"),
        ("ipip6-input", "decapsulated"),
        ("ipip-encap", "encapsulated"),
    ] {
        let errors = router.run("show errors");
        assert!(
            errors.lines().any(|line| line.contains(node) && line.contains(counter)),
            "{errors}"
        );
    }
    site.finish();
}

/// A site of 6RD (RFC 5969) whose customer edge is a Linux kernel, and the router as its relay.
/// Guest kernels lack 6RD itself, so the edge sends all through the relay, as in RFC 5969 8.
#[test]
fn a_linux_site_of_6rd() {
    if require(&["root", "linux.uml", "modprobe"]).is_none() {
        return;
    }
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, right) = (site.router(), &site.right);
    guest_link(&site.netns, router, &["10.6.0.1/24"]);
    // The guest, 10.6.0.2, has the prefix 2a01:db8:600:200::/56; the relay's own is …:600:100::/56.
    router.script(
        "create 6rd tunnel ip6-pfx 2a01:db8::/32 ip4-pfx 10.0.0.0/8 ip4-src 10.6.0.1 security-check
         set interface state ip6ip-6rd0 up
         set interface ip address ip6ip-6rd0 2a01:db8:600:100::1/128",
    );
    let server = right.host.command("iperf3").args(["-s"]).spawn();
    let text = guest::run(
        &site.netns,
        "uml",
        &["ipv6", "sit"],
        "ip addr add 10.6.0.2/24 dev vec0
until ping -n -c 1 -W 1 10.6.0.1; do :; done
ip link add rd type sit local 10.6.0.2 remote 10.6.0.1 ttl 64
ip link set rd up
ip -6 addr add 2a01:db8:600:200::1/56 dev rd nodad
ip -6 route add default dev rd
ping -n -c 3 -i 0.2 -w 20 -s 1000 2a01:db8:600:100::1
ping -n -c 3 -i 0.2 -w 20 -s 1000 2001:db8:2::2
ping -n -c 3 -i 0.2 -w 20 -s 3000 2001:db8:2::2
iperf3 -6 -c 2001:db8:2::2 -t 1
iperf3 -6 -c 2001:db8:2::2 -t 1 -R
ip -6 addr add 2a01:db8:700:200::1/128 dev rd nodad
! ping -n -c 2 -i 0.2 -w 1 -I 2a01:db8:700:200::1 2001:db8:2::2",
    );
    drop(server);
    assert_eq!(answered(&text), 3, "{text}");
    assert_eq!(checksum_errors(&right.host), 0);
    // The last ping had the address of another site.
    let errors = router.run("show errors");
    assert!(errors.lines().any(|line| line.contains("isn't of the outer one")), "{errors}");
    site.finish();
}

/// With keys, with checksums and sequence numbers that the kernel sends, over both protocols;
/// Ethernet frames.
#[test]
fn linux_ends_of_gre() {
    if require(&["root", "linux.uml", "modprobe"]).is_none() {
        return;
    }
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, right) = (site.router(), &site.right);
    guest_link(&site.netns, router, &["10.6.0.1/24", "2001:db8:6::1/64"]);
    router.script(
        "create gre tunnel src 10.6.0.1 dst 10.6.0.2 key 5
         create gre tunnel src 2001:db8:6::1 dst 2001:db8:6::2
         create gre tunnel src 10.6.0.1 dst 10.6.0.2 teb
         set interface state gre0 up
         set interface state gre1 up
         set interface state gre2 up
         set interface ip address gre0 10.7.0.1/24
         set interface ip address gre0 2001:db8:7::1/64
         set interface ip address gre1 10.8.0.1/24
         set interface ip address gre1 2001:db8:8::1/64
         set interface ip address gre2 10.9.0.1/24",
    );
    let server = right.host.command("iperf3").args(["-s"]).spawn();
    let text = guest::run(
        &site.netns,
        "uml",
        &["ipv6", "ip_gre", "ip6_gre"],
        "ip addr add 10.6.0.2/24 dev vec0
ip -6 addr add 2001:db8:6::2/64 dev vec0 nodad
for to in 10.6.0.1 2001:db8:6::1; do until ping -n -c 1 -W 1 $to; do :; done; done
ip link add four type gre local 10.6.0.2 remote 10.6.0.1 key 5 ocsum oseq
ip link add six type ip6gre encaplimit none local 2001:db8:6::2 remote 2001:db8:6::1
ip link add frames type gretap local 10.6.0.2 remote 10.6.0.1
for link in four six frames; do ip link set $link up; done
ip addr add 10.7.0.2/24 dev four
ip -6 addr add 2001:db8:7::2/64 dev four nodad
ip addr add 10.8.0.2/24 dev six
ip -6 addr add 2001:db8:8::2/64 dev six nodad
ip addr add 10.9.0.2/24 dev frames
for to in 10.7.0.1 2001:db8:7::1 10.8.0.1 2001:db8:8::1 10.9.0.1; do ping -n -c 3 -i 0.2 -w 20 -s 1000 $to; done
for by in 10.7.0.1 10.8.0.1 10.9.0.1; do
  ip route replace 10.0.2.0/24 via $by
  ping -n -c 3 -i 0.2 -w 20 -s 3000 10.0.2.2
  iperf3 -c 10.0.2.2 -t 1
  iperf3 -c 10.0.2.2 -t 1 -R
done
ip link add other type gre local 10.6.0.2 remote 10.6.0.1 key 6
ip link set other up
ip addr add 10.10.0.2/24 dev other
ping -n -c 2 -i 0.2 -W 1 10.10.0.1 || true",
    );
    let errors = router.run("show errors");
    assert_eq!(answered(&text), 10, "{text}\n{errors}");
    assert!(text.contains("2 packets transmitted, 0 received"), "another key: {text}");
    drop(server);
    assert_eq!(checksum_errors(&right.host), 0);
    assert!(
        errors.contains("dropped due to missing tunnel") && !errors.contains("checksum is wrong"),
        "{errors}"
    );
    site.finish();
}

/// Two hosts whose kernels have VXLAN, in one bridge domain with a routed interface: underlays of
/// IPv4 and IPv6, a group of hosts.
#[test]
fn linux_ends_of_vxlan() {
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, left, right) = (site.router(), &site.left, &site.right);
    router.script(
        "create vxlan tunnel src 10.0.1.1 dst 10.0.1.2 vni 13
         create vxlan tunnel src 2001:db8:2::1 dst 2001:db8:2::2 vni 14
         create vxlan tunnel src 10.0.1.1 group 239.1.1.1 host-left vni 15
         create vxlan tunnel src 10.0.1.1 dst 10.0.1.2 vni 15
         set interface l2 bridge vxlan_tunnel0 9
         set interface l2 bridge vxlan_tunnel1 9
         create loopback interface
         set interface l2 bridge loop0 9 bvi
         set interface state loop0 up
         set interface ip address loop0 10.9.0.1/24
         set interface ip address loop0 2001:db8:9::1/64
         set interface l2 bridge vxlan_tunnel2 15
         set interface l2 bridge vxlan_tunnel3 15
         create loopback interface
         set interface l2 bridge loop1 15 bvi
         set interface state loop1 up
         set interface ip address loop1 10.15.0.1/24",
    );
    // A device of the kernel takes super-packets of tunnels too, which can't be told to a packet
    // socket.
    for side in [left, right] {
        side.host.command("ethtool").args(["-K", "eth0", "tx-udp_tnl-segmentation", "off"]).run();
        side.host
            .command("ethtool")
            .args(["-K", "eth0", "tx-udp_tnl-csum-segmentation", "off"])
            .run();
    }
    let link = |side: &Side, name: &str, options: &str, addresses: &[&str]| {
        side.host.ip(&format!("link add {name} type vxlan dstport 4789 {options}"));
        side.host.sysctl(&format!("net/ipv6/conf/{name}/disable_ipv6"), "0");
        side.host.ip(&format!("link set {name} up"));
        addresses
            .iter()
            .for_each(|address| _ = side.host.ip(&format!("addr add {address} dev {name}")));
    };
    link(left, "vx", "id 13 local 10.0.1.2 remote 10.0.1.1", &["10.9.0.2/24"]);
    left.host.ip("-6 addr add 2001:db8:9::2/64 dev vx nodad");
    link(right, "vx", "id 14 local 2001:db8:2::2 remote 2001:db8:2::1", &["10.9.0.3/24"]);
    right.host.ip("-6 addr add 2001:db8:9::3/64 dev vx nodad");
    link(left, "many", "id 15 local 10.0.1.2 group 239.1.1.1 dev eth0", &["10.15.0.2/24"]);
    for to in ["10.9.0.1", "10.9.0.3", "2001:db8:9::1", "2001:db8:9::3", "10.15.0.1"] {
        left.host.pings("-c3 -i0.05 -s 1000", to);
    }
    // Frames of the usual size need fragments of their datagrams.
    for side in [left, right] {
        side.host.ip("link set vx mtu 1500");
    }
    right.host.pings("-c3 -i0.05 -s 1400 -Mdo", "10.9.0.2");
    transfer(&left.host, &right.host, "10.9.0.3", 20);
    transfer(&right.host, &left.host, "10.9.0.2", 20);
    for options in ["-t1", "-t1 -R"] {
        let report = iperf(&left.host, &right.host, "10.9.0.3", options);
        let bits = report["end"]["sum_received"]["bits_per_second"].as_f64().unwrap_or(0.0);
        println!("TCP {options} through two tunnels: {:.2} Gbit/s", bits * 1e-9);
        assert!(bits > 0.0, "{report:#}");
    }
    assert_eq!([checksum_errors(&left.host), checksum_errors(&right.host)], [0, 0]);
    let mfib = router.run("show ip mfib");
    assert!(mfib.contains("239.1.1.1"), "{mfib}");
    site.finish();
}
