// SPDX-License-Identifier: Apache-2.0
//! Clients that ask.

use super::*;

#[suite::test]
fn a_name_that_the_operator_has_given_addresses_is_answered_at_once() {
    let mut rig = rig();
    rig.cli("dns cache add bozo.clown.org 1.2.3.4 2001:db8::7");
    let got = one(pass(&mut rig, &ask(2, 0x1234, "Bozo.Clown.ORG", RecordType::A)));
    assert_eq!((got.from, got.to), (at("10.0.0.1", 53), at("10.0.0.2", 1234)));
    assert_eq!(addresses(&got).0, ["1.2.3.4".parse::<IpAddr>().expect("ip")]);
    // The id and the letters are the client's.
    assert_eq!(got.message[..4], [0x12, 0x34, 0x81, 0x80]);
    assert_eq!(&got.message[12..28], b"\x04Bozo\x05Clown\x03ORG\0");
    let got = one(pass(&mut rig, &ask(2, 1, "bozo.clown.org", RecordType::AAAA)));
    assert_eq!(addresses(&got).0, ["2001:db8::7".parse::<IpAddr>().expect("ip")]);
    let got = one(pass(&mut rig, &ask(2, 1, "bozo.clown.org", RecordType::ANY)));
    assert_eq!(addresses(&got).0.len(), 2);
    // Nobody is asked for other records of the name.
    let got = one(pass(&mut rig, &ask(2, 1, "bozo.clown.org", RecordType::MX)));
    assert_eq!((got.port, got.parsed().header.answers.get()), (0, 0));
    // The name of the address.
    for ip in ["4.3.2.1.in-addr.arpa", &Name::reverse(at("2001:db8::7", 0).ip()).to_string()] {
        let got = one(pass(&mut rig, &ask(2, 1, ip, RecordType::PTR)));
        assert_eq!(got.parsed().answers[0].data, RecordData::Ptr(name("bozo.clown.org")));
    }
    assert_eq!(rig.count("dns4-request", "DNS request pkts processed"), 6);
    rig.cli("dns cache del bozo.clown.org");
    assert_eq!(one(pass(&mut rig, &ask(2, 1, "bozo.clown.org", RecordType::A))).port, 1);
}

#[suite::test]
fn an_address_of_the_network_127_may_be_asked() {
    let mut rig = rig();
    rig.cli("set interface ip address p0 127.0.0.1/8");
    rig.cli("dns cache add bozo.clown.org 1.2.3.4");
    let mut asks = ask(2, 1, "bozo.clown.org", RecordType::A);
    asks.to = at("127.0.0.1", 53);
    let got = one(pass(&mut rig, &asks));
    assert_eq!((got.from, addresses(&got).0.len()), (at("127.0.0.1", 53), 1));
    rig.cli("ip route del 10.9.0.0/24 via 10.0.1.2 p1");
    rig.cli("dns name-server 8.8.8.8");
    rig.cli("dns name-server 10.0.1.2 del");
    let mut asks = ask(2, 1, "no.clown.org", RecordType::A);
    asks.to = at("127.0.0.1", 53);
    assert_eq!(pass(&mut rig, &asks), [], "no route to the server");
    let shown = rig.cli("show dns cache verbose");
    assert!(shown.contains("[S] bozo.clown.org: 1.2.3.4\n"), "{shown}");
    assert!(shown.contains("[P] no.clown.org: A, asks 8.8.8.8 no route"), "{shown}");
}

