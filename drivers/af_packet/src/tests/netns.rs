// SPDX-License-Identifier: Apache-2.0
//! Two Linux hosts talk through two host interfaces of a running instance, offloads on.

use crate::{Config, Create, HostInterface, create};
use cli::{Task, TaskState, Tree};
use driver::rig::{Rig, WIRE};
use graph::Plugin;
use net::{IfCounters, Interface, Interfaces, MtuKind};
use netlink::Namespace;
use std::time::Duration;
use testkit::lab::{self, Netns};
use wire::offload::Offload;

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &crate::PLUGIN, &WIRE];

/// Hosts 10.7.0.1 and 10.7.0.2, and between them the instance's namespace with the interfaces `va`
/// and `vb`.
struct Hosts {
    a: Netns,
    b: Netns,
    middle: Netns,
}

fn hosts(mtu: u32) -> Option<Hosts> {
    let lab = lab::require(&["root", "ping", "iperf3", "nstat", "ss"])?;
    let (a, b, middle) = (lab.netns("a"), lab.netns("b"), lab.netns("m"));
    for (n, (host, port)) in [(&a, "va"), (&b, "vb")].into_iter().enumerate() {
        host.sysctl("net/ipv6/conf/default/disable_ipv6", "1");
        middle.sysctl("net/ipv6/conf/default/disable_ipv6", "1");
        lab.veth((host, "eth0"), (&middle, port));
        host.mtu("eth0", mtu);
        middle.mtu(port, mtu);
        host.addr("eth0", &format!("10.7.0.{}/24", n + 1));
    }
    Some(Hosts { a, b, middle })
}

impl Hosts {
    /// The round-trip times, for people.
    fn pings(&self, options: &str) -> String {
        let text = self.a.pings(options, "10.7.0.2");
        text.lines().last().unwrap_or_default().to_string()
    }

    /// Runs iperf3; what it measured, for people.
    fn iperf(&self, words: &str) -> String {
        let server = self.b.command("iperf3").args(["-s", "-1"]).spawn();
        let listens =
            || self.b.command("ss").args("-Hltn sport = 5201".split(' ')).ok().contains("5201");
        while !listens() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let client = self.a.command("iperf3").args("-c 10.7.0.2 -t 1 -J".split(' '));
        let report = client.args(words.split_whitespace()).ok();
        drop(server);
        let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
        let end = |sum: &str, what: &str| report["end"][sum][what].as_f64();
        let rate = end("sum_received", "bits_per_second").expect("a rate") / 1e9;
        assert!(rate > 0.0, "nothing came through");
        let sent = end("sum_sent", "retransmits")
            .map_or_else(String::new, |n| format!(" ({n} sent again)"));
        let lost =
            end("sum", "lost_percent").map_or_else(String::new, |n| format!(" ({n:.0} % lost)"));
        format!("{rate:.2} Gb/s{sent}{lost}")
    }

    /// Packets that a host found broken.
    fn complaints(&self) -> Vec<String> {
        let words = "-asz TcpInCsumErrors UdpInCsumErrors IcmpInCsumErrors IpInHdrErrors";
        let all = [&self.a, &self.b].map(|host| host.command("nstat").args(words.split(' ')).ok());
        let lines = all.iter().flat_map(|text| text.lines()).filter(|l| !l.starts_with('#'));
        lines.filter(|l| l.split_whitespace().nth(1) != Some("0")).map(str::to_string).collect()
    }
}

const CREATE: &str = "create host-interface name va
    create host-interface name vb hw-addr 02:00:00:00:00:0b
    set interface state host-va up
    set interface state host-vb up";

/// The hosts' ports, wired to each other by the instance.
fn wired(hosts: &Hosts, create: &str, workers: usize) -> Rig {
    let rig = Rig::new(hosts.middle.name().expect("it has one"), PLUGINS, workers);
    rig.script(create);
    rig.wire("host-va", "host-vb");
    rig
}

fn interface(rig: &Rig, name: &str) -> Interface {
    let interfaces = rig.world.get::<Interfaces>();
    interfaces.find(name).and_then(|sw_if| interfaces.get(sw_if)).expect("it is there")
}

/// Packets that found a ring full, until the last second.
fn rx_misses(rig: &Rig) -> u64 {
    rig.world.clock.adjust(1_000_000_000);
    // The second turn is behind a whole one.
    rig.world.query(|_| ()).wait();
    rig.world.query(|_| ()).wait();
    let counters = rig.world.get::<IfCounters>();
    ["host-va", "host-vb"]
        .iter()
        .map(|name| counters.rx_miss.sum(interface(rig, name).sw_if.at()))
        .sum()
}

