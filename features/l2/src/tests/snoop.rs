// SPDX-License-Identifier: Apache-2.0
//! Hosts that domains learn from ARP and ND messages.

use super::termination::*;
use super::*;
use crate::Bridge;
use crate::api::*;
use crate::termination::snoop::Limits;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::Icmp6Type;
use wire::nd::{ALL_NODES, NeighborMessage};

const MINUTE: u64 = 60 * SECOND;

/// Three ports of a domain that learns hosts.
fn snooping() -> Rig {
    let mut rig = bridged(3);
    rig.cli("set bridge-domain arp term 1");
    rig.cli("set bridge-domain arp snoop 1");
    rig
}

/// The hosts that the domain has learned.
fn snooped(rig: &Rig) -> Vec<(IpAddr, MacAddr, SwIfIndex)> {
    let world = rig.world();
    let hosts = world.get::<Bridge>().known_hosts(Some(1), world.clock.now());
    hosts.filter_map(|host| Some((host.ip, host.mac, host.snooped?.0))).collect()
}

/// The IPv4 address of a host.
fn ip(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n)
}

fn ip6(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, n)
}

/// Host `n` makes its addresses known on a port.
fn announce(rig: &mut Rig, port: usize, n: u8) {
    rig.pass(port, &request((host(n), ip(n)), ip(n)));
    rig.pass(port, &advertisement((host(n), ip6(n.into())), (MacAddr::BROADCAST, ALL_NODES)));
}

/// Host 9 behind p2 asks for host `n`: the domain answers with this address, or floods the question
/// as it is.
#[track_caller]
fn asks(rig: &mut Rig, n: u8, answer: Option<MacAddr>) {
    let asker = (host(9), ip(9));
    let asker6 = (host(9), ip6(9));
    let (ask, ask6) = (request(asker, ip(n)), solicitation(asker6, ip6(n.into())));
    let (want, want6) = match answer {
        Some(mac) => (
            at(&[2], &reply((mac, ip(n)), asker)),
            at(&[2], &advertisement((mac, ip6(n.into())), asker6)),
        ),
        None => (at(&[0, 1], &ask), at(&[0, 1], &ask6)),
    };
    assert_eq!(rig.pass(2, &ask), want, "IPv4");
    assert_eq!(rig.pass(2, &ask6), want6, "IPv6");
}

#[suite::test]
fn a_domain_answers_for_hosts_that_it_has_seen() {
    let mut rig = snooping();
    asks(&mut rig, 1, None);
    // The message that it learns from is flooded as before.
    let announcement = request((host(1), ip(1)), ip(1));
    assert_eq!(rig.pass(0, &announcement), at(&[1, 2], &announcement));
    let advert = advertisement((host(1), ip6(1)), (MacAddr::BROADCAST, ALL_NODES));
    assert_eq!(rig.pass(0, &advert), at(&[1, 2], &advert));
    asks(&mut rig, 1, Some(host(1)));
    // Senders of requests are learned too, and the sender of a broadcast reply.
    rig.pass(1, &arp(MacAddr::BROADCAST, 2, (host(3), ip(3)), (host(9), ip(9))));
    let [p0, p1, p2] = [rig.ports[0], rig.ports[1], rig.ports[2]];
    let want = [
        (ip(1).into(), host(1), p0),
        (ip(3).into(), host(3), p1),
        (ip(9).into(), host(9), p2),
        (ip6(1).into(), host(1), p0),
        (ip6(9).into(), host(9), p2),
    ];
    assert_eq!(snooped(&rig), want);
    let counts = ["ARP replies sent", "advertisements", "untold", "unlearned"];
    assert_eq!(counts.map(|what| rig.count("arp-term-l2bd", what)), [1, 1, 0, 0]);
}

