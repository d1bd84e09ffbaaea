// SPDX-License-Identifier: Apache-2.0
//! Answered, learned and refused packets.

use super::*;
use crate::{Gratuitous, control::Arp};
use cli::Tree;
use net::PathKind;

/// Runs `arp-reply` over one frame and returns its next node.
fn arp_reply(r: &mut Rig, frame: Vec<u8>) -> Option<(String, Option<&'static str>)> {
    let t0 = r.t0.0;
    let out = r.bench.node("arp-reply", &[frame], |b| {
        b.rx_if = t0;
        b.mark_l2();
        assert!(b.pull(14));
    });
    out.into_iter().next().map(|o| (o.node, o.reason))
}

#[suite::test]
fn our_address_is_answered_for_and_the_asker_noted() {
    let mut r = rig();
    r.receive(&request((PEER, [10, 0, 0, 9]), [10, 0, 0, 1]));
    let want = arp(2, (OWN, [10, 0, 0, 1]), (PEER, [10, 0, 0, 9]), PEER);
    assert_eq!(r.sent(), [want]);
    assert_eq!(r.known([10, 0, 0, 9]), Some(PEER));
    assert_eq!((r.counted("rx/requests"), r.counted("tx/replies")), (1, 1));
    // Bytes that stand behind a long one don't go back.
    let mut long = request((PEER, [10, 0, 0, 9]), [10, 0, 0, 1]);
    long.resize(1000, 7);
    r.receive(&long);
    assert_eq!(r.sent()[0].len(), 60);
}

#[suite::test]
fn a_removed_neighbour_is_learned_again_at_once() {
    let mut r = rig();
    let ask = request((PEER, [10, 0, 0, 9]), [10, 0, 0, 1]);
    r.receive(&ask);
    assert_eq!(r.neighbors.flush(&r.bench.world, false, None), 1);
    assert_eq!(r.known([10, 0, 0, 9]), None);
    r.receive(&ask);
    assert_eq!(r.known([10, 0, 0, 9]), Some(PEER));
}

#[suite::test]
fn the_answer_to_a_tagged_request_has_no_tags_before_the_output() {
    let mut r = rig();
    let ask = wire::Arp::new(
        wire::ArpOp::REQUEST,
        (PEER, [10, 0, 0, 9].into()),
        (MacAddr::ZERO, [10, 0, 0, 1].into()),
    );
    let frame = testkit::pkt::ether(PEER, MacAddr::BROADCAST).vlan(7).arp(ask).build();
    let t0 = r.t0.0;
    let out = r.bench.node("arp-reply", &[frame], |b| {
        b.rx_if = t0;
        b.mark_l2();
        assert!(b.pull(18));
    });
    let says = wire::Arp::new(
        wire::ArpOp::REPLY,
        (OWN, [10, 0, 0, 1].into()),
        (PEER, [10, 0, 0, 9].into()),
    );
    assert_eq!(
        (out[0].node.as_str(), &out[0].bytes),
        ("t0-output", &testkit::pkt::ether(OWN, PEER).arp(says).build())
    );
}

#[suite::test]
fn counters_have_the_names_that_monitoring_systems_know() {
    let mut r = rig();
    let (us, peer) = ([10, 0, 0, 1], [10, 0, 0, 9]);
    let mut spoofed = arp(1, (PEER, peer), (OWN, us), OWN);
    spoofed[6] = 4;
    for frame in [
        request((PEER, peer), us),
        reply((PEER, peer)),
        request((PEER, peer), peer),
        request((PEER, peer), [10, 0, 0, 7]),
        request((PEER, [10, 9, 0, 9]), us),
        request((PEER, us), us),
        arp(3, (PEER, peer), (OWN, us), OWN),
        spoofed,
    ] {
        r.receive(&frame);
    }
    let counted = |name: &str| {
        let reader = stats::Reader::new(&r.bench.world.stats).expect("a segment");
        reader.get(&format!("/err/arp-reply/{name}")).expect("readable").map(|value| value.total())
    };
    for (name, n) in [
        ("replies_sent", 1),
        ("l3_src_address_learned", 2),
        ("l3_dst_address_not_local", 1),
        ("l3_src_address_not_local", 1),
        ("l3_src_address_is_local", 1),
        ("opcode_not_request", 1),
        ("l2_address_mismatch", 1),
    ] {
        assert_eq!(counted(name), Some(n), "{name}");
    }
}

