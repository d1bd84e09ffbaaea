// SPDX-License-Identifier: Apache-2.0
//! Which hosts may send.

use super::*;
use crate::macip::api::*;
use net::drive::at;
use std::net::Ipv4Addr;
use wire::MacAddr;

/// A packet with this source MAC address and source IP address, from the network of port 0.
fn from(mac: MacAddr, v6: bool, source: &str) -> Packet {
    let source = source.parse().expect("an address");
    pkt::ether(mac, port_mac(0)).ip(source, peer(v6, 1)).udp(1, 2).payload_len(30)
}

const HOST: MacAddr = MacAddr([2, 0, 0, 0, 0, 7]);
const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 1, 7]);

#[suite::test]
fn routed_packets_come_from_hosts_that_may_send() {
    let mut rig = routers(2, false);
    rig.cli(
        "set acl-plugin macip acl deny ip 10.0.0.66/32 mac 00:00:00:00:00:00 mask 0, \
         permit ip 10.0.0.0/24 mac 02:00:00:00:00:07 mask 48, permit ip 2001:db8:0::/64 mac 02:00:00:00:00:00 mask 16",
    );
    rig.cli("set acl-plugin macip interface p0 acl 0");
    for (packet, pass) in [
        (from(HOST, false, "10.0.0.5"), true),
        (from(HOST, false, "10.0.0.66"), false),
        (from(HOST, false, "10.0.9.5"), false),
        (from(OTHER, false, "10.0.0.5"), false),
        (from(OTHER, true, "2001:db8::5"), true),
        (from(MacAddr([4, 0, 0, 0, 0, 7]), true, "2001:db8::5"), false),
        (from(HOST, true, "2001:db8:9::5"), false),
    ] {
        assert_eq!(passes(&mut rig, 0, 1, &packet), pass, "{packet:?}");
    }
    assert_eq!(rig.count("acl-plugin-macip-in-ip4-fa", "MACIP ACL deny packets"), 3);
    rig.cli("set acl-plugin macip acl index 0 permit ip 0.0.0.0/0 mac 00:00:00:00:00:00 mask 0");
    assert!(passes(&mut rig, 0, 1, &from(OTHER, false, "10.0.9.5")));
    rig.cli("delete acl-plugin macip acl index 0");
    assert!(passes(&mut rig, 0, 1, &from(OTHER, true, "2001:db8:9::5")));
}

#[suite::test]
fn switched_frames_and_arp_come_from_hosts_that_may_send() {
    let mut rig = Rig::new(PLUGINS, 2);
    for i in 0..2 {
        rig.cli(&format!("set interface l2 bridge p{i} 1"));
    }
    let peer = MacAddr([2, 0xcc, 0, 0, 0, 1]);
    rig.pass(1, &pkt::ether(peer, HOST).payload([0; 46]).build());
    rig.cli("set acl-plugin macip acl action 3 ip 10.0.0.5/32 mac 02:00:00:00:00:07 mask 48");
    rig.cli("set acl-plugin macip interface p0 acl 0");
    let ip =
        |mac, source: &str| pkt::ether(mac, peer).ip4(source, "10.0.0.9").udp(1, 2).payload_len(30);
    let tagged = |mac, source: &str| {
        pkt::ether(mac, peer).vlan(7).ip4(source, "10.0.0.9").udp(1, 2).payload_len(30)
    };
    let arp = |mac, source: [u8; 4]| {
        pkt::ether(mac, peer).arp(wire::Arp::new(
            wire::ArpOp::REPLY,
            (mac, Ipv4Addr::from(source)),
            (peer, Ipv4Addr::new(10, 0, 0, 9)),
        ))
    };
    for (packet, pass) in [
        (ip(HOST, "10.0.0.5"), true),
        (ip(HOST, "10.0.0.6"), false),
        (ip(OTHER, "10.0.0.5"), false),
        (tagged(HOST, "10.0.0.5"), true),
        (tagged(OTHER, "10.0.0.5"), false),
        (arp(HOST, [10, 0, 0, 5]), true),
        (arp(HOST, [10, 0, 0, 6]), false),
        (pkt::ether(HOST, peer).ethertype(wire::EtherType(0x88b5)).payload([1; 60]), false),
    ] {
        let bytes = packet.build();
        let wanted = if pass { at(&[1], &bytes) } else { Vec::new() };
        assert_eq!(rig.pass(0, &bytes), wanted, "{packet:?}");
    }
    // A rule with action 3 checks what is sent to the host, too.
    let back =
        |to: &str| pkt::ether(peer, HOST).ip4("10.0.0.9", to).udp(1, 2).payload_len(30).build();
    assert_eq!(rig.pass(1, &back("10.0.0.5")), at(&[0], &back("10.0.0.5")));
    assert_eq!(rig.pass(1, &back("10.0.0.6")), []);
}

#[suite::test]
fn clients_make_and_apply_acls_of_hosts() {
    let mut rig = routers(2, false);
    rig.cli("set acl-plugin macip acl permit ip 10.0.0.0/8 mac 02:00:00:00:00:07 mask 48");
    let p1 = net::api::InterfaceIndex::from(rig.ports[1]);
    let mut client = rig.bench.api();
    let [acl] = &client.dump(MacipAclDump { acl_index: u32::MAX })[..] else { panic!("one") };
    let rules = acl.r.clone();
    let add = |acl_index, r| MacipAclAddReplace { acl_index, tag: "x".into(), r };
    let reply = client.call(add(u32::MAX, rules.clone())).expect("a reply");
    assert_eq!((reply.retval, reply.acl_index), (0, 1));
    assert_eq!(client.call(add(7, rules)).expect("a reply").retval, -6);
    let apply = |is_add, acl_index| MacipAclInterfaceAddDel { is_add, sw_if_index: p1, acl_index };
    assert_eq!(client.call(apply(false, 0)), Err(-6));
    assert_eq!(client.call(apply(true, 9)), Err(-6));
    assert_eq!(client.call(apply(true, 0)), Ok(()));
    assert_eq!(client.call(apply(true, 1)), Ok(()));
    let get = client.call(MacipAclInterfaceGet {}).expect("a reply").acls;
    assert_eq!(get, [u32::MAX, u32::MAX, 1]);
    let details = client.dump(MacipAclInterfaceListDump { sw_if_index: p1 });
    assert_eq!(details.iter().map(|item| item.acls.clone()).collect::<Vec<_>>(), [[1]]);
    // An ACL that is deleted is taken away in silence.
    assert_eq!(client.call(MacipAclDel { acl_index: 1 }), Ok(()));
    assert_eq!(client.call(apply(false, 1)), Err(-6));
    assert_eq!(client.call(MacipAclInterfaceGet {}).expect("a reply").acls, [u32::MAX; 3]);
}
