// SPDX-License-Identifier: Apache-2.0
//! The DHCPv6 clients against a server that is written out by hand.

use super::*;
use crate::v6::client::Clients6;
use net::Addresses;
use std::net::Ipv6Addr;
use testkit::pkt;
use wire::{Ip6, MacAddr};

/// The router's link-local address on port 0, by its station.
const US: &str = "fe80::fe:ff:fe00:0";
const SERVER_ID: [u8; 10] = [0, 3, 0, 1, 2, 2, 2, 2, 2, 2];

fn option(code: u16, data: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes()[..], &(data.len() as u16).to_be_bytes(), data].concat()
}

fn duid() -> Vec<u8> {
    [&[0, 3, 0, 1][..], &port_mac(0).0].concat()
}

fn association(code: u16, times: [u32; 2], options: &[u8]) -> Vec<u8> {
    let mut data = vec![0, 0, 0, 1];
    times.iter().for_each(|time| data.extend(time.to_be_bytes()));
    data.extend(options);
    option(code, &data)
}

fn address(addr: &str, preferred: u32, valid: u32) -> Vec<u8> {
    let addr: Ipv6Addr = addr.parse().expect("an address");
    let times = [preferred.to_be_bytes(), valid.to_be_bytes()].concat();
    option(5, &[&addr.octets()[..], &times].concat())
}

fn prefix(addr: &str, len: u8, preferred: u32, valid: u32) -> Vec<u8> {
    let addr: Ipv6Addr = addr.parse().expect("an address");
    let times = [preferred.to_be_bytes(), valid.to_be_bytes()].concat();
    option(26, &[&times[..], &[len], &addr.octets()].concat())
}

/// A server's message in its frame.
fn answer(kind: u8, xid: [u8; 3], options: &[u8]) -> Vec<u8> {
    let mut m = vec![kind];
    m.extend(xid);
    m.extend(option(2, &SERVER_ID));
    m.extend(option(1, &duid()));
    m.extend(options);
    let us = link_local();
    pkt::ether(peer_mac(0), port_mac(0))
        .ip6("fe80::1", us.as_str())
        .udp(547, 546)
        .payload(&m)
        .build()
}

fn link_local() -> String {
    US.parse::<Ipv6Addr>().expect("an address").to_string()
}

/// The DHCPv6 messages among the frames that were sent.
fn sent(rig: &mut Rig) -> Vec<Vec<u8>> {
    let frames = rig.sent().into_iter().map(|(_, frame)| frame);
    let is_dhcp = |f: &Vec<u8>| f.get(20) == Some(&17) && f.get(56..58) == Some(&[2, 35]);
    frames.filter(is_dhcp).collect()
}

fn xid(frame: &[u8]) -> [u8; 3] {
    frame[63..66].try_into().expect("three bytes")
}

fn start(line: &str) -> Rig {
    let mut rig = rig(2);
    rig.cli("enable ip6 interface p0");
    rig.cli("enable ip6 interface p1");
    rig.seconds(3);
    rig.sent();
    rig.cli(line);
    rig
}

fn addresses(rig: &Rig, port: usize) -> Vec<String> {
    let own = rig.world().get::<Addresses<Ip6>>().own(rig.ports[port]);
    own.iter().map(ToString::to_string).collect()
}