pub(super) fn add_route(world: &World, prefix: &str, path: PathKind) {
    let prefix = prefix.parse().expect("a prefix");
    let fib = world.get::<net::Fib<Ip4>>();
    fib.set(world, net::TableIndex::DEFAULT, prefix, net::Source::Api, &[net::Path::new(path)])
        .expect("set");
}

/// Such a route is like a second address of the interface.
#[suite::test]
fn what_a_route_delivers_here_is_answered_for() {
    let mut r = rig();
    let world = r.bench.world.clone();
    let ask = |r: &mut Rig, target| {
        r.receive(&request((PEER, [10, 0, 0, 9]), target));
        r.sent()
    };
    assert!(ask(&mut r, [10, 0, 0, 5]).is_empty());
    let sw_if = r.t0;
    add_route(&world, "10.0.0.5/32", PathKind::Receive { sw_if, address: [10, 0, 0, 5].into() });
    add_route(&world, "10.7.0.5/32", PathKind::Receive { sw_if, address: [10, 7, 0, 5].into() });
    let other = create(&world, "t1", MacAddr([2, 0, 0, 0, 0, 2]));
    add_route(
        &world,
        "10.7.0.6/32",
        PathKind::Receive { sw_if: other, address: [10, 7, 0, 6].into() },
    );
    for target in [[10, 0, 0, 5], [10, 7, 0, 5]] {
        assert_eq!(ask(&mut r, target), [arp(2, (OWN, target), (PEER, [10, 0, 0, 9]), PEER)]);
    }
    assert!(ask(&mut r, [10, 7, 0, 6]).is_empty(), "that is another interface's");
    // Also within our network; and a frame from it is no conflict, and nothing to learn.
    add_route(
        &world,
        "10.0.0.6/32",
        PathKind::Receive { sw_if: other, address: [10, 0, 0, 6].into() },
    );
    assert!(ask(&mut r, [10, 0, 0, 6]).is_empty());
    r.receive(&request((PEER, [10, 0, 0, 6]), [10, 0, 0, 1]));
    assert_eq!((r.sent(), r.known([10, 0, 0, 6])), (Vec::new(), None));
    add_route(&world, "10.0.0.8/32", PathKind::Fixed(net::AdjIndex::RECEIVE));
    assert_eq!(ask(&mut r, [10, 0, 0, 8]).len(), 1, "a local route without an interface");
}

/// A host on the link is answered, whatever route leads to it.
#[suite::test]
fn a_host_is_answered_that_a_route_says_is_on_the_link() {
    let mut r = rig();
    let world = r.bench.world.clone();
    let (far, router) = ([10, 9, 0, 9], [10, 0, 0, 7]);
    let ask = |r: &mut Rig, sender| {
        r.receive(&request((PEER, sender), [10, 0, 0, 1]));
        r.sent().len()
    };
    let by = |ip: [u8; 4]| PathKind::Neighbor { sw_if: SwIfIndex(1), nexthop: ip.into() };
    // A new next hop is asked for.
    let add_route = |r: &mut Rig, prefix, kind| {
        add_route(&world, prefix, kind);
        r.bench.settle();
        r.sent();
    };
    assert_eq!((ask(&mut r, far), r.known(far)), (0, None));
    add_route(&mut r, "10.9.0.0/16", by(router));
    assert_eq!(ask(&mut r, far), 0, "it is behind a router");
    add_route(&mut r, "10.9.0.9/32", by(far));
    assert_eq!((ask(&mut r, far), r.known(far)), (1, Some(PEER)));
    // A network without an address of ours in it.
    let attached = PathKind::Attached { sw_if: r.t0, address: Ipv4Addr::UNSPECIFIED.into() };
    add_route(&mut r, "10.8.0.0/16", attached);
    assert_eq!((ask(&mut r, [10, 8, 0, 9]), r.known([10, 8, 0, 9])), (1, Some(PEER)));
    // A host of the interface's own network, whatever routes lead to it.
    add_route(&mut r, "10.0.0.8/30", by(router));
    assert_eq!(ask(&mut r, [10, 0, 0, 9]), 1);
}

