// SPDX-License-Identifier: Apache-2.0
//! Redirects of punted packets, and of packets without a listener.

use super::*;
use net::api::{AddressFamily, FibPath, InterfaceIndex};

#[suite::test]
fn punted_packets_are_redirected() {
    let mut rig = Rig::new();
    rig.run("set punt ip4 udp all");
    rig.run("ip punt redirect add rx all via 10.0.1.9 t1");
    rig.receive(&udp(9));
    let sent = rig.sent();
    assert_eq!((sent.len(), sent[0].0, &sent[0].1[..6]), (1, 2, &HOST.octets()[..]), "{sent:?}");
    rig.run("ip punt redirect add rx t0 via 10.0.0.9 t0");
    rig.receive(&udp(9));
    assert_eq!(rig.sent()[0].0, 1, "the interface's own counts");
    let path = FibPath { sw_if_index: 2, ..FibPath::default() };
    let v2 = |is_add, paths: &[FibPath]| AddDelIpPuntRedirectV2 {
        is_add,
        punt: PuntRedirectV2 {
            rx_sw_if_index: InterfaceIndex(1),
            af: AddressFamily::Ip4,
            paths: paths.to_vec(),
        },
    };
    assert!(rig.call(v2(true, &[path])).is_ok());
    assert_eq!(rig.call(v2(true, &[path, path])).err(), Some(-126));
    let dump = |rig: &Rig, sw_if| {
        let request =
            IpPuntRedirectV2Dump { sw_if_index: InterfaceIndex(sw_if), af: AddressFamily::Ip4 };
        let all = rig.bench.api().dump(request).into_iter();
        all.map(|d| (d.punt.rx_sw_if_index.0, d.punt.paths[0].sw_if_index)).collect::<Vec<_>>()
    };
    assert_eq!(dump(&rig, u32::MAX), [(u32::MAX, 2), (1, 2)]);
    assert_eq!(dump(&rig, 1), [(1, 2)]);
    let old = rig
        .bench
        .api()
        .dump(IpPuntRedirectDump { sw_if_index: InterfaceIndex::NONE, is_ipv6: false });
    assert_eq!((old.len(), old[0].punt.tx_sw_if_index.0), (2, 2));
    assert_eq!(
        rig.lines(),
        [
            "set punt ipv4 udp all",
            "ip punt redirect add rx all via 10.0.1.9 t1",
            "ip punt redirect add rx t0 via t1"
        ]
    );
    let shown = rig.run("show ip punt redirect");
    assert!(shown.contains("all  10.0.1.9  t1"), "{shown}");
    assert!(rig.call(v2(false, &[])).is_ok());
    assert_eq!(rig.call(v2(false, &[])).err(), Some(-6));
    let world = rig.bench.world.clone();
    world.get::<Interfaces>().delete(&world, SwIfIndex(2)).expect("deleted");
    assert_eq!(rig.lines(), ["set punt ipv4 udp all"]);
    rig.receive(&udp(9));
    assert_eq!(rig.bench.count("ip4-udp-punt", "udp port punt"), 3);
}

#[suite::test]
fn a_redirect_without_a_path_drops() {
    let mut rig = Rig::new();
    let line = "ip punt redirect add rx t0 via drop";
    rig.run("set punt ip4 udp all");
    rig.run(line);
    assert_eq!(rig.lines(), ["set punt ipv4 udp all", line]);
    let drops = rig.bench.drops();
    rig.receive(&udp(9));
    assert_eq!(rig.sent(), []);
    let count = |rig: &Rig, reason| rig.bench.count("ip4-punt-redirect", reason);
    assert_eq!(
        (count(&rig, "ip4 punt redirect drop"), count(&rig, "redirected"), rig.bench.drops()),
        (1, 0, drops + 1)
    );
    // The other interface has none.
    rig.bench.send("ethernet-input", &udp(9), |b| b.rx_if = 2);
    assert_eq!(count(&rig, "ip4 punt redirect drop"), 1);
    rig.run("ip punt redirect add rx t0 via 10.0.1.9 t1");
    rig.receive(&udp(9));
    let sent = rig.sent();
    let rewritten = [&HOST.octets()[..], &ROUTER.octets(), &udp(9)[12..22]].concat();
    assert_eq!((sent.len(), sent[0].0, &sent[0].1[..22]), (1, 2, &rewritten[..]));
    assert_eq!((count(&rig, "ip4 punt redirect drop"), count(&rig, "redirected")), (1, 1));
}

