// SPDX-License-Identifier: Apache-2.0
use crate::api::*;
use crate::{PLUGIN, register_nsh};
use graph::Plugin;
use net::api::{InterfaceIndex, IpProto};
use net::drive::{Rig, peer_mac};
use net::{IfCounters, Interfaces};
use std::net::IpAddr;
use testkit::pkt::{self, Checksum};

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &mfib::PLUGIN,
    &l2::PLUGIN,
    &PLUGIN,
];

/// Ports p0 to p2 route; p3 is in bridge domain 7.
fn rig(lines: &[&str]) -> Rig {
    let mut rig = Rig::new(PLUGINS, 3);
    rig.networks();
    rig.add_port(3);
    rig.cli("set interface l2 bridge p3 7");
    lines.iter().for_each(|line| _ = rig.cli(line));
    rig
}

/// A tunnel of IP packets over IPv4, and one of frames over IPv6 in domain 7.
fn two() -> Rig {
    rig(&[
        "create vxlan-gpe tunnel local 10.0.1.1 remote 10.0.1.2 vni 13",
        "create vxlan-gpe tunnel local 2001:db8:2::1 remote 2001:db8:2::2 vni 14 next-ethernet",
        "set interface l2 bridge vxlan_gpe_tunnel1 7",
        "set interface ip address vxlan_gpe_tunnel0 10.9.0.1/24",
        "enable ip6 interface vxlan_gpe_tunnel0",
        "ip route add 20.0.0.0/8 via vxlan_gpe_tunnel0",
        "ip route add 2004::/16 via vxlan_gpe_tunnel0",
        "ip route add 30.0.0.0/8 via 10.0.2.2 p2",
    ])
}

fn inner(to: &str, ttl: u8) -> Vec<u8> {
    if to.contains(':') {
        return pkt::ip6("2001:db8::9", to).ttl(ttl).udp(1, 2).payload_len(31).build();
    }
    pkt::ip4("10.0.0.9", to).ttl(ttl).udp(1, 2).payload_len(31).build()
}

fn frame(to: u8) -> Vec<u8> {
    [&[2, 0, 0, 0, 9, to][..], &[2, 0, 0, 0, 9, 1], &[8, 0], &inner("192.0.2.2", 9)].concat()
}

fn header(flags: u8, next: u8, vni: u8) -> [u8; 8] {
    [flags, 0, 0, next, 0, 0, vni, 0]
}

fn from4(to: &str, port: u16, header: [u8; 8], inner: &[u8]) -> Vec<u8> {
    let payload = [&header[..], inner].concat();
    let packet = pkt::ip4("10.0.1.2", to).udp(7, port).checksum(Checksum::Value(0));
    packet.payload(payload).build()
}

fn from6(header: [u8; 8], inner: &[u8]) -> Vec<u8> {
    let payload = [&header[..], inner].concat();
    pkt::ip6("2001:db8:2::2", "2001:db8:2::1").udp(7, 4790).payload(payload).build()
}