/// `t1` has no address and uses those of `t0`: hosts at its other end may have any address.
#[suite::test]
fn the_other_end_of_an_unnumbered_link_is_answered_with_a_lent_address() {
    let mut r = rig();
    let world = r.bench.world.clone();
    let mac = MacAddr([2, 0, 0, 0, 0, 2]);
    let t1 = create(&world, "t1", mac);
    world.get::<Interfaces>().set_admin(&world, t1, true).expect("up");
    let ask = |r: &mut Rig, sender, target| {
        r.bench.send("ethernet-input", &request((PEER, sender), target), |b| b.rx_if = t1.0);
        r.sent()
    };
    let answer = |sender, target| arp(2, (mac, target), (PEER, sender), PEER);
    assert!(ask(&mut r, [10, 5, 0, 9], [10, 0, 0, 1]).is_empty(), "without IPv4");
    world.get::<Addresses<Ip4>>().set_unnumbered(&world, t1, Some(r.t0)).expect("set");
    r.bench.settle();
    r.sent();
    for sender in [[10, 5, 0, 9], [10, 0, 0, 77]] {
        assert_eq!(ask(&mut r, sender, [10, 0, 0, 1]), [answer(sender, [10, 0, 0, 1])]);
        assert_eq!(r.neighbors.get(t1, sender.into()).map(|n| n.mac), Some(PEER));
    }
    assert!(ask(&mut r, [10, 5, 0, 9], [10, 0, 0, 7]).is_empty(), "somebody else's address");
    // A host with the router's own address sends requests there: it gets answers for others, and is
    // no conflict.
    let (tree, host) = (Tree::new(PLUGIN.cli).expect("well-formed"), [10, 0, 0, 1]);
    for line in ["set arp proxy start 10.0.0.0 end 10.0.0.255", "set interface proxy-arp t1 enable"]
    {
        tree.answer(&world, line).expect(line);
    }
    assert_eq!(ask(&mut r, host, [10, 0, 0, 7]), [answer(host, [10, 0, 0, 7])]);
    assert_eq!(r.neighbors.get(t1, host.into()), None);
}

#[suite::test]
fn a_probe_is_answered_and_not_noted() {
    let mut r = rig();
    r.receive(&request((PEER, [0, 0, 0, 0]), [10, 0, 0, 1]));
    assert_eq!(r.sent(), [arp(2, (OWN, [10, 0, 0, 1]), (PEER, [0, 0, 0, 0]), PEER)]);
    assert!(r.neighbors.is_empty(false));
}

