// SPDX-License-Identifier: Apache-2.0
//! Requests of the API, and words of commands.

use super::*;
use crate::api::*;
use std::cell::RefCell;

fn resolve(text: &str) -> DnsResolveName {
    let mut field = [0; 256];
    field[..text.len()].copy_from_slice(text.as_bytes());
    DnsResolveName { name: field }
}

fn server(ip: IpAddr, is_add: u8) -> DnsNameServerAddDel {
    let mut server_address = [0; 16];
    match ip {
        IpAddr::V4(ip) => server_address[..4].copy_from_slice(&ip.octets()),
        IpAddr::V6(ip) => server_address = ip.octets(),
    }
    DnsNameServerAddDel { is_ip6: ip.is_ipv6().into(), is_add, server_address }
}

/// Calls; a server answers each query by what `of` makes of it.
fn call<R: msg::Call>(
    rig: &mut Rig,
    request: R,
    of: impl Fn(&Datagram) -> Datagram,
) -> Result<R::Reply, i32> {
    let world = rig.world();
    let rig = RefCell::new(rig);
    let mut client = msg::Loopback::new(&*world, &world.api);
    client.call_while(request, || {
        let mut rig = rig.borrow_mut();
        rig.bench.settle();
        for asked in sent(&rig) {
            rig.receive_all(1, &[of(&asked).frame()]);
        }
    })
}

fn never(asked: &Datagram) -> Datagram {
    panic!("{asked:?}")
}

#[suite::test]
fn names_are_resolved_for_clients_of_the_api() {
    let mut rig = rig();
    rig.cli("dns cache add bozo.clown.org 1.2.3.4");
    let got = call(&mut rig, resolve("bozo.clown.org"), never).expect("known");
    assert_eq!((got.ip4_set, got.ip6_set, got.ip4_address), (1, 0, [1, 2, 3, 4]));
    let six: std::net::Ipv6Addr = "2001:db8::9".parse().expect("an address");
    let both = |asked: &Datagram| {
        let kind = asked.parsed().questions[0].kind;
        let data = match kind {
            RecordType::A => RecordData::A([9; 4].into()),
            _ => RecordData::Aaaa(six),
        };
        response(
            asked,
            0,
            &[alias("w.example", 9, "x.example"), (name("x.example"), 9, data)],
            None,
        )
    };
    let got = call(&mut rig, resolve("w.example"), both).expect("an answer");
    assert_eq!((got.ip4_set, got.ip6_set), (1, 1));
    assert_eq!((got.ip4_address, got.ip6_address), ([9; 4], six.octets()));
    let four = |asked: &Datagram| match asked.parsed().questions[0].kind {
        RecordType::A => response(asked, 0, &[a("v.example", 9, [8; 4])], None),
        _ => response(asked, 0, &[], None),
    };
    let got = call(&mut rig, resolve("v.example"), four).expect("an answer");
    assert_eq!((got.ip4_set, got.ip6_set, got.ip6_address), (1, 0, [0; 16]));
    for (rcode, retval) in [(3, -138), (0, -139), (1, -137), (2, -140), (5, -140)] {
        let fails = |asked: &Datagram| response(asked, rcode, &[], None);
        let text = format!("u{rcode}.example");
        assert_eq!(call(&mut rig, resolve(&text), fails).map(drop), Err(retval));
        if rcode != 0 && rcode != 3 {
            // It is known for a while that servers fail.
            assert_eq!(call(&mut rig, resolve(&text), never).map(drop), Err(retval));
        }
    }
}

#[suite::test]
fn addresses_are_resolved_to_names() {
    let mut rig = rig();
    let four =
        DnsResolveIp { is_ip6: 0, address: [10, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] };
    let of = |asked: &Datagram| {
        let parsed = asked.parsed();
        assert_eq!(parsed.questions, [question("4.3.2.10.in-addr.arpa", RecordType::PTR)]);
        let host = RecordData::Ptr(name("host.example.com"));
        response(asked, 0, &[(parsed.questions[0].name.clone(), 9, host)], None)
    };
    let got = call(&mut rig, four, of).expect("an answer");
    assert_eq!(&got.name[..17], b"host.example.com\0");
    let six = DnsResolveIp { is_ip6: 1, address: [0x20; 16] };
    let fails = |asked: &Datagram| {
        assert!(asked.parsed().questions[0].name.to_string().ends_with(".0.2.ip6.arpa"));
        response(asked, 3, &[], None)
    };
    assert_eq!(call(&mut rig, six, fails).map(drop), Err(-138));
}

