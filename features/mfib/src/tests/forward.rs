// SPDX-License-Identifier: Apache-2.0
use super::*;
use wire::checksum::Sum;

/// Group, sender behind `t1`, and where a header has its TTL.
const BOTH: [(&str, &str, usize); 2] =
    [("239.129.2.3", "10.0.1.9", 8), ("ff0e::8123:456", "2001:db8:1::9", 7)];

fn routed(group: &str) -> Bench {
    let mut bench = bench(4);
    run(
        &mut bench,
        &format!("ip mroute add {group} via t1 Accept via t2 Forward via t3 Forward Accept"),
    );
    bench
}

#[suite::test]
fn every_link_gets_a_packet_of_its_own() {
    for (group, source, ttl) in BOTH {
        let mut bench = routed(group);
        // Short ones are copied, of long ones the rest is shared.
        for len in [10, 250, 1300] {
            let frame = packet(source, group).ttl(9).udp(1, 2).payload_len(len).build();
            let got = sent(&mut bench, 1, &frame);
            assert_eq!(got.iter().map(|(tx_if, _)| *tx_if).collect::<Vec<_>>(), [2, 3]);
            for (tx_if, bytes) in &got {
                let mut want = frame.clone();
                want[6..12].copy_from_slice(&[2, 0, 0, 0, 0, *tx_if as u8]);
                want[14 + ttl] -= 1;
                if ttl == 8 {
                    assert!(Sum::of(&bytes[14..34]).is_valid());
                    want[24..26].copy_from_slice(&bytes[24..26]);
                }
                assert_eq!(*bytes, want, "{group} {len}");
            }
        }
        // A packet received on another accepting link goes to the other links only.
        let frame = packet(source, group).udp(1, 2).build();
        assert_eq!(ways(&mut bench, 3, &frame), [2]);
        let group_mac = [[1, 0, 0x5e, 1, 2, 3], [0x33, 0x33, 0x81, 0x23, 4, 0x56]];
        assert!(group_mac.contains(frame.first_chunk().expect("a header")));
    }
}

#[suite::test]
fn what_may_not_come_in_is_dropped_by_name() {
    for (group, source, _) in BOTH {
        let mut bench = routed(group);
        let ip = if group.contains(':') { "ip6" } else { "ip4" };
        let count =
            |bench: &Bench, node: &str, why: &str| bench.count(&format!("{ip}-{node}"), why);
        let udp = |packet: Packet| packet.udp(1, 2).payload_len(300).build();
        for rx_if in [2, 4] {
            assert_eq!(ways(&mut bench, rx_if, &udp(packet(source, group))), [0; 0]);
        }
        assert_eq!(count(&bench, "input", "rpf_failure"), 2);
        let other = if ip == "ip6" { "ff0e::9" } else { "239.9.9.9" };
        assert_eq!(ways(&mut bench, 1, &udp(packet(source, other))), [0; 0]);
        assert_eq!(count(&bench, "input", "rpf_failure"), 3);
        // No ICMP error about either copy.
        assert_eq!(ways(&mut bench, 1, &udp(packet(source, group).ttl(1))), [0; 0]);
        assert_eq!(count(&bench, "rewrite-mcast", "time_expired"), 2);
        run(&mut bench, &format!("ip mroute add {other} via t1 Accept"));
        assert_eq!(ways(&mut bench, 1, &udp(packet(source, other))), [0; 0]);
        assert_eq!(count(&bench, "replicate", "no_output"), 1);
        run(&mut bench, &format!("ip mroute add {other} Accept-all-itf via t4 Forward"));
        assert_eq!(ways(&mut bench, 3, &udp(packet(source, other))), [4]);
        run(&mut bench, &format!("ip mroute add {other} Drop"));
        assert_eq!(ways(&mut bench, 1, &udp(packet(source, other))), [0; 0]);
        assert_eq!(count(&bench, "input", "rpf_failure"), 4);
        // One sender's packets take a path of their own.
        run(&mut bench, &format!("ip mroute add {source} {group} via t2 Accept via t4 Forward"));
        assert_eq!(ways(&mut bench, 2, &udp(packet(source, group))), [4]);
        assert_eq!(ways(&mut bench, 1, &udp(packet(source, group))), [0; 0]);
        run(&mut bench, &format!("ip mroute del {source} {group}"));
        assert_eq!(ways(&mut bench, 1, &udp(packet(source, group))), [2, 3]);
        // A link that is down gets nothing.
        run(&mut bench, "set interface state t2 down");
        assert_eq!(ways(&mut bench, 1, &udp(packet(source, group))), [3]);
        // An interface that isn't in the table doesn't see its entries.
        let family = if ip == "ip6" { "ip6" } else { "ip" };
        run(&mut bench, &format!("{family} table add 7"));
        run(&mut bench, "set interface ip address del t1 all");
        run(&mut bench, &format!("set interface {family} table t1 7"));
        run(&mut bench, &format!("enable {ip} interface t1"));
        assert_eq!(ways(&mut bench, 1, &udp(packet(source, group))), [0; 0]);
        run(&mut bench, &format!("ip mroute add table 7 {group} via t1 Accept via t4 Forward"));
        assert_eq!(ways(&mut bench, 1, &udp(packet(source, group))), [4]);
    }
}

