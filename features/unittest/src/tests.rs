// SPDX-License-Identifier: Apache-2.0
use super::PLUGIN;
use graph::drive::Bench;
use graph::{Plugin, SwIfIndex, World};
use net::drive::{Recorded, Recorder, ethernet};
use net::{Interfaces, Neighbor, Neighbors};
use stats::{Reader, Value};
use testkit::pkt;
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &punt::PLUGIN,
    &PLUGIN,
];

#[suite::test]
fn a_link_goes_down_and_comes_back() {
    let mut bench = Bench::new(PLUGINS);
    bench.cli("create loopback interface").expect("made");
    let interfaces = bench.world.get::<Interfaces>();
    let sw_if = interfaces.find("loop0").expect("made");
    for (word, up) in [("down", false), ("up", true)] {
        bench.cli(&format!("test interface link-state loop0 {word}")).expect("set");
        assert_eq!(interfaces.get(sw_if).expect("there").link_up, up);
    }
    let error = bench.cli("test interface link-state loop7 up").expect_err("no such interface");
    assert!(error.to_string().contains("loop7"), "{error}");
}

fn value(bench: &Bench, name: &str) -> Option<Value> {
    Reader::new(&bench.world.stats).expect("a segment").get(name).expect("readable")
}

#[suite::test]
fn a_ring_gets_numbers_and_times() {
    let mut bench = Bench::new(PLUGINS);
    let said = bench.cli("test stats ring-buffer-gen /test/r 40 10 16").expect("made");
    assert_eq!(said, "Generated 40 messages to ring buffer '/test/r' (ring size 16)\n");
    let Some(Value::Ring(rows)) = value(&bench, "/test/r") else { panic!("no ring") };
    assert_eq!((rows.len(), rows[0].sequence), (1, 40));
    let numbers: Vec<u64> = rows[0].entries.iter().map(|e| e[0]).collect();
    assert_eq!(numbers, (24..40).collect::<Vec<_>>());
    let times: Vec<f64> = rows[0].entries.iter().map(|e| f64::from_bits(e[1])).collect();
    // Each has the time that it was due.
    assert!(
        times[0] > 0.0 && times.windows(2).all(|w| (w[1] - w[0] - 10e-6).abs() < 1e-9),
        "{times:?}"
    );
    for line in
        ["test stats ring-buffer-show-schema /test/r", "test stats ring-buffer-test-schema /test/r"]
    {
        let said = bench.cli(line).expect("there");
        assert!(said.contains("version 1") && said.contains("seq: uint64"), "{said}");
    }
    // Sixteen entries, unless it is said.
    bench.cli("test stats ring-buffer-gen /test/empty 0 1000").expect("made");
    let Some(Value::Ring(rows)) = value(&bench, "/test/empty") else { panic!("no ring") };
    assert_eq!((rows[0].sequence, rows[0].entries.len()), (0, 0));
    let error =
        bench.cli("test stats ring-buffer-gen /if/drops 1 1").expect_err("it is something else");
    assert!(error.to_string().contains("/if/drops"), "{error}");
    bench.cli("test stats ring-buffer-show-schema /if/drops").expect_err("no ring");
}

#[suite::test]
fn a_histogram_gets_values_of_all_sizes() {
    let mut bench = Bench::new(PLUGINS);
    let said = bench.cli("test stats histogram-gen /test/h 8 1 4 9").expect("made");
    assert_eq!(said, "Generated 8 histogram entries for '/test/h' (min_exp=4, bins=9)\n");
    // 0, 17, 258, 4099, 4, 21, 262, 4103: below 32 four, of 256 to 511 two, of 4096 and above two.
    let want = vec![vec![4, 4, 0, 0, 0, 2, 0, 0, 0, 2]];
    assert_eq!(value(&bench, "/test/h"), Some(Value::Histogram(want)));
    bench.cli("test stats histogram-clear /test/h").expect("there");
    assert_eq!(value(&bench, "/test/h"), None);
    bench.cli("test stats histogram-clear /test/h").expect_err("gone");
}

#[suite::test]
fn promises_are_tried() {
    let mut bench = Bench::new(PLUGINS);
    for _ in 0..2 {
        for line in
            ["test counter simple expand", "test counter combined expand", "test api internal"]
        {
            assert_eq!(bench.cli(line).expect(line), "");
        }
    }
    assert_eq!(value(&bench, "/test/counter/simple").map(|v| v.total()), Some(11_111));
    for what in ["", "monotonicity", "barrier"] {
        assert!(
            bench.cli(&format!("test time {what}")).expect("kept").contains("has not gone back")
        );
    }
    let before = bench.world.clock.now();
    bench.cli("test time discontinuity").expect("kept");
    assert!(bench.world.clock.now() - before >= 1_000_000);
}

const ROUTER: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const HOST: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

