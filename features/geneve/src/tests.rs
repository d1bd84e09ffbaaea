// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use crate::api::*;
use graph::Plugin;
use net::api::InterfaceIndex;
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

/// A tunnel over IPv4 and one over IPv6 in domain 7.
fn two() -> Rig {
    rig(&[
        "create geneve tunnel local 10.0.1.1 remote 10.0.1.2 vni 13",
        "create geneve tunnel local 2001:db8:2::1 remote 2001:db8:2::2 vni 14",
        "set interface l2 bridge geneve_tunnel0 7 1",
        "set interface l2 bridge geneve_tunnel1 7 1",
    ])
}

fn frame(to: u8) -> Vec<u8> {
    let packet = pkt::ip4("192.0.2.1", "192.0.2.2").udp(1, 2).payload_len(50).build();
    [&[2, 0, 0, 0, 9, to][..], &[2, 0, 0, 0, 9, 1], &[8, 0], &packet].concat()
}

/// A header, with options whose length is in the first byte.
fn header(first: u8, flags: u8, protocol: [u8; 2], vni: u8) -> Vec<u8> {
    let [high, low] = protocol;
    let options = vec![0xab; 4 * usize::from(first & 0x3f)];
    [&[first, flags, high, low, 0, 0, vni, 0][..], &options].concat()
}

fn plain(vni: u8) -> Vec<u8> {
    header(0, 0, [0x65, 0x58], vni)
}

fn from4(from: &str, to: &str, header: &[u8], inner: &[u8]) -> Vec<u8> {
    let payload = [header, inner].concat();
    pkt::ip4(from, to).udp(7, 6081).checksum(Checksum::Value(0)).payload(payload).build()
}

fn from6(header: &[u8], inner: &[u8]) -> Vec<u8> {
    let payload = [header, inner].concat();
    pkt::ip6("2001:db8:2::2", "2001:db8:2::1").udp(7, 6081).payload(payload).build()
}

#[suite::test]
fn frames_go_in_datagrams_and_come_back() {
    let mut rig = two();
    let bytes = frame(2);
    let sent = rig.pass(3, &bytes);
    assert_eq!(sent.len(), 2);
    let cut = |i: usize| &sent[i].1[14..];
    // The source port is the flow's.
    let port = |at: usize, packet: &[u8]| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let four = [&plain(13)[..], &bytes].concat();
    let four = pkt::ip4("10.0.1.1", "10.0.1.2")
        .ttl(253)
        .id(0)
        .udp(port(20, cut(0)), 6081)
        .checksum(Checksum::Value(0))
        .payload(four)
        .build();
    assert_eq!((sent[0].0, cut(0)), (1, &four[..]));
    let six = pkt::ip6("2001:db8:2::1", "2001:db8:2::2").ttl(254);
    let six = six.udp(port(40, cut(1)), 6081).payload([&plain(14)[..], &bytes].concat()).build();
    assert_eq!((sent[1].0, cut(1)), (2, &six[..]));
    let answer = [&bytes[6..12], &bytes[..6], &bytes[12..]].concat();
    let at_p3 = [(3, answer[14..].to_vec())];
    assert_eq!(rig.route(&from4("10.0.1.2", "10.0.1.1", &plain(13), &answer)), at_p3);
    assert_eq!(rig.route(&from6(&plain(14), &answer)), at_p3);
    let world = rig.world();
    let at = world.get::<Interfaces>().find("geneve_tunnel0").expect("there").at();
    let counters = world.get::<IfCounters>();
    assert_eq!(counters.tx.sum(at), (1, bytes.len() as u64 + 36), "with outer headers");
    assert_eq!(counters.rx.sum(at), (1, bytes.len() as u64), "without");
    assert_eq!(rig.count("geneve4-encap", "encapsulated"), 1);
    assert_eq!(rig.count("geneve6-input", "good packets decapsulated"), 1);
}

/// Options are skipped; what an end mustn't or can't take is dropped by name.
#[suite::test]
fn headers_are_taken_or_dropped_by_name() {
    let mut rig = two();
    let bytes = frame(3);
    for words in [0, 1, 17, 63] {
        let header = header(words, 0, [0x65, 0x58], 13);
        let sent = rig.route(&from4("10.0.1.2", "10.0.1.1", &header, &bytes));
        assert!(sent.contains(&(3, bytes[14..].to_vec())), "{words}: {sent:?}");
    }
    let good = rig.count("geneve4-input", "good packets decapsulated");
    assert_eq!(good, 4);
    let cut = [&[63][..], &plain(13)[1..]].concat();
    for (header, counter) in [
        (header(0x40, 0, [0x65, 0x58], 13), "packets with bad flags field in geneve header"),
        (cut, "packets with invalid options length"),
        (header(1, 0x40, [0x65, 0x58], 13), "critical"),
        (header(0, 0x80, [0x65, 0x58], 13), "oam"),
        (header(0, 0, [8, 0], 13), "unknown_protocol"),
        (plain(15), "no such tunnel packets"),
        (vec![0; 7], "too_short"),
    ] {
        let inner = if header.len() < 8 { &[][..] } else { &bytes };
        assert_eq!(rig.route(&from4("10.0.1.2", "10.0.1.1", &header, inner)), [], "{counter}");
        assert_eq!(rig.count("geneve4-input", counter), 1, "{counter}");
    }
    // Reserved bits are ignored (RFC 8926 3.4).
    let mut reserved = header(0, 0x3f, [0x65, 0x58], 13);
    reserved[7] = 9;
    rig.route(&from4("10.0.1.2", "10.0.1.1", &reserved, &bytes));
    assert_eq!(rig.count("geneve4-input", "good packets decapsulated"), good + 1);
}

