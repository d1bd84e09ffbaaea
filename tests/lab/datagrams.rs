// SPDX-License-Identifier: Apache-2.0
//! GENEVE, GTP-U and VXLAN-GPE tunnels whose other end is a Linux kernel.
//!
//! Covers: features/geneve, features/gtpu, features/vxlan-gpe.

use fixture::{Router, Side, iperf};
use testkit::lab::{Netns, answered, require};

use crate::host::checksum_errors;
use crate::tunnels::guest_link;
use crate::{guest, six};

/// Returns the guest's output; a server of iperf3 runs on the right host meanwhile.
fn run(netns: &Netns, right: &Side, modules: &[&str], commands: &str) -> String {
    let server = right.host.command("iperf3").args(["-s"]).spawn();
    let text = guest::run(netns, "uml", modules, commands);
    drop(server);
    text
}

/// Returns whether a node has counted something under a text.
fn has_counted(router: &Router, node: &str, text: &str) -> bool {
    let errors = router.run("show errors");
    errors.lines().any(|line| line.contains(node) && line.contains(text))
}

/// Over IPv4 and IPv6, with TCP in both directions and fragments; another identifier.
#[test]
fn linux_ends_of_geneve() {
    if require(&["root", "linux.uml", "modprobe"]).is_none() {
        return;
    }
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, right) = (site.router(), &site.right);
    guest_link(&site.netns, router, &["10.6.0.1/24", "2001:db8:6::1/64"]);
    router.script(
        "create geneve tunnel local 10.6.0.1 remote 10.6.0.2 vni 13
         create geneve tunnel local 2001:db8:6::1 remote 2001:db8:6::2 vni 14 l3-mode
         set interface ip address geneve_tunnel0 10.7.0.1/24
         set interface ip address geneve_tunnel0 2001:db8:7::1/64
         set interface ip address geneve_tunnel1 10.8.0.1/24
         set interface ip address geneve_tunnel1 2001:db8:8::1/64",
    );
    let text = run(
        &site.netns,
        right,
        &["ipv6", "geneve"],
        "ip addr add 10.6.0.2/24 dev vec0
ip -6 addr add 2001:db8:6::2/64 dev vec0 nodad
for to in 10.6.0.1 2001:db8:6::1; do until ping -n -c 1 -W 1 $to; do :; done; done
ip link add four type geneve id 13 remote 10.6.0.1
ip link add six type geneve id 14 remote 2001:db8:6::1
ip link add other type geneve id 15 remote 10.6.0.1
for link in four six other; do ip link set $link up; done
ip addr add 10.7.0.2/24 dev four
ip -6 addr add 2001:db8:7::2/64 dev four nodad
ip addr add 10.8.0.2/24 dev six
ip -6 addr add 2001:db8:8::2/64 dev six nodad
for to in 10.7.0.1 2001:db8:7::1 10.8.0.1 2001:db8:8::1; do ping -n -c 3 -i 0.2 -w 20 -s 1000 $to; done
for by in 10.7.0.1 10.8.0.1; do
  ip route replace 10.0.2.0/24 via $by
  ping -n -c 3 -i 0.2 -w 20 -s 3000 10.0.2.2
  iperf3 -c 10.0.2.2 -t 1
  iperf3 -c 10.0.2.2 -t 1 -R
done
ip addr add 10.10.0.2/24 dev other
ping -n -c 2 -i 0.2 -W 1 10.10.0.1 || true",
    );
    assert_eq!(answered(&text), 8, "{text}\n{}", router.run("show errors"));
    assert_eq!(checksum_errors(&right.host), 0);
    for (node, counter) in [
        ("geneve4-input", "decapsulated"),
        ("geneve6-input", "decapsulated"),
        ("geneve4-encap", "encapsulated"),
        ("geneve6-encap", "encapsulated"),
        ("geneve4-input", "no such tunnel packets"),
    ] {
        assert!(has_counted(router, node, counter), "{node}: {}", router.run("show errors"));
    }
    site.finish();
}

