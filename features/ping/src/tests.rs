// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use crate::probe::{SourceSelection, Target};
use crate::sessions::{Opened, Sessions};
use buffer::{Buffer, Flags};
use graph::drive::Bench;
use graph::{Cx, Next, Node, Plugin, Process, Sleep, SwIfIndex, Wake, World};
use net::drive::ethernet;
use net::{
    Addresses, Fib, Interfaces, Neighbor, Neighbors, NewInterface, Path, PathKind, Source,
    TableIndex,
};
use std::sync::{Arc, Mutex};
use testkit::pkt;
use wire::checksum::Sum;
use wire::icmp::code4;
use wire::{
    Header, Icmp4Type, IcmpHeader, Ip4, Ip4Prefix, IpHeader, IpProtocol, Ipv4Header, MacAddr,
};

/// The network behind the interface: what comes back for a request. 10.0.0.9 answers; 10.0.0.66
/// never does; 10.0.0.7 says that it is unreachable; everything else lies behind two routers.
struct Network {
    sw_if: u32,
    seen: Arc<Seen>,
}

/// A request: source, size, TTL.
type Request = ([u8; 4], usize, u8);

/// Every request.
#[derive(Default)]
struct Seen(Mutex<Vec<Request>>);
impl graph::Shared for Seen {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

#[derive(Next, Clone, Copy)]
enum To {
    #[next("ethernet-input")]
    Back,
    #[free]
    Lost,
}

impl Node for Network {
    const NAME: &'static str = "network-tx";
    type Next = To;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let frame: Vec<u8> = b.segments().flatten().copied().collect();
        let request = &frame[14..];
        let ip = *Ipv4Header::view(request).expect("a header");
        let icmp = *IcmpHeader::view_at(request, 20).expect("a message");
        assert!(ip.is_plain() && ip.checksum_ok() && Sum::of(&request[20..]).is_valid());
        assert_eq!((ip.protocol, ip.packet_len(), icmp.kind), (IpProtocol::ICMP, request.len(), 8));
        self.seen.0.lock().expect("no panic").push((ip.src, request.len(), ip.ttl));
        let (own, back) = (ip.src(), || pkt::ether(PEER, OWN));
        let error = |from: [u8; 4], kind, code| {
            let quote = &request[..request.len().min(100)];
            back()
                .ip4(std::net::Ipv4Addr::from(from), own)
                .icmp(kind, code, 0)
                .payload(quote)
                .build()
        };
        let reply = |ttl| {
            let message = back().ip4(ip.dst(), own).ttl(ttl).icmp(Icmp4Type(0), 0, icmp.rest());
            message.payload(&request[28..]).build()
        };
        let answer = match (ip.dst, ip.ttl) {
            ([10, 0, 0, 66], _) => return To::Lost,
            ([10, 0, 0, 9], _) => reply(64),
            ([10, 0, 0, 7], _) => error(ip.dst, Icmp4Type::UNREACHABLE, code4::ADMIN_PROHIBITED),
            (_, 1) => error([10, 0, 0, 2], Icmp4Type::TIME_EXCEEDED, 0),
            (_, 2) => return To::Lost,
            _ => reply(62),
        };
        b.drop_segments(cx.cache());
        assert!(b.set_data(&answer[..answer.len().min(2048)]));
        if answer.len() > 2048 {
            assert!(b.append_bytes(&answer[2048..], cx.cache()));
        }
        b.flags = Flags::default();
        b.rx_if = self.sw_if;
        To::Back
    }
}

const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &path_mtu::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &PLUGIN,
];

/// A clock that runs fast, so that the test needn't wait: a millisecond for each turn.
struct Fast;
impl Process for Fast {
    fn name(&self) -> &'static str {
        "fast"
    }
    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        world.clock.adjust(1_000_000);
        Sleep::Until(world.clock.now())
    }
}

fn prefix(text: &str) -> Ip4Prefix {
    text.parse().expect("a prefix")
}