/// Two remotes with one identifier, as RFC 8926 has it: VPP tells them apart by the remote too.
#[suite::test]
fn both_ends_are_part_of_the_key() {
    let mut rig = rig(&[
        "create geneve tunnel local 10.0.1.1 remote 10.0.1.2 vni 13",
        "create geneve tunnel local 10.0.1.1 remote 10.0.1.3 vni 13",
        "create geneve tunnel local 10.0.2.1 remote 10.0.1.2 vni 13",
    ]);
    let world = rig.world();
    let rx = |n: usize| {
        let at = world.get::<Interfaces>().find(&format!("geneve_tunnel{n}")).expect("there").at();
        world.get::<IfCounters>().rx.sum(at).0
    };
    for (n, (from, to)) in
        [("10.0.1.2", "10.0.1.1"), ("10.0.1.3", "10.0.1.1"), ("10.0.1.2", "10.0.2.1")]
            .into_iter()
            .enumerate()
    {
        rig.route(&from4(from, to, &plain(13), &frame(2)));
        assert_eq!([rx(0), rx(1), rx(2)], [0, 1, 2].map(|i| u64::from(i <= n)));
    }
    rig.cli("set interface state geneve_tunnel0 down");
    rig.route(&from4("10.0.1.2", "10.0.1.1", &plain(13), &frame(2)));
    assert_eq!(rig.count("geneve4-input", "down"), 1);
}

/// Its MAC address follows from its number; it answers ARP and ICMP through itself.
#[suite::test]
fn layer_3_mode_answers_through_itself() {
    let mut rig = rig(&[
        "create geneve tunnel local 10.0.1.1 remote 10.0.1.2 vni 13 l3-mode instance 258",
        "set interface ip address geneve_tunnel258 10.9.0.1/24",
    ]);
    let mac = [0xd0, 0x0b, 0xee, 0xd0, 1, 2];
    let packet = pkt::ip4("10.9.0.7", "10.0.2.2").ttl(9).udp(1, 2).payload_len(30);
    let bytes = [&mac[..], &[2, 0, 0, 0, 9, 1], &[8, 0], &packet.build()].concat();
    let hop = pkt::ip4("10.9.0.7", "10.0.2.2").ttl(8).udp(1, 2).payload_len(30).build();
    assert_eq!(rig.route(&from4("10.0.1.2", "10.0.1.1", &plain(13), &bytes)), [(2, hop)]);
    // IP packets to the tunnel's network leave as frames: an ARP request goes out first.
    let to = pkt::ip4("10.0.0.9", "10.9.0.7").udp(1, 2).payload_len(30).build();
    let sent = rig.route(&to);
    assert_eq!(sent.len(), 0, "ARP isn't in this set of plugins: {sent:?}");
}

#[suite::test]
fn groups_of_other_ends() {
    let mut rig = rig(&[
        "create geneve tunnel local 10.0.1.1 remote 10.0.1.2 vni 13",
        "create geneve tunnel local 10.0.1.1 group 239.1.1.1 p1 vni 13",
        "set interface l2 bridge geneve_tunnel0 7 1",
        "set interface l2 bridge geneve_tunnel1 7 1",
    ]);
    let bytes = frame(2);
    let sent: Vec<_> = rig.pass(3, &bytes).into_iter().filter(|(port, _)| *port == 1).collect();
    assert_eq!(sent.len(), 1, "the group's copy alone");
    assert_eq!(sent[0].1[..6], [1, 0, 0x5e, 1, 1, 1], "the group's MAC address");
    let answer = [&bytes[6..12], &bytes[..6], &bytes[12..]].concat();
    let packet = from4("10.0.1.2", "239.1.1.1", &plain(13), &answer);
    let received = [&[1, 0, 0x5e, 1, 1, 1][..], &peer_mac(1).0, &[8, 0], &packet].concat();
    assert_eq!(rig.pass(1, &received), [(3, answer)]);
    let world = rig.world();
    let rx = |name: &str| {
        let at = world.get::<Interfaces>().find(name).expect("there").at();
        world.get::<IfCounters>().rx.sum(at).0
    };
    assert_eq!(["geneve_tunnel0", "geneve_tunnel1"].map(rx), [0, 1], "counted for the group");
    rig.delete_port(1);
    assert!(!rig.cli("show geneve tunnel").contains("239.1.1.1"), "it goes with its interface");
}

