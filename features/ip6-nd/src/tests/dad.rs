// SPDX-License-Identifier: Apache-2.0
//! Addresses that another node may have.

use super::*;
use crate::api::dad::{Ip6DadEnableDisable, Ip6DadEvent, Ip6DadState, WantIp6DadEvents};

const NEW: &str = "2001:db8:5::1";

fn asking() -> Rig {
    let mut r = rig();
    r.run("set ip6 dad enable transmits 2 delay 1");
    r.add_address("2001:db8:5::1/64");
    r
}

fn state(r: &mut Rig) -> Option<String> {
    let json = r.json("show ip6 dad");
    json["addresses"].as_array()?.iter().find(|a| a["address"] == NEW)?["state"]
        .as_str()
        .map(Into::into)
}

/// Replies to a ping of the address.
fn pinged(r: &mut Rig) -> usize {
    r.sent();
    let ping = testkit::pkt::ether(PEER, OWN).ip6(HIM, NEW).icmp6_echo(1, 2).build();
    r.receive(&ping);
    r.sent_of(Icmp6Type::ECHO_REPLY).len()
}

/// State, address, solicitations sent and to send of each event.
fn events(client: &mut msg::Loopback<'_, World>) -> Vec<(Ip6DadState, Ipv6Addr, u8, u8)> {
    let all = client.events::<Ip6DadEvent>().into_iter();
    all.map(|(_, e)| (e.state, e.address.0.into(), e.dad_count, e.dad_transmits)).collect()
}

/// The targets of duplicate address probes sent lately.
fn asked(r: &Rig) -> Vec<Ipv6Addr> {
    let all = r.sent_of(Icmp6Type::NEIGHBOR_SOLICITATION).into_iter();
    all.filter_map(|p| p[48..].first_chunk::<16>().copied().map(Ipv6Addr::from)).collect()
}

fn ask(r: &mut Rig) -> usize {
    r.sent();
    r.receive(&solicitation(HIM, NEW, &link_option(NdOptionKind::SOURCE_LINK, PEER)));
    r.sent_of(Icmp6Type::NEIGHBOR_ADVERTISEMENT).len()
}

#[suite::test]
fn an_address_is_asked_for_before_it_is_used() {
    let mut r = asking();
    let probes = r.sent_of(Icmp6Type::NEIGHBOR_SOLICITATION);
    assert_eq!(probes.len(), 1);
    assert_eq!(probes[0][8..24], Ipv6Addr::UNSPECIFIED.octets());
    assert_eq!(probes[0][48..64], ip(NEW).octets());
    assert_eq!((probes[0][64..66].to_vec(), probes[0].len()), (vec![14, 1], 72), "with a nonce");
    assert_eq!((state(&mut r).as_deref(), ask(&mut r)), (Some("tentative"), 0));
    assert_eq!(pinged(&mut r), 0, "what is sent to it is dropped");
    r.pass(1);
    assert_eq!(r.sent_of(Icmp6Type::NEIGHBOR_SOLICITATION).len(), 1, "twice, as it was set");
    r.pass(1);
    assert!(
        r.sent_of(Icmp6Type::NEIGHBOR_ADVERTISEMENT).is_empty(),
        "announced only where that is set"
    );
    assert_eq!((state(&mut r), ask(&mut r), pinged(&mut r)), (None, 1, 1));
}

#[suite::test]
fn an_address_that_somebody_has_is_not_used() {
    let mut r = asking();
    let world = r.bench.world.clone();
    let mut client = msg::Loopback::new(&*world, &world.api);
    client.call(WantIp6DadEvents { enable_disable: true, pid: 5 }).expect("wanted");
    let behind = [&ip(NEW).octets()[..], &link_option(NdOptionKind::TARGET_LINK, PEER)].concat();
    let macs = (PEER, MacAddr([0x33, 0x33, 0, 0, 0, 1]));
    let kind = (Icmp6Type::NEIGHBOR_ADVERTISEMENT, 0, 1 << 29);
    let frame = message(macs, (NEW, "ff02::1"), kind, &behind, 255);
    let n = r.drops("icmp6-neighbor-advertisement", "duplicate_target", |r| r.receive(&frame));
    assert_eq!(n, 1);
    r.pass(5);
    assert_eq!((state(&mut r).as_deref(), ask(&mut r)), (Some("duplicate"), 0));
    assert_eq!(pinged(&mut r), 0);
    let fib = r.run("show ip6 fib 2001:db8:5::1");
    assert!(
        fib.contains("2001:db8:5::/64") && !fib.contains("2001:db8:5::1/128"),
        "it is his: {fib}"
    );
    let shown = r.run("show ip6 interface t0");
    assert!(shown.contains("2001:db8:5::1, subnet is 2001:db8:5::/64 [duplicate]"), "{shown}");
    assert_eq!(events(&mut client), [(Ip6DadState::Duplicate, ip(NEW), 1, 2)]);
    // The interface comes again: perhaps the other one has gone.
    r.run("set interface state t0 down");
    r.run("set interface state t0 up");
    r.pass(3);
    assert_eq!((state(&mut r), ask(&mut r), pinged(&mut r)), (None, 1, 1));
}