#[suite::test]
fn without_the_option_nothing_is_learned_and_with_it_off_nothing_kept() {
    let mut rig = bridged(3);
    rig.cli("set bridge-domain arp term 1");
    announce(&mut rig, 0, 1);
    asks(&mut rig, 1, None);
    assert_eq!(snooped(&rig), []);
    for (off, on) in [
        ("set bridge-domain arp snoop 1 disable", "set bridge-domain arp snoop 1"),
        ("set bridge-domain arp term 1 disable", "set bridge-domain arp term 1"),
        ("set interface l2 arp-term p0 disable", "set interface l2 arp-term p0"),
        ("set interface state p0 down", "set interface state p0 up"),
        ("set interface l3 p0", "set interface l2 bridge p0 1"),
        ("set bridge-domain arp entry 1 del-all", "set bridge-domain arp term 1"),
    ] {
        rig.cli("set bridge-domain arp snoop 1");
        announce(&mut rig, 0, 1);
        rig.sent();
        asks(&mut rig, 1, Some(host(1)));
        rig.cli(off);
        let left = snooped(&rig);
        assert!(left.iter().all(|(_, mac, _)| *mac == host(9)), "{off}: {left:?}");
        rig.cli(on);
        rig.cli("set interface l2 bridge p1 1");
        let asker = (host(9), ip(9));
        assert!(!rig.pass(2, &request(asker, ip(1))).iter().any(|(to, _)| *to == 2), "{off}");
    }
    // Nothing is counted any more when the domain has gone.
    announce(&mut rig, 0, 1);
    let bridge = rig.world().get::<Bridge>();
    assert!(bridge.control().snooped > 0);
    for port in ["p0", "p1", "p2"] {
        rig.cli(&format!("set interface l3 {port}"));
    }
    rig.cli("create bridge-domain 1 del");
    assert_eq!(bridge.control().snooped, 0);
}

#[suite::test]
fn hosts_that_are_not_seen_are_forgotten() {
    let mut rig = snooping();
    announce(&mut rig, 0, 1);
    announce(&mut rig, 0, 2);
    rig.bench.world.clock.adjust(6 * MINUTE);
    announce(&mut rig, 0, 2);
    asks(&mut rig, 1, Some(host(1)));
    rig.bench.world.clock.adjust(5 * MINUTE);
    // The question comes before control has looked.
    rig.bench.arrive(rig.ports[2], &request((host(9), ip(9)), ip(1)));
    while rig.bench.rt.turn(true) > 0 {}
    assert_eq!(rig.sent(), at(&[0, 1], &request((host(9), ip(9)), ip(1))));
    asks(&mut rig, 1, None);
    asks(&mut rig, 2, Some(host(2)));
    let bridge = rig.world().get::<Bridge>();
    assert_eq!(bridge.control().snooped, 4, "control has forgotten 1, not 2 and 9");
    rig.bench.world.clock.adjust(60 * MINUTE);
    rig.bench.settle();
    assert_eq!(bridge.control().snooped, 0);
    asks(&mut rig, 2, None);
}

#[suite::test]
fn a_host_that_moves_is_answered_for_at_once() {
    let mut rig = snooping();
    announce(&mut rig, 0, 1);
    // Another MAC address, then another port.
    for (port, mac) in [(0, 4), (1, 4)] {
        rig.pass(port, &request((host(mac), ip(1)), ip(9)));
        rig.pass(port, &advertisement((host(mac), ip6(1)), (MacAddr::BROADCAST, ALL_NODES)));
        asks(&mut rig, 1, Some(host(mac)));
        assert!(snooped(&rig).contains(&(ip(1).into(), host(mac), rig.ports[port])));
    }
    // An advertisement without the Override flag teaches a new host, and replaces none.
    let weak = |mac, target: Ipv6Addr| {
        let kind = (Icmp6Type::NEIGHBOR_ADVERTISEMENT, NeighborMessage::SOLICITED);
        nd((mac, target), (MacAddr::BROADCAST, ALL_NODES), kind, (target, 2, mac))
    };
    rig.pass(0, &weak(host(5), ip6(1)));
    rig.pass(0, &weak(host(6), ip6(6)));
    let hosts = snooped(&rig);
    assert!(hosts.contains(&(ip6(1).into(), host(4), rig.ports[1])), "{hosts:?}");
    assert!(hosts.contains(&(ip6(6).into(), host(6), rig.ports[0])), "{hosts:?}");
}