#[suite::test]
fn an_address_comes_is_renewed_rebound_and_ends() {
    let mut rig = start("dhcp6 client p0");
    let solicit = sent(&mut rig).remove(0);
    let mut want = vec![1];
    want.extend(xid(&solicit));
    want.extend(option(1, &duid()));
    want.extend(option(8, &[0, 0]));
    want.extend(option(6, &[0, 82]));
    want.extend(association(3, [0, 0], &[]));
    let ether = pkt::ether(port_mac(0), MacAddr([0x33, 0x33, 0, 1, 0, 2]));
    let ip = ether.ip6(link_local().as_str(), "ff02::1:2").ttl(1);
    assert_eq!(solicit, ip.udp(546, 547).payload(&want).build());
    // Sent again, with the time that has passed.
    rig.seconds(2);
    let again = sent(&mut rig);
    assert_eq!(again.len(), 1);
    assert_eq!((xid(&again[0]), &again[0][..6]), (xid(&solicit), &solicit[..6]));
    assert_ne!(again[0][84..86], [0, 0]);
    // Offers that can't be taken: no addresses, T1 above T2, preferred above valid, another client.
    let status = option(13, &[0, 2]);
    let good = address("2001:db8::7", 60, 100);
    let mut foreign = answer(2, xid(&solicit), &association(3, [1, 2], &good));
    let at = foreign.windows(10).position(|w| w == duid()).expect("our identifier");
    foreign[at + 9] ^= 1;
    let _ = wire::l4::finish(&mut foreign[14..]);
    for bad in [
        answer(2, xid(&solicit), &association(3, [1, 2], &status)),
        answer(2, xid(&solicit), &association(3, [3, 2], &good)),
        answer(2, xid(&solicit), &association(3, [1, 2], &address("2001:db8::7", 101, 100))),
        answer(2, xid(&solicit), &association(3, [1, 2], &address("fe80::7", 60, 100))),
        answer(2, xid(&solicit), &association(3, [1, 2], &address("::1", 60, 100))),
        answer(2, [9, 9, 9], &association(3, [1, 2], &good)),
        foreign,
    ] {
        rig.receive_all(0, &[bad]);
        assert_eq!(sent(&mut rig), Vec::<Vec<u8>>::new());
    }
    let offer = association(3, [20, 40], &address("2001:db8::7", 60, 100));
    rig.receive_all(0, &[answer(2, xid(&solicit), &offer)]);
    let request = sent(&mut rig).remove(0);
    let mut want = vec![3];
    want.extend(xid(&request));
    want.extend(option(1, &duid()));
    want.extend(option(2, &SERVER_ID));
    want.extend(option(8, &[0, 0]));
    want.extend(option(6, &[0, 82]));
    want.extend(association(3, [0, 0], &good));
    assert_eq!(request[62..], want);
    rig.receive_all(0, &[answer(7, xid(&request), &offer)]);
    assert_eq!(addresses(&rig, 0), ["2001:db8::7/128"]);
    assert!(rig.cli("show dhcp6 addresses").contains("2001:db8::7"));
    rig.seconds(19);
    assert_eq!(sent(&mut rig), Vec::<Vec<u8>>::new());
    rig.seconds(1);
    let renew = sent(&mut rig).remove(0);
    assert_eq!(renew[62], 5);
    rig.receive_all(0, &[answer(7, xid(&renew), &offer)]);
    // T1, T2 and the end count from the reply on.
    rig.seconds(39);
    assert_eq!(sent(&mut rig).iter().map(|f| f[62]).max(), Some(5));
    rig.seconds(1);
    assert_eq!(sent(&mut rig).remove(0)[62], 6);
    rig.seconds(60);
    assert_eq!(addresses(&rig, 0), Vec::<String>::new());
    assert!(sent(&mut rig).iter().any(|f| f[62] == 1));
    rig.cli("dhcp6 client p0 disable");
    rig.seconds(5);
    assert_eq!(sent(&mut rig), Vec::<Vec<u8>>::new());
}

/// Hosts beyond the link can't send to the link-local address, so answers to others aren't read.
#[suite::test]
fn answers_to_routed_addresses_are_dropped() {
    let mut rig = start("dhcp6 client p0");
    rig.cli("set interface ip address p0 2001:db8:5::1/64");
    rig.seconds(3);
    let solicit = sent(&mut rig).remove(0);
    let offer = association(3, [20, 40], &address("2001:db8::7", 60, 100));
    let good = answer(2, xid(&solicit), &offer);
    let mut routed = good.clone();
    let own: Ipv6Addr = "2001:db8:5::1".parse().expect("an address");
    routed[38..54].copy_from_slice(&own.octets());
    let _ = wire::l4::finish(&mut routed[14..]);
    rig.seconds(1);
    sent(&mut rig);
    rig.receive_all(0, &[routed]);
    assert_eq!(sent(&mut rig), Vec::<Vec<u8>>::new());
    assert_eq!(rig.count("dhcpv6-client", "not_of_link"), 1);
    rig.receive_all(0, &[good]);
    assert_eq!(sent(&mut rig).remove(0)[62], 3);
}

/// The identifier stays that of the first device, also once the device has another address (RFC
/// 8415 11.4).
#[suite::test]
fn the_default_identifier_stays() {
    let mut rig = start("dhcp6 client p0");
    let identifier = |solicit: &[u8]| solicit[70..80].to_vec();
    assert_eq!(identifier(&sent(&mut rig).remove(0)), duid());
    rig.cli("set interface mac address p0 02:00:00:00:00:99");
    rig.seconds(10);
    let again = sent(&mut rig).pop().expect("a solicitation");
    assert_eq!(identifier(&again), duid());
}

/// A server that grants nothing yet is asked again at its times; then others are looked for.
#[suite::test]
fn an_association_without_leases_is_renewed() {
    let mut rig = start("dhcp6 client p0");
    let solicit = sent(&mut rig).remove(0);
    let empty = association(3, [1, 2], &[]);
    rig.receive_all(0, &[answer(2, xid(&solicit), &empty)]);
    let request = sent(&mut rig).remove(0);
    // Without times there is nothing to wait for: the request is sent on.
    rig.receive_all(0, &[answer(7, xid(&request), &association(3, [0, 0], &[]))]);
    rig.seconds(2);
    assert_eq!(sent(&mut rig).remove(0)[62], 3);
    rig.receive_all(0, &[answer(7, xid(&request), &empty)]);
    let mut kinds = Vec::new();
    for _ in 0..90 {
        rig.seconds(1);
        kinds.extend(sent(&mut rig).iter().map(|f| f[62]));
    }
    kinds.dedup();
    assert_eq!(kinds, [5, 6, 1]);
}