fn bench() -> Bench {
    let bench = Bench::new(PLUGINS);
    let world = &bench.world;
    world.declare::<Seen>();
    let interfaces = world.get::<Interfaces>();
    let addresses = world.get::<Addresses<Ip4>>();
    let add = |name: &str, address: Option<&str>| -> SwIfIndex {
        let new = NewInterface { mtu: 65_535, ..ethernet(name, OWN) };
        let sw_if = interfaces
            .create(world, new, |world, _, sw_if| Network { sw_if: sw_if.0, seen: world.get() });
        let sw_if = sw_if.expect("created");
        interfaces.set_admin(world, sw_if, true).expect("up");
        if let Some(address) = address {
            addresses.add(world, sw_if, prefix(address)).expect("added");
        }
        sw_if
    };
    let t0 = add("t0", Some("10.0.0.1/24"));
    add("t1", Some("192.0.2.1/24"));
    add("bare", None);
    let vrf = add("vrf", None);
    for host in [2, 7, 9, 66] {
        let known =
            Neighbor { is_static: true, ..Neighbor::new(t0, [10, 0, 0, host].into(), PEER) };
        world.get::<Neighbors>().set(world, known).expect("set");
    }
    let via =
        Path::new(PathKind::Neighbor { sw_if: t0, nexthop: std::net::IpAddr::from([10, 0, 0, 2]) });
    let fib = world.get::<Fib<Ip4>>();
    fib.set(world, TableIndex::DEFAULT, prefix("8.0.0.0/8"), Source::Cli, &[via]).expect("set");
    let other = fib.add_table(world, 7, "seven", Source::Cli).expect("added");
    fib.set(world, other, prefix("9.0.0.0/8"), Source::Cli, &[via]).expect("set");
    let back = Path::new(PathKind::Lookup(Fib::<Ip4>::table_ref(TableIndex::DEFAULT)));
    fib.set(world, other, prefix("8.0.0.0/8"), Source::Cli, &[back]).expect("set");
    addresses.set_table(world, vrf, 7).expect("moved");
    addresses.add(world, vrf, prefix("172.16.0.1/24")).expect("added");
    world.processes.spawn(Box::new(Fast), &world.processes.signal());
    bench
}

fn run(bench: &mut Bench, line: &str) -> String {
    bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

/// Without the times.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(|l| l.split(" time=").next().unwrap_or_default().to_string()).collect()
}

fn seen(bench: &Bench) -> Vec<Request> {
    std::mem::take(&mut *bench.world.get::<Seen>().0.lock().expect("no panic"))
}

/// A session of requests to a host.
fn session(bench: &Bench, to: &str) -> Opened {
    let to = to.parse().expect("an address");
    let selection = SourceSelection::In(net::TableIndex::DEFAULT);
    let target = Target::new(&bench.world, to, selection, 8).expect("there is a way");
    bench.world.get::<Sessions>().open(target.to, target.table)
}

#[suite::test]
fn answers_are_printed_as_they_come() {
    let mut bench = bench();
    let text = run(&mut bench, "ping 10.0.0.9 repeat 3 interval 0.2");
    let want = |seq| format!("76 bytes from 10.0.0.9: icmp_seq={seq} ttl=64");
    let statistics = "Statistics: 3 sent, 3 received, 0% packet loss".to_string();
    assert_eq!(lines(&text), [want(1), want(2), want(3), String::new(), statistics]);
    let (_, time) = text.lines().next().and_then(|l| l.split_once(" time=")).expect("a time");
    assert!(
        time.strip_suffix(" ms").and_then(|t| t.parse::<f64>().ok()).is_some_and(|t| t < 1000.0),
        "{time}"
    );
    assert_eq!(seen(&bench), [([10, 0, 0, 1], 96, 255); 3]);
    assert_eq!(bench.world.get::<Sessions>().count(), 0, "the session has ended");
    assert_eq!(lines(&run(&mut bench, "ping ipv4 10.0.0.9 repeat 1 burst 3 size 0")).len(), 5);
    assert_eq!(seen(&bench), [([10, 0, 0, 1], 36, 255); 3]);
    let text = run(&mut bench, "ping 10.0.0.9 repeat 1 size 65499 verbose");
    assert!(text.starts_with("Source address: 10.0.0.1, identifier: "), "{text}");
    assert!(text.contains("\n65515 bytes from 10.0.0.9"), "{text}");
}

#[suite::test]
fn what_is_lost_is_waited_for_a_second() {
    let mut bench = bench();
    let before = bench.world.clock.now();
    let text = run(&mut bench, "ping 10.0.0.66 repeat 3 interval 0.01");
    assert_eq!(text, "\nStatistics: 3 sent, 0 received, 100% packet loss\n");
    assert!(bench.world.clock.now() - before >= 1_020_000_000);
    let text = run(&mut bench, "ping 10.0.0.9 repeat 0");
    assert_eq!(text, "\nStatistics: 0 sent, 0 received, 0% packet loss\n");
}