#[suite::test]
fn packets_and_frames_go_in_datagrams_and_come_back() {
    let mut rig = two();
    // The next protocol is that of the packet.
    for (id, (to, next)) in [("20.0.0.1", 1), ("2004::1", 2)].into_iter().enumerate() {
        let sent = rig.route(&inner(to, 9));
        let port = u16::from_be_bytes([sent[0].1[20], sent[0].1[21]]);
        let want = pkt::ip4("10.0.1.1", "10.0.1.2").ttl(253).id(id as u16).udp(port, 4790);
        let payload = [&header(0xc, next, 13)[..], &inner(to, 8)].concat();
        assert_eq!(sent, [(1, want.checksum(Checksum::Value(0)).payload(payload).build())]);
    }
    for (to, next, port) in [("30.0.0.1", 1, 2), ("2001:db8:1::2", 2, 1)] {
        let datagram = from4("10.0.1.1", 4790, header(0xc, next, 13), &inner(to, 9));
        assert_eq!(rig.route(&datagram), [(port, inner(to, 8))]);
    }
    let bytes = frame(2);
    let sent = rig.pass(3, &bytes);
    let port = u16::from_be_bytes([sent[0].1[54], sent[0].1[55]]);
    let want = pkt::ip6("2001:db8:2::1", "2001:db8:2::2").ttl(254).udp(port, 4790);
    let want = want.payload([&header(0xc, 3, 14)[..], &bytes].concat()).build();
    assert_eq!((sent.len(), sent[0].0, &sent[0].1[14..]), (1, 2, &want[..]));
    let answer = [&bytes[6..12], &bytes[..6], &bytes[12..]].concat();
    let at_p3 = [(3, answer[14..].to_vec())];
    assert_eq!(rig.route(&from6(header(0xc, 3, 14), &answer)), at_p3);
    // Without the flag, the header is VXLAN's and the payload a frame.
    assert_eq!(rig.route(&from6(header(8, 0, 14), &answer)), at_p3);
    assert_eq!(rig.count("vxlan-gpe-encap", "encapsulated"), 3);
    assert_eq!(rig.count("vxlan6-gpe-input", "good packets decapsulated"), 2);
    let world = rig.world();
    let at = world.get::<Interfaces>().find("vxlan_gpe_tunnel1").expect("there").at();
    let counters = world.get::<IfCounters>();
    assert_eq!(counters.tx.sum(at), (1, bytes.len() as u64 + 56), "with outer headers");
    assert_eq!(counters.rx.sum(at), (2, 2 * bytes.len() as u64), "without");
}

#[suite::test]
fn headers_are_dropped_by_name() {
    let mut rig = two();
    let packet = inner("30.0.0.1", 9);
    for (n, (header, counter)) in [
        (header(4, 1, 13), "bad_flags"),
        (header(0x1c, 1, 13), "bad_flags"),
        (header(0xd, 1, 13), "oam"),
        (header(0xc, 4, 13), "nsh"),
        (header(0xc, 5, 13), "unknown_protocol"),
        (header(0xc, 0, 13), "unknown_protocol"),
        (header(0xc, 3, 13), "frame"),
        (header(0xc, 1, 15), "no such tunnel packets"),
    ]
    .into_iter()
    .enumerate()
    {
        let before = rig.count("vxlan4-gpe-input", counter);
        assert_eq!(rig.route(&from4("10.0.1.1", 4790, header, &packet)), [], "{counter}");
        assert_eq!(rig.count("vxlan4-gpe-input", counter), before + 1, "{n} {counter}");
    }
    // Reserved bits are ignored; the bit of broadcasts says nothing here.
    let mut reserved = header(0xce, 1, 13);
    (reserved[1], reserved[7]) = (9, 9);
    let hop = [(2, inner("30.0.0.1", 8))];
    assert_eq!(rig.route(&from4("10.0.1.1", 4790, reserved, &packet)), hop);
}

/// A feature takes payloads with a network service header, and sends such packets.
#[suite::test]
fn network_service_headers_have_a_node() {
    let mut rig = two();
    rig.cli("create vxlan-gpe tunnel local 10.0.1.1 remote 10.0.1.2 vni 16 next-nsh");
    register_nsh(&rig.world(), "ip4-input").expect("registered");
    assert!(register_nsh(&rig.world(), "no-such-node").is_err());
    rig.cli("set interface ip address vxlan_gpe_tunnel2 10.8.0.1/24");
    let datagram = from4("10.0.1.1", 4790, header(0xc, 4, 16), &inner("30.0.0.1", 9));
    assert_eq!(rig.route(&datagram), [(2, inner("30.0.0.1", 8))]);
    let service = [0, 6, 1, 3, 0, 0, 1, 255, 1, 2, 3, 4];
    let tx = rig.world().get::<Interfaces>().find("vxlan_gpe_tunnel2").expect("there");
    rig.bench.send("vxlan-gpe-encap", &service, |b| b.tx_if = tx.0);
    let sent = rig.sent();
    assert_eq!(sent[0].1[14 + 28..], [&header(0xc, 4, 16)[..], &service].concat());
}

