// SPDX-License-Identifier: Apache-2.0
//! The DHCPv4 client against a server that is written out by hand.

use super::*;
use crate::v4::client::Clients;
use crate::v4::machine::State;
use net::Addresses;
use std::net::Ipv4Addr;
use testkit::pkt;
use wire::{Ip4, MacAddr};

const SERVER: [u8; 4] = [10, 0, 0, 2];
const CLIENT: [u8; 4] = [10, 0, 0, 77];

/// A server's message: type, transaction, offered address, further options.
pub fn answer(kind: u8, xid: u32, yiaddr: [u8; 4], options: &[u8]) -> Vec<u8> {
    let mut m = vec![2, 1, 6, 0];
    m.extend(xid.to_be_bytes());
    m.extend([0; 8]);
    m.extend(yiaddr);
    m.extend([0; 8]);
    m.extend(port_mac(0).0);
    m.resize(236, 0);
    m.extend([99, 130, 83, 99, 53, 1, kind, 54, 4]);
    m.extend(SERVER);
    m.extend(options);
    m.push(255);
    m
}

/// The message in a frame to all stations.
pub fn frame(message: &[u8]) -> Vec<u8> {
    let ether = pkt::ether(peer_mac(0), MacAddr::BROADCAST);
    ether.ip4("10.0.0.2", "255.255.255.255").udp(67, 68).payload(message).build()
}

/// Options of an acknowledgement: mask /24, router, two name servers, lease 100 s.
const USUAL: &[u8] =
    &[1, 4, 255, 255, 255, 0, 3, 4, 10, 0, 0, 2, 6, 8, 9, 9, 9, 9, 8, 8, 8, 8, 51, 4, 0, 0, 0, 100];

/// The client's messages among the frames that were sent: the DHCP part, with its IP header.
fn sent(rig: &mut Rig) -> Vec<(Vec<u8>, Vec<u8>)> {
    let frames = rig.sent().into_iter().map(|(_, frame)| frame);
    let dhcp = frames.filter(|f| f.get(12..14) == Some(&[8, 0]) && f.get(36..38) == Some(&[0, 67]));
    dhcp.map(|f| (f[..42].to_vec(), f[42..].to_vec())).collect()
}

fn xid(message: &[u8]) -> u32 {
    u32::from_be_bytes(message[4..8].try_into().expect("four bytes"))
}

/// A client with its lease of 100 seconds.
fn bound() -> Rig {
    let mut rig = rig(1);
    rig.cli("set dhcp client intfc p0 hostname router");
    let discover = sent(&mut rig).remove(0).1;
    let offer = answer(2, xid(&discover), CLIENT, &[]);
    rig.receive_all(0, &[frame(&offer)]);
    let request = sent(&mut rig).remove(0).1;
    rig.receive_all(0, &[frame(&answer(5, xid(&request), CLIENT, USUAL))]);
    rig
}

fn state(rig: &Rig) -> State {
    rig.world().get::<Clients>().list()[0].state.clone()
}

fn addresses(rig: &Rig) -> Vec<String> {
    let own = rig.world().get::<Addresses<Ip4>>().own(rig.ports[0]);
    own.iter().map(ToString::to_string).collect()
}

