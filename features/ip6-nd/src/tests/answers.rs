// SPDX-License-Identifier: Apache-2.0
//! Solicitations for our addresses.

use super::*;
use net::{IpBinding, NeighborState};
use wire::nd::NeighborMessage;
use wire::{Header, Ipv6Header};

const NODE: &str = "icmp6-neighbor-solicitation";

/// From, to, flags, target and target's station of an advertisement, in its frame.
fn told(frame: &[u8]) -> (MacAddr, Ipv6Addr, Ipv6Addr, u32, Ipv6Addr, MacAddr) {
    assert_eq!(wire::l4::verify(&frame[14..]), Ok(wire::l4::Verdict::Valid), "{frame:02x?}");
    let (header, rest) = Ipv6Header::split(&frame[14..]).expect("an IPv6 header");
    let (na, options) = NeighborMessage::split(rest).expect("an advertisement");
    assert_eq!((header.hop_limit, na.kind, na.code, options.len()), (255, 136, 0, 8));
    let link = LinkOption::view(options).expect("an option");
    assert_eq!((link.kind, link.len), (2, 1));
    let to = MacAddr(*frame.first_chunk().expect("a frame"));
    (to, header.src.into(), header.dst.into(), na.flags.get(), na.target(), link.mac)
}

#[suite::test]
fn our_addresses_are_answered_for_and_the_asker_is_noted() {
    let mut r = rig();
    let from = link_option(NdOptionKind::SOURCE_LINK, PEER);
    for (us, him) in [(US, HIM), (US_LOCAL, HIM_LOCAL), (US, HIM_LOCAL)] {
        r.receive(&solicitation(him, us, &from));
        let sent = r.sent();
        assert_eq!(sent.len(), 1);
        assert_eq!(told(&sent[0]), (PEER, ip(us), ip(him), 0xe000_0000, ip(us), OWN));
        let n = r.neighbor(him).expect("noted");
        assert_eq!((n.mac, n.state), (PEER, NeighborState::Stale));
    }
    assert_eq!((r.counted("rx/requests"), r.counted("tx/replies")), (3, 3));
    // Unicast, without the sender's link-layer address: as hosts do to probe reachability.
    let kind = (Icmp6Type::NEIGHBOR_SOLICITATION, 0, 0);
    r.receive(&message((PEER, OWN), ("2001:db8::8", US), kind, &ip(US).octets(), 255));
    assert_eq!(told(&r.sent()[0]).0, PEER);
    assert_eq!(r.neighbor("2001:db8::8"), None);
}

#[suite::test]
fn one_who_has_no_address_yet_is_told_with_all_others() {
    let mut r = rig();
    r.receive(&solicitation("::", US, &[]));
    let all = (MacAddr([0x33, 0x33, 0, 0, 0, 1]), ip(US), ip("ff02::1"), 0xa000_0000, ip(US), OWN);
    assert_eq!(r.sent().iter().map(|f| told(f)).collect::<Vec<_>>(), [all]);
    assert!(r.neighbors.is_empty(true));
}

#[suite::test]
fn the_address_of_all_routers_is_answered_for_without_insisting() {
    let mut r = rig();
    r.receive(&solicitation(HIM, "2001:db8::", &link_option(NdOptionKind::SOURCE_LINK, PEER)));
    let answer = (PEER, ip(US_LOCAL), ip(HIM), 0xc000_0000, ip("2001:db8::"), OWN);
    assert_eq!(r.sent().iter().map(|f| told(f)).collect::<Vec<_>>(), [answer]);
}

/// The anycast address of the routers of `::/64` would be the unspecified address, which no node
/// has (RFC 4291 2.5.2).
#[suite::test]
fn nobody_is_answered_about_the_unspecified_address() {
    let mut r = rig();
    r.add_address("::5/64");
    r.pass(3);
    r.sent();
    let link = link_option(NdOptionKind::SOURCE_LINK, PEER);
    let unknown = "neighbor_solicitation_source_unknown";
    let n = r.drops(NODE, unknown, |r| r.receive(&solicitation(HIM, "::", &link)));
    assert_eq!((n, r.sent()), (1, vec![]));
    r.receive(&solicitation(HIM, "::5", &link));
    assert_eq!(
        r.sent().iter().map(|f| told(f)).collect::<Vec<_>>(),
        [(PEER, ip("::5"), ip(HIM), 0xe000_0000, ip("::5"), OWN)]
    );
}