#[suite::test]
fn prefixes_make_addresses_of_their_group() {
    let mut rig = start("dhcp6 pd client p0 prefix group wan");
    rig.cli("set ip6 address p1 prefix group wan ::2:0:0:0:405/64");
    rig.cli("set ip6 address p1 prefix group lan ::3:0:0:0:405/64");
    rig.cli("set ip6 address p1 2001:db8:ffff::1/64");
    let solicit = sent(&mut rig).remove(0);
    assert_eq!(solicit[92..98], [0, 25, 0, 12, 0, 0]);
    let offer = association(25, [20, 40], &prefix("7:8::", 56, 60, 100));
    rig.receive_all(0, &[answer(2, xid(&solicit), &offer)]);
    let request = sent(&mut rig).remove(0);
    rig.receive_all(0, &[answer(7, xid(&request), &offer)]);
    assert_eq!(addresses(&rig, 1), ["2001:db8:ffff::1/64", "7:8:0:2::405/64"]);
    assert_eq!(addresses(&rig, 0), Vec::<String>::new());
    let shown = rig.cli("show ip6 prefixes");
    assert!(shown.contains("7:8::/56") && shown.contains("wan"), "{shown}");
    // A new address of the group is made at once.
    rig.cli("set ip6 address p0 prefix group wan ::9/64");
    assert_eq!(addresses(&rig, 0), ["7:8::9/64"]);
    rig.cli("set ip6 address p0 prefix group wan ::9/64 del");
    assert_eq!(addresses(&rig, 0), Vec::<String>::new());
    // The server takes the prefix back with the next renewal.
    rig.seconds(20);
    let renew = sent(&mut rig).remove(0);
    let both = [prefix("7:8::", 56, 0, 0), prefix("7:9::", 56, 60, 100)].concat();
    rig.receive_all(0, &[answer(7, xid(&renew), &association(25, [20, 40], &both))]);
    assert_eq!(addresses(&rig, 1), ["2001:db8:ffff::1/64", "7:9:0:2::405/64"]);
    rig.cli("dhcp6 pd client p0 disable");
    assert_eq!(addresses(&rig, 1), ["2001:db8:ffff::1/64"]);
    assert_eq!(rig.refused("set ip6 address p1 prefix group wan ::2:0:0:0:405/64").0, -81);
    assert_eq!(rig.refused("set ip6 address p1 prefix group wan ::7/64 del").0, -6);
}

/// Requests of a server that has forgotten the client, or doesn't answer, begin anew.
#[suite::test]
fn servers_forget_and_fall_silent() {
    let mut rig = start("dhcp6 client p0");
    let solicit = sent(&mut rig).remove(0);
    let offer = association(3, [20, 40], &address("2001:db8::7", 60, 100));
    rig.receive_all(0, &[answer(2, xid(&solicit), &offer)]);
    let request = sent(&mut rig).remove(0);
    rig.receive_all(0, &[answer(7, xid(&request), &offer)]);
    rig.seconds(20);
    let renew = sent(&mut rig).remove(0);
    let unknown = association(3, [0, 0], &option(13, &[0, 3]));
    rig.receive_all(0, &[answer(7, xid(&renew), &unknown)]);
    assert_eq!(sent(&mut rig).remove(0)[62], 3);
    // Ten requests, at most 33 seconds apart.
    let mut kinds = Vec::new();
    for _ in 0..300 {
        rig.seconds(1);
        kinds.extend(sent(&mut rig).iter().map(|f| f[62]));
    }
    assert_eq!(kinds.iter().filter(|kind| **kind == 3).count(), 9);
    assert_eq!(kinds.last(), Some(&1));
}

