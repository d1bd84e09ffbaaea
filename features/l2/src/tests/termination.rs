// SPDX-License-Identifier: Apache-2.0
//! ARP and ND termination.

use super::*;
use crate::api::*;
use net::api::{Address, InterfaceIndex};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use testkit::pkt;
use wire::Icmp6Type;
use wire::nd::{ALL_NODES, NeighborMessage};

pub(super) const ASKER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);
pub(super) const KNOWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub(super) const ASKER6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7);
pub(super) const KNOWN6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// Three ports of a domain that answers for `KNOWN` and `KNOWN6` with `host(1)`.
fn terminating() -> Rig {
    let mut rig = bridged(3);
    rig.cli("set bridge-domain arp term 1");
    for ip in [IpAddr::V4(KNOWN), KNOWN6.into()] {
        rig.cli(&format!("set bridge-domain arp entry 1 {ip} {}", host(1)));
    }
    rig
}

pub(super) type Host4 = (MacAddr, Ipv4Addr);

/// A frame with an ARP packet, padded.
pub(super) fn arp(to: MacAddr, op: u8, sender: Host4, target: Host4) -> Vec<u8> {
    let mut frame = [to.octets(), sender.0.octets()].concat();
    frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, op]);
    for (mac, ip) in [sender, target] {
        frame.extend(mac.octets());
        frame.extend(ip.octets());
    }
    frame.resize(60, 0);
    frame
}

pub(super) fn request(sender: Host4, target: Ipv4Addr) -> Vec<u8> {
    arp(MacAddr::BROADCAST, 1, sender, (MacAddr::ZERO, target))
}

pub(super) fn reply(sender: Host4, to: Host4) -> Vec<u8> {
    arp(to.0, 2, sender, to)
}

/// A message of neighbour discovery with an option for a link-layer address.
pub(super) fn nd(
    (from_mac, from): (MacAddr, Ipv6Addr),
    (to_mac, to): (MacAddr, Ipv6Addr),
    (kind, flags): (Icmp6Type, u32),
    (target, option, mac): (Ipv6Addr, u8, MacAddr),
) -> Vec<u8> {
    let body = [&target.octets()[..], &[option, 1], &mac.octets()].concat();
    pkt::ether(from_mac, to_mac).ip6(from, to).ttl(255).icmp6(kind, 0, flags).payload(body).build()
}

pub(super) fn solicitation(sender: (MacAddr, Ipv6Addr), target: Ipv6Addr) -> Vec<u8> {
    let group = wire::nd::solicited_node(target);
    let [.., a, b, c, d] = group.octets();
    let to = (MacAddr([0x33, 0x33, a, b, c, d]), group);
    nd(sender, to, (Icmp6Type::NEIGHBOR_SOLICITATION, 0), (target, 1, sender.0))
}

pub(super) fn advertisement(of: (MacAddr, Ipv6Addr), to: (MacAddr, Ipv6Addr)) -> Vec<u8> {
    let flags = NeighborMessage::SOLICITED | NeighborMessage::OVERRIDE;
    nd(of, to, (Icmp6Type::NEIGHBOR_ADVERTISEMENT, flags), (of.1, 2, of.0))
}

#[suite::test]
fn a_domain_answers_for_hosts_that_are_configured() {
    let mut rig = terminating();
    let asker = (host(7), ASKER);
    let answer = at(&[0], &reply((host(1), KNOWN), asker));
    assert_eq!(rig.pass(0, &request(asker, KNOWN)), answer, "nothing is flooded");
    let asker6 = (host(7), ASKER6);
    let answer6 = at(&[0], &advertisement((host(1), KNOWN6), asker6));
    assert_eq!(rig.pass(0, &solicitation(asker6, KNOWN6)), answer6);
    let counts = ["ARP replies sent", "advertisements"];
    assert_eq!(counts.map(|what| rig.count("arp-term-l2bd", what)), [1, 1]);
    // A probe of another host finds out that the address is taken.
    let probe = (host(8), Ipv4Addr::UNSPECIFIED);
    assert_eq!(rig.pass(2, &request(probe, KNOWN)), at(&[2], &reply((host(1), KNOWN), probe)));
    // It answers also where floods are switched off.
    rig.cli("set bridge-domain flood 1 disable");
    assert_eq!(rig.pass(0, &request(asker, KNOWN)), answer);
    // Another MAC address replaces the first.
    rig.cli(&format!("set bridge-domain arp entry 1 {KNOWN} {}", host(2)));
    assert_eq!(rig.pass(0, &request(asker, KNOWN)), at(&[0], &reply((host(2), KNOWN), asker)));
}

