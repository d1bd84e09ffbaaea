// SPDX-License-Identifier: Apache-2.0
//! Two Linux hosts talk through two host interfaces, offloads on. Needs root and iperf3.

use super::af_packet_lab as lab;

use std::{
    iter,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use af_packet::{Config, HostInterface, RxDrops, Version};
use lab::{connect, namespace, sh, wait};
use netlink::Namespace;

/// Hosts 10.7.0.1 and 10.7.0.2, and between them a machine that copies frames from `a` to `b` and
/// back.
struct Lab {
    hosts: [Namespace; 2],
    middle: Namespace,
}

impl Lab {
    fn new(mtu: u32) -> Option<Self> {
        let lab = Self { hosts: [namespace()?, namespace()?], middle: namespace()? };
        for (n, (host, port)) in iter::zip(&lab.hosts, ["a", "b"]).enumerate() {
            connect(host, "eth0", &lab.middle, port, mtu);
            sh(host, &format!("ip addr add 10.7.0.{}/24 dev eth0; ip link set lo up", n + 1));
        }
        Some(lab)
    }

    /// Forwards while `f` runs.
    fn forward<T>(&self, config: &Config, f: impl FnOnce() -> T) -> (T, Totals) {
        let open = |name: &str| {
            let config = Config { name: name.into(), ..config.clone() };
            self.middle.run(|| HostInterface::open(&config)).unwrap()
        };
        let (a, b) = (open("a"), open("b"));
        let (stop, totals) = (AtomicBool::new(false), Totals::default());
        let result = std::thread::scope(|scope| {
            for (from, to) in [(a.rx, b.tx), (b.rx, a.tx)] {
                for (rx, tx) in iter::zip(from, to) {
                    scope.spawn(|| copy(rx, tx, &stop, &totals));
                }
            }
            let _stop = Stop(&stop);
            f()
        });
        (result, totals)
    }
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[derive(Default, Debug)]
struct Totals {
    frames: AtomicU64,
    longest: AtomicU64,
    batches: AtomicU64,
    ring_full: AtomicU64,
    not_sent: AtomicU64,
}

fn copy(
    mut rx: af_packet::RxQueue,
    mut tx: af_packet::TxQueue,
    stop: &AtomicBool,
    totals: &Totals,
) {
    const SLOT: usize = 2048;
    let mut memory = vec![0u8; 64 * 34 * SLOT];
    while !stop.load(Relaxed) {
        let (mut used, mut frames) = (0, Vec::with_capacity(64));
        let n = rx.recv(64, |frame| {
            let (offload, len) = (frame.offload, frame.len());
            let space = &mut memory[used..used + len.next_multiple_of(SLOT)];
            assert_eq!(frame.read_into(space.chunks_mut(SLOT)), len);
            frames.push((offload, used, len));
            used += len.next_multiple_of(SLOT);
            totals.longest.fetch_max(len as u64, Relaxed);
        });
        if n == 0 {
            wait(&rx, Duration::from_millis(20));
            continue;
        }
        let mut batch = tx.batch();
        for (offload, start, len) in frames {
            batch.push(offload, memory[start..start + len].chunks(SLOT));
        }
        let report = batch.flush();
        totals.frames.fetch_add(n as u64, Relaxed);
        totals.batches.fetch_add(1, Relaxed);
        totals.not_sent.fetch_add(n as u64 - report.sent, Relaxed);
    }
    assert_eq!(rx.take_drops(), RxDrops::default());
    totals.ring_full.fetch_add(rx.stats().take().unwrap().dropped, Relaxed);
}

/// Runs iperf3 between the hosts and returns its report, from the client's side.
fn iperf(lab: &Lab, arguments: &str) -> serde_json::Value {
    let [client, server] = &lab.hosts;
    std::thread::scope(|scope| {
        let server_thread = scope.spawn(|| sh(server, "timeout 30 iperf3 -s -1 >/dev/null"));
        lab::until("iperf3 listens", || sh(server, "ss -Hltn sport = 5201").contains("5201"));
        let text = sh(client, &format!("timeout 20 iperf3 -c 10.7.0.2 -t 1 -J {arguments}"));
        server_thread.join().unwrap();
        serde_json::from_str(&text).unwrap()
    })
}

fn ping(lab: &Lab, arguments: &str) -> String {
    let text = sh(&lab.hosts[0], &format!("ping -n -w 20 {arguments} 10.7.0.2"));
    assert_eq!(testkit::lab::answered(&text), 1, "{text}");
    text.lines().last().unwrap_or_default().to_owned()
}

fn bad_checksums(lab: &Lab) -> Vec<String> {
    let count = "nstat -asz TcpInCsumErrors UdpInCsumErrors IcmpInCsumErrors IpInHdrErrors";
    let all =
        lab.hosts.iter().flat_map(|h| sh(h, count).lines().map(str::to_owned).collect::<Vec<_>>());
    all.filter(|l| !l.starts_with('#') && l.split_whitespace().nth(1) != Some("0")).collect()
}

fn gigabits(report: &serde_json::Value, which: &str) -> f64 {
    report["end"][which]["bits_per_second"].as_f64().unwrap() / 1e9
}

#[suite::test(netns)]
fn hosts_with_offloads() {
    for version in [Version::V2, Version::V3] {
        let Some(lab) = Lab::new(1500) else { return };
        let config = Config { version, ..Config::new("") };
        let (latency, _) = lab.forward(&config, || ping(&lab, "-c 200 -i 0.002"));
        let (tcp, totals) = lab.forward(&config, || iperf(&lab, ""));
        let (back, _) = lab.forward(&config, || iperf(&lab, "-R"));
        let (udp, udp_totals) = lab.forward(&config, || iperf(&lab, "-u -b 1G -l 1400"));
        eprintln!(
            "{version:?}: {latency}\n  TCP {:.1} / {:.1} Gb/s, {} retransmissions, {totals:?}\n  UDP {:.2} Gb/s, {:.2} % lost, {udp_totals:?}",
            gigabits(&tcp, "sum_received"),
            gigabits(&back, "sum_received"),
            tcp["end"]["sum_sent"]["retransmits"],
            gigabits(&udp, "sum"),
            udp["end"]["sum"]["lost_percent"].as_f64().unwrap(),
        );
        assert_eq!(bad_checksums(&lab), [""; 0]);
        assert!(
            totals.longest.load(Relaxed) > 30_000,
            "super-packets pass in one piece: {totals:?}"
        );
        assert_eq!(totals.not_sent.load(Relaxed), 0, "{totals:?}");
    }
}

#[suite::test(netns)]
fn jumbo_and_fragments() {
    let Some(lab) = Lab::new(9000) else { return };
    lab.forward(&Config::new(""), || {
        ping(&lab, "-c 10 -i 0.01 -M do -s 8972");
        ping(&lab, "-c 10 -i 0.01 -s 60000");
    });
    assert_eq!(bad_checksums(&lab), [""; 0]);
}

#[suite::test(netns)]
fn two_queues_each_way() {
    let Some(lab) = Lab::new(1500) else { return };
    let config = Config { rx_queues: 2, tx_queues: 2, qdisc_bypass: true, ..Config::new("") };
    let (tcp, totals) = lab.forward(&config, || iperf(&lab, "-P 4"));
    eprintln!(
        "4 connections over 2 queues: TCP {:.1} Gb/s, {totals:?}",
        gigabits(&tcp, "sum_received")
    );
    assert_eq!(bad_checksums(&lab), [""; 0]);
    assert_eq!(totals.not_sent.load(Relaxed), 0, "{totals:?}");
}