#[suite::test]
fn each_refusal_has_its_name() {
    let mut r = rig();
    let (us, peer) = ((OWN, [10, 0, 0, 1]), [10, 0, 0, 9]);
    let spoofed = |op| {
        let mut frame = arp(op, (PEER, peer), us, OWN);
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 8]);
        frame
    };
    let group = MacAddr([1, 0, 0x5e, 0, 0, 1]);
    let cases = [
        (arp(3, (PEER, peer), us, OWN), "operation is neither request nor reply"),
        (arp(0, (PEER, peer), us, OWN), "operation is neither request nor reply"),
        (arp(1, (group, peer), us, OWN), "sender's MAC address is not that of one station"),
        (arp(2, (MacAddr::ZERO, peer), us, OWN), "sender's MAC address is not that of one station"),
        (spoofed(1), "sender's MAC address differs from the frame's source"),
        (spoofed(2), "sender's MAC address differs from the frame's source"),
        (arp(1, (OWN, peer), us, OWN), "sender is ourselves"),
        (arp(2, (PEER, [0, 0, 0, 0]), us, OWN), "sender's address is not that of one host"),
        (arp(1, (PEER, [224, 0, 0, 1]), us, OWN), "sender's address is not that of one host"),
        (arp(1, (PEER, [255; 4]), us, OWN), "sender's address is not that of one host"),
        (arp(1, (PEER, [127, 0, 0, 1]), us, OWN), "sender's address is not that of one host"),
        (arp(1, (PEER, [10, 0, 0, 1]), us, OWN), "another station uses our address"),
        (
            arp(1, (PEER, [10, 0, 1, 9]), us, OWN),
            "sender's address is not in a network of the interface",
        ),
        (
            arp(1, (PEER, [10, 0, 0, 255]), us, OWN),
            "sender's address is not in a network of the interface",
        ),
        (
            arp(1, (PEER, [10, 0, 0, 0]), us, OWN),
            "sender's address is not in a network of the interface",
        ),
        (
            request((PEER, peer), [10, 0, 0, 7]),
            "request, reply or announcement is for another host",
        ),
        (
            arp(2, (PEER, peer), (PEER, [10, 0, 0, 7]), OWN),
            "request, reply or announcement is for another host",
        ),
        (
            request((PEER, [10, 0, 1, 9]), [10, 0, 1, 9]),
            "request, reply or announcement is for another host",
        ),
    ];
    for (frame, why) in cases {
        let drops = r.bench.drops();
        assert_eq!(arp_reply(&mut r, frame), Some(("error-drop".into(), Some(why))));
        assert_eq!(r.bench.drops(), drops + 1, "{why}");
    }
    let short = testkit::pkt::ether(PEER, OWN).payload([0; 27]).build();
    assert_eq!(
        arp_reply(&mut r, short).and_then(|o| o.1),
        Some("packet is shorter than an ARP header")
    );
    r.bench.settle();
    assert!(
        r.neighbors.is_empty(false) && r.sent().len() == 1,
        "nothing but the defence of our address"
    );
}

#[suite::test]
fn a_frame_is_checked_before_its_sender() {
    let mut r = rig();
    let good = request((PEER, [10, 0, 0, 9]), [10, 0, 0, 1]);
    let with = |at: usize, value: u8| {
        let mut frame = good.clone();
        frame[14 + at] = value;
        frame
    };
    for (frame, reason) in [
        (good[..41].to_vec(), "too_short"),
        (with(1, 6), "l2_type_not_ethernet"),
        (with(2, 0x86), "l3_type_not_ip4"),
        (with(4, 8), "address_length"),
        (with(5, 16), "address_length"),
    ] {
        let before = r.bench.count("arp-input", reason);
        r.receive(&frame);
        assert_eq!(r.bench.count("arp-input", reason), before + 1, "{reason}");
    }
    assert!(r.sent().is_empty() && r.counted("rx/requests") == 0);
}

#[suite::test]
fn an_interface_without_ip4_has_arp_disabled() {
    let mut r = rig();
    let world = r.bench.world.clone();
    let t1 = create(&world, "t1", MacAddr([2, 0, 0, 0, 0, 2]));
    world.get::<Interfaces>().set_admin(&world, t1, true).expect("up");
    let arc = world.arc("arp").expect("there");
    assert_eq!(world.features_of(arc, t1), ["arp-disabled"]);
    let ask = |r: &mut Rig, target| {
        r.bench.send("ethernet-input", &request((PEER, [10, 1, 0, 9]), target), |b| b.rx_if = t1.0);
        r.bench.count("arp-disabled", "disabled")
    };
    assert_eq!(ask(&mut r, [10, 1, 0, 1]), 1);
    add_address(&world, t1, "10.1.0.1/16");
    assert_eq!(world.features_of(arc, t1), ["arp-reply"]);
    assert_eq!(ask(&mut r, [10, 1, 0, 1]), 1);
    let addresses = world.get::<Addresses<Ip4>>();
    addresses.remove(&world, t1, "10.1.0.1/16".parse().expect("a prefix")).expect("there");
    assert_eq!(ask(&mut r, [10, 1, 0, 1]), 2);
}