#[suite::test]
fn an_answer_is_asked_once_and_kept_until_it_ends() {
    let mut rig = rig();
    let asked = one(pass(&mut rig, &ask(2, 7, "www.example.com", RecordType::A)));
    assert_eq!((asked.port, asked.to), (1, at("10.0.1.2", 53)));
    assert_eq!((asked.from.ip(), asked.from.port() >= 49152), (at("10.0.1.1", 0).ip(), true));
    let parsed = asked.parsed();
    assert_eq!(parsed.questions, [question("www.example.com", RecordType::A)]);
    assert_eq!(parsed.header.flags.get(), DnsHeader::RECURSION_DESIRED);
    let shown = rig.cli("show dns cache");
    assert_eq!(shown, "[P] www.example.com: A\n");
    // Another client, and a repeated query.
    let mut second = ask(3, 8, "WWW.example.com", RecordType::A);
    second.from.set_port(99);
    assert_eq!(pass(&mut rig, &second), []);
    assert_eq!(pass(&mut rig, &ask(2, 7, "www.example.com", RecordType::A)), []);
    let answers =
        [alias("www.example.com", 300, "example.com"), a("example.com", 60, [93, 184, 216, 34])];
    let got = pass(&mut rig, &response(&asked, 0, &answers, None));
    let to: Vec<_> = got.iter().map(|got| (got.to, got.id(), addresses(got).1)).collect();
    assert_eq!(
        to,
        [(at("10.0.0.2", 1234), 7, Some(60)), (at("10.0.0.3", 99), 8, Some(60))],
        "each one once"
    );
    assert_eq!(&got[1].message[12..16], b"\x03WWW");
    let shown = rig.cli("show dns cache");
    let known = "    www.example.com: A example.com, 93.184.216.34  TTL left ";
    assert!(shown.starts_with(known) && shown.lines().count() == 1, "{shown}");
    // From the cache, without the time that has passed.
    assert_eq!(wait(&mut rig, 10_500), []);
    let got = one(pass(&mut rig, &ask(4, 9, "www.example.com", RecordType::A)));
    let ttls: Vec<_> = got.parsed().answers.iter().map(|record| record.ttl).collect();
    assert_eq!((got.port, got.id(), ttls[0] - ttls[1]), (0, 9, 240));
    assert!((40..=50).contains(&ttls[1]), "{ttls:?}");
    // Another type is another question.
    assert_eq!(one(pass(&mut rig, &ask(4, 9, "www.example.com", RecordType::AAAA))).port, 1);
    wait(&mut rig, 49_500);
    assert_eq!(one(pass(&mut rig, &ask(4, 9, "www.example.com", RecordType::A))).port, 1);
}

#[suite::test]
fn clients_and_servers_of_ip6_are_served_too() {
    let mut rig = rig();
    rig.cli("dns name-server 2001:db8:1::2");
    rig.cli("dns name-server 10.0.1.2 del");
    let message = query(5, &question("a.example", RecordType::AAAA));
    let asks =
        Datagram { port: 0, from: at("2001:db8::2", 4000), to: at("2001:db8::1", 53), message };
    let asked = one(pass(&mut rig, &asks));
    assert_eq!((asked.from.ip(), asked.to), (at("2001:db8:1::1", 0).ip(), at("2001:db8:1::2", 53)));
    let six = "2001:db8::99".parse().expect("an address");
    let answer = (name("a.example"), 100, RecordData::Aaaa(six));
    let got = one(pass(&mut rig, &response(&asked, 0, &[answer], None)));
    assert_eq!((got.from, got.to), (asks.to, asks.from));
    assert_eq!(addresses(&got), (vec![six.into()], Some(100)));
    assert_eq!(rig.count("dns6-request", "DNS request pkts processed"), 1);
    assert_eq!(rig.count("dns46_reply", "DNS reply pkts processed"), 1);
}

#[suite::test]
fn a_client_of_the_link_gets_its_answer_by_the_link() {
    let mut rig = rig();
    rig.cli("dns cache add a.example 1.2.3.4");
    let (port, world) = (rig.ports[0], rig.world());
    let link = world.get::<net::LinkLocals>().address(port).expect("IPv6 is enabled");
    let peer: IpAddr = "fe80::2".parse().expect("an address");
    let known = Neighbor { is_static: true, ..Neighbor::new(port, peer, peer_mac(0)) };
    world.get::<Neighbors>().set(&world, known).expect("set");
    let message = query(5, &question("a.example", RecordType::A));
    let to = SocketAddr::new(link.into(), 53);
    let got = one(pass(&mut rig, &Datagram { port: 0, from: at("fe80::2", 4000), to, message }));
    assert_eq!((got.port, got.from, got.to), (0, to, at("fe80::2", 4000)));
}