#[suite::test]
fn errors_say_who_and_why() {
    let mut bench = bench();
    let text = run(&mut bench, "ping 10.0.0.7 repeat 2 interval 0");
    assert_eq!(
        lines(&text),
        [
            "From 10.0.0.7: icmp_seq=1 administratively prohibited",
            "From 10.0.0.7: icmp_seq=2 administratively prohibited",
            "",
            "Statistics: 2 sent, 0 received, 100% packet loss"
        ]
    );
    // We tell ourselves, in whatever table.
    for (source, own) in [("t0", "10.0.0.1"), ("vrf", "172.16.0.1")] {
        let text = run(&mut bench, &format!("ping 44.4.4.4 source {source} repeat 1"));
        let want = format!("From {own}: icmp_seq=1 network unreachable\n");
        assert!(text.starts_with(&want), "{source}: {text}");
    }
}

#[suite::test]
fn programs_get_one_value() {
    let mut bench = bench();
    let json: serde_json::Value =
        serde_json::from_str(&run(&mut bench, "ping 10.0.0.9 repeat 2 interval 0 -j"))
            .expect("JSON");
    assert_eq!((json["sent"].as_u64(), json["received"].as_u64()), (Some(2), Some(2)));
    assert_eq!(
        (json["source"].as_str(), json["loss_percent"].as_f64()),
        (Some("10.0.0.1"), Some(0.0))
    );
    assert_eq!(json["answers"][1]["seq"], 2);
    assert!(json["rtt_ms"]["min"].as_f64() <= json["rtt_ms"]["max"].as_f64());
    let json: serde_json::Value =
        serde_json::from_str(&run(&mut bench, "ping 10.0.0.7 repeat 1 interval 0 -j"))
            .expect("JSON");
    assert_eq!((json["errors"].as_u64(), json["rtt_ms"].is_null()), (Some(1), true));
    assert_eq!(json["answers"][0]["error"], "administratively prohibited");
}

#[suite::test]
fn the_source_is_that_of_the_way() {
    let mut bench = bench();
    for (words, source) in [
        ("8.8.8.8", [10, 0, 0, 1]),
        ("8.8.8.8 table-id 7", [10, 0, 0, 1]),
        ("8.8.8.8 source t1", [192, 0, 2, 1]),
    ] {
        let text = run(&mut bench, &format!("ping {words} repeat 1"));
        assert!(text.contains(" 1 received"), "{words}: {text}");
        assert_eq!(seen(&bench), [(source, 96, 255)], "{words}");
    }
    // Its answer comes in where 9.0.0.0/8 has no route, so nobody believes it.
    run(&mut bench, "ping 9.9.9.9 table-id 7 repeat 1");
    assert_eq!(seen(&bench), [([10, 0, 0, 1], 96, 255)]);
    // Ourselves, and errors from ourselves, whatever the table.
    for words in
        ["10.0.0.1", "192.0.2.1 source t0", "172.16.0.1 table-id 7", "172.16.0.1 source vrf"]
    {
        let text = run(&mut bench, &format!("ping {words} repeat 2 interval 0"));
        let own = words.split(' ').next().unwrap_or_default();
        assert!(
            text.starts_with(&format!("76 bytes from {own}: icmp_seq=1 ttl=64")),
            "{words}: {text}"
        );
        assert!(text.contains("Statistics: 2 sent, 2 received, 0% packet loss"), "{text}");
    }
    assert!(seen(&bench).is_empty(), "that never leaves");
    for (words, part) in [
        ("9.9.9.9", "no route to 9.9.9.9"),
        ("10.0.0.9 table-id 7", "no route"),
        ("10.0.0.9 table-id 8", "no table 8"),
        ("10.0.0.9 source bare", "bare has none"),
        ("1.1.1.1", "no route to 1.1.1.1"),
        ("10.0.0.9 source nope", "no interface is named `nope'"),
        ("2001:db8::1", "no route to 2001:db8::1"),
        ("fe80::1", "on which link"),
        ("fe80::1 source t0", "t0 has no IPv6"),
        ("ff02::1", "not that of one host"),
        ("255.255.255.255", "not that of one host"),
        ("224.0.0.1 source t0", "not that of one host"),
        ("10.0.0.9 interval -1", "interval"),
        ("10.0.0.9 burst 257", "257"),
        ("10.0.0.9 size 65500", "65500"),
    ] {
        let error = bench
            .cli(&format!("ping {words}"))
            .err()
            .unwrap_or_else(|| panic!("{words} was taken"));
        assert!(error.to_string().contains(part), "{words}: {error}");
    }
    assert!(seen(&bench).is_empty());
}