#[suite::test]
fn what_belongs_to_a_link_stays_there() {
    let groups = [("224.0.0.5", "10.0.1.9"), ("ff02::5", "fe80::9"), ("ff12::5", "2001:db8:1::9")];
    let (mut here, mut before) = (bench(2), [0, 0]);
    for (group, source) in groups {
        run(
            &mut here,
            &format!("ip mroute add {group} via t1 Accept via t2 Forward via local Forward"),
        );
        let frame = packet(source, group).udp(1, 2).build();
        assert_eq!(ways(&mut here, 1, &frame), [0; 0], "{group}");
        let now = ["ip4-local", "ip6-local"].map(|node| seen(&here, node));
        assert_eq!(now.iter().sum::<u64>(), before.iter().sum::<u64>() + 1, "{group}");
        before = now;
    }
    // Without a local receiver the packet is dropped with a reason; so is one from a link-local
    // source to a global group.
    run(&mut here, "ip mroute del 224.0.0.5 via local");
    assert_eq!(ways(&mut here, 1, &packet("10.0.1.9", "224.0.0.5").udp(1, 2).build()), [0; 0]);
    assert_eq!(here.count("ip4-replicate", "confined"), 1);
    run(&mut here, "ip mroute add ff0e::5 via t1 Accept via t2 Forward");
    assert_eq!(ways(&mut here, 1, &packet("fe80::9", "ff0e::5").udp(1, 2).build()), [0; 0]);
    assert_eq!(here.count("ip6-replicate", "confined"), 1);
    // Without entries: what every router hears is for us, on interfaces that have the protocol.
    let mut fresh = bench(1);
    for (group, source) in
        [("224.0.0.22", "10.0.1.9"), ("ff02::1", "fe80::9"), ("ff05::2", "2001:db8:1::9")]
    {
        assert_eq!(ways(&mut fresh, 1, &packet(source, group).udp(1, 2).build()), [0; 0]);
    }
    assert_eq!((seen(&fresh, "ip4-local"), seen(&fresh, "ip6-local")), (1, 2));
    run(&mut fresh, "set interface ip address del t1 10.0.1.1/24");
    ways(&mut fresh, 1, &packet("10.0.1.9", "224.0.0.22").udp(1, 2).build());
    assert_eq!((seen(&fresh, "ip4-local"), fresh.count("ip4-not-enabled", "not_enabled")), (1, 1));
}

/// RFC 4291 2.7, erratum 3480: packets from others to groups of a node are dropped, unless
/// configured otherwise, as in VPP.
#[suite::test]
fn groups_of_a_node_are_forwarded_by_entries_for_their_scope() {
    let mut bench = bench(3);
    let ip6 = |to: &str| packet("2001:db8:1::9", to).udp(1, 2).payload_len(300).build();
    let dropped = |bench: &Bench| bench.count("ip6-input", "rpf_failure");
    assert_eq!((ways(&mut bench, 1, &ip6("ff01::1")), dropped(&bench)), (vec![], 1));
    run(&mut bench, "ip mroute add ff00::/8 via t1 Accept via t2 Forward");
    assert_eq!((ways(&mut bench, 1, &ip6("ff01::1")), dropped(&bench)), (vec![], 2));
    assert_eq!(ways(&mut bench, 1, &ip6("ff0e::1")), [2], "that entry is for others");
    run(&mut bench, "ip mroute add ff01::1 via t1 Accept via t2 Forward via t3 Forward");
    assert_eq!((ways(&mut bench, 1, &ip6("ff01::1")), dropped(&bench)), (vec![2, 3], 2));
    assert_eq!((ways(&mut bench, 1, &ip6("ff01::2")), dropped(&bench)), (vec![], 3));
    run(&mut bench, "ip mroute add ff01::/16 via t1 Accept via t3 Forward");
    assert_eq!((ways(&mut bench, 1, &ip6("ff01::2")), dropped(&bench)), (vec![3], 3));
    // Scope 0 is reserved.
    run(&mut bench, "ip mroute add ff00::1 via t1 Accept via t3 Forward");
    assert_eq!(
        (ways(&mut bench, 1, &ip6("ff00::1")), bench.count("ip6-input", "group_scope")),
        (vec![], 1)
    );
}