#[suite::test]
fn wrong_queries_are_refused_or_dropped_by_name() {
    let mut rig = rig();
    let good = ask(2, 7, "www.example.com", RecordType::A);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bad = good.clone();
        change(&mut bad.message);
        bad
    };
    let rcode = |rig: &mut Rig, bad: &Datagram| {
        let refusal = one(pass(rig, bad)).parsed().header;
        // The opcode, and that others be asked, are the query's (RFC 1035 4.1.1).
        let asked = u16::from_be_bytes([bad.message[2], bad.message[3]]);
        assert_eq!(refusal.flags.get() & 0xf900, 0x8000 | asked & 0x7900);
        refusal.rcode().0
    };
    assert_eq!(rcode(&mut rig, &with(&|m| m.truncate(20))), 1);
    assert_eq!(rcode(&mut rig, &with(&|m| m.push(0))), 1);
    // A pointer where the name has to be.
    let pointer = with(&|m| m.splice(12.., [0xc0, 4, 0, 1, 0, 1]).for_each(drop));
    assert_eq!(rcode(&mut rig, &pointer), 1);
    assert_eq!(rcode(&mut rig, &with(&|m| m[2] |= 0x28)), 4, "an update");
    assert_eq!(rcode(&mut rig, &with(&|m| *m.last_mut().expect("a class") = 3)), 4);
    assert_eq!(rcode(&mut rig, &ask(2, 7, "example.com", RecordType::AXFR)), 4);
    assert_eq!(rcode(&mut rig, &with(&|m| m[2] &= !1)), 5, "nobody may be asked");
    for (bad, counter) in [
        (with(&|m| m[2] |= 0x80), "DNS pkts with serious discrepancies (dropped)"),
        (with(&|m| m.truncate(11)), "DNS pkts with serious discrepancies (dropped)"),
        (with(&|m| m[5] = 0), "DNS pkts with serious discrepancies (dropped)"),
        (with(&|m| m.resize(513, 0)), "DNS pkts with serious discrepancies (dropped)"),
        (with(&|m| m[5] = 2), "DNS pkts asking too many questions"),
    ] {
        let before = rig.count("dns4-request", counter);
        assert_eq!(pass(&mut rig, &bad), []);
        assert_eq!(rig.count("dns4-request", counter), before + 1);
    }
    // Additional records of a client, such as those of EDNS, are ignored.
    let edns = with(&|m| {
        m[11] = 1;
        m.extend([0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0, 0]);
    });
    assert_eq!(one(pass(&mut rig, &edns)).port, 1);
}

#[suite::test]
fn a_query_to_a_group_is_dropped() {
    let mut rig = rig();
    rig.cli("dns cache add a.example 1.2.3.4");
    let counter = "DNS pkts with serious discrepancies (dropped)";
    let mut asks = ask(2, 1, "a.example", RecordType::A);
    assert_eq!(one(pass(&mut rig, &asks)).from, at("10.0.0.1", 53));
    for group in ["224.0.0.1", "10.0.0.255", "255.255.255.255"] {
        asks.to = at(group, 53);
        assert_eq!(pass(&mut rig, &asks), [], "{group}");
    }
    assert!(rig.count("dns4-request", counter) > 0);
    let to = at("ff02::1", 53);
    let asks = Datagram { from: at("2001:db8::2", 4000), to, ..asks };
    assert_eq!(pass(&mut rig, &asks), []);
    assert_eq!(rig.count("dns6-request", "DNS request pkts processed"), 0);
}

#[suite::test]
fn a_disabled_resolver_has_no_ports() {
    let mut rig = rig();
    let asked = one(pass(&mut rig, &ask(2, 7, "www.example.com", RecordType::A)));
    rig.cli("dns disable");
    assert_eq!(rig.sent(), []);
    // ICMP errors: nobody has the ports.
    rig.receive_all(0, &[ask(2, 8, "www.example.com", RecordType::A).frame()]);
    rig.receive_all(1, &[response(&asked, 0, &[], None).frame()]);
    assert!(rig.sent().iter().all(|(_, frame)| frame[23] == 1));
    assert!(rig.cli("show dns cache").starts_with("The DNS cache is disabled...\n"));
    rig.cli("dns enable");
    assert_eq!(rig.cli("show dns cache"), "The DNS cache is empty...\n");
    assert_eq!(one(pass(&mut rig, &ask(2, 7, "www.example.com", RecordType::A))).port, 1);
}