#[suite::test]
fn answers_to_no_question_are_refused() {
    let mut r = rig();
    r.receive(&reply((PEER, [10, 0, 0, 9])));
    assert_eq!((r.known([10, 0, 0, 9]), r.counted("refused/unsolicited")), (None, 1));
    // One that is known may move.
    r.receive(&request((PEER, [10, 0, 0, 9]), [10, 0, 0, 1]));
    let other = MacAddr([2, 0, 0, 0, 0, 8]);
    r.receive(&reply((other, [10, 0, 0, 9])));
    assert_eq!(r.known([10, 0, 0, 9]), Some(other));
}

#[suite::test]
fn a_virtual_router_answers_by_the_real_ones_interface() {
    let mut r = rig();
    let virtual_mac = MacAddr([0, 0, 0x5e, 0, 1, 5]);
    r.receive(&request((PEER, [10, 0, 0, 9]), [10, 0, 0, 1]));
    let mut frame = reply((virtual_mac, [10, 0, 0, 9]));
    frame[6..12].copy_from_slice(&PEER.0);
    r.receive(&frame);
    assert_eq!(r.known([10, 0, 0, 9]), Some(virtual_mac));
}

#[suite::test]
fn announcements_update_or_add_as_configured() {
    let mut r = rig();
    let control = r.bench.world.get::<Arp>();
    let announce = |mac, ip| request((mac, ip), ip);
    let other = MacAddr([2, 0, 0, 0, 0, 8]);
    r.receive(&announce(PEER, [10, 0, 0, 9]));
    assert_eq!(
        (r.known([10, 0, 0, 9]), r.counted("refused/unknown"), r.counted("rx/gratuitous")),
        (None, 1, 1)
    );
    r.receive(&request((PEER, [10, 0, 0, 9]), [10, 0, 0, 1]));
    r.receive(&announce(other, [10, 0, 0, 9]));
    assert_eq!(r.known([10, 0, 0, 9]), Some(other));
    control.set_gratuitous(Gratuitous::Ignore);
    r.receive(&announce(PEER, [10, 0, 0, 9]));
    assert_eq!((r.known([10, 0, 0, 9]), r.counted("refused/ignored")), (Some(other), 1));
    control.set_gratuitous(Gratuitous::Learn);
    r.receive(&arp(
        2,
        (PEER, [10, 0, 0, 20]),
        (MacAddr::BROADCAST, [10, 0, 0, 20]),
        MacAddr::BROADCAST,
    ));
    assert_eq!(r.known([10, 0, 0, 20]), Some(PEER));
}

#[suite::test]
fn a_busy_neighbour_is_noted_once_a_second() {
    let mut r = rig();
    let ask = request((PEER, [10, 0, 0, 9]), [10, 0, 0, 1]);
    let noted = |r: &Rig| r.neighbors.get(r.t0, [10, 0, 0, 9].into()).expect("known").updated;
    r.receive(&ask);
    let first = noted(&r);
    r.bench.world.clock.adjust(100_000_000);
    r.receive(&ask);
    assert_eq!((noted(&r), r.sent().len()), (first, 2), "answered, not noted");
    r.pass(2);
    r.receive(&ask);
    assert!(noted(&r) > first);
}

#[suite::test]
fn our_address_is_defended() {
    let mut r = rig();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = heard.clone();
    r.bench
        .world
        .get::<Arp>()
        .subscribe_conflicts(move |_, c| log.lock().expect("no panic inside").push((c.ip, c.mac)));
    let thief = request((PEER, [10, 0, 0, 1]), [10, 0, 0, 1]);
    let defence = request((OWN, [10, 0, 0, 1]), [10, 0, 0, 1])[..42].to_vec();
    r.receive(&thief);
    assert_eq!(r.sent(), std::slice::from_ref(&defence));
    r.pass(5);
    r.receive(&thief);
    assert!(r.sent().is_empty(), "not more often than every ten seconds");
    r.pass(6);
    r.receive(&thief);
    assert_eq!(r.sent(), [defence]);
    assert_eq!(r.bench.count("arp-reply", "l3_src_address_is_local"), 3);
    assert_eq!(*heard.lock().expect("no panic inside"), [([10, 0, 0, 1].into(), PEER); 2]);
    assert_eq!(r.known([10, 0, 0, 1]), None);
}
