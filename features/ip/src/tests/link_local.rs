// SPDX-License-Identifier: Apache-2.0
//! Link-local addresses stay on their link.

use super::forward::through;
use super::*;
use buffer::Flags;
use net::{IfEvent, LinkLocals};
use std::sync::Arc;

#[suite::test]
fn each_link_has_its_own() {
    let mut bench = router6();
    let links = bench.world.get::<LinkLocals>();
    assert_eq!(links.address(T1), Some(ip6("fe80::ff:fe00:1")));
    assert_eq!(links.address(T2), Some(ip6("fe80::ff:fe00:2")));
    // Ours on this link is us, ours on the other isn't.
    let from_link = |to: &str| pkt::ip6("fe80::9", to).udp(1, 2).payload_len(18).build();
    assert_eq!(through(&mut bench, &from_link("fe80::ff:fe00:1"))[0].node, "ip6-local");
    assert_eq!(through(&mut bench, &from_link("fe80::ff:fe00:2"))[0].node, "ip6-glean");
    let spoofed = pkt::ip6("fe80::ff:fe00:1", "fe80::ff:fe00:1").udp(1, 2).build();
    let out = bench.node("ip6-local", &[spoofed], |b| b.rx_if = T1.0);
    assert_eq!(out[0].reason, Some("ip6 spoofed local-address packet drops"));
    let out = bench.node("ip6-local", &[from_link("fe80::ff:fe00:1")], |b| b.rx_if = T1.0);
    assert_eq!(out[0].node, "ip6-udp-lookup");
    // fe80::2 is a neighbour on `t2` only.
    assert_eq!(through(&mut bench, &from_link("fe80::2"))[0].node, "ip6-glean");
    // Packets from a link-local address don't leave its link.
    let out = through(&mut bench, &from_link("3000::1"));
    assert_eq!(out[0].node, "ip6-icmp-error");
    assert_eq!(bench.count("ip6-rewrite", "source_scope"), 1);
}

/// The source of the packet before says nothing of another one, nor of the same on another link.
#[suite::test]
fn each_source_of_a_vector_is_judged() {
    let mut bench = router6();
    let (own, host) = ("fe80::ff:fe00:1", "fe80::9");
    // One after the other, twice in a row, and in both orders; few and many.
    let all = [(own, T1), (own, T1), (own, T2), (host, T2), (host, T1), (own, T1), (host, T1)];
    for n in [3, 7, 40] {
        let packets: Vec<_> = all.iter().cycle().take(n).collect();
        let bytes: Vec<_> = packets
            .iter()
            .map(|(from, rx_if)| {
                // The source port says which interface receives it.
                let to = pkt::ip6(*from, "2001:db8:1::1").udp(rx_if.0 as u16, 2);
                to.payload_len(18).build()
            })
            .collect();
        let out = bench.node("ip6-local", &bytes, |b| {
            b.rx_if = u16::from_be_bytes([b.data()[40], b.data()[41]]).into();
        });
        assert_eq!(out.len(), n);
        let mut spoofed = 0;
        for outcome in &out {
            assert!(bytes.contains(&outcome.bytes));
            let is_own = outcome.bytes[8..24] == bytes[0][8..24] && outcome.rx_if == T1.0;
            let why = is_own.then_some("ip6 spoofed local-address packet drops");
            assert_eq!(outcome.reason, why, "{outcome:?}");
            spoofed += usize::from(is_own);
        }
        assert_eq!(spoofed, packets.iter().filter(|packet| ***packet == (own, T1)).count());
    }
}

#[suite::test]
fn a_packet_of_our_own_names_its_link() {
    let mut bench = router6();
    let table = bench.world.get::<LinkLocals>().table(T2).expect("IPv6 is enabled");
    let packet = pkt::ip6("fe80::ff:fe00:2", "fe80::2").udp(1, 2).build();
    let nodes = ["ip6-lookup", "ip6-link-local"];
    let out = bench.node(nodes[0], std::slice::from_ref(&packet), |b| {
        b.flags.insert(Flags::LOCAL | Flags::TABLE);
        b.tx_if = table.0;
    });
    assert_eq!(out[0].node, "ip6-rewrite");
    let out = bench.node(nodes[0], std::slice::from_ref(&packet), |b| b.flags.insert(Flags::LOCAL));
    assert_eq!(out[0].node, nodes[1]);
    let out = bench.node(nodes[1], std::slice::from_ref(&packet), |b| {
        b.flags.insert(Flags::LOCAL);
        b.rx_if = 0;
    });
    assert_eq!(out[0].reason, Some("ip6 link-local destination without a link"));
    let out = bench.node(nodes[1], &[packet], |b| b.rx_if = T2.0);
    assert_eq!((out[0].node.as_str(), out[0].tx_if), (nodes[0], table.0));
}