#[suite::test(netns)]
fn hosts_with_offloads_and_workers() {
    for workers in [0, 1, 2] {
        let Some(hosts) = hosts(1500) else { return };
        let rig = wired(&hosts, CREATE, workers);
        let latency = hosts.pings("-c 200 -i 0.002");
        let (tcp, back) = (hosts.iperf(""), hosts.iperf("-R"));
        let missed = rx_misses(&rig);
        let udp = hosts.iperf("-u -b 1G -l 1400");
        let threads: Vec<_> = rig.world.thread_list().iter().map(|t| (t.turns, t.sleeps)).collect();
        eprintln!(
            "{workers} workers: TCP {tcp}, back {back}, {missed} missed; UDP {udp}; {latency}, turns and sleeps {threads:?}"
        );
        assert_eq!(hosts.complaints(), [""; 0]);
        assert_eq!(rig.drops(), []);
        let text = rig.script("show interface host-va");
        assert!(text.contains("rx packets") && text.contains("tx packets"), "{text}");
        let placement = rig.script("show interface rx-placement");
        assert!(
            placement.contains("af-packet-input") && placement.contains("adaptive"),
            "{placement}"
        );
        rig.finish();
    }
}

#[suite::test(netns)]
fn long_frames_queues_and_ring_version_3() {
    let Some(hosts) = hosts(9000) else { return };
    let create =
        CREATE.replace("name va", "name va v3").replace("name vb", "name vb num-rx-queues 3");
    let rig = wired(&hosts, &create, 2);
    assert_eq!(interface(&rig, "host-va").mtu_of(MtuKind::Link), 9000);
    hosts.pings("-c 10 -i 0.01 -M do -s 8972");
    hosts.pings("-c 10 -i 0.01 -s 60000");
    let tcp = hosts.iperf("-P 4");
    // Queues change place and mode while packets come.
    let moved = std::thread::scope(|scope| {
        let traffic = scope.spawn(|| hosts.iperf("-R -P 4"));
        for turn in 0..40 {
            let place =
                if turn % 3 == 0 { "main".into() } else { format!("worker {}", turn % 3 - 1) };
            rig.script(&format!("set interface rx-placement host-vb queue {} {place}", turn % 2));
            let mode = ["polling", "interrupt", "adaptive"][turn % 3];
            rig.script(&format!("set interface rx-mode host-va {mode}"));
            std::thread::sleep(Duration::from_millis(20));
        }
        traffic.join().expect("no panic")
    });
    eprintln!(
        "MTU 9000, ring version 3: TCP {tcp}, back with moving queues {moved}, {} missed",
        rx_misses(&rig)
    );
    assert_eq!(hosts.complaints(), [""; 0]);
    assert_eq!(rig.drops(), []);
    let text = rig.script("show hardware-interfaces host-vb");
    assert!(text.contains("02:00:00:00:00:0b") && text.contains("receive: 3 queues"), "{text}");
    // The kernel says so of every veth.
    assert!(text.contains("\n  Link speed: 10 Gbps\n"), "{text}");
    rig.finish();
}

#[suite::test(netns)]
fn the_processor_cuts_and_completes_what_the_kernel_shall_not() {
    let Some(hosts) = hosts(1500) else { return };
    let rig = wired(
        &hosts,
        &CREATE
            .replace("name vb", "name vb cksum-gso-disable")
            .replace(" hw-addr 02:00:00:00:00:0b", ""),
        1,
    );
    let cut = hosts.iperf("");
    let longest = hosts
        .b
        .command("cat")
        .args([
            "/sys/class/net/eth0/statistics/rx_bytes",
            "/sys/class/net/eth0/statistics/rx_packets",
        ])
        .ok();
    let numbers: Vec<u64> = longest.lines().map(|n| n.parse().expect("a number")).collect();
    assert!(numbers[0] / numbers[1] <= 1514, "segments: {numbers:?}");
    rig.script(
        "set host-interface l4-cksum-offload vb on\nset host-interface qdisc-bypass host-vb enable",
    );
    let passed = hosts.iperf("-u -b 100M -l 1400");
    eprintln!("TCP cut into segments here {cut}; UDP past the queueing discipline {passed}");
    rig.script("set host-interface l4-cksum-offload vb off\nset host-interface qdisc-bypass host-vb disable");
    hosts.pings("-c 3 -i 0.01");
    assert_eq!(hosts.complaints(), [""; 0]);
    assert_eq!(rig.drops(), []);
    rig.finish();
}