#[suite::test]
fn what_it_does_not_know_is_flooded_as_it_is() {
    let mut rig = terminating();
    let (asker, asker6) = ((host(7), ASKER), (host(7), ASKER6));
    let own = (host(1), KNOWN);
    let unspecified = (host(7), Ipv6Addr::UNSPECIFIED);
    let mut far = solicitation(asker6, KNOWN6);
    far[14 + 7] = 254;
    let mut wrong = solicitation(asker6, KNOWN6);
    wrong[14 + 40 + 2] ^= 1;
    let without = nd(
        asker6,
        (MacAddr::BROADCAST, ALL_NODES),
        (Icmp6Type::NEIGHBOR_SOLICITATION, 0),
        (KNOWN6, 14, host(7)),
    );
    let frames = [
        ("an unknown host", request(asker, Ipv4Addr::new(10, 0, 0, 9))),
        ("an announcement", request(own, KNOWN)),
        ("a probe of the host itself", request((host(1), Ipv4Addr::UNSPECIFIED), KNOWN)),
        ("a reply to a group", arp(MacAddr::BROADCAST, 2, asker, own)),
        ("an unknown host", solicitation(asker6, "2001:db8::9".parse().expect("an address"))),
        ("a check for duplicates", solicitation(unspecified, KNOWN6)),
        ("a message that was forwarded", far),
        ("a wrong checksum", wrong),
        ("no source link-layer address", without),
        ("no question", frame_to(host(7), MacAddr::BROADCAST, 0)),
        ("one byte", {
            let mut short = frame_to(host(7), MacAddr::BROADCAST, 0);
            short[12..14].copy_from_slice(&[0x86, 0xdd]);
            short.truncate(15);
            short
        }),
    ];
    for (what, frame) in frames {
        assert_eq!(rig.pass(0, &frame), at(&[1, 2], &frame), "{what}");
    }
    // Questions to one host aren't the bridge's business.
    let mut unicast = request(asker, KNOWN);
    unicast[..6].copy_from_slice(&host(1).octets());
    rig.pass(1, &frame(1, 99, 0));
    assert_eq!(rig.pass(0, &unicast), at(&[1], &unicast));
    // Neither are those of a split-horizon group, a port or a domain that doesn't answer.
    let ask = request(asker, KNOWN);
    rig.cli("set interface l2 arp-term p0 disable");
    assert_eq!(rig.pass(0, &ask), at(&[1, 2], &ask));
    rig.cli("set interface l2 arp-term p0");
    rig.cli("set interface l2 bridge p0 1 5");
    assert_eq!(rig.pass(0, &ask), at(&[1, 2], &ask));
    rig.cli("set interface l2 bridge p0 1");
    rig.cli("set bridge-domain arp term 1 disable");
    assert_eq!(rig.pass(0, &ask), at(&[1, 2], &ask));
    assert_eq!(rig.bench.drops(), 0);
}

#[suite::test]
fn bad_arp_packets_are_dropped_by_name() {
    let mut rig = terminating();
    let good = request((host(7), ASKER), KNOWN);
    let changed = |at: usize, bytes: &[u8]| {
        let mut frame = good.clone();
        frame[at..at + bytes.len()].copy_from_slice(bytes);
        frame
    };
    let mut short = good.clone();
    short.truncate(14 + 27);
    let cases = [
        (short, "too_short"),
        (changed(14, &[0, 6]), "L2 type not ethernet"),
        (changed(18, &[8]), "L2 type not ethernet"),
        (changed(16, &[0x86, 0xdd]), "L3 type not IP4"),
        (changed(20, &[0, 3]), "ARP opcode not request"),
        (changed(22, &host(8).octets()), "ARP hw addr does not match L2 frame src addr"),
        (changed(28, &[224, 0, 0, 1]), "IP4 source address not local to subnet"),
        (changed(28, &[255, 255, 255, 255]), "IP4 source address not local to subnet"),
        (
            request((host(7), Ipv4Addr::UNSPECIFIED), Ipv4Addr::UNSPECIFIED),
            "ARP probe or announcement dropped",
        ),
    ];
    for (frame, reason) in cases {
        let before = rig.count("arp-term-l2bd", reason);
        assert_eq!(rig.pass(0, &frame), [], "{reason}");
        assert_eq!(rig.count("arp-term-l2bd", reason), before + 1, "{reason}");
    }
    // A virtual router's address may stand in a frame of its real one.
    let frame = changed(22, &[0, 0, 0x5e, 0, 1, 9]);
    assert_eq!(rig.pass(0, &frame).len(), 1);
}