fn tcp6(port: u16) -> Vec<u8> {
    pkt::ether(HOST, ROUTER)
        .ip6("2001:db8::9", "2001:db8::1")
        .tcp(1000, port)
        .payload_len(9)
        .build()
}

/// A frame of IPv4 that `t1` sends on to its neighbour, otherwise as it came.
fn on_by_t1(frame: &[u8]) -> (u32, Vec<u8>) {
    (2, [&pkt::ether(ROUTER, HOST).build()[..12], &frame[12..]].concat())
}

#[suite::test]
fn what_nobody_takes_goes_where_punted_packets_are_redirected() {
    let mut rig = Rig::new();
    let world = rig.bench.world.clone();
    let known = Neighbor::new(SwIfIndex(1), "2001:db8::9".parse().expect("an address"), HOST);
    world.get::<Neighbors>().set(&world, known).expect("set");
    let ospf = pkt::ether(HOST, ROUTER).ip4("10.0.0.9", "10.0.0.1").protocol(wire::IpProtocol(89));
    // Its hop limit is that of a neighbour's packet.
    let ospf = ospf.ttl(1).payload([1, 2, 3]).build();
    let answered = |rig: &mut Rig, frame: &[u8]| {
        rig.receive(frame);
        let sent = rig.sent();
        sent.len() == 1 && sent[0].0 == 1 && sent[0].1[14..] != frame[14..]
    };
    for frame in [tcp(80), ospf.clone(), udp(80)] {
        assert!(answered(&mut rig, &frame), "a reset, or an ICMP error");
    }
    rig.run("ip punt redirect add rx t0 via 10.0.1.9 t1");
    for frame in [tcp(80), ospf.clone()] {
        rig.receive(&frame);
        assert_eq!(rig.sent(), [on_by_t1(&frame)], "as it came");
    }
    // A UDP port goes there if it is punted, as in VPP; and a listener of ours keeps what is its
    // own.
    assert!(answered(&mut rig, &udp(80)), "port unreachable");
    rig.register(Key::Tcp { v6: false, port: Some(179) }).expect("registered");
    rig.receive(&tcp(179));
    assert_eq!((rig.got(), rig.sent()), (Some((1, 0, tcp(179))), vec![]));
    rig.receive(&tcp(80));
    assert_eq!(rig.sent(), [on_by_t1(&tcp(80))], "another port than those that are punted");
    rig.run("punt socket deregister tcp 179");
    // Of another interface, of the other version, and without a redirect: as ever.
    let elsewhere = pkt::ether(HOST, ROUTER).ip4("10.0.1.9", "10.0.1.1").tcp(1000, 80).build();
    rig.bench.send("ethernet-input", &elsewhere, |b| b.rx_if = 2);
    assert_eq!(rig.sent().len(), 1, "a reset");
    assert!(answered(&mut rig, &tcp6(80)), "a reset");
    rig.run("ip punt redirect del rx t0");
    for frame in [tcp(80), ospf] {
        assert!(answered(&mut rig, &frame));
    }
    rig.run("ip6 punt redirect add rx all via drop");
    rig.receive(&tcp6(80));
    assert_eq!(rig.sent(), [], "who drops what is punted is not heard of");
    assert_eq!(rig.bench.count("ip6-local", "punted"), 1);
}