#[suite::test]
fn a_lease_comes_is_renewed_rebound_and_ends() {
    let mut rig = rig(1);
    rig.cli("set dhcp client intfc p0 hostname router client-id me tos 46");
    let (headers, discover) = sent(&mut rig).remove(0);
    // Ethernet broadcast from our station; IPv4 with TTL 128 and the TOS; UDP without checksum.
    let mut want = [&[0xff; 6][..], &port_mac(0).0, &[8, 0]].concat();
    want.extend([0x45, 46, 1, 72, 0, 0, 0, 0, 128, 17]);
    want.extend(&headers[24..26]);
    want.extend([0, 0, 0, 0, 255, 255, 255, 255, 0, 68, 0, 67, 1, 52, 0, 0]);
    assert_eq!(headers, want);
    let xid_1 = xid(&discover);
    let mut want = vec![1, 1, 6, 0];
    want.extend(xid_1.to_be_bytes());
    want.extend([0, 0, 0x80, 0]);
    want.extend([0; 16]);
    want.extend(port_mac(0).0);
    want.resize(236, 0);
    want.extend([99, 130, 83, 99, 53, 1, 1, 12, 6]);
    want.extend(b"router");
    want.extend([61, 3, 0, b'm', b'e', 55, 13, 1, 28, 2, 3, 15, 6, 119, 12, 44, 47, 26, 121, 42]);
    want.extend([255]);
    want.resize(300, 0);
    assert_eq!(discover, want);
    // The same again each second, with the seconds that have passed.
    rig.seconds(2);
    let again = sent(&mut rig);
    assert_eq!(again.len(), 2);
    assert_eq!((xid(&again[1].1), again[1].1[8..10].to_vec()), (xid_1, vec![0, 2]));
    // Another transaction's offer and one for another station change nothing.
    let mut other = answer(2, xid_1 ^ 1, CLIENT, &[]);
    rig.receive_all(0, &[frame(&other)]);
    other[4..8].copy_from_slice(&xid_1.to_be_bytes());
    other[28] ^= 4;
    rig.receive_all(0, &[frame(&other)]);
    assert_eq!(state(&rig), State::Discover);
    // The request is for what was offered, at the server that offered it.
    rig.receive_all(0, &[frame(&answer(2, xid_1, CLIENT, USUAL))]);
    let (headers, request) = sent(&mut rig).remove(0);
    assert_eq!(headers[..6], [0xff; 6]);
    let mut want = vec![99, 130, 83, 99, 53, 1, 3, 54, 4];
    want.extend(SERVER);
    want.extend([50, 4]);
    want.extend(CLIENT);
    want.extend([12, 6]);
    assert_eq!((xid(&request), &request[236..236 + want.len()]), (xid_1, &want[..]));
    rig.receive_all(0, &[frame(&answer(5, xid_1, CLIENT, USUAL))]);
    assert_eq!(addresses(&rig), ["10.0.0.77/24"]);
    assert!(rig.cli("show ip fib 0.0.0.0/0").contains("10.0.0.2"));
    let shown = rig.cli("show dhcp client verbose");
    assert!(shown.contains("DHCP_BOUND") && shown.contains("9.9.9.9 8.8.8.8"), "{shown}");
    // ARP asks for the router, once.
    let arps = rig.sent();
    let arps: Vec<_> = arps.iter().filter(|(_, f)| f[12..14] == [8, 6]).collect();
    assert_eq!(arps.len(), 1, "{arps:02x?}");
    assert_eq!(arps[0].1[38..42], SERVER);
}

#[suite::test]
fn renewal_goes_to_the_server_rebinding_to_all() {
    let mut rig = bound();
    rig.world().clock.adjust(49_000_000_000);
    rig.bench.settle();
    sent(&mut rig);
    rig.seconds(1);
    // The router has never answered ARP: it is known from here on.
    let known = net::Neighbor::new(rig.ports[0], Ipv4Addr::from(SERVER).into(), peer_mac(0));
    let world = rig.world();
    world.get::<net::Neighbors>().set(&world, known).expect("set");
    rig.bench.settle();
    let mut messages = sent(&mut rig);
    rig.seconds(1);
    messages.extend(sent(&mut rig));
    let (headers, request) = messages.pop().expect("a renewal");
    assert_eq!(headers[..6], peer_mac(0).0);
    assert_eq!((&headers[26..30], &headers[30..34]), (&CLIENT[..], &SERVER[..]));
    assert_eq!((&request[12..16], request[242]), (&CLIENT[..], 3));
    assert_eq!(request[243], 50, "no option 54 (RFC 2131 4.3.2)");
    // The lease goes on from the request on, with a new router.
    let options =
        [1, 4, 255, 255, 255, 0, 3, 4, 10, 0, 0, 3, 51, 4, 0, 0, 0, 100, 58, 4, 0, 0, 0, 10];
    rig.receive_all(0, &[frame(&answer(5, xid(&request), CLIENT, &options))]);
    let route = rig.cli("show ip fib 0.0.0.0/0");
    assert!(route.contains("10.0.0.3") && !route.contains("via 10.0.0.2"), "{route}");
    // From T2 = 87.5 s on to all, without the server's identifier.
    sent(&mut rig);
    let mut last = Vec::new();
    for _ in 0..88 {
        rig.seconds(1);
        last.extend(sent(&mut rig));
    }
    let (headers, request) = last.pop().expect("a rebinding");
    assert_eq!(headers[..6], [0xff; 6]);
    assert_eq!((&request[12..16], request[243]), (&CLIENT[..], 50), "no option 54");
    // Ten unicast ones, each second, one a minute later, and the ones to all.
    let unicast = last.iter().filter(|(headers, _)| headers[0] != 0xff).count();
    assert_eq!(unicast, 11);
    // The end: no address, no route, and a new discovery.
    rig.seconds(13);
    assert_eq!(addresses(&rig), Vec::<String>::new());
    assert!(!rig.cli("show ip fib 0.0.0.0/0").contains("10.0.0.3"));
    let messages = sent(&mut rig);
    assert!(messages.iter().any(|(_, m)| m[242] == 1));
}