/// Tags stay, or are rewritten as those of all frames of the port.
#[suite::test]
fn questions_behind_tags_are_answered_behind_tags() {
    let mut rig = terminating();
    rig.cli("create sub-interfaces p0 7");
    rig.cli("set interface state p0.7 up");
    rig.cli("set interface l2 bridge p0.7 1");
    let sub = rig.world().get::<Interfaces>().find("p0.7").expect("made");
    let asker = (host(7), ASKER);
    let tagged = |mut frame: Vec<u8>| {
        frame.splice(12..12, [0x81, 0, 0, 7]);
        frame
    };
    rig.ports.push(sub);
    let answer = tagged(reply((host(1), KNOWN), asker));
    for line in
        ["set interface l2 tag-rewrite p0.7 disable", "set interface l2 tag-rewrite p0.7 pop 1"]
    {
        rig.cli(line);
        rig.receive_all(0, &[tagged(request(asker, KNOWN))]);
        let sent: Vec<_> = rig.sent().into_iter().map(|(_, bytes)| bytes).collect();
        assert_eq!(sent, std::slice::from_ref(&answer), "{line}");
    }
}

#[suite::test]
fn clients_set_hosts_and_hear_of_them() {
    let mut rig = bridged(2);
    let entry = |bd_id, ip: &str, n| BdIpMac {
        bd_id,
        ip: Address::from(ip.parse::<IpAddr>().expect("an address")),
        mac: host(n).into(),
    };
    let mut client = rig.bench.api();
    let add = |entry| BdIpMacAddDel { is_add: true, entry };
    let del = |entry| BdIpMacAddDel { is_add: false, entry };
    assert_eq!(client.call(add(entry(1, "10.0.0.1", 1))), Ok(()));
    assert_eq!(client.call(add(entry(1, "10.0.0.1", 2))), Ok(()));
    assert_eq!(client.call(add(entry(1, "2001:db8::1", 3))), Ok(()));
    assert_eq!(client.call(add(entry(2, "10.0.0.1", 1))), Err(-6));
    assert_eq!(client.call(add(entry(0, "10.0.0.1", 1))), Err(-121));
    assert_eq!(client.call(add(entry(1, "224.0.0.1", 1))), Err(-7));
    let all: Vec<_> =
        client.dump(BdIpMacDump { bd_id: u32::MAX }).into_iter().map(|d| d.entry).collect();
    assert_eq!(all, [entry(1, "10.0.0.1", 2), entry(1, "2001:db8::1", 3)]);
    assert_eq!(client.dump(BdIpMacDump { bd_id: 2 }).len(), 0);
    assert_eq!(client.call(del(entry(1, "10.0.0.1", 1))), Err(-1), "another MAC address");
    assert_eq!(client.call(del(entry(1, "10.0.0.1", 2))), Ok(()));
    assert_eq!(client.call(del(entry(1, "10.0.0.1", 2))), Err(-1));
    assert_eq!(client.call(BdIpMacFlush { bd_id: 1 }), Ok(()));
    assert_eq!(client.call(BdIpMacFlush { bd_id: 9 }), Err(-6));
    assert_eq!(client.dump(BdIpMacDump { bd_id: 1 }).len(), 0);
    let want = |enable| WantL2ArpTermEvents { enable, pid: 5 };
    assert_eq!(client.call(want(false)), Err(-31));
    assert_eq!(client.call(want(true)), Ok(()));
    assert_eq!(client.call(want(true)), Err(-31));
    let suspended = client.suspend();
    rig.cli("set bridge-domain arp term 1");
    let (asker, asker6) = ((host(7), ASKER), (host(7), ASKER6));
    let link_local = (host(7), "fe80::7".parse().expect("an address"));
    for _ in 0..5 {
        rig.pass(0, &request(asker, KNOWN));
        rig.pass(0, &request((host(8), Ipv4Addr::UNSPECIFIED), KNOWN));
        rig.pass(1, &solicitation(asker6, KNOWN6));
        rig.pass(1, &solicitation(link_local, KNOWN6));
        rig.pass(0, &advertisement((host(1), KNOWN6), (MacAddr::BROADCAST, ALL_NODES)));
    }
    let world = rig.world();
    let mut client = msg::Loopback::resume(&*world, &world.api, suspended);
    let seen = |events: Vec<(u32, L2ArpTermEvent)>| -> Vec<(u32, IpAddr, InterfaceIndex, MacAddr)> {
        events.into_iter().map(|(pid, e)| (pid, e.ip.into(), e.sw_if_index, e.mac.into())).collect()
    };
    let [p0, p1] = [rig.ports[0], rig.ports[1]].map(InterfaceIndex::from);
    let want_seen = [
        (5, IpAddr::V4(ASKER), p0, host(7)),
        (5, IpAddr::V6(ASKER6), p1, host(7)),
        (5, IpAddr::V6(KNOWN6), p0, host(1)),
    ];
    assert_eq!(seen(client.events::<L2ArpTermEvent>()), want_seen, "each once");
    let suspended = client.suspend();
    rig.bench.world.clock.adjust(10 * SECOND);
    rig.pass(0, &request(asker, KNOWN));
    let mut client = msg::Loopback::resume(&*world, &world.api, suspended);
    assert_eq!(seen(client.events::<L2ArpTermEvent>()).len(), 1, "again after ten seconds");
    assert_eq!(client.call(want(false)), Ok(()));
    let suspended = client.suspend();
    rig.pass(0, &request((host(9), ASKER), KNOWN));
    let mut client = msg::Loopback::resume(&*world, &world.api, suspended);
    assert_eq!(seen(client.events::<L2ArpTermEvent>()), []);
}