#[suite::test]
fn what_is_configured_wins() {
    let mut rig = snooping();
    for ip in [IpAddr::V4(ip(1)), ip6(1).into()] {
        rig.cli(&format!("set bridge-domain arp entry 1 {ip} {}", host(77)));
    }
    announce(&mut rig, 0, 1);
    asks(&mut rig, 1, Some(host(77)));
    // It also replaces what was learned before, and nothing takes its place until the host is seen
    // again.
    announce(&mut rig, 0, 2);
    for ip in [IpAddr::V4(ip(2)), ip6(2).into()] {
        let line = format!("set bridge-domain arp entry 1 {ip} {}", host(78));
        rig.cli(&line);
    }
    asks(&mut rig, 2, Some(host(78)));
    assert!(snooped(&rig).iter().all(|(_, mac, _)| *mac == host(9)));
    for ip in [IpAddr::V4(ip(2)), ip6(2).into()] {
        rig.cli(&format!("set bridge-domain arp entry 1 {ip} {} del", host(78)));
    }
    asks(&mut rig, 2, None);
    announce(&mut rig, 0, 2);
    asks(&mut rig, 2, Some(host(2)));
    // `del' forgets a snooped host as well.
    rig.cli(&format!("set bridge-domain arp entry 1 {} {} del", ip(2), host(2)));
    assert!(!snooped(&rig).iter().any(|(of, ..)| *of == IpAddr::V4(ip(2))));
}

#[suite::test]
fn what_is_no_hosts_address_is_not_learned() {
    let mut rig = snooping();
    let multicast = MacAddr([3, 0xaa, 0, 0, 0, 1]);
    let link_local: Ipv6Addr = "fe80::7".parse().expect("an address");
    let all = MacAddr::BROADCAST;
    let mut foreign = advertisement((host(7), ip6(7)), (all, ALL_NODES));
    foreign[6..12].copy_from_slice(&host(8).octets());
    let frames = [
        request((host(7), Ipv4Addr::UNSPECIFIED), ip(1)),
        request((host(7), Ipv4Addr::LOCALHOST), ip(1)),
        request((multicast, ip(7)), ip(1)),
        solicitation((host(7), Ipv6Addr::UNSPECIFIED), ip6(1)),
        solicitation((host(7), link_local), ip6(1)),
        advertisement((host(7), link_local), (all, ALL_NODES)),
        advertisement((host(7), Ipv6Addr::LOCALHOST), (all, ALL_NODES)),
        advertisement((multicast, ip6(7)), (all, ALL_NODES)),
        foreign,
    ];
    for frame in frames {
        assert_eq!(rig.pass(0, &frame), at(&[1, 2], &frame), "flooded as it is");
        assert_eq!(snooped(&rig), [], "{frame:02x?}");
    }
    // From a split-horizon group neither: the other end has it.
    rig.cli("set interface l2 bridge p0 1 7");
    announce(&mut rig, 0, 1);
    assert_eq!(snooped(&rig), []);
    // A virtual router announces another address than the frame's source.
    rig.cli("set interface l2 bridge p0 1");
    let router = MacAddr([0, 0, 0x5e, 0, 1, 9]);
    let mut frame = request((router, ip(1)), ip(1));
    frame[6..12].copy_from_slice(&host(1).octets());
    rig.pass(0, &frame);
    assert_eq!(snooped(&rig), [(ip(1).into(), router, rig.ports[0])]);
}