#[suite::test]
fn wrong_requests_have_vpps_return_values() {
    let mut rig = Rig::new(PLUGINS, 2);
    let enable = |enable| DnsEnableDisable { enable };
    assert_eq!(call(&mut rig, enable(1), never), Err(-134));
    assert_eq!(call(&mut rig, enable(0), never), Ok(()));
    assert_eq!(call(&mut rig, resolve("a.example"), never).map(drop), Err(-136));
    let ip = DnsResolveIp { is_ip6: 0, address: [1; 16] };
    assert_eq!(call(&mut rig, ip, never).map(drop), Err(-136));
    let google: IpAddr = [8; 4].into();
    assert_eq!(call(&mut rig, server(google, 0), never), Err(-135));
    assert_eq!(call(&mut rig, server(google, 1), never), Ok(()));
    assert_eq!(call(&mut rig, server(google, 1), never), Ok(()), "said twice");
    for wrong in ["224.0.0.1", "0.0.0.0", "255.255.255.255", "ff02::1", "fe80::1", "::"] {
        let wrong = wrong.parse().expect("an address");
        assert_eq!(call(&mut rig, server(wrong, 1), never), Err(-58), "{wrong}");
    }
    assert_eq!(call(&mut rig, enable(1), never), Ok(()));
    assert_eq!(call(&mut rig, enable(1), never), Ok(()));
    for wrong in ["", "a..b", "a b"] {
        assert_eq!(call(&mut rig, resolve(wrong), never).map(drop), Err(-133), "{wrong}");
    }
    let full = DnsResolveName { name: [b'a'; 256] };
    assert_eq!(call(&mut rig, full, never).map(drop), Err(-133));
    assert_eq!(call(&mut rig, server(google, 0), never), Ok(()));
    assert_eq!(call(&mut rig, resolve("a.example"), never).map(drop), Err(-140));
    assert_eq!(call(&mut rig, enable(0), never), Ok(()));
}

#[suite::test]
fn a_call_ends_when_resolution_is_disabled() {
    let mut rig = rig();
    let world = rig.world();
    let mut client = msg::Loopback::new(&*world, &world.api);
    let got = client.call_while(resolve("a.example"), || _ = rig.cli("dns disable"));
    assert_eq!(got.map(drop), Err(-136));
}

#[suite::test]
fn a_client_that_goes_leaves_its_share() {
    let rig = rig();
    let world = rig.world();
    let dns = world.get::<crate::control::Dns>();
    let id = world.api.table().find("dns_resolve_name").expect("a request");
    for i in 0..40 {
        let mut client = msg::Loopback::new(&*world, &world.api);
        // Client, context, name.
        let body = [&[0, 0, 0, 1, 0, 0, 0, 9][..], &resolve(&format!("n{i}.example")).name];
        client.begin(id, &body.concat()).expect("a message");
        assert!(client.poll().expect("it goes on").is_none());
        assert_eq!(dns.state().table.pending.len(), 2, "both versions");
        drop(client);
        assert_eq!(dns.state().table.pending.len(), 0);
    }
}

#[suite::test]
fn commands_say_what_is_wrong() {
    let mut rig = Rig::new(PLUGINS, 0);
    for (line, code, part) in [
        ("dns enable", Some(-134), "dns name-server"),
        ("dns name-server 8.8.8.8 del", Some(-135), "8.8.8.8"),
        ("dns name-server 224.0.0.1", Some(-58), "multicast"),
        ("dns cache add a..b 1.2.3.4", Some(-133), "a..b"),
        ("dns cache add a.b", Some(-7), "address"),
        ("dns cache del a.b", Some(-6), "a.b is not in the cache"),
        ("test dns expire a.b", Some(-6), "a.b is not in the cache"),
        ("test dns unformat a.b", Some(-6), "a.b is not in the cache"),
    ] {
        let (retval, text) = rig.refused(line);
        assert!(text.contains(part) && code.is_none_or(|code| code == retval), "{line}: {text}");
    }
    assert_eq!(rig.cli("show dns servers"), "No name servers configured...\n");
    rig.cli("dns name-server 2001:db8::53");
    rig.cli("dns name-server 8.8.8.8");
    rig.cli("dns name-server 8.8.4.4");
    assert_eq!(
        rig.cli("show dns servers"),
        "ip4 name servers:\n8.8.8.8\n8.8.4.4\nip6 name servers:\n2001:db8::53\n"
    );
    (1..14).for_each(|i| _ = rig.cli(&format!("dns name-server 192.0.2.{i}")));
    assert_eq!(rig.refused("dns name-server 192.0.2.99").0, -162);
    rig.cli("dns enable");
    rig.cli("dns cache add a.b 1.2.3.4");
    assert_eq!(rig.refused("dns cache add A.B 1.2.3.5").0, -116);
    assert_eq!(rig.cli("test dns unformat a.b"), "ip4 address: 1.2.3.4\nip6 address: none\n");
    assert_eq!(rig.cli("test dns unformat a.b ip4"), "ip4 address: 1.2.3.4\n");
    assert!(rig.cli("test dns format").contains("\nquestion: www.example.com ANY\n"));
    let shown: serde_json::Value =
        serde_json::from_str(&rig.cli("show dns cache -j")).expect("JSON");
    assert_eq!(
        (&shown[0]["state"], &shown[0]["addresses"][0]),
        (&"static".into(), &"1.2.3.4".into())
    );
    rig.cli("dns cache clear");
    assert!(rig.cli("show dns cache").contains("[S] a.b: 1.2.3.4"), "the operator's stays");
}

#[suite::test]
fn an_answer_expires_by_hand_or_is_cleared() {
    let mut rig = rig();
    for line in
        ["test dns expire www.example.com", "dns cache clear", "dns cache del www.example.com"]
    {
        let asked = one(pass(&mut rig, &ask(2, 7, "www.example.com", RecordType::A)));
        assert_eq!(asked.port, 1, "{line}");
        pass(&mut rig, &response(&asked, 0, &[a("www.example.com", 600, [1; 4])], None));
        assert_eq!(one(pass(&mut rig, &ask(2, 7, "www.example.com", RecordType::A))).port, 0);
        rig.cli(line);
    }
}
