// SPDX-License-Identifier: Apache-2.0
//! Packets to neighbours that are not resolved yet.

use super::*;
use net::{AdjIndex, Adjacencies};

fn packet(dst: &str, id: u8) -> Vec<u8> {
    testkit::pkt::ip6("2001:db8:1::1", dst).udp(1, 2).payload([id; 20]).build()
}

impl Rig {
    fn glean(&self) -> AdjIndex {
        let world = &self.bench.world;
        world.get::<Adjacencies>().glean(world, self.t0, ip(US).into()).expect("there")
    }

    fn glean_to(&mut self, dst: &str, id: u8) {
        let glean = self.glean();
        self.bench.send("ip6-glean", &packet(dst, id), |b| b.set_scratch(IpMeta::of(glean, 0)));
    }
}

/// The solicitation for the neighbour, from our link-local address.
fn question(mac: Option<MacAddr>, target: &str) -> Vec<u8> {
    crate::compose::solicitation(OWN, ip(US_LOCAL), ip(target), mac).to_vec()
}

const ANSWER: u32 = 0x6000_0000;

#[suite::test]
fn they_wait_for_the_answer_and_go_in_order() {
    let mut r = rig();
    for id in 0..5 {
        r.glean_to(HIM, id);
    }
    assert_eq!(r.sent(), [question(None, HIM)], "asked once");
    r.receive(&advertisement(HIM, ANSWER, PEER));
    let sent = r.sent();
    assert_eq!(sent.iter().map(|f| f[62]).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert!(sent.iter().all(|f| f[..14] == [&PEER.0[..], &OWN.0, &[0x86, 0xdd]].concat()));
    assert!(sent.iter().all(|f| f[21] == 63), "one hop less");
    // The neighbour has a route of its own now.
    let fib = r.bench.world.get::<net::fib::Fib<Ip6>>();
    let route = fib.covering(net::fib::TableIndex(0), ip(HIM)).expect("a route");
    assert_eq!(route.prefix.to_string(), format!("{HIM}/128"));
    assert_eq!((r.counted("tx/requests"), r.counted("rx/replies")), (1, 1));
}

#[suite::test]
fn the_silent_are_asked_three_times_and_the_sender_told() {
    let mut r = rig();
    r.glean_to(HIM, 1);
    r.glean_to(HIM, 2);
    r.pass(10);
    assert_eq!(r.sent(), vec![question(None, HIM); 3]);
    assert_eq!(r.bench.count("ip6-glean", "no_answer"), 2);
    r.receive(&advertisement(HIM, ANSWER, PEER));
    assert_eq!(r.neighbor(HIM), None, "an answer to no question");
}

#[suite::test]
fn a_route_over_a_router_asks_for_its_link_local_address() {
    let mut r = rig();
    let world = r.bench.world.clone();
    let adj =
        world.get::<Adjacencies>().neighbor(&world, r.t0, ip(HIM_LOCAL).into()).expect("there");
    let send = |r: &mut Rig| {
        r.bench.send("ip6-discover-neighbor", &packet("2001:db8:9::9", 7), |b| {
            b.set_scratch(IpMeta::of(adj, 0))
        });
    };
    let question = crate::compose::solicitation(OWN, ip(US_LOCAL), ip(HIM_LOCAL), None).to_vec();
    r.bench.settle();
    assert_eq!(r.sent(), [&question[..]], "a new next hop is asked for at once");
    send(&mut r);
    assert_eq!(r.sent(), [question]);
    r.receive(&advertisement(HIM_LOCAL, ANSWER, PEER));
    assert_eq!(r.sent().iter().map(|f| f[62]).collect::<Vec<_>>(), [7]);
    send(&mut r);
    assert_eq!(r.sent().len(), 1, "it is known by now");
    world.get::<Adjacencies>().release(adj);
}

#[suite::test]
fn nobody_is_asked_by_an_address_that_is_not_sure() {
    let mut r = rig();
    r.run("set ip6 dad enable");
    r.add_address("2001:db8:5::1/64");
    r.sent();
    let world = r.bench.world.clone();
    let glean =
        world.get::<Adjacencies>().glean(&world, r.t0, ip("2001:db8:5::1").into()).expect("there");
    r.bench.send("ip6-glean", &packet("2001:db8:5::9", 1), |b| b.set_scratch(IpMeta::of(glean, 0)));
    let asked = r.sent_of(Icmp6Type::NEIGHBOR_SOLICITATION);
    assert_eq!(
        asked.iter().map(|p| p[8..24].to_vec()).collect::<Vec<_>>(),
        [ip(US_LOCAL).octets().to_vec()]
    );
}

#[suite::test]
fn a_packet_without_a_header_is_dropped_by_name() {
    let mut r = rig();
    let glean = r.glean();
    let short = &packet(HIM, 1)[..39];
    r.bench.send("ip6-glean", short, |b| b.set_scratch(IpMeta::of(glean, 0)));
    assert_eq!(r.bench.count("ip6-glean", "too_short"), 1);
}