#[suite::test]
fn another_who_wants_it_at_the_same_time_has_it_but_our_own_question_does_not_count() {
    let mut r = asking();
    let probe = r.sent().into_iter().find(|f| f[20] == 58 && f[54] == 135).expect("a question");
    r.receive(&probe);
    assert_eq!(r.bench.count("icmp6-neighbor-solicitation", "own_frame"), 1);
    assert_eq!(state(&mut r).as_deref(), Some("tentative"));
    let other = solicitation("::", NEW, &[14, 1, 9, 9, 9, 9, 9, 9]);
    r.receive(&other);
    assert_eq!(state(&mut r).as_deref(), Some("duplicate"));
    assert_eq!(r.bench.count("icmp6-neighbor-solicitation", "duplicate_target"), 1);
}

#[suite::test]
fn it_is_set_by_message_too_and_ends_when_it_is_disabled() {
    let mut r = asking();
    let world = r.bench.world.clone();
    let mut client = msg::Loopback::new(&*world, &world.api);
    let off = Ip6DadEnableDisable { enable: false, dad_transmits: 1, dad_retransmit_delay: 1.0 };
    client.call(off).expect("disabled");
    r.bench.settle();
    assert_eq!((state(&mut r), ask(&mut r)), (None, 1), "what was tentative is ours");
    let odd = Ip6DadEnableDisable { enable: true, dad_transmits: 11, dad_retransmit_delay: 1.0 };
    assert_eq!(client.call(odd), Err(-7));
    let shown = client.dump(crate::api::dad::Ip6DadDump {});
    assert_eq!((shown.len(), shown[0].enabled, shown[0].dad_transmits), (1, false, 2));
}

#[suite::test]
fn each_question_and_each_state_is_an_event() {
    let mut r = rig();
    let world = r.bench.world.clone();
    let mut client = msg::Loopback::new(&*world, &world.api);
    client.call(WantIp6DadEvents { enable_disable: true, pid: 5 }).expect("wanted");
    r.run("set ip6 dad enable transmits 2 delay 1");
    r.add_address("2001:db8:5::1/64");
    let (asked, local) = (Ip6DadState::Tentative, Ip6DadState::Preferred);
    assert_eq!(events(&mut client), [(asked, ip(NEW), 0, 2), (asked, ip(NEW), 1, 2)]);
    r.pass(1);
    assert_eq!(events(&mut client), [(asked, ip(NEW), 2, 2)]);
    r.pass(1);
    assert_eq!(events(&mut client), [(local, ip(NEW), 2, 2)]);
    r.pass(5);
    assert_eq!(events(&mut client), []);
}

#[suite::test]
fn addresses_made_of_the_mac_address_are_asked_for_if_that_is_wanted() {
    let mut r = bare();
    r.run("set ip6 dad enable");
    r.add_address("2001:db8:5::1/64");
    assert_eq!(asked(&r), [ip(NEW)]);
    r.pass(2);
    r.run("set ip6 link-local address t0 fe80::77");
    assert_eq!(asked(&r), [ip("fe80::77")], "this one was set");
    r.pass(2);
    r.add_address("::1/128");
    r.add_address("ff02::5/128");
    assert!(asked(&r).is_empty());
    r.run("set ip6 link-local address t0 fe80::77 del");
    r.run("set ip6 dad enable link-local");
    r.run("set interface state t0 down");
    r.run("set interface state t0 up");
    assert_eq!(asked(&r), [ip(NEW), ip(US_LOCAL)]);
    assert!(r.run("show ip6 dad").contains("delay 1 s, link-local addresses too"));
}

#[suite::test]
fn another_is_heard_again_though_it_was_heard_just_now() {
    let mut r = rig();
    r.run("set ip6 dad enable");
    let world = r.bench.world.clone();
    let addresses = world.get::<Addresses<Ip6>>();
    for _ in 0..2 {
        r.add_address("2001:db8:5::1/64");
        r.receive(&solicitation("::", NEW, &[14, 1, 9, 9, 9, 9, 9, 9]));
        assert_eq!(state(&mut r).as_deref(), Some("duplicate"));
        addresses
            .remove(&world, r.t0, "2001:db8:5::1/64".parse().expect("a prefix"))
            .expect("there");
        r.bench.settle();
    }
}
