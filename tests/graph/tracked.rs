// SPDX-License-Identifier: Apache-2.0
//! Forged ICMP errors about outer packets of tunnels with `track-mtu`.

use daemon::plugins;
use graph::drive::Bench;
use net::Interfaces;
use testkit::pkt;
use wire::Icmp4Type;

const HOST: &str = "02:aa:00:00:00:01";
const ROUTER: &str = "02:fe:00:00:00:01";

const LINES: &[&str] = &[
    "create packet-generator interface pg0 hw-addr 02:fe:00:00:00:01",
    "set interface state pg0 up",
    "set interface ip address pg0 10.0.1.1/24",
    "create vxlan tunnel src 10.0.1.1 dst 10.0.1.9 vni 13 track-mtu",
    "create gre tunnel src 10.0.1.1 dst 10.0.1.10 key 5 track-mtu",
    "create ipip tunnel src 10.0.1.1 dst 10.0.1.11 track-mtu",
];

/// The path MTU to each tunnel's other end after this error from a router.
fn after(quote: &[u8], mtu: u16) -> Vec<serde_json::Value> {
    let mut bench = Bench::new(plugins::ALL);
    LINES.iter().for_each(|line| _ = bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}")));
    let port = bench.world.get::<Interfaces>().find("pg0").expect("the port");
    let error = pkt::ether(HOST, ROUTER)
        .ip4("10.0.1.2", "10.0.1.1")
        .icmp(Icmp4Type::UNREACHABLE, 4, mtu.into())
        .payload(quote);
    bench.settle();
    bench.arrive(port, &error.build());
    bench.settle();
    let shown = bench.cli("show tunnel mtu -j").expect("shown");
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    shown.as_array().expect("tunnels").iter().map(|row| row["path"].clone()).collect()
}

fn outer(to: &'static str) -> pkt::Packet {
    pkt::ip4("10.0.1.1", to).df()
}

fn inner() -> Vec<u8> {
    pkt::ip4("10.9.0.1", "10.9.0.2").udp(1, 2).payload_len(1372).build()
}

/// The quote of the first bytes behind the IP header.
fn quote(packet: &pkt::Packet, bytes: usize) -> Vec<u8> {
    packet.build()[..20 + bytes].to_vec()
}

#[test]
fn an_error_is_believed_if_it_names_the_tunnel() {
    let none = serde_json::Value::Null;
    let vxlan = |vni| outer("10.0.1.9").udp(5000, 4789).vxlan(vni).payload_len(1400);
    let gre = |key: u8| {
        let packet = outer("10.0.1.10").protocol(wire::IpProtocol::GRE);
        packet.payload([&[0x20, 0, 8, 0, 0, 0, 0, key][..], &inner()].concat())
    };
    let ipip = |inside: &[u8]| outer("10.0.1.11").protocol(wire::IpProtocol::IP4).payload(inside);
    let garbage = [0x45; 1400];
    for (at, good, forged) in [
        (0, quote(&vxlan(13), 32), [quote(&vxlan(14), 32), quote(&vxlan(13), 8)]),
        (1, quote(&gre(5), 8), [quote(&gre(6), 8), quote(&gre(0), 32)]),
        (2, quote(&ipip(&inner()), 8), [quote(&ipip(&garbage), 8), quote(&ipip(&[0; 1400]), 64)]),
    ] {
        let mtus = |mtu: u64| {
            let mut all = vec![none.clone(); 3];
            all[at] = mtu.into();
            all
        };
        assert_eq!(after(&good, 1300), mtus(1300), "{at}");
        assert_eq!(after(&good, 68), mtus(552), "{at}: not less than the floor");
        for forged in forged {
            assert_eq!(after(&forged, 1300), vec![none.clone(); 3], "{at}");
        }
    }
}