/// A path with a next hop leads to that neighbour alone, by its own MAC address.
#[suite::test]
fn a_path_with_a_next_hop_leads_to_that_neighbour() {
    for (group, source, hop) in
        [("239.1.1.1", "10.0.1.9", "10.0.2.7"), ("ff0e::1", "2001:db8:1::9", "2001:db8:2::7")]
    {
        let mut bench = bench(3);
        let (world, mac) = (bench.world.clone(), MacAddr([2, 0xbb, 0, 0, 0, 7]));
        let known = net::Neighbor::new(SwIfIndex(2), hop.parse().expect("an address"), mac);
        let neighbors = world.get::<net::Neighbors>();
        neighbors.set(&world, net::Neighbor { is_static: true, ..known }).expect("set");
        run(&mut bench, &format!("ip mroute add {group} via t1 Accept via t3 Forward"));
        run(&mut bench, &format!("ip mroute add {group} via {hop} t2 Forward"));
        let frame = packet(source, group).udp(1, 2).payload_len(300).build();
        let got = sent(&mut bench, 1, &frame);
        assert_eq!(got.iter().map(|(tx_if, _)| *tx_if).collect::<Vec<_>>(), [2, 3], "{group}");
        assert_eq!(got[0].1[..12], [mac.octets(), [2, 0, 0, 0, 0, 2]].concat(), "{group}");
        assert_eq!(got[1].1[..6], frame[..6], "the other is to the group");
        assert!(got[0].1[14..] == got[1].1[14..], "{group}");
        let ttl = if hop.contains(':') { 21 } else { 22 };
        assert_eq!(got[0].1[ttl], frame[ttl] - 1, "{group}");
        let adjacencies = world.get::<net::Adjacencies>();
        let adj = adjacencies
            .find_neighbor(SwIfIndex(2), hop.parse().expect("an address"))
            .expect("held");
        assert_eq!(adjacencies.counters.sum(adj.at()), (1, frame.len() as u64 - 14));
        // To the group as well: the neighbour hears that.
        run(&mut bench, &format!("ip mroute add {group} via t2 Forward"));
        let got = sent(&mut bench, 1, &frame);
        assert_eq!(
            got.iter().map(|(tx_if, bytes)| (*tx_if, &bytes[..6])).collect::<Vec<_>>(),
            [(2, &frame[..6]), (3, &frame[..6])]
        );
        // No ICMP error about the end of its life.
        run(&mut bench, &format!("ip mroute del {group} via t2"));
        let last = packet(source, group).ttl(1).udp(1, 2).build();
        assert_eq!(ways(&mut bench, 1, &last), [0; 0], "{group}");
    }
}

#[suite::test]
fn a_smaller_link_gets_fragments_or_nothing() {
    let mut bench = routed("239.1.1.1");
    run(&mut bench, "set interface mtu packet 600 t2");
    let big = packet("10.0.1.9", "239.1.1.1").udp(1, 2).payload_len(1000).build();
    let got = sent(&mut bench, 1, &big);
    assert_eq!(got.iter().map(|(tx_if, _)| *tx_if).collect::<Vec<_>>(), [2, 2, 3]);
    for (tx_if, bytes) in &got {
        assert_eq!(bytes[..6], [1, 0, 0x5e, 1, 1, 1]);
        assert!(*tx_if == 3 || bytes.len() <= 614 && bytes[22] == 63, "{bytes:02x?}");
    }
    let whole = packet("10.0.1.9", "239.1.1.1").df().udp(1, 2).payload_len(1000).build();
    assert_eq!(ways(&mut bench, 1, &whole), [3]);
    assert_eq!(bench.count("ip4-rewrite-mcast", "too_big"), 1);
    let mut bench = routed("ff0e::1");
    run(&mut bench, "set interface mtu ip6 1280 t2");
    let big = packet("2001:db8:1::9", "ff0e::1").udp(1, 2).payload_len(1300).build();
    assert_eq!(ways(&mut bench, 1, &big), [3]);
    // The sender gets an error (RFC 4443 2.4 (e.3)).
    assert_eq!(bench.count("ip6-rewrite-mcast", "mtu_exceeded"), 1);
}