/// A port that floods sightings loses its own, not those of others.
#[suite::test]
fn a_port_that_is_noisy_keeps_no_other_silent() {
    let mut rig = terminating();
    let mut client = rig.bench.api();
    assert_eq!(client.call(WantL2ArpTermEvents { enable: true, pid: 1 }), Ok(()));
    let suspended = client.suspend();
    for n in 0..1000u32 {
        let asker = (host(7), Ipv4Addr::from_bits(0x0a01_0000 + n));
        let frame = request(asker, KNOWN);
        rig.bench.arrive(rig.ports[0], &frame);
    }
    let quiet = request((host(8), ASKER), KNOWN);
    rig.bench.arrive(rig.ports[1], &quiet);
    rig.bench.settle();
    let world = rig.world();
    let mut client = msg::Loopback::resume(&*world, &world.api, suspended);
    let events = client.events::<L2ArpTermEvent>();
    assert!(events.iter().any(|(_, e)| e.sw_if_index == rig.ports[1].into()), "{}", events.len());

    assert_eq!(events.len() as u64 + rig.count("arp-term-l2bd", "untold"), 1001);
}

#[suite::test]
fn a_domains_own_router_is_answered_too() {
    let mut rig = terminating();
    rig.cli("bvi create instance 1");
    rig.cli("set interface state bvi1 up");
    rig.cli("set interface l2 bridge bvi1 1 bvi");
    rig.cli("set interface ip address bvi1 10.0.0.254/24");
    let world = rig.world();
    // The first packet to the host makes the router ask.
    let mac = world
        .get::<Interfaces>()
        .get(world.get::<Interfaces>().find("bvi1").expect("made"))
        .expect("there")
        .mac;
    let packet =
        pkt::ether(host(7), mac).ip4("10.0.0.7", "10.0.0.1").udp(1, 2).payload_len(30).build();
    rig.sent();
    let sent = rig.pass(0, &packet);
    assert!(
        rig.cli("show ip neighbors").contains(&format!("{}", host(1))),
        "{}",
        rig.cli("show ip neighbors")
    );
    let want = pkt::ether(mac, host(1))
        .ip4("10.0.0.7", "10.0.0.1")
        .ttl(63)
        .udp(1, 2)
        .payload_len(30)
        .build();
    assert!(sent.iter().any(|(_, bytes)| *bytes == want), "{sent:02x?}");
    let arp = |bytes: &Vec<u8>| bytes[12..14] == [8, 6];
    assert!(!sent.iter().any(|(_, bytes)| arp(bytes)), "the question isn't flooded");
}

#[suite::test]
fn hosts_are_shown() {
    let mut rig = terminating();
    let shown = rig.cli("show bridge-domain 1 arp");
    assert!(shown.contains(&format!("10.0.0.1 => {}", host(1))), "{shown}");
    let json: serde_json::Value =
        serde_json::from_str(&rig.cli("show bridge-domain 1 -j")).expect("JSON");
    assert_eq!(json[0]["hosts"][1]["ip"], "2001:db8::1");
    assert_eq!(json[0]["arp_term"], true);
    rig.cli("set bridge-domain arp entry 1 del-all");
    assert!(!rig.cli("show bridge-domain 1 detail").contains("=>"));
}