#[suite::test]
fn the_answer_to_a_tagged_question_has_no_tags_before_the_output() {
    let mut r = rig();
    // A VLAN's frame, as its sub-interface sees it: the header in front is longer.
    let frame = solicitation(HIM, US, &link_option(NdOptionKind::SOURCE_LINK, PEER));
    let tagged = [&frame[..12], &[0x81, 0, 0, 7, 0x86, 0xdd], &frame[14..]].concat();
    let (t0, node) = (r.t0.0, r.bench.index(NODE));
    let mut b = r.bench.buffer(&tagged);
    b.rx_if = t0;
    b.mark_l2();
    assert!(b.pull(18));
    r.bench.rt.inject(node, b);
    r.bench.settle();
    let sent = r.sent();
    assert_eq!(sent[0][..14], [&PEER.0[..], &OWN.0, &[0x86, 0xdd]].concat());
    assert_eq!(told(&sent[0]).4, ip(US));
}

#[suite::test]
fn what_is_wrong_is_dropped_by_name() {
    let mut r = rig();
    let link = link_option(NdOptionKind::SOURCE_LINK, PEER);
    let ns = (Icmp6Type::NEIGHBOR_SOLICITATION, 0, 0);
    let us = ip(US).octets();
    let group = wire::nd::solicited_node(ip(US)).to_string();
    let to = |src: &str, dst: &str, kind, behind: &[u8], hops| {
        message((PEER, OWN), (src, dst), kind, behind, hops)
    };
    let with = |options: &[u8]| [&us[..], options].concat();
    let fragmented = {
        let whole = solicitation(HIM, US, &link);
        let mut b = whole[14..].to_vec();
        b[6] = 44;
        b[5] += 8;
        [&whole[..14], &b[..40], &[58, 0, 0, 0, 0, 0, 0, 9], &b[40..]].concat()
    };
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("invalid_hop_limit_for_type", to(HIM, US, ns, &with(&link), 254)),
        ("invalid_code_for_type", to(HIM, US, (ns.0, 1, 0), &with(&link), 255)),
        ("options", to(HIM, US, ns, &with(&[1, 0, 0, 0, 0, 0, 0, 0]), 255)),
        ("options", to(HIM, US, ns, &with(&[1, 2, 0, 0, 0, 0, 0, 0]), 255)),
        ("fragmented", fragmented),
        ("target_multicast", to(HIM, US, ns, &ip("ff02::1").octets(), 255)),
        ("probe_destination", to("::", "ff02::1", ns, &us, 255)),
        ("probe_link_address", to("::", &group, ns, &with(&link), 255)),
        (
            "link_address",
            to(HIM, US, ns, &with(&link_option(NdOptionKind::SOURCE_LINK, MacAddr([3; 6]))), 255),
        ),
        ("own_frame", to(HIM, US, ns, &with(&link_option(NdOptionKind::SOURCE_LINK, OWN)), 255)),
        ("neighbor_solicitation_source_unknown", solicitation(HIM, "2001:db8::77", &link)),
        ("neighbor_solicitation_source_not_on_link", solicitation("2001:db8:7::9", US, &link)),
        ("duplicate_address", solicitation(US_LOCAL, US, &link)),
    ];
    for (reason, frame) in cases {
        let n = r.drops(NODE, reason, |r| r.receive(&frame));
        assert_eq!(n, 1, "{reason}: {frame:02x?}");
        assert!(r.sent().is_empty(), "{reason}");
    }
    assert!(r.neighbors.is_empty(true));
    assert!(IpBinding::of(&r.bench.world, r.t0).is_enabled::<Ip6>());
}

#[suite::test]
fn a_host_outside_of_our_networks_is_answered_if_packets_to_it_go_there() {
    use net::fib::{Fib, Path, PathKind, Source, TableIndex};
    let mut r = rig();
    r.second();
    let world = r.bench.world.clone();
    let (him, fib) = ("2001:db8:7::9", world.get::<Fib<Ip6>>());
    let asks = solicitation(him, US, &link_option(NdOptionKind::SOURCE_LINK, PEER));
    let answers = |r: &mut Rig, sw_if| {
        let path = Path::new(PathKind::Neighbor { sw_if, nexthop: ip(HIM_LOCAL).into() });
        let prefix = "2001:db8:7::/64".parse().expect("a prefix");
        fib.set(&world, TableIndex(0), prefix, Source::Cli, &[path]).expect("a route");
        r.bench.settle();
        r.sent();
        r.receive(&asks);
        r.sent_of(Icmp6Type::NEIGHBOR_ADVERTISEMENT)
            .iter()
            .map(|p| p[24..40].to_vec())
            .collect::<Vec<_>>()
    };
    let (t0, t1) = (r.t0, world.get::<Interfaces>().find("t1").expect("there"));
    assert_eq!(answers(&mut r, t0), [ip(him).octets().to_vec()]);
    assert!(answers(&mut r, t1).is_empty(), "it lies elsewhere");
    assert_eq!(r.counted("rx/requests"), 2, "both are counted");
}
