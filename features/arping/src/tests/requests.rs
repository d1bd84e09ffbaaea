// SPDX-License-Identifier: Apache-2.0
//! Clients of the API.

use super::*;
use crate::api::*;
use crate::run::{Reply, Run};
use graph::World;
use msg::Pending;
use net::api::{Address, InterfaceIndex};
use std::cell::RefCell;
use std::net::IpAddr;
use std::time::Duration;

fn address(text: &str) -> Address {
    text.parse::<IpAddr>().expect("an address").into()
}

/// Calls, and receives these frames meanwhile.
fn call<R: msg::Call>(rig: &mut Rig, request: R, frames: &[Vec<u8>]) -> Result<R::Reply, i32> {
    let world = rig.world();
    let rig = RefCell::new(rig);
    let mut client = msg::Loopback::new(&*world, &world.api);
    let mut left = frames.to_vec();
    client.call_while(request, || {
        let mut rig = rig.borrow_mut();
        rig.bench.settle();
        let next: Vec<_> = left.drain(..left.len().min(1)).collect();
        rig.receive_all(0, &next);
    })
}

fn arping(rig: &Rig, ip: &str) -> Arping {
    let sw_if_index = InterfaceIndex::from(rig.ports[0]);
    Arping { address: address(ip), sw_if_index, is_garp: false, repeat: 3, interval: 0.05 }
}

fn acd(rig: &Rig, ip: &str) -> ArpingAcd {
    let Arping { address, sw_if_index, is_garp, repeat, interval } = arping(rig, ip);
    ArpingAcd { address, sw_if_index, is_garp, repeat, interval }
}

#[suite::test]
fn a_reply_has_the_number_of_replies() {
    let mut rig = rig(1);
    let request = arping(&rig, "10.0.0.9");
    let there = reply(OTHER, [10, 0, 0, 9]);
    let answer = call(&mut rig, request, &[there.clone(), there]);
    assert_eq!(answer.map(|reply| reply.reply_count), Ok(2));
    assert_eq!(rig.sent().len(), 3);
    let request = arping(&rig, "2001:db8::9");
    let answer = call(&mut rig, request, &[advertisement(OTHER, "2001:db8::9", true)]);
    assert_eq!(answer.map(|reply| reply.reply_count), Ok(1));
    let request = Arping { is_garp: true, ..arping(&rig, "10.0.0.9") };
    rig.sent();
    assert_eq!(call(&mut rig, request, &[]).map(|reply| reply.reply_count), Ok(0));
    assert_eq!(rig.sent().len(), 3);
}

#[suite::test]
fn a_conflict_is_any_use_of_the_address_by_another_station() {
    let mut rig = rig(1);
    let request = acd(&rig, "10.0.0.9");
    let answer = call(&mut rig, request, &[reply(OTHER, [10, 0, 0, 9])]);
    let answer = answer.expect("an answer");
    assert_eq!((answer.reply_count, answer.mac_address.0), (1, OTHER.0));
    // An announcement of the address, which arping doesn't count.
    let who = (OTHER, [10, 0, 0, 9]);
    let garp = arp_frame(ArpOp::REQUEST, who, (MacAddr::ZERO, who.1), MacAddr::BROADCAST);
    let request = acd(&rig, "10.0.0.9");
    assert_eq!(call(&mut rig, request, std::slice::from_ref(&garp)).map(|r| r.reply_count), Ok(1));
    let request = arping(&rig, "10.0.0.9");
    assert_eq!(call(&mut rig, request, &[garp]).map(|r| r.reply_count), Ok(0));
    // Nobody uses it.
    let request = acd(&rig, "10.0.0.10");
    let answer = call(&mut rig, request, &[]).expect("an answer");
    assert_eq!((answer.reply_count, answer.mac_address.0), (0, [0; 6]));
    // Without an address the sender is unspecified.
    rig.cli("set interface ip address del p0 10.0.0.1/24");
    rig.sent();
    let request = arping(&rig, "10.0.0.9");
    assert_eq!(call(&mut rig, request, &[]).map(drop), Err(-57));
    let request = acd(&rig, "10.0.0.9");
    assert!(call(&mut rig, request, &[]).is_ok());
    let probe = arp_frame(
        ArpOp::REQUEST,
        (port_mac(0), [0; 4]),
        (MacAddr::ZERO, [10, 0, 0, 9]),
        MacAddr::BROADCAST,
    );
    assert_eq!(rig.sent(), vec![(0, probe); 3]);
}

#[suite::test]
fn an_interval_of_zero_is_a_millisecond() {
    let mut rig = rig(1);
    let request = Arping { interval: 0.0, ..arping(&rig, "10.0.0.9") };
    assert_eq!(call(&mut rig, request, &[]).map(|reply| reply.reply_count), Ok(0));
    assert_eq!(rig.sent().len(), 3);
    // One frame a poll, however often control looks.
    let request = crate::request::Request {
        address: [10, 0, 0, 9].into(),
        sw_if: rig.ports[0],
        gratuitous: false,
        detects_conflicts: false,
        repeat: u32::MAX,
        interval: crate::request::interval(0.0).expect("an interval"),
    };
    let world = rig.world();
    let mut reply = Reply(Run::new(&world, request).expect("it runs"));
    let times = [0, 0, 900, 1000, 1000, 9000].map(Duration::from_micros);
    let sent = times.map(|now| {
        let done = Pending::<World, ArpingReply>::poll(&mut reply, &world, now);
        assert!(done.is_none(), "it goes on");
        rig.bench.settle();
        rig.sent().len()
    });
    assert_eq!(sent, [1, 0, 0, 1, 0, 1]);
}