#[suite::test]
fn routers_on_the_way_are_found() {
    let mut bench = bench();
    let text = run(&mut bench, "traceroute 8.8.8.8 interval 0.05");
    let words: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(words.len(), 3, "{text}");
    assert_eq!((words[0][..2].to_vec(), words[0].len()), (vec!["1:", "10.0.0.2:"], 5), "{text}");
    assert_eq!(words[1], ["2:", "*", "*", "*"]);
    assert_eq!((words[2][..2].to_vec(), words[2].len()), (vec!["3:", "8.8.8.8:"], 5), "{text}");
    assert_eq!(seen(&bench).iter().map(|s| s.2).collect::<Vec<_>>(), [1, 1, 1, 2, 2, 2, 3, 3, 3]);
    let line = "traceroute 10.0.0.66 max-hops 2 repeat 1 interval 0.01";
    assert_eq!(run(&mut bench, line), "1: *\n2: *\nThe destination was not reached.\n");
    let text = run(&mut bench, "traceroute 10.0.0.7 repeat 1");
    assert!(
        text.contains("(administratively prohibited)\nThe destination was not reached.\n"),
        "{text}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&run(&mut bench, "traceroute 8.8.8.8 repeat 1 interval 0.05 -j"))
            .expect("JSON");
    assert_eq!(
        (json["reached"].as_bool(), json["hops"].as_array().map(Vec::len)),
        (Some(true), Some(3))
    );
    assert_eq!(json["hops"][0]["answers"][0]["from"], "10.0.0.2");
    assert!(json["hops"][1]["answers"][0].is_null());
}

#[suite::test]
fn a_cancelled_ping_sums_up() {
    let mut bench = bench();
    let tree = cli::Tree::new(PLUGIN.cli).expect("well-formed");
    let (mut runner, mut said) = (cli::Runner::default(), Vec::new());
    runner.line(
        &tree,
        &bench.world,
        "ping 10.0.0.9 repeat 1000000 interval 0.005",
        false,
        &mut said,
    );
    for turn in 0..1000 {
        let now = std::time::Duration::from_nanos(bench.world.clock.now());
        if turn == 100 {
            runner.cancel();
        }
        if let Some(result) = runner.poll(&tree, &bench.world, now, &mut said) {
            assert_eq!((result, turn < 200), (Ok(()), true));
            break;
        }
        bench.rt.turn(true);
        let _ = bench.world.processes.run(&bench.world);
    }
    let Some(cli::OutputPiece::Answer(last)) = said.last() else { panic!("{said:?}") };
    assert!(last.contains("Statistics: ") && last.contains(" 0% packet loss"), "{last}");
    assert_eq!(bench.world.get::<Sessions>().count(), 0);
}

#[suite::test]
fn answers_that_nobody_waits_for_are_punted() {
    let mut bench = bench();
    let reply = pkt::ip4("10.0.0.9", "10.0.0.1").icmp_echo_reply(7, 1).payload_len(8).build();
    let about = |quote: &[u8]| {
        pkt::ip4("10.0.0.2", "10.0.0.1").icmp(Icmp4Type(11), 0, 0).payload(quote).build()
    };
    let request = pkt::ip4("10.0.0.1", "8.8.8.8").icmp_echo(7, 1).payload_len(8).build();
    for (node, packet) in [
        ("ip4-icmp-echo-reply", reply.clone()),
        ("ip4-icmp-echo-reply", reply[..27].to_vec()),
        ("ip4-ping-error", about(&request)),
        ("ip4-ping-error", about(&pkt::ip4("10.0.0.1", "8.8.8.8").icmp_echo_reply(7, 1).build())),
        ("ip4-ping-error", request[..30].to_vec()),
    ] {
        let out = bench.node(node, &[packet], |_| {});
        assert_eq!(
            (out[0].node.as_str(), out[0].reason),
            ("ip4-punt", Some("no ping waits for this answer"))
        );
    }
    let opened = session(&bench, "10.0.0.9");
    let reply = pkt::ip4("10.0.0.9", "10.0.0.1").icmp_echo_reply(opened.session.id, 1).build();
    let mut dropped = 0;
    for _ in 0..11 {
        dropped += bench.node("ip4-icmp-echo-reply", &vec![reply.clone(); 100], |_| {}).len();
    }
    assert_eq!((dropped, bench.count("ip4-icmp-echo-reply", "full")), (1100 - 1024, 1100 - 1024));
    let other = session(&bench, "10.0.0.9");
    assert_ne!(other.session.id, opened.session.id);
}

#[suite::test]
fn routers_tell_what_fits_but_only_of_what_we_sent() {
    let mut bench = bench();
    let opened = session(&bench, "10.0.0.9");
    let id = opened.session.id;
    // A request of 1428 bytes, and what a router says of it.
    let told = |id: u16, to: &str, mtu: u32| {
        let request = pkt::ip4("10.0.0.1", to).df().icmp_echo(id, 1).payload_len(1400).build();
        pkt::ip4("10.0.0.77", "10.0.0.1")
            .icmp(wire::Icmp4Type::UNREACHABLE, 4, mtu)
            .payload(&request[..576])
            .build()
    };
    let mut known = |packet: Vec<u8>| {
        bench.node("ip4-ping-error", &[packet], |b| b.rx_if = 1);
        bench.settle();
        bench
            .cli("show ip pmtu")
            .expect("shown")
            .lines()
            .skip(1)
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    for (id, to, mtu) in [
        (id.wrapping_add(1), "10.0.0.9", 1300),
        (id, "10.0.0.8", 1300),
        (id, "10.0.0.9", 1428),
        (id, "10.0.0.9", 67),
    ] {
        assert_eq!(known(told(id, to, mtu)), Vec::<String>::new(), "{to} {mtu}");
    }
    let all = known(told(id, "10.0.0.9", 1300));
    assert!(all.len() == 1 && all[0].contains("10.0.0.9") && all[0].contains("1300"), "{all:?}");
    // An old router doesn't say.
    assert!(known(told(id, "10.0.0.9", 0))[0].contains("1006"));
    bench.world.clock.adjust(601_000_000_000);
    bench.settle();
    assert_eq!(bench.cli("show ip pmtu").expect("shown").lines().count(), 1);
}

#[suite::test]
fn the_binary_api_pings_and_tells_when_all_is_over() {
    use crate::api::{PingFinishedEvent, WantPingFinishedEvents};
    let mut bench = bench();
    let (world, rt): (&World, _) = (&bench.world, &mut bench.rt);
    let mut client = msg::Loopback::new(world, &world.api);
    let want = |address: [u8; 4], repeat, interval| {
        let address = std::net::IpAddr::from(address).into();
        WantPingFinishedEvents { address, repeat, interval }
    };
    let mut ended = |client: &mut msg::Loopback<'_, World>| {
        for _ in 0..100_000 {
            if let Some((_, event)) = client.events::<PingFinishedEvent>().pop() {
                return (event.request_count, event.reply_count);
            }
            rt.turn(true);
            let _ = world.processes.run(world);
        }
        panic!("no event");
    };
    assert_eq!(client.call(want([10, 0, 0, 9], 3, 0.2)), Ok(()));
    assert_eq!(ended(&mut client), (3, 3));
    assert_eq!(client.call(want([10, 0, 0, 66], 2, 0.01)), Ok(()));
    assert_eq!(ended(&mut client), (2, 0));
    assert_eq!(client.call(want([10, 0, 0, 9], 0, 1.0)), Ok(()));
    assert_eq!(ended(&mut client), (0, 0));
    assert_eq!(client.call(want([224, 0, 0, 1], 1, 1.0)), Err(-58));
    assert_eq!(client.call(want([10, 0, 0, 9], 1, -1.0)), Err(-7));
    let six = WantPingFinishedEvents {
        address: std::net::IpAddr::from([1u16; 8]).into(),
        ..want([0; 4], 1, 1.0)
    };
    assert_eq!(client.call(six), Err(-51));

    // A session that ends takes its pings with it; no session has more than the limit.
    let patient = || want([10, 0, 0, 66], u32::MAX, 1000.0);
    for _ in 0..256 {
        assert_eq!(client.call(patient()), Ok(()));
    }
    assert_eq!(client.call(patient()), Err(-162));
    let sessions = world.get::<Sessions>();
    assert_eq!(sessions.count(), 256);
    drop(client);
    for _ in 0..100 {
        rt.turn(true);
        let _ = world.processes.run(world);
    }
    assert_eq!(sessions.count(), 0);
}
