// SPDX-License-Identifier: Apache-2.0
//! A bridge domain of a Linux host and of a Linux kernel on a VLAN, with a routed interface towards
//! a third one.
//!
//! Covers: features/l2, drivers/af_packet, drivers/tap.

use testkit::lab::{answered, require};

use std::collections::BTreeSet;
use std::time::Instant;

use fixture::{Router, Side, Site, eventually, read_pcap, write_pcap};

use crate::host::transfer;
use crate::{guest, six};

#[test]
fn hosts_of_a_domain_reach_each_other_and_what_is_behind_its_routed_interface() {
    if require(&["root", "linux.uml", "modprobe"]).is_none() {
        return;
    }
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, left, right) = (site.router(), &site.left, &site.right);
    let (far, far6) = (right.address, "2001:db8:2::2");
    site.netns.ip("tuntap add dev uml mode tap");
    site.netns.sysctl("net/ipv6/conf/uml/disable_ipv6", "1");
    site.netns.up("uml");
    router.script(
        "create host-interface name uml
         set interface state host-uml up
         create sub-interfaces host-uml 100
         set interface state host-uml.100 up
         create bridge-domain 5
         set interface l2 bridge host-left 5
         set interface l2 bridge host-uml.100 5
         set interface l2 tag-rewrite host-uml.100 pop 1
         create loopback interface
         set interface l2 bridge loop0 5 bvi
         set interface state loop0 up
         set interface ip address loop0 10.5.0.1/24
         set interface ip address loop0 2001:db8:5::1/64",
    );
    for line in ["addr add 10.5.0.2/24 dev eth0", "route replace default via 10.5.0.1"] {
        left.host.ip(line);
    }
    for line in
        ["addr add 2001:db8:5::2/64 dev eth0 nodad", "route replace default via 2001:db8:5::1"]
    {
        left.host.ip(&format!("-6 {line}"));
    }
    for to in ["10.5.0.1", far, "2001:db8:5::1", far6] {
        left.host.pings("-c3 -i0.05 -s 1000", to);
    }
    // Bytes of a stream are routed into the domain and out of it.
    transfer(&left.host, &right.host, far, 20);
    let server = left.host.command("iperf3").args(["-s", "-1"]).spawn();
    let text = guest::run(
        &site.netns,
        "uml",
        &["ipv6", "8021q"],
        "ip link add link vec0 name v100 type vlan id 100
ip link set v100 up
ip addr add 10.5.0.4/24 dev v100
ip -6 addr add 2001:db8:5::4/64 dev v100 nodad
ip route add default via 10.5.0.1
ip -6 route add default via 2001:db8:5::1
for to in 10.5.0.2 10.5.0.1 10.0.2.2 2001:db8:5::2 2001:db8:5::1 2001:db8:2::2; do ping -n -c 3 -i 0.2 -w 20 -s 1000 $to; done
ip link set v100 mtu 1496
iperf3 -c 10.5.0.2 -t 1",
    );
    assert_eq!(answered(&text), 6, "{text}");
    drop(server);
    let (table, mac) = (router.run("show l2fib all"), left.host.mac("eth0").to_string());
    assert!(table.contains(&mac) && table.contains("host-uml.100"), "no {mac} in\n{table}");
    site.finish();
}

/// Both hosts in domain 5, with addresses of both families, and with ARP termination.
fn terminate(site: &Site) {
    site.router().script(
        "create bridge-domain 5
         set interface l2 bridge host-left 5
         set interface l2 bridge host-right 5
         set bridge-domain arp term 5",
    );
    for (side, n) in [(&site.left, 2), (&site.right, 3)] {
        side.host.ip(&format!("addr add 10.5.0.{n}/24 dev eth0"));
        side.host.ip(&format!("-6 addr add 2001:db8:5::{n}/64 dev eth0 nodad"));
    }
}

/// Lets the right host send no answer itself. It knows the left one without a question.
fn silence(right: &Side, left: &Side) {
    right.host.ip("link set dev eth0 arp off");
    let mac = left.host.mac("eth0");
    for to in ["10.5.0.2", "2001:db8:5::2"] {
        right.host.ip(&format!("neigh replace {to} lladdr {mac} dev eth0 nud permanent"));
    }
}

/// The left host finds the right one, which hears no question.
fn is_answered_for(right: &Side, left: &Side) {
    let asked = || right.host.sh("grep -w Icmp6InNeighborSolicits /proc/net/snmp6").ok();
    let (before, mac) = (asked(), right.host.mac("eth0").to_string());
    for to in ["10.5.0.3", "2001:db8:5::3"] {
        left.host.pings("-c3 -i0.05 -s 1000", to);
        let known = left.host.command("ip").args(["neigh", "show", to]).run().stdout;
        assert!(known.contains(&mac), "{to}: {known}");
    }
    assert_eq!(asked(), before, "the solicitation isn't flooded");
}