/// A probe for an address that was snooped is the host's own to answer: it may have gone. That of a
/// configured one is answered.
#[suite::test]
fn probes_reach_the_host() {
    let mut rig = snooping();
    announce(&mut rig, 0, 1);
    let probe = request((host(8), Ipv4Addr::UNSPECIFIED), ip(1));
    assert_eq!(rig.pass(2, &probe), at(&[0, 1], &probe));
    let dad = solicitation((host(8), Ipv6Addr::UNSPECIFIED), ip6(1));
    assert_eq!(rig.pass(2, &dad), at(&[0, 1], &dad));
    rig.cli(&format!("set bridge-domain arp entry 1 {} {}", ip(1), host(1)));
    let taken = reply((host(1), ip(1)), (host(8), Ipv4Addr::UNSPECIFIED));
    assert_eq!(rig.pass(2, &probe), at(&[2], &taken));
    asks(&mut rig, 1, Some(host(1)));
}

/// A port that sends from ever new addresses gets half of the free places.
#[suite::test]
fn a_noisy_port_leaves_room_for_others() {
    for limits in [Limits { domain: 20, all: 1000 }, Limits { domain: 1000, all: 20 }] {
        let mut rig = snooping();
        let bridge = rig.world().get::<Bridge>();
        bridge.control().snoop_limits = limits;
        for n in 100..140 {
            rig.pass(0, &request((host(n), ip(n)), ip(1)));
        }
        let at_port = |rig: &Rig, port: usize| {
            let port = rig.ports[port];
            snooped(rig).iter().filter(|(_, _, at)| *at == port).count()
        };
        assert_eq!([at_port(&rig, 0), at_port(&rig, 1)], [10, 0]);
        let json: serde_json::Value =
            serde_json::from_str(&rig.cli("show bridge-domain 1 -j")).expect("JSON");
        assert_eq!(
            (json[0]["snooped"].as_u64(), json[0]["snoop_refused"].as_u64()),
            (Some(10), Some(30))
        );
        announce(&mut rig, 1, 1);
        asks(&mut rig, 1, Some(host(1)));
        asks(&mut rig, 130, None);
        // A host that moves to the full port is forgotten at the old one: no requests are answered
        // for it.
        rig.pass(0, &request((host(1), ip(1)), ip(2)));
        assert_eq!(rig.pass(2, &request((host(9), ip(9)), ip(1))).len(), 2);
        // Of its own hosts, it may change the addresses.
        rig.pass(0, &request((host(50), ip(100)), ip(2)));
        assert_eq!(at_port(&rig, 0), 10);
        let count = snooped(&rig).len();
        assert_eq!(bridge.control().snooped, count);
    }
}

/// More news at once than control takes is counted, and another port's isn't lost.
#[suite::test]
fn what_control_has_no_room_for_is_counted() {
    let mut rig = snooping();
    for n in 0..1000u32 {
        let frame = request((host(7), Ipv4Addr::from_bits(0x0a01_0000 + n)), ip(1));
        rig.bench.arrive(rig.ports[0], &frame);
    }
    rig.bench.arrive(rig.ports[1], &request((host(8), ip(8)), ip(1)));
    rig.bench.settle();
    let hosts = snooped(&rig);
    assert!(hosts.contains(&(ip(8).into(), host(8), rig.ports[1])));
    let lost = rig.count("arp-term-l2bd", "unlearned");
    assert!(lost > 0);
    assert_eq!(hosts.len() as u64 + lost, 1001);
    // Known hosts don't trouble control.
    for _ in 0..1000 {
        rig.bench.arrive(rig.ports[1], &request((host(8), ip(8)), ip(1)));
    }
    rig.bench.settle();
    assert_eq!(rig.count("arp-term-l2bd", "unlearned"), lost);
}