#[suite::test]
fn a_refusal_ends_the_lease() {
    let mut rig = bound();
    rig.cli("set interface state p0 down");
    sent(&mut rig);
    // Up again, the lease is verified with any server.
    rig.cli("set interface state p0 up");
    let request = sent(&mut rig).remove(0).1;
    assert_eq!((request[242], &request[12..16]), (3, &CLIENT[..]));
    let nak = frame(&answer(6, xid(&request), [0; 4], &[]));
    rig.receive_all(0, &[nak]);
    assert_eq!((state(&rig), addresses(&rig)), (State::Discover, vec![]));
    assert_eq!(sent(&mut rig), []);
    rig.seconds(1);
    assert_eq!(sent(&mut rig).remove(0).1[242], 1);
}

#[suite::test]
fn requests_without_an_answer_begin_anew() {
    let mut rig = rig(1);
    rig.cli("set dhcp client intfc p0");
    let discover = sent(&mut rig).remove(0).1;
    rig.receive_all(0, &[frame(&answer(2, xid(&discover), CLIENT, &[]))]);
    let mut kinds: Vec<u8> = sent(&mut rig).iter().map(|(_, m)| m[242]).collect();
    for _ in 0..8 {
        rig.seconds(1);
        kinds.extend(sent(&mut rig).iter().map(|(_, m)| m[242]));
    }
    assert_eq!(kinds, [3, 3, 3, 3, 3, 3, 3, 3, 1]);
    // After ten discoveries, one each second, one each 5 seconds.
    let mut times = Vec::new();
    for second in 1..30 {
        rig.seconds(1);
        times.extend(sent(&mut rig).iter().map(|_| second));
    }
    assert_eq!(times, [1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 19, 24, 29]);
}

#[suite::test]
fn classless_routes_replace_the_router() {
    let mut rig = rig(1);
    rig.cli("set dhcp client intfc p0 no-broadcast");
    let discover = sent(&mut rig).remove(0).1;
    assert_eq!(discover[10..12], [0, 0]);
    rig.receive_all(0, &[frame(&answer(2, xid(&discover), CLIENT, &[]))]);
    let request = sent(&mut rig).remove(0).1;
    let mut options = USUAL.to_vec();
    // 192.0.2.0/24 by 10.0.0.3, 198.51.100.0/25 on the link (RFC 3442).
    options.extend([121, 17, 24, 192, 0, 2, 10, 0, 0, 3, 25, 198, 51, 100, 0, 0, 0, 0, 0]);
    rig.receive_all(0, &[frame(&answer(5, xid(&request), CLIENT, &options))]);
    let routes = rig.cli("show ip fib");
    for want in ["192.0.2.0/24", "198.51.100.0/25"] {
        assert!(routes.contains(want), "{want} in {routes}");
    }
    assert!(!rig.cli("show ip fib 0.0.0.0/0").contains("10.0.0.2"));
    rig.cli("set dhcp client del intfc p0");
    assert_eq!(addresses(&rig), Vec::<String>::new());
    assert!(!rig.cli("show ip fib").contains("192.0.2.0/24"));
}