/// Questions for a host are answered by its domain, and don't reach it.
#[test]
fn a_domain_answers_for_its_hosts() {
    if require(&["root"]).is_none() {
        return;
    }
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, left, right) = (site.router(), &site.left, &site.right);
    let right_mac = right.host.mac("eth0").to_string();
    terminate(&site);
    silence(right, left);
    let ping = left.host.command("ping").args(["-n", "-c1", "-W1", "10.5.0.3"]).run();
    assert!(ping.stdout.contains("100% packet loss"), "it answers by itself: {}", ping.stdout);
    left.host.ip("neigh flush all");
    for to in ["10.5.0.3", "2001:db8:5::3"] {
        router.run(&format!("set bridge-domain arp entry 5 {to} {right_mac}"));
    }
    is_answered_for(right, left);
    let shown = router.run("show bridge-domain 5 arp");
    assert_eq!(shown.matches(&format!("=> {right_mac}")).count(), 2, "{shown}");
    site.finish();
}

/// A host that has asked is known to its domain, which answers for it from then on.
#[test]
fn a_domain_answers_for_hosts_that_it_has_seen() {
    if require(&["root"]).is_none() {
        return;
    }
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, left, right) = (site.router(), &site.left, &site.right);
    let right_mac = right.host.mac("eth0").to_string();
    terminate(&site);
    router.run("set bridge-domain arp snoop 5");
    // Its questions tell the domain of it, and of the other one that answers by itself.
    for to in ["10.5.0.2", "2001:db8:5::2"] {
        right.host.pings("-c3 -i0.05 -s 1000", to);
    }
    let shown = router.run("show bridge-domain 5 arp");
    let line = format!("=> {right_mac} snooped at host-right");
    assert_eq!(shown.matches(&line).count(), 2, "{shown}");
    // The domain alone can answer now.
    silence(right, left);
    left.host.ip("neigh flush all");
    is_answered_for(right, left);
    assert!(!router.run("show running-config").contains("arp entry"), "what is seen isn't saved");
    site.finish();
}

/// Two workers receive broadcasts of one port: both together pass its burst, and what its rate
/// gives meanwhile.
#[test]
fn workers_share_the_limit_of_a_storm() {
    let Some(lab) = require(&["root"]) else { return };
    let router = Router::start(&lab.netns("router"), "cpu { workers 2 }");
    router.script(
        "create packet-generator interface pg0
         create packet-generator interface pg1
         set interface state pg0 up
         set interface state pg1 up
         set interface l2 bridge pg0 5
         set interface l2 bridge pg1 5",
    );
    let start = Instant::now();
    router.run("set interface l2 storm-control pg0 broadcast packets-per-second 1");
    let mut sent = BTreeSet::new();
    let out = router.file("out.pcap");
    router.run(&format!("packet-generator capture pg1 pcap {}", out.display()));
    for worker in 0..2u8 {
        let frame = |n: u16| {
            let payload = [&n.to_be_bytes()[..], &[worker; 50]].concat();
            testkit::pkt::ether("02:fe:00:00:00:01", "ff:ff:ff:ff:ff:ff")
                .ip4("10.0.0.1", "10.0.0.255")
                .udp(1, n)
                .payload(payload)
                .build()
        };
        let frames: Vec<_> = (0..2000).map(frame).collect();
        let file = router.file(&format!("in{worker}.pcap"));
        write_pcap(&file, &frames);
        sent.extend(frames);
        let pcap = file.display();
        router.run(&format!(
            "packet-generator new name s{worker} interface pg0 node ethernet-input pcap {pcap} worker {worker}"
        ));
    }
    router.run("packet-generator enable-stream");
    eventually("the end of the streams", || {
        (!router.run("show packet-generator").contains("Yes")).then_some(())
    });
    router.run("packet-generator capture pg1 disable");
    let most = 10 + start.elapsed().as_secs() as usize;
    let passed = read_pcap(&out);
    assert!((10..=most).contains(&passed.len()), "{} of at most {most}", passed.len());
    let distinct: BTreeSet<_> = passed.iter().cloned().collect();
    assert!(distinct.len() == passed.len() && distinct.is_subset(&sent), "other bytes");
    let shown = router.json("show l2 storm-control");
    assert_eq!(shown[0]["drops"], (sent.len() - passed.len()) as u64, "{shown}");
    router.stop();
}