#[suite::test]
fn snooped_hosts_are_shown_dumped_and_not_saved() {
    let mut rig = snooping();
    rig.cli(&format!("set bridge-domain arp entry 1 10.0.0.5 {}", host(5)));
    announce(&mut rig, 0, 1);
    let shown = rig.cli("show bridge-domain 1 detail");
    assert!(shown.contains(&format!("10.0.0.1 => {} snooped at p0 ", host(1))), "{shown}");
    assert!(shown.contains(&format!("10.0.0.5 => {}\n", host(5))), "{shown}");
    assert!(shown.contains("ARP-Snoop: 2 hosts, 16384 at most, 0 refused"), "{shown}");
    let json: serde_json::Value =
        serde_json::from_str(&rig.cli("show bridge-domain 1 -j")).expect("JSON");
    let hosts = &json[0]["hosts"];
    assert_eq!((hosts[0]["interface"].as_str(), &hosts[0]["snooped"]), (Some("p0"), &true.into()));
    assert_eq!((hosts[1]["interface"].as_str(), &hosts[1]["snooped"]), (None, &false.into()));
    assert_eq!(json[0]["arp_snoop"], true);
    let all = rig.bench.api().dump(BdIpMacDump { bd_id: 1 });
    let dumped: Vec<_> =
        all.into_iter().map(|d| (IpAddr::from(d.entry.ip), MacAddr::from(d.entry.mac))).collect();
    let (one, one6) = ((IpAddr::from(ip(1)), host(1)), (IpAddr::from(ip6(1)), host(1)));
    assert_eq!(dumped, [one, (ip(5).into(), host(5)), one6]);
    let configured: Vec<_> = rig.world().get::<Bridge>().hosts(None).collect();
    assert_eq!(configured, [(1, ip(5).into(), host(5))], "what is saved");
}

/// Events are sent as without snooping, also of hosts that are known.
#[suite::test]
fn clients_hear_of_known_hosts_too() {
    let mut rig = snooping();
    let mut client = rig.bench.api();
    assert_eq!(client.call(WantL2ArpTermEvents { enable: true, pid: 5 }), Ok(()));
    let suspended = client.suspend();
    announce(&mut rig, 0, 1);
    rig.bench.world.clock.adjust(20 * SECOND);
    announce(&mut rig, 0, 1);
    let world = rig.world();
    let mut client = msg::Loopback::resume(&*world, &world.api, suspended);
    let seen = client.events::<L2ArpTermEvent>().into_iter().map(|(_, e)| IpAddr::from(e.ip));
    let want: [IpAddr; 2] = [ip(1).into(), ip6(1).into()];
    assert_eq!(seen.collect::<Vec<_>>(), [want, want].concat());
    assert_eq!(snooped(&rig).len(), 2);
}

/// The domain's router is a host as any other; its new MAC address isn't hidden by the old one.
#[suite::test]
fn the_router_is_learned_and_forgotten_with_its_address() {
    let mut rig = snooping();
    rig.cli("bvi create instance 1");
    rig.cli("set interface state bvi1 up");
    rig.cli("set interface l2 bridge bvi1 1 bvi");
    rig.cli("set interface ip address bvi1 10.0.0.254/24");
    let world = rig.world();
    let bvi = world.get::<Interfaces>().find("bvi1").expect("made");
    let mac = world.get::<Interfaces>().get(bvi).expect("there").mac;
    // It asks for the host that a packet is for.
    let packet = testkit::pkt::ether(host(7), mac)
        .ip4("10.0.0.7", "10.0.0.1")
        .udp(1, 2)
        .payload_len(30)
        .build();
    rig.pass(0, &packet);
    assert_eq!(snooped(&rig), [(ip(254).into(), mac, bvi)]);
    let asker = (host(9), ip(9));
    assert_eq!(rig.pass(2, &request(asker, ip(254))), at(&[2], &reply((mac, ip(254)), asker)));
    rig.cli("set interface mac address bvi1 02:00:00:00:00:77");
    assert!(!snooped(&rig).iter().any(|(_, _, at)| *at == bvi));
    // The router answers itself now.
    let sent = rig.pass(2, &request(asker, ip(254)));
    let answer = reply((MacAddr([2, 0, 0, 0, 0, 0x77]), ip(254)), asker);
    assert!(sent.iter().any(|(to, frame)| *to == 2 && frame[..42] == answer[..42]), "{sent:?}");
}
