// SPDX-License-Identifier: Apache-2.0
//! Two Linux hosts talk through two taps of a running instance.

use driver::rig::{Rig, WIRE};
use graph::Plugin;
use net::{Interface, Interfaces, MtuKind};
use std::time::Duration;
use testkit::lab::{self, Netns};

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &crate::PLUGIN, &WIRE];

/// Hosts for 10.7.0.1 and 10.7.0.2, and the namespace of the instance.
struct Hosts {
    a: Netns,
    b: Netns,
    middle: Netns,
}

fn hosts() -> Option<Hosts> {
    let lab = lab::require(&["root", "ping", "iperf3", "nstat", "ss", "/dev/net/tun"])?;
    let hosts = Hosts { a: lab.netns("a"), b: lab.netns("b"), middle: lab.netns("m") };
    for host in [&hosts.a, &hosts.b] {
        host.sysctl("net/ipv6/conf/default/disable_ipv6", "1");
    }
    Some(hosts)
}

impl Hosts {
    fn rig(&self, workers: usize) -> Rig {
        Rig::new(self.middle.name().expect("it has one"), PLUGINS, workers)
    }

    /// Two taps wired to each other.
    fn wired(&self, words: &str, workers: usize) -> Rig {
        let rig = self.rig(workers);
        for (n, host) in [&self.a, &self.b].into_iter().enumerate() {
            let (address, ns) = (n + 1, host.name().expect("it has one"));
            rig.script(&format!(
                "create tap id {n} host-ns {ns} host-if-name eth0 host-ip4-addr 10.7.0.{address}/24 {words}
                set interface state tap{n} up"
            ));
        }
        rig.wire("tap0", "tap1");
        rig
    }

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

fn interface(rig: &Rig, name: &str) -> Interface {
    let interfaces = rig.world.get::<Interfaces>();
    interfaces.find(name).and_then(|sw_if| interfaces.get(sw_if)).expect("it is there")
}

#[suite::test(netns)]
fn hosts_with_offloads_and_workers() {
    let Some(hosts) = hosts() else { return };
    for (workers, words) in
        [(0, ""), (1, ""), (2, "num-rx-queues 2"), (1, "csum-offload"), (0, "no-gso")]
    {
        let rig = hosts.wired(words, workers);
        let latency = hosts.pings("-c 200 -i 0.002");
        let (tcp, back) = (hosts.iperf("-P 2"), hosts.iperf("-R"));
        let udp = hosts.iperf("-u -b 500M -l 1400");
        let threads: Vec<_> = rig.world.thread_list().iter().map(|t| (t.turns, t.sleeps)).collect();
        eprintln!(
            "{workers} workers {words}: TCP {tcp}, back {back}; UDP {udp}; {latency}, turns and sleeps {threads:?}"
        );
        assert_eq!(hosts.complaints(), [""; 0]);
        assert_eq!(rig.drops(), []);
        let placement = rig.script("show interface rx-placement");
        assert!(
            placement.contains("virtio-input") && placement.contains("adaptive"),
            "{placement}"
        );
        rig.finish();
    }
}

#[suite::test(netns)]
fn long_frames_and_super_packets_to_a_tap_without_offloads() {
    let Some(hosts) = hosts() else { return };
    let rig = hosts.wired("host-mtu-size 9000", 1);
    assert_eq!(interface(&rig, "tap0").mtu_of(MtuKind::Link), 9000);
    hosts.pings("-c 10 -i 0.01 -M do -s 8972");
    hosts.pings("-c 10 -i 0.01 -s 60000");
    rig.finish();
    let rig = hosts.wired("no-gso host-mtu-size 9000", 1);
    hosts.pings("-c 10 -i 0.01 -M do -s 8972");
    rig.finish();

    // Work that one host leaves pending is done here for the other.
    let rig = hosts.rig(1);
    for (n, (host, words)) in [(&hosts.a, "gso"), (&hosts.b, "no-gso")].into_iter().enumerate() {
        let (address, ns) = (n + 1, host.name().expect("it has one"));
        rig.script(&format!(
            "create tap host-ns {ns} host-if-name eth0 host-ip4-addr 10.7.0.{address}/24 {words}
            set interface state tap{n} up"
        ));
    }
    rig.wire("tap0", "tap1");
    eprintln!("TCP cut into segments here: {}", hosts.iperf(""));
    let (bytes, packets) =
        (hosts.b.counter("eth0", "rx_bytes"), hosts.b.counter("eth0", "rx_packets"));
    assert!(bytes / packets <= 1514, "segments: {bytes} bytes in {packets} packets");
    assert_eq!(hosts.complaints(), [""; 0]);
    assert_eq!(rig.drops(), []);
    rig.finish();
}

#[suite::test(netns)]
fn both_ends_follow_each_other() {
    let Some(hosts) = hosts() else { return };
    let rig = hosts.wired("", 1);
    hosts.pings("-c 2 -i 0.01");
    let carrier = || hosts.a.ip("link show eth0").contains("NO-CARRIER");
    assert!(interface(&rig, "tap0").link_up && !carrier());
    rig.script("set interface state tap0 down");
    rig.until("the host's end has no carrier", |_| carrier());
    assert!(interface(&rig, "tap0").link_up, "the host's end is up");
    rig.script("set interface state tap0 up");
    rig.until("the host's end has a carrier", |_| !carrier());
    hosts.pings("-c 2 -i 0.01");
    hosts.a.down("eth0");
    rig.until("the link is down", |_| !interface(&rig, "tap0").link_up);
    let turns = || rig.world.thread_list().iter().map(|t| t.turns).sum::<u64>();
    std::thread::sleep(Duration::from_millis(50));
    let before = turns();
    std::thread::sleep(Duration::from_millis(300));
    assert!(turns() - before < 2000, "threads sleep while the link is down");
    hosts.a.up("eth0");
    rig.until("the link is up", |_| interface(&rig, "tap0").link_up);
    hosts.pings("-c 2 -i 0.01");
    hosts.a.mtu("eth0", 4000);
    rig.until("the MTU is noted", |_| interface(&rig, "tap0").mtu_of(MtuKind::Link) == 4000);
    rig.script("set interface mtu 3000 tap0");
    assert!(hosts.a.ip("link show eth0").contains("mtu 3000"));
    hosts.pings("-c 2 -i 0.01");

    hosts.a.ip("link del eth0");
    rig.until("it is gone", |_| rig.script("show tap tap0").contains("(gone)"));
    assert!(!interface(&rig, "tap0").link_up);
    let before = turns();
    std::thread::sleep(Duration::from_millis(300));
    assert!(turns() - before < 2000, "threads sleep without the host's end");
    let ns = hosts.a.name().expect("it has one");
    rig.script(&format!(
        "delete tap tap0
        create tap id 0 host-ns {ns} host-if-name eth0 host-ip4-addr 10.7.0.1/24
        set interface state tap0 up"
    ));
    rig.wire("tap0", "tap1");
    hosts.pings("-c 2 -i 0.01");
    rig.finish();
}

#[suite::test(netns)]
fn taps_are_taken_over_and_mistakes_are_told() {
    let Some(hosts) = hosts() else { return };
    for words in ["", "persist", "persist attach num-rx-queues 1"] {
        // Ends without a word, as if killed.
        let rig = hosts.wired(words, 1);
        hosts.pings("-c 2 -i 0.01");
        drop(rig);
    }
    assert!(hosts.a.ip("link show eth0").contains("NO-CARRIER"), "persistent ones stay");
    let rig = hosts.wired("persist attach", 0);
    for _ in 0..3 {
        // A script needn't wait between the two.
        let ns = hosts.a.name().expect("it has one");
        rig.script(&format!(
            "delete tap tap0
            create tap id 0 host-ns {ns} host-if-name eth0 attach
            set interface state tap0 up"
        ));
        rig.wire("tap0", "tap1");
        hosts.pings("-c 2 -i 0.01");
    }
    let ns = hosts.b.name().expect("it has one");
    let taken = format!("create tap id 7 host-ns {ns} host-if-name eth0");
    for (line, part) in [
        ("create tap id 0", "tap 0 is there already"),
        (&taken, "an interface of this name exists"),
        ("create tap if-name tap1", "there is an interface tap1 already"),
        ("create tap host-ns nosuch", "nosuch"),
        ("create tap host-bridge nosuch", "host bridge"),
        ("create tap hw-addr ff:ff:ff:ff:ff:ff", "isn't one of a single host"),
        ("create tap gro-coalesce", "isn't built"),
        ("create tap attach", "host-if-name"),
        ("delete tap local0", "local0 is no tap"),
        ("delete tap sw_if_index 99", "is no tap"),
        ("show tap local0", "is no tap"),
        ("show tun tap0", "tap0 is no tun"),
        ("show tap descriptors", "no virtio ring"),
    ] {
        let error = rig.cli(line).expect_err(line).to_string();
        assert!(error.contains(part), "{line}: {error}");
    }
    let first = rig.script("create tap");
    assert_eq!(first.trim(), "tap2", "the first free number");
    rig.script(
        "create tap tun host-ip4-addr 10.9.0.1/24 hw-addr 02:00:00:00:00:01\ncreate tap id 9 if-name uplink",
    );
    let all: serde_json::Value = serde_json::from_str(&rig.script("show tap -j")).expect("JSON");
    let names: Vec<_> = all.as_array().expect("a list").iter().map(|t| t["name"].clone()).collect();
    assert_eq!(names, ["tap0", "tap1", "tap2", "uplink"]);
    assert!(rig.script("show tun").contains("Interface: tun0"));
    let text = rig.script("show hardware-interfaces tun0");
    assert!(
        text.contains("Linux tun tun0") && text.contains("\n  Link speed: unknown\n"),
        "{text}"
    );
    rig.script("delete tap sw_if_index 3\ndelete tap uplink\ndelete tap tun0");
    assert!(!hosts.middle.ip("link show").contains("tap2"));
    rig.finish();
}