#[suite::test(netns)]
fn links_are_followed() {
    let Some(hosts) = hosts(1500) else { return };
    let rig = wired(&hosts, CREATE, 1);
    hosts.pings("-c 2 -i 0.01");
    assert!(interface(&rig, "host-va").link_up);
    hosts.a.down("eth0");
    rig.until("the link is down", |_| !interface(&rig, "host-va").link_up);
    hosts.a.up("eth0");
    rig.until("the link is up", |_| interface(&rig, "host-va").link_up);
    hosts.middle.down("va");
    rig.until("the link is down", |_| !interface(&rig, "host-va").link_up);
    let turns = || rig.world.thread_list().iter().map(|t| t.turns).sum::<u64>();
    std::thread::sleep(Duration::from_millis(50));
    let before = turns();
    std::thread::sleep(Duration::from_millis(300));
    assert!(turns() - before < 2000, "threads sleep while the link is down");
    hosts.middle.up("va");
    rig.until("the link is up", |_| interface(&rig, "host-va").link_up);
    hosts.middle.mtu("va", 1400);
    rig.until("the MTU is noted", |_| interface(&rig, "host-va").mtu_of(MtuKind::Link) == 1400);
    rig.script("set interface mtu 1300 host-va");
    assert!(hosts.middle.ip("link show va").contains("mtu 1300"));
    hosts.pings("-c 2 -i 0.01");

    rig.script("set interface state host-va down");
    rig.settle();
    assert!(
        !hosts.a.command("ping").args("-n -c 2 -i 0.01 -W 1 10.7.0.2".split(' ')).run().success()
    );
    rig.script("set interface state host-va up");
    hosts.pings("-c 2 -i 0.01");

    hosts.middle.ip("link del va");
    rig.until("it is gone", |_| rig.script("show hardware-interfaces host-va").contains("gone"));
    assert!(!interface(&rig, "host-va").link_up);
    hosts.a.ip(&format!(
        "link add eth0 type veth peer name va netns {}",
        hosts.middle.name().expect("it has one")
    ));
    hosts.a.addr("eth0", "10.7.0.1/24");
    hosts.a.up("eth0");
    hosts.middle.up("va");
    rig.until("it is back", |_| interface(&rig, "host-va").link_up);
    hosts.pings("-c 2 -i 0.01");
    rig.finish();
}

#[suite::test(netns)]
fn interfaces_are_taken_over_and_mistakes_are_told() {
    let Some(hosts) = hosts(1500) else { return };
    for _ in 0..3 {
        // Ends without a word, as if killed.
        let rig = wired(&hosts, CREATE, 1);
        hosts.pings("-c 2 -i 0.01");
        drop(rig);
    }
    let rig = wired(&hosts, CREATE, 0);
    let own = interface(&rig, "host-va").mac;
    for (line, part) in [
        ("create host-interface name va", "host-va is there already"),
        ("create host-interface name nosuch", "No such device"),
        ("create host-interface v2 v3 name lo", "either v2 or v3"),
        ("create host-interface name lo hw-addr 01:00:00:00:00:00", "isn't one of a single host"),
        ("create host-interface name lo mode ip", "doesn't fit the mode"),
        ("create host-interface", "name"),
        ("delete host-interface name host-v", "`host-v' is no host interface"),
        ("set host-interface qdisc-bypass nosuch enable", "is no host interface"),
        ("set interface mtu 60 host-va", "MTU"),
        ("set interface rx-placement host-va queue 1 main", "no receive queue 1"),
    ] {
        let error = rig.cli(line).expect_err(line).to_string();
        assert!(error.contains(part), "{line}: {error}");
    }
    assert_eq!(
        rig.script("create host-interface name lo -j").split_whitespace().collect::<String>(),
        r#"{"name":"host-lo","sw_if_index":3}"#
    );
    for _ in 0..3 {
        rig.script("delete host-interface name host-va\ncreate host-interface name va\nset interface state host-va up");
        rig.wire("host-va", "host-vb");
        hosts.pings("-c 2 -i 0.01");
        assert_eq!(interface(&rig, "host-va").mac, own, "an address is kept");
    }
    rig.script(
        "set interface mac address host-va 02:00:00:00:00:0a\nset interface promiscuous on host-va",
    );
    hosts.pings("-c 2 -i 0.01");
    rig.finish();
}