#[suite::test]
fn an_address_in_use_is_declined() {
    let mut rig = rig(2);
    rig.cli("set interface ip address p1 10.0.0.1/24");
    rig.cli("set dhcp client intfc p0");
    let discover = sent(&mut rig).remove(0).1;
    rig.receive_all(0, &[frame(&answer(2, xid(&discover), CLIENT, &[]))]);
    let request = sent(&mut rig).remove(0).1;
    rig.receive_all(0, &[frame(&answer(5, xid(&request), CLIENT, USUAL))]);
    let decline = sent(&mut rig).remove(0).1;
    assert_eq!((decline[242], state(&rig)), (4, State::Discover));
    rig.seconds(9);
    assert_eq!(sent(&mut rig), []);
    rig.seconds(1);
    assert_eq!(sent(&mut rig).remove(0).1[242], 1);
}

#[suite::test]
fn commands_refuse() {
    let mut rig = rig(1);
    rig.cli("set dhcp client intfc p0 client-id-hex 00ff");
    for (line, want, code) in [
        ("set dhcp client intfc p0", "already", -7),
        ("set dhcp client del intfc local0", "no DHCP client", -7),
        ("set dhcp client intfc local0", "Ethernet", -151),
    ] {
        let (retval, error) = rig.refused(line);
        assert!(error.contains(want) && retval == code, "{line}: {retval} {error}");
    }
    let (_, error) = rig.refused("set dhcp client intfc p0 client-id-hex 0");
    assert!(error.contains("hexadecimal"), "{error}");
    let shown = rig.cli("show dhcp client -j");
    assert!(shown.contains("00ff") && shown.contains("DHCP_DISCOVER"), "{shown}");
}

/// A server whose times are 0 doesn't make the client send a request for each acknowledgement.
#[suite::test]
fn times_of_zero_are_not_the_servers() {
    let mut rig = rig(1);
    rig.cli("set dhcp client intfc p0");
    let discover = sent(&mut rig).remove(0).1;
    rig.receive_all(0, &[frame(&answer(2, xid(&discover), CLIENT, &[]))]);
    let request = sent(&mut rig).remove(0).1;
    let options = [51, 4, 0, 0, 0, 100, 58, 4, 0, 0, 0, 0, 59, 4, 0, 0, 0, 0];
    rig.receive_all(0, &[frame(&answer(5, xid(&request), CLIENT, &options))]);
    let State::Bound(lease) = state(&rig) else { panic!("no lease") };
    assert_eq!((lease.grant.renew, lease.grant.rebind), (50, 88));
    rig.seconds(49);
    assert_eq!(sent(&mut rig), []);
}

/// Whatever arrives, each message is taken or dropped by name, and the client goes on.
#[suite::test]
fn mutated_messages_are_taken_or_dropped_by_name() {
    let mut rig = bound();
    let request =
        [answer(2, 0, CLIENT, &[]), answer(5, 0, CLIENT, USUAL), answer(6, 0, [0; 4], &[])];
    let bases: Vec<_> = request.iter().map(|m| frame(m)).collect();
    let mut mutator = testkit::mutate::Mutator::new(68);
    for round in 0..400 {
        let frames = mutator.vector(&bases, 250, 14);
        let cut: Vec<_> = frames
            .into_iter()
            .map(|mut f| {
                f.truncate(2000);
                if let Some(sum) = f.get_mut(40..42) {
                    sum.fill(0);
                }
                f
            })
            .collect();
        rig.receive_all(0, &cut);
        if round % 10 == 0 {
            rig.seconds(1);
        }
        rig.sent();
    }
    rig.cli("set dhcp client del intfc p0");
    assert_eq!(addresses(&rig), Vec::<String>::new());
}