/// Outer packets have a table, and decapsulated ones another: that of the interface.
#[suite::test]
fn tables_of_both_sides() {
    let mut rig = two();
    for line in [
        "ip table add 7",
        "create vxlan-gpe tunnel local 10.0.1.1 remote 10.0.1.2 vni 17 decap-vrf-id 7",
        "set interface ip address vxlan_gpe_tunnel2 10.7.0.1/24",
        "ip route add 40.0.0.0/8 table 7 via 10.0.2.2 p2",
    ] {
        rig.cli(line);
    }
    let datagram = |to| from4("10.0.1.1", 4790, header(0xc, 1, 17), &inner(to, 9));
    assert_eq!(rig.route(&datagram("40.0.0.1")), [(2, inner("40.0.0.1", 8))]);
    assert_eq!(rig.route(&datagram("30.0.0.1")), [], "not in table 7");
    assert!(rig.cli("show vxlan-gpe").contains("next-ip4 decap-vrf-id 7 "));
    // Frames of an Ethernet tunnel have no table here, so it may be missing.
    let create = "create vxlan-gpe tunnel local 10.0.1.1 remote 10.0.1.2";
    rig.cli(&format!("{create} vni 18 next-ethernet decap-vrf-id 99"));
    for (line, retval) in [
        (format!("{create} vni 19 decap-vrf-id 99"), -4),
        (format!("{create} vni 19 next-ip6 decap-vrf-id 7"), -4),
        (format!("{create} vni 19 encap-vrf-id 99"), -3),
        (format!("{create} vni 19 next-ip4 next-ip6"), -1),
        (format!("{create} vni 13"), -75),
        (format!("{create} vni 20 del"), -6),
        (format!("{create} vni 16777216"), -1),
    ] {
        assert_eq!(rig.refused(&line).0, retval, "{line}");
    }
}

#[suite::test]
fn ports_and_groups() {
    let mut rig = rig(&[
        "create vxlan-gpe tunnel local 10.0.1.1 remote 10.0.1.2 vni 13 next-ethernet src_port 4800 dst_port 4801",
        "create vxlan-gpe tunnel local 10.0.1.1 remote 10.0.1.2 vni 13 next-ethernet",
        "create vxlan-gpe tunnel local 10.0.1.1 group 239.1.1.1 p1 vni 13 next-ethernet",
        "set interface l2 bridge vxlan_gpe_tunnel1 7 1",
        "set interface l2 bridge vxlan_gpe_tunnel2 7 1",
    ]);
    let bytes = frame(2);
    let world = rig.world();
    let rx = |n: usize| {
        let name = format!("vxlan_gpe_tunnel{n}");
        let at = world.get::<Interfaces>().find(&name).expect("there").at();
        world.get::<IfCounters>().rx.sum(at).0
    };
    rig.route(&from4("10.0.1.1", 4800, header(0xc, 3, 13), &bytes));
    assert_eq!([rx(0), rx(1), rx(2)], [1, 0, 0]);
    let sent: Vec<_> = rig.pass(3, &bytes).into_iter().filter(|(port, _)| *port == 1).collect();
    assert_eq!(sent.len(), 1, "the group's copy alone");
    assert_eq!(sent[0].1[..6], [1, 0, 0x5e, 1, 1, 1], "the group's MAC address");
    let answer = [&bytes[6..12], &bytes[..6], &bytes[12..]].concat();
    let packet = from4("239.1.1.1", 4790, header(0xc, 3, 13), &answer);
    let received = [&[1, 0, 0x5e, 1, 1, 1][..], &peer_mac(1).0, &[8, 0], &packet].concat();
    assert_eq!(rig.pass(1, &received), [(3, answer)]);
    assert_eq!([rx(0), rx(1), rx(2)], [1, 0, 1], "counted for the group");
}