/// Control goes on while the kernel opens queues, and what is set meanwhile comes into force.
#[suite::test(netns)]
fn control_goes_on_while_queues_are_opened() {
    let Some(hosts) = hosts(1500) else { return };
    let rig = Rig::new(hosts.middle.name().expect("it has one"), PLUGINS, 2);
    rig.script("create host-interface name vb\nset interface state host-vb up");
    rig.control(|world| {
        let tree = Tree::new(world.plugins().iter().flat_map(|p| p.cli)).expect("a tree");
        let set = |line: &str| {
            tree.execute(world, line).map(|_| ()).unwrap_or_else(|e| panic!("{line}: {e}"));
        };
        let create = || {
            let config = Config { rx_queues: 4, ..Config::new("va") };
            create(world, Create { config, mac: None, offloads: true, force: false }).expect("made")
        };
        // Queues that are opened for an interface that is gone are closed.
        let mut gone = create();
        set("delete host-interface name va");
        let TaskState::Failed(error) = gone.poll(Duration::ZERO) else { panic!("it goes on") };
        assert!(error.to_string().contains("deleted"), "{error}");
        let mut new = create();
        assert!(matches!(new.poll(Duration::ZERO), TaskState::Pending), "control hasn't run");
        for line in [
            "set interface state host-va up",
            "set interface mtu 1400 host-va",
            "set interface mac address host-va 02:00:00:00:00:0a",
            "set interface promiscuous on host-va",
            "set interface rx-placement host-va queue 3 main",
            "set interface rx-mode host-va queue 2 polling",
        ] {
            set(line);
        }
    });
    rig.until("the interface is open", |world| {
        let interfaces = world.get::<Interfaces>();
        let interface = interfaces.find("host-va").and_then(|sw_if| interfaces.get(sw_if));
        interface.expect("there").device.details()[0].contains(", up,")
    });
    rig.wire("host-va", "host-vb");
    hosts.pings("-c 2 -i 0.01 -M do -s 1372");
    assert!(hosts.middle.ip("link show va").contains("mtu 1400"));
    let placement = rig.script("show interface rx-placement host-va");
    assert_eq!(placement.matches("polling").count(), 1, "{placement}");
    assert_eq!(interface(&rig, "host-va").device.rx_queues()[3].thread.at(), 0, "{placement}");
    rig.finish();
}

/// Clocks per packet of a node since the start.
fn clocks(rig: &Rig, node: &str) -> u64 {
    let of = |name| rig.world.stats.simple(name).sum(rig.world.node(node).expect("a node").at());
    of(graph::counters::CLOCKS) / of(graph::counters::VECTORS).max(1)
}

#[suite::test(netns)]
fn what_a_small_packet_takes() {
    const FRAMES: u64 = 256 * 400;
    let Some(hosts) = hosts(1500) else { return };
    let rig = wired(&hosts, CREATE, 1);
    let namespace = Namespace::open(hosts.a.name().expect("it has one")).expect("opened");
    let mut sender = namespace.run(|| HostInterface::open(&Config::new("eth0"))).expect("opened");
    // A local experimental EtherType (IEEE 802): nobody answers.
    let frame =
        [&hosts.b.mac("eth0").octets()[..], &[2, 0, 0, 0, 0, 1, 0x88, 0xb5], &[0; 46]].concat();
    let before = hosts.b.counter("eth0", "rx_packets");
    let start = std::time::Instant::now();
    for _ in 0..FRAMES / 256 {
        let mut batch = sender.tx[0].batch();
        (0..256).for_each(|_| batch.push(Offload::NONE, [&frame[..]]));
        assert_eq!(batch.flush().sent, 256);
    }
    let sent = start.elapsed();
    let missed = rx_misses(&rig);
    let came = hosts.b.counter("eth0", "rx_packets") - before;
    assert!(came > 0 && came <= FRAMES + 10);
    eprintln!(
        "{FRAMES} frames of 60 bytes sent in {sent:.2?}, {came} came through, {missed} found the ring full; clocks per packet: \
         af-packet-input {}, rig-wire {}, host-vb-output {}, host-vb-tx {}",
        clocks(&rig, "af-packet-input"),
        clocks(&rig, "rig-wire"),
        clocks(&rig, "host-vb-output"),
        clocks(&rig, "host-vb-tx"),
    );
    assert_eq!(rig.drops(), []);
    rig.finish();
}