#[suite::test]
fn punted_packets_go_to_all_who_take_their_reason() {
    let mut bench = Bench::new(PLUGINS);
    let world = bench.world.clone();
    for i in 0..4 {
        let tx = |world: &World, _, sw_if: SwIfIndex| Recorder::new(world, sw_if);
        let new = ethernet(format!("t{i}"), ROUTER);
        let sw_if = world.get::<Interfaces>().create(&world, new, tx).expect("created");
        for line in [
            format!("set interface state t{i} up"),
            format!("set interface ip address t{i} 10.0.{i}.1/24"),
            format!("set interface ip address t{i} 2001:db8:{i}::1/64"),
        ] {
            bench.cli(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
        for host in [format!("10.0.{i}.9"), format!("2001:db8:{i}::9")] {
            let known = Neighbor::new(sw_if, host.parse().expect("an address"), HOST);
            world.get::<Neighbors>().set(&world, known).expect("set");
        }
    }
    for line in
        ["ip route add 1.1.1.2/32 via 10.0.3.9 t3", "ip route add 1::2/128 via 2001:db8:3::9 t3"]
    {
        bench.cli(line).expect(line);
    }
    let payload: Vec<u8> = (0..1400).map(|n| (n * 7) as u8).collect();
    let four =
        pkt::ether(HOST, ROUTER).ip4("1.1.1.1", "1.1.1.2").udp(1234, 1234).payload(payload.clone());
    let six = pkt::ether(HOST, ROUTER).ip6("1::1", "1::2").udp(1234, 1234).payload(&payload[..100]);
    let other = pkt::ether(HOST, ROUTER).ip4("1.1.1.3", "1.1.1.2").udp(1234, 1234).build();
    let (four, six) = (four.build(), six.build());
    // Their IP packets, and by which interfaces they leave.
    let sent = |bench: &mut Bench, frame: &[u8]| {
        bench.send("ethernet-input", frame, |b| b.rx_if = 3);
        let all = bench.world.get::<Recorded>().take();
        let link = [&HOST.octets()[..], &ROUTER.octets()].concat();
        assert!(all.iter().all(|(_, bytes)| bytes[..12] == link));
        let mut by: Vec<u32> = all.iter().map(|(tx, _)| *tx).collect();
        by.sort_unstable();
        (by, all.into_iter().map(|(_, bytes)| bytes[12..].to_vec()).collect::<Vec<_>>())
    };
    for frame in [&four, &six] {
        assert_eq!(sent(&mut bench, frame).0, [4]);
    }
    bench.cli("test punt t2").expect("enabled");
    let id = |name: &str| {
        let all = punt::reasons(&world).into_iter();
        all.filter(|reason| reason.name == name)
            .map(|reason| reason.id as usize)
            .next()
            .expect(name)
    };
    let (id4, id6) = (id("reason-v4"), id("reason-v6"));
    let counted = || {
        let Some(Value::Combined(rows)) =
            Reader::new(&world.stats).expect("a segment").get("/net/punt").expect("readable")
        else {
            panic!("no counters")
        };
        [id4, id6].map(|id| rows.iter().filter_map(|row| row.get(id)).map(|(n, _)| n).sum::<u64>())
    };
    for frame in [&four, &six] {
        assert_eq!(sent(&mut bench, frame), (vec![], vec![]), "nobody takes it");
    }
    assert_eq!(sent(&mut bench, &other).0, [4], "not what is punted");
    assert_eq!(counted(), [1, 1]);
    assert_eq!(bench.count("punt-dispatch", "No registrations"), 2);
    for line in ["test punt t0 10.0.0.9", "test punt t0 2001:db8::9"] {
        bench.cli(&line.replace("db8::9", "db8:0::9")).expect(line);
    }
    for frame in [&four, &six] {
        assert_eq!(sent(&mut bench, frame), (vec![1], vec![frame[12..].to_vec()]), "as it came");
    }
    for line in ["test punt t1 10.0.1.9", "test punt t1 2001:db8:1::9"] {
        bench.cli(line).expect(line);
    }
    for frame in [&four, &six] {
        assert_eq!(sent(&mut bench, frame), (vec![1, 2], vec![frame[12..].to_vec(); 2]), "to both");
    }
    assert_eq!(counted(), [3, 3]);
    assert_eq!(bench.count("punt-dispatch", "dispatched"), 6);
    assert!(
        bench
            .cli("test punt t3 10.0.3.9")
            .expect_err("two are there")
            .to_string()
            .contains("2 clients")
    );
    // A client goes with its interface, and its place is free.
    world.get::<Interfaces>().delete(&world, SwIfIndex(1)).expect("deleted");
    bench.settle();
    for frame in [&four, &six] {
        assert_eq!(sent(&mut bench, frame), (vec![2], vec![frame[12..].to_vec()]), "to the other");
    }
    bench.cli("test punt t3 10.0.3.9").expect("a place");
    assert_eq!(sent(&mut bench, &four), (vec![2, 4], vec![four[12..].to_vec(); 2]));
}