#[suite::test]
fn the_bypass_does_as_the_way_round_it() {
    for is_v6 in [false, true] {
        let mut rig = two();
        let (of, input) =
            if is_v6 { ("ip6", "vxlan6-gpe-input") } else { ("ip", "vxlan4-gpe-input") };
        rig.cli(&format!("set interface {of} vxlan-gpe-bypass p0"));
        // Where the datagrams aren't for an address of ours, only the bypass takes them.
        rig.cli("set interface ip address del p1 10.0.1.1/24");
        rig.cli("set interface ip address del p2 2001:db8:2::1/64");
        let good = if is_v6 {
            from6(header(0xc, 3, 14), &frame(2))
        } else {
            from4("10.0.1.1", 4790, header(0xc, 1, 13), &inner("30.0.0.1", 9))
        };
        rig.route(&good);
        assert_eq!(rig.count(input, "good packets decapsulated"), 1);
        rig.cli(&format!("set interface {of} vxlan-gpe-bypass p0 del"));
        rig.route(&good);
        assert_eq!(rig.count(input, "good packets decapsulated"), 1);
    }
}

#[suite::test]
fn messages() {
    let mut rig = rig(&["ip table add 7"]);
    let address = |text: &str| text.parse::<IpAddr>().expect("an address").into();
    let request = |remote: &str, vni, protocol| VxlanGpeAddDelTunnelV2 {
        local: address("10.0.1.1"),
        remote: address(remote),
        local_port: 0,
        remote_port: 4799,
        mcast_sw_if_index: InterfaceIndex::NONE,
        encap_vrf_id: 0,
        decap_vrf_id: 7,
        protocol: IpProto(protocol),
        vni,
        is_add: true,
    };
    let made = {
        let mut api = rig.bench.api();
        let made = api.call(request("10.0.1.2", 13, 1)).expect("made");
        for (request, retval) in [
            (request("10.0.1.2", 13, 1), -75),
            (request("10.0.1.1", 1, 1), -82),
            (request("2001:db8::1", 1, 1), -7),
            (request("239.1.1.1", 1, 1), -2),
            (request("10.0.1.3", 1, 5), -7),
            (VxlanGpeAddDelTunnelV2 { decap_vrf_id: 9, ..request("10.0.1.3", 1, 1) }, -4),
            (VxlanGpeAddDelTunnelV2 { encap_vrf_id: 9, ..request("10.0.1.3", 1, 1) }, -3),
            (VxlanGpeAddDelTunnelV2 { is_add: false, ..request("10.0.1.3", 1, 1) }, -6),
        ] {
            assert_eq!(api.call(request).expect_err("refused"), retval);
        }
        made.sw_if_index
    };
    let details = |decap_vrf_id| VxlanGpeTunnelV2Details {
        sw_if_index: made,
        local: address("10.0.1.1"),
        remote: address("10.0.1.2"),
        local_port: 4790,
        remote_port: 4799,
        vni: 13,
        protocol: IpProto(1),
        mcast_sw_if_index: InterfaceIndex::NONE,
        encap_vrf_id: 0,
        decap_vrf_id,
        is_ipv6: false,
    };
    let dump = |rig: &Rig| rig.bench.api().dump(VxlanGpeTunnelV2Dump { sw_if_index: made });
    assert_eq!(dump(&rig), [details(7)]);
    rig.cli("set interface ip table vxlan_gpe_tunnel0 0");
    assert_eq!(dump(&rig), [details(0)], "it is the table of the interface");
    let mut api = rig.bench.api();
    let old = api.dump(VxlanGpeTunnelDump { sw_if_index: InterfaceIndex::NONE });
    assert_eq!(old.iter().map(|d| (d.vni, d.protocol)).collect::<Vec<_>>(), [(13, IpProto(1))]);
    let gone = VxlanGpeAddDelTunnelV2 { is_add: false, ..request("10.0.1.2", 13, 1) };
    assert_eq!(api.call(gone).expect("deleted").sw_if_index, made);
}