#[suite::test]
fn api_clients_send_and_get_events() {
    use crate::api::v6::*;
    use net::api::{InterfaceIndex, Ip6Address};
    let mut rig = start("show dhcp6 clients");
    let (sw_if_index, no_server) = (InterfaceIndex::from(rig.ports[0]), u32::MAX);
    let info = Dhcp6AddressInfo {
        address: Ip6Address("1:2:3::5".parse::<Ipv6Addr>().expect("an address").octets()),
        valid_time: 120,
        preferred_time: 60,
    };
    let message = |server_index, stop| Dhcp6SendClientMessage {
        sw_if_index,
        server_index,
        irt: 0,
        mrt: 0,
        mrc: 1,
        mrd: 0,
        stop,
        msg_type: Dhcpv6MsgType::Solicit,
        T1: 20,
        T2: 40,
        addresses: vec![info],
    };
    let bench = &mut rig.bench;
    let world = bench.world.clone();
    let xid = {
        let mut client = bench.api();
        assert_eq!(client.call(message(no_server, false)), Err(-30));
        assert_eq!(client.call(Dhcp6ClientsEnableDisable { enable: true }), Ok(()));
        assert_eq!(client.call(message(7, false)), Err(-7));
        assert_eq!(client.call(message(no_server, false)), Ok(()));
        let want = |enable_disable| WantDhcp6ReplyEvents { enable_disable, pid: 5 };
        assert_eq!(client.call(want(0)), Err(-31));
        assert_eq!(client.call(want(1)), Ok(()));
        assert_eq!(client.call(want(1)), Err(-31));
        let clients = world.get::<Clients6>();
        let state = clients.state();
        let port = state.ports.values().next().expect("a port");
        port.exchange.as_ref().expect("an exchange").xid
    };
    rig.bench.settle();
    let solicit = sent(&mut rig).remove(0);
    let want = association(3, [20, 40], &address("1:2:3::5", 60, 120));
    assert_eq!(solicit[solicit.len() - want.len()..], want);
    let [_, a, b, c] = xid.to_be_bytes();
    let options = [
        option(7, &[9]),
        option(13, &[0, 1]),
        association(3, [20, 40], &address("7:8::2", 60, 120)),
    ];
    rig.receive_all(0, &[answer(2, [a, b, c], &options.concat())]);
    let clients = world.get::<Clients6>();
    assert_eq!(clients.state().servers[&rig.ports[0]].get(0), Some(&SERVER_ID[..]));
    assert_eq!(clients.state().servers[&rig.ports[0]].get(1), None);
    assert_eq!(addresses(&rig, 0), Vec::<String>::new(), "the API client decides");
    let mut client = rig.bench.api();
    assert_eq!(client.call(message(0, true)), Ok(()));
    assert_eq!(client.call(Dhcp6ClientsEnableDisable { enable: false }), Ok(()));
    assert!(clients.state().ports.is_empty());
}

/// A host that answers under many identifiers doesn't keep later servers out.
#[suite::test]
fn the_newest_servers_have_indexes() {
    let mut servers = crate::v6::ports::Servers::default();
    let ids: Vec<[u8; 2]> = (0..40u8).map(|i| [0, i]).collect();
    let indexes: Vec<u32> = ids.iter().map(|id| servers.index(id)).collect();
    assert_eq!(indexes, (0..32).chain(0..8).collect::<Vec<_>>());
    assert_eq!((servers.index(&[0, 39]), servers.index(&[0, 8])), (7, 8));
    assert_eq!((servers.get(7), servers.get(8)), (Some(&[0, 39][..]), Some(&[0, 8][..])));
    assert_eq!(servers.get(32), None);
}

#[suite::test]
fn mutated_messages_are_taken_or_dropped_by_name() {
    let mut rig = start("dhcp6 client p0");
    rig.cli("dhcp6 pd client p0 prefix group wan");
    rig.cli("set ip6 address p1 prefix group wan ::2:0:0:0:405/64");
    let mut mutator = testkit::mutate::Mutator::new(546);
    for round in 0..400 {
        let xids: Vec<[u8; 3]> = {
            let clients = rig.world().get::<Clients6>();
            let state = clients.state();
            let exchanges = state.ports.values().filter_map(|port| port.exchange.as_ref());
            exchanges.map(|e| e.xid.to_be_bytes()).map(|[_, a, b, c]| [a, b, c]).collect()
        };
        let leases = [
            association(3, [20, 40], &address("2001:db8::7", 60, 100)),
            association(25, [20, 40], &prefix("7:8::", 56, 60, 100)),
        ];
        let bases = xids.iter().chain([&[0; 3]]).flat_map(|xid| {
            let all = leases.iter().flat_map(|l| [answer(2, *xid, l), answer(7, *xid, l)]);
            all.collect::<Vec<_>>()
        });
        let mut frames = mutator.vector(&bases.collect::<Vec<_>>(), 250, 14);
        for frame in &mut frames {
            frame.truncate(2000);
            let _ = wire::l4::finish(&mut frame[14..]);
        }
        rig.receive_all(0, &frames);
        if round % 10 == 0 {
            rig.seconds(1);
        }
        rig.sent();
    }
    rig.cli("dhcp6 client p0 disable");
    rig.cli("dhcp6 pd client p0 disable");
    assert_eq!((addresses(&rig, 0), addresses(&rig, 1)), (vec![], vec![]));
}