#[suite::test]
fn the_bypass_does_as_the_way_round_it() {
    for is_v6 in [false, true] {
        let mut rig = two();
        let (of, input) = if is_v6 { ("ip6", "geneve6-input") } else { ("ip", "geneve4-input") };
        rig.cli(&format!("set interface {of} geneve-bypass p0"));
        // Where the datagrams aren't for an address of ours, only the bypass takes them.
        rig.cli("set interface ip address del p1 10.0.1.1/24");
        rig.cli("set interface ip address del p2 2001:db8:2::1/64");
        let good = if is_v6 {
            from6(&plain(14), &frame(2))
        } else {
            from4("10.0.1.2", "10.0.1.1", &plain(13), &frame(2))
        };
        rig.route(&good);
        assert_eq!(rig.count(input, "good packets decapsulated"), 1);
        let mut wrong = good.clone();
        let sum = if is_v6 { 46 } else { 26 };
        wrong[sum] ^= 1;
        rig.route(&wrong);
        let node = if is_v6 { "ip6-geneve-bypass" } else { "ip4-geneve-bypass" };
        assert_eq!(rig.count(node, "bad_checksum"), 1);
        rig.cli(&format!("set interface {of} geneve-bypass p0 del"));
        rig.route(&good);
        assert_eq!(rig.count(input, "good packets decapsulated"), 1);
    }
}

#[suite::test]
fn messages() {
    let rig = rig(&["create loopback interface"]);
    let mut api = rig.bench.api();
    let address = |text: &str| text.parse::<IpAddr>().expect("an address").into();
    let request = |remote: &str, vni| GeneveAddDelTunnel2 {
        is_add: true,
        local_address: address("10.0.1.1"),
        remote_address: address(remote),
        mcast_sw_if_index: InterfaceIndex::NONE,
        encap_vrf_id: 0,
        decap_next_index: u32::MAX,
        vni,
        l3_mode: false,
    };
    let made = api.call(request("10.0.1.2", 0)).expect("made");
    let next =
        |decap_next_index| GeneveAddDelTunnel2 { decap_next_index, ..request("10.0.1.3", 1) };
    for (request, retval) in [
        (request("10.0.1.2", 0), -75),
        (request("10.0.1.1", 1), -82),
        (request("2001:db8::1", 1), -7),
        (request("239.1.1.1", 1), -2),
        (GeneveAddDelTunnel2 { encap_vrf_id: 9, ..request("10.0.1.3", 1) }, -3),
        (next(9999), -76),
        (GeneveAddDelTunnel2 { is_add: false, ..request("10.0.1.3", 1) }, -6),
        (request("10.0.1.3", 1 << 24), -7),
    ] {
        assert_eq!(api.call(request).expect_err("refused"), retval);
    }
    let ethernet = rig.bench.index("ethernet-input").0;
    let other = api.call(next(ethernet)).expect("made");
    let mut dump = |sw_if_index| api.dump(GeneveTunnelDump { sw_if_index });
    let details = |sw_if_index, dst: &str, vni, decap_next_index| GeneveTunnelDetails {
        sw_if_index,
        src_address: address("10.0.1.1"),
        dst_address: address(dst),
        mcast_sw_if_index: InterfaceIndex::NONE,
        encap_vrf_id: 0,
        decap_next_index,
        vni,
    };
    let (first, second) = (
        details(made.sw_if_index, "10.0.1.2", 0, 1),
        details(other.sw_if_index, "10.0.1.3", 1, ethernet),
    );
    assert_eq!(dump(other.sw_if_index), [second]);
    assert_eq!(dump(InterfaceIndex::NONE).len(), 2);
    assert_eq!(dump(made.sw_if_index), [first]);
    let delete = GeneveAddDelTunnel2 { is_add: false, ..request("10.0.1.2", 0) };
    assert_eq!(api.call(delete).expect("deleted"), made);
}

#[suite::test]
fn wrong_ones_are_refused() {
    let mut rig = rig(&["create geneve tunnel local 10.0.1.1 remote 10.0.1.2 vni 13 instance 4"]);
    let create = "create geneve tunnel local 10.0.1.1";
    for (line, retval, part) in [
        (format!("{create} remote 10.0.1.2 vni 13"), -75, "geneve_tunnel4 has these ends"),
        (format!("{create} remote 10.0.1.3 vni 13 instance 4"), -147, "there is a geneve_tunnel4"),
        (format!("{create} remote 10.0.1.3 vni 16777216"), -1, "16777215"),
        (format!("{create} group 239.1.1.1 p9 vni 13"), -2, "p9"),
        (format!("{create} remote 10.0.1.9 vni 13 del"), -6, "no such geneve_tunnel"),
        (format!("{create} remote 10.0.1.3 vni 13 decap-next node"), -1, "needs a name"),
    ] {
        let (code, text) = rig.refused(&line);
        assert!(code == retval && text.contains(part), "{line}: {code} {text}");
    }
    let shown = rig.cli("show geneve tunnel");
    let want = "[4] lcl 10.0.1.1 rmt 10.0.1.2 vni 13 fib-idx 0 sw-if-idx ";
    assert!(shown.starts_with(want), "{shown}");
}