#[suite::test]
fn the_address_follows_the_interface() {
    let bench = router6();
    let world = &bench.world;
    let (links, interfaces) = (world.get::<LinkLocals>(), world.get::<Interfaces>());
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = told.clone();
    interfaces.subscribe(move |_, event| log.lock().expect("no panic").push(event));
    let kind = |sw_if| {
        let fib = world.get::<Fib<Ip6>>();
        let mut reader = world.qsbr.register();
        let turn = reader.turn();
        let table = links.table(sw_if).expect("IPv6 is enabled");
        let address = links.address(sw_if).expect("an address");
        assert_eq!(links.of(sw_if.0, &turn), Some(address));
        let adj = fib.adj(table, address, &turn).expect("the table");
        world.get::<net::Adjacencies>().get(adj, &turn).expect("there").kind
    };
    interfaces.set_mac(world, T1, MacAddr([2, 0, 0, 0, 0, 7])).expect("set");
    assert_eq!(
        (links.address(T1), kind(T1)),
        (Some(ip6("fe80::ff:fe00:7")), net::AdjKind::Receive)
    );
    assert!(told.lock().expect("no panic").contains(&IfEvent::Address(T1, true)));
    links.set(world, T1, Some(ip6("fe80::1"))).expect("set");
    assert_eq!((links.address(T1), kind(T1)), (Some(ip6("fe80::1")), net::AdjKind::Receive));
    interfaces.set_mac(world, T1, MacAddr([2, 0, 0, 0, 0, 8])).expect("set");
    assert_eq!(links.address(T1), Some(ip6("fe80::1")), "it was set by hand");
    for wrong in ["fe80::", "2001:db8::1", "::1"] {
        assert_eq!(links.set(world, T1, Some(ip6(wrong))).expect_err(wrong).code(), -7);
    }
    links.set(world, T1, None).expect("set");
    assert_eq!(links.address(T1), Some(ip6("fe80::ff:fe00:8")));
    let tables = world.get::<Fib<Ip6>>().list_tables().len();
    assert_eq!(tables, 1, "links' tables are not among the others");
    let addresses = world.get::<Addresses<Ip6>>();
    addresses.clear(world, T1).expect("cleared");
    assert_eq!((links.address(T1), links.table(T1)), (None, None));
    addresses.enable(world, T1, true).expect("enabled");
    assert_eq!(
        (links.address(T1), kind(T1)),
        (Some(ip6("fe80::ff:fe00:8")), net::AdjKind::Receive)
    );
    interfaces.delete(world, T2).expect("deleted");
    assert_eq!((links.address(T2), links.table(T2)), (None, None));
}

#[suite::test]
fn a_loopback_address_and_groups_are_there_in_name_only() {
    let mut bench = router6();
    let world = bench.world.clone();
    let addresses = world.get::<net::Addresses<wire::Ip6>>();
    let names = ["::1/128", "ff02::1/128", "ff1e::7/64", "ff1e::8/64"]
        .map(|p| p.parse().expect("a prefix"));
    let routes = |bench: &mut Bench| bench.cli("show ip6 fib").expect("shown");
    let (own, before) = (addresses.own(T1), routes(&mut bench));
    for name in names {
        crate::control::add_address::<wire::Ip6>(&world, T1, name).expect("added");
    }
    assert_eq!(addresses.own(T1), [&own[..], &names[..]].concat());
    assert_eq!(addresses.usable(T1), own, "nothing is sent from them");
    assert_eq!(routes(&mut bench), before, "nothing leads to them");
    let out =
        through(&mut bench, &pkt::ip6("2001:db8:1::9", "::1").udp(1, 2).payload_len(18).build());
    assert_eq!(
        out[0].node, "ip6-drop",
        "a router delivers nothing of a link's to the loopback address"
    );
    for name in names {
        crate::control::remove_address::<wire::Ip6>(&world, T1, name).expect("removed");
    }
    assert_eq!((addresses.own(T1), routes(&mut bench)), (own, before));
}
