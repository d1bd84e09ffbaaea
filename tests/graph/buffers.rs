// SPDX-License-Identifier: Apache-2.0
//! Whatever keeps packets does so at once, with packets of many buffers, while control is away:
//! forwarding goes on, and finds buffers.

use daemon::plugins;
use graph::SwIfIndex;
use graph::drive::Bench;
use net::Interfaces;
use net::drive::{Recorded, Recorder, ethernet};
use testkit::pkt::{self, Packet};
use wire::{IpProtocol, MacAddr};

const HOST: &str = "02:aa:00:00:00:01";
const ROUTER: &str = "02:fe:00:00:00:00";

fn run(bench: &mut Bench, line: &str) -> String {
    bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

/// An interface for packets of 9000 bytes, whose frames are recorded.
fn interface(bench: &mut Bench, n: u8) -> SwIfIndex {
    let new = net::NewInterface {
        mtu: 9000,
        ..ethernet(format!("t{n}"), MacAddr([2, 0xfe, 0, 0, 0, n]))
    };
    let made = bench
        .world
        .get::<Interfaces>()
        .create(&bench.world, new, |world, _, sw_if| Recorder::new(world, sw_if));
    run(bench, &format!("set interface state t{n} up"));
    run(bench, &format!("set interface ip address t{n} 10.0.{n}.1/24"));
    run(bench, &format!("set interface ip address t{n} 2001:db8:{n}::1/64"));
    made.expect("created")
}

/// A packet of five buffers from the host, on its way to an address.
fn long(to: impl Fn(Packet) -> Packet, seed: usize) -> Vec<u8> {
    let payload: Vec<u8> = (0..8896).map(|i| (i * 5 + seed * 3) as u8).collect();
    to(pkt::ether(HOST, ROUTER)).payload(payload).build()
}

#[test]
fn holders_of_all_kinds_leave_buffers_for_forwarding() {
    let mut bench = Bench::new(plugins::ALL);
    let left = interface(&mut bench, 0);
    let right = interface(&mut bench, 1);
    let dir = tempfile::tempdir().expect("a folder");
    for line in [
        "set ip neighbor t1 10.0.1.2 02:aa:00:00:00:02 static",
        "create packet-generator interface pg0",
        "set interface state pg0 up",
        "set interface mtu packet 9000 pg0",
        "set interface ip address pg0 10.9.0.1/16",
        "set ip neighbor pg0 10.9.0.2 02:aa:00:00:00:09 static",
        &format!(
            "punt socket register ipv4 udp 5000 socket {}",
            dir.path().join("client.sock").display()
        ),
        &format!("packet-generator capture pg0 pcap {}", dir.path().join("pg0.pcap").display()),
    ] {
        run(&mut bench, line);
    }
    bench.settle();
    bench.world.get::<Recorded>().take();
    let limit = bench.world.pool.limit();
    for round in 0..60u16 {
        // Control doesn't run: nothing takes out what waits for it.
        for i in 0..8u16 {
            let id = round * 8 + i;
            let at = (i * 8904) % 60_000 / 8 * 8;
            for packet in [
                long(
                    |p| {
                        p.ip4("10.0.0.9", "10.0.0.1")
                            .id(id)
                            .fragment(at, true)
                            .protocol(IpProtocol::UDP)
                    },
                    0,
                ),
                long(
                    |p| {
                        p.ip6("2001:db8::9", "2001:db8::1")
                            .fragment6(id.into(), at, true)
                            .protocol(IpProtocol::UDP)
                    },
                    0,
                ),
                long(|p| p.ip4("10.0.0.9", [10, 0, 1, 10 + (id % 200) as u8]).udp(1, 2), 0),
                long(
                    |p| {
                        p.ip6("2001:db8::9", format!("2001:db8:1::1{:x}", id % 200).as_str())
                            .udp(1, 2)
                    },
                    0,
                ),
                long(|p| p.ip4("10.0.0.9", "10.0.0.1").udp(1, 5000), 0),
                long(|p| p.ip4("10.0.0.9", "10.9.0.2").udp(1, 2), 0),
            ] {
                bench.arrive(left, &packet);
            }
        }
        bench.rt.turn(true);
        bench.world.get::<Recorded>().take();
        // All at once, as many as a driver brings in a turn.
        let packets: Vec<_> =
            (0..30).map(|i| long(|p| p.ip4("10.0.0.9", "10.0.1.2").udp(1, 2), i)).collect();
        packets.iter().for_each(|packet| bench.arrive(left, packet));
        bench.rt.turn(true);
        let sent = bench.world.get::<Recorded>().take();
        let sent: Vec<_> =
            sent.iter().filter(|(sw_if, b)| *sw_if == right.0 && b.len() > 8900).collect();
        assert_eq!(sent.len(), packets.len(), "round {round}");
        for ((_, sent), packet) in sent.iter().zip(&packets) {
            assert!(sent[42..] == packet[42..], "round {round}");
        }
    }
    let shares = bench.world.pool.shares();
    for name in ["reassembly", "unresolved neighbors", "punt sockets", "captures"] {
        let share = shares
            .iter()
            .find(|s| s.name == name)
            .unwrap_or_else(|| panic!("{name} holds nothing"));
        assert!(share.held > share.limit / 3 && share.most <= share.limit, "{share:?}");
        assert!(share.refused > 0, "{share:?}");
    }
    let held: u32 = shares.iter().map(|s| s.held).sum();
    assert!((held as usize) < limit * 3 / 4, "{held} of {limit}");
    let mut all = Vec::new();
    for (node, reason) in [
        ("ip4-local-full-reassembly", "reass_limit_reached"),
        ("ip6-local-full-reassembly", "reass_limit_reached"),
        ("ip4-glean", "displaced"),
        ("ip6-glean", "displaced"),
        ("ip4-udp-punt-socket", "Socket TX error"),
        ("pg0-tx", "capture_full"),
    ] {
        all.push((node, bench.count(node, reason)));
    }
    assert!(all.iter().all(|(_, n)| *n > 0), "{all:?}");
    assert_eq!(bench.world.pool.stats().failures, 0, "nobody wanted a buffer in vain");
    // Everything that is used has a name.
    let json: serde_json::Value =
        serde_json::from_str(&run(&mut bench, "show buffers verbose -j")).expect("JSON");
    let rows = json["holders"].as_array().expect("rows");
    let sum: u64 = rows.iter().map(|row| row["held"].as_u64().expect("a number")).sum();
    assert_eq!(Some(sum), json["pools"][0]["used"].as_u64(), "{json}");
    bench.world.clock.adjust(10_000_000_000);
    bench.settle();
    for _ in 0..12 {
        bench.world.clock.adjust(2_000_000_000);
        bench.settle();
    }
    let shares = bench.world.pool.shares();
    assert!(shares.iter().all(|s| s.held == 0), "{shares:?}");
}