#[suite::test]
fn an_address_of_ours_is_probed_without_a_sender() {
    let mut rig = rig(1);
    let own = [10, 0, 0, 1];
    let probe =
        |mac| arp_frame(ArpOp::REQUEST, (mac, [0; 4]), (MacAddr::ZERO, own), MacAddr::BROADCAST);
    // Another station probes the address meanwhile, and our own probe comes back.
    let request = acd(&rig, "10.0.0.1");
    let answer = call(&mut rig, request, &[probe(OTHER), probe(port_mac(0))]).expect("an answer");
    assert_eq!((answer.reply_count, answer.mac_address.0), (1, OTHER.0));
    // Not the replies that defend the address.
    let requests: Vec<_> = rig.sent().into_iter().filter(|(_, frame)| frame[21] == 1).collect();
    assert_eq!(requests, vec![(0, probe(port_mac(0))); 3]);
    // An arping that detects no conflicts doesn't count probes.
    let request = arping(&rig, "10.0.0.9");
    let other = arp_frame(
        ArpOp::REQUEST,
        (OTHER, [0; 4]),
        (MacAddr::ZERO, [10, 0, 0, 9]),
        MacAddr::BROADCAST,
    );
    assert_eq!(call(&mut rig, request, &[other]).map(|reply| reply.reply_count), Ok(0));
    rig.sent();
    // From the unspecified address to the group of the address, without a link-layer address.
    let request = acd(&rig, "2001:db8::1");
    let ip: Ipv6Addr = "2001:db8::1".parse().expect("an address");
    let [other, ours] = [OTHER, port_mac(0)].map(|mac| crate::request::probe6(mac, ip));
    let answer = call(&mut rig, request, &[other, ours]).expect("an answer");
    assert_eq!((answer.reply_count, answer.mac_address.0), (1, OTHER.0));
    let sent = rig.sent();
    let frames = sent.iter().filter(|(_, frame)| frame.get(54) == Some(&135));
    let frames: Vec<_> = frames.map(|(_, frame)| frame).collect();
    assert_eq!(frames.len(), 3);
    for frame in frames {
        assert_eq!((frame.len(), &frame[..6]), (14 + 40 + 24, &[0x33, 0x33, 0xff, 0, 0, 1][..]));
        assert_eq!((&frame[22..38], &frame[62..78]), (&[0; 16][..], &ip.octets()[..]));
        assert_eq!(frame[38..54], wire::nd::solicited_node(ip).octets());
        assert_eq!(wire::l4::verify(&frame[14..]), Ok(wire::l4::Verdict::Valid));
    }
}

#[suite::test]
fn wrong_requests_have_return_values() {
    let mut rig = rig(1);
    let port = rig.ports[0].0;
    let of = || Arping {
        address: address("10.0.0.9"),
        sw_if_index: InterfaceIndex(port),
        is_garp: false,
        repeat: 1,
        interval: 0.01,
    };
    let none = Arping { sw_if_index: InterfaceIndex(77), ..of() };
    assert_eq!(call(&mut rig, none, &[]).map(drop), Err(-2));
    for interval in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(call(&mut rig, Arping { interval, ..of() }, &[]).map(drop), Err(-7));
    }
    let group = Arping { address: address("224.0.0.1"), ..of() };
    assert_eq!(call(&mut rig, group, &[]).map(drop), Err(-58));
    rig.cli("set interface state p0 down");
    assert_eq!(call(&mut rig, of(), &[]).map(drop), Err(-74));
}

#[suite::test]
fn a_client_that_goes_ends_its_arping() {
    let rig = rig(1);
    let world = rig.world();
    let waiters = world.get::<crate::waiters::Waiters>();
    let id = world.api.table().find("arping").expect("a request");
    let mut client = msg::Loopback::new(&*world, &world.api);
    // Client, context, address (family and 16 bytes), interface, no announcement, the most
    // requests, an interval of an hour.
    let ip = [&[0, 10, 0, 0, 9][..], &[0; 12]].concat();
    let body = [
        &[0, 0, 0, 1, 0, 0, 0, 9][..],
        &ip,
        &rig.ports[0].0.to_be_bytes(),
        &[0, 0xff, 0xff, 0xff, 0xff],
        &3600f64.to_ne_bytes(),
    ];
    client.begin(id, &body.concat()).expect("a message");
    assert!(client.poll().expect("it goes on").is_none());
    assert!(waiters.is_running(rig.ports[0]));
    drop(client);
    assert!(!waiters.is_running(rig.ports[0]));
}