/// The kernel is the gateway of the packet data network, the router the node of a mobile.
#[test]
fn linux_ends_of_gtpu() {
    if require(&["root", "linux.uml", "modprobe", "/usr/bin/python3"]).is_none() {
        return;
    }
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, right) = (site.router(), &site.right);
    guest_link(&site.netns, router, &["10.6.0.1/24"]);
    router.script(
        "create gtpu tunnel src 10.6.0.1 dst 10.6.0.2 teid 100 tteid 300 decap-next ip4
         create gtpu tunnel src 10.6.0.1 dst 10.6.0.2 teid 101 tteid 201 decap-next ip4
         create gtpu tunnel src 10.6.0.1 dst 10.6.0.2 teid 103 tteid 203 decap-next ip4
         create gtpu tunnel src 10.6.0.1 dst 10.6.0.2 teid 100 upd-tteid 200
         set interface ip address gtpu_tunnel0 10.7.0.1/32
         set interface ip address gtpu_tunnel1 10.7.0.2/32
         ip route add 10.9.0.0/24 via gtpu_tunnel0
         set interface ip address gtpu_tunnel2 10.7.0.4/32
         ip route add 10.9.1.0/24 via gtpu_tunnel1
         ip route add 10.9.2.0/24 via gtpu_tunnel2",
    );
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/lab/gtp.py");
    let text = run(
        &site.netns,
        right,
        &["ipv6", "gtp"],
        &format!(
            "ip addr add 10.6.0.2/24 dev vec0
until ping -n -c 1 -W 1 10.6.0.1; do :; done
ip link add gtp0 type gtp role ggsn
ip link set gtp0 mtu 1400 up
ip addr add 10.9.0.1/32 dev gtp0
ip addr add 10.9.1.1/32 dev gtp0
ip addr add 10.9.2.1/32 dev gtp0
/usr/bin/python3 {script} gtp0 200 100 10.6.0.1 10.7.0.1
/usr/bin/python3 {script} gtp0 201 101 10.6.0.1 10.7.0.2
/usr/bin/python3 {script} gtp0 202 102 10.6.0.1 10.7.0.3
ip route add 10.7.0.0/24 dev gtp0
ping -n -c 3 -i 0.2 -w 20 -s 1000 -I 10.9.0.1 10.7.0.1
ping -n -c 3 -i 0.2 -w 20 -s 1000 -I 10.9.1.1 10.7.0.2
ping -n -c 2 -i 0.2 -W 1 -I 10.9.0.1 10.7.0.3 || true
/usr/bin/python3 {script} gtp0 203 103 10.6.0.1 10.0.2.2
ip route add 10.0.2.0/24 dev gtp0 src 10.9.2.1
iperf3 -c 10.0.2.2 -B 10.9.2.1 -t 1
iperf3 -c 10.0.2.2 -B 10.9.2.1 -t 1 -R",
        ),
    );
    let errors = router.run("show errors");
    assert_eq!(answered(&text), 3, "{text}\n{errors}");
    assert!(text.contains("2 packets transmitted, 0 received"), "another identifier: {text}");
    for (node, counter) in [
        ("gtpu4-input", "decapsulated"),
        ("gtpu4-encap", "encapsulated"),
        ("gtpu4-input", "no such tunnel packets"),
    ] {
        assert!(has_counted(router, node, counter), "{node}: {errors}");
    }
    site.finish();
}

/// Lightweight tunnels of the host's kernel, over IPv4 and IPv6, with IPv4 and IPv6 inside.
#[test]
fn linux_ends_of_vxlan_gpe() {
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, left, right) = (site.router(), &site.left, &site.right);
    router.script(
        "create vxlan-gpe tunnel local 10.0.1.1 remote 10.0.1.2 vni 13
         create vxlan-gpe tunnel local 2001:db8:2::1 remote 2001:db8:2::2 vni 14 next-ip6
         set interface ip address vxlan_gpe_tunnel0 10.9.0.1/24
         set interface ip address vxlan_gpe_tunnel0 2001:db8:9::1/64
         set interface ip address vxlan_gpe_tunnel1 10.10.0.1/24
         set interface ip address vxlan_gpe_tunnel1 2001:db8:10::1/64",
    );
    // A device of the kernel takes super-packets of tunnels too, which can't be told to a packet
    // socket.
    for side in [left, right] {
        for feature in ["tx-udp_tnl-segmentation", "tx-udp_tnl-csum-segmentation"] {
            side.host.command("ethtool").args(["-K", "eth0", feature, "off"]).run();
        }
    }
    let link = |side: &Side, n: u8, encap: &str| {
        side.host.ip("link add vx type vxlan dstport 4790 external gpe");
        side.host.sysctl("net/ipv6/conf/vx/disable_ipv6", "0");
        side.host.ip("link set vx mtu 1400 up");
        side.host.ip(&format!("addr add 10.{n}.0.2/32 dev vx"));
        side.host.ip(&format!("-6 addr add 2001:db8:{n}::2/128 dev vx nodad"));
        for n in [9, 10] {
            side.host.ip(&format!("route add 10.{n}.0.0/24 encap {encap} dev vx"));
            side.host.ip(&format!("-6 route add 2001:db8:{n}::/64 encap {encap} dev vx"));
        }
    };
    link(left, 9, "ip id 13 dst 10.0.1.1");
    link(right, 10, "ip6 id 14 dst 2001:db8:2::1");
    for to in ["10.9.0.1", "2001:db8:9::1", "10.10.0.2", "2001:db8:10::2"] {
        left.host.pings("-c3 -i0.05 -s 1000", to);
    }
    right.host.pings("-c3 -i0.05 -s 1300 -Mdo", "10.9.0.2");
    for options in ["-t1", "-t1 -R"] {
        let report = iperf(&left.host, &right.host, "10.10.0.2", options);
        let bits = report["end"]["sum_received"]["bits_per_second"].as_f64().unwrap_or(0.0);
        println!("TCP {options} through two tunnels: {:.2} Gbit/s", bits * 1e-9);
        assert!(bits > 0.0, "{report:#}");
    }
    assert_eq!([checksum_errors(&left.host), checksum_errors(&right.host)], [0, 0]);
    for node in ["vxlan4-gpe-input", "vxlan6-gpe-input", "vxlan-gpe-encap"] {
        assert!(has_counted(router, node, "capsulated"), "{node}: {}", router.run("show errors"));
    }
    site.finish();
}
