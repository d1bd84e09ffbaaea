// SPDX-License-Identifier: Apache-2.0
//! Two Linux hosts talk through two taps. Needs root, /dev/net/tun and iperf3.

use super::tap_lab as lab;

use std::{
    iter,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use lab::{namespace, open, sh, wait};
use netlink::Namespace;
use tap::{Config, MAX_FRAME, RxDrops, RxQueue, TxQueue};
use wire::offload::Csum;

/// Hosts 10.7.0.1 and 10.7.0.2, each with a tap.
struct Lab {
    hosts: [Namespace; 2],
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
    partial: AtomicU64,
    super_packets: AtomicU64,
    not_sent: AtomicU64,
}

impl Lab {
    fn new() -> Option<Self> {
        Some(Self { hosts: [namespace()?, namespace()?] })
    }

    /// Copies frames from tap to tap while `f` runs.
    fn forward<T>(&self, config: &Config, f: impl FnOnce() -> T) -> (T, Totals) {
        let [a, b] = [0, 1].map(|n| {
            let address = ([10, 7, 0, n as u8 + 1].into(), 24);
            open(&self.hosts[n], &Config { host_ip4: Some(address), ..config.clone() }).unwrap()
        });
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

fn copy(mut rx: RxQueue, mut tx: TxQueue, stop: &AtomicBool, totals: &Totals) {
    const SLOT: usize = 2048;
    let mut memory = vec![0u8; (MAX_FRAME + 1).next_multiple_of(SLOT)];
    while !stop.load(Relaxed) {
        let Some((offload, len)) = rx.recv_into(memory.chunks_mut(SLOT)) else {
            wait(&rx, Duration::from_millis(20));
            continue;
        };
        let mut batch = tx.batch();
        batch.push(offload, memory[..len].chunks(SLOT));
        let report = batch.flush();
        totals.frames.fetch_add(1, Relaxed);
        totals.longest.fetch_max(len as u64, Relaxed);
        totals.partial.fetch_add(matches!(offload.csum, Csum::Partial { .. }).into(), Relaxed);
        totals.super_packets.fetch_add(offload.gso.is_some().into(), Relaxed);
        totals.not_sent.fetch_add(1 - report.sent, Relaxed);
    }
    assert_eq!(rx.take_drops(), RxDrops::default());
    rx.take_error().unwrap();
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
fn offloads_as_configured() {
    let all = Config::new("tap0");
    let csum = Config { gso: false, ..all.clone() };
    let none = Config { csum_offload: false, ..csum.clone() };
    for (config, partial, long) in [(all, true, true), (csum, true, false), (none, false, false)] {
        let Some(lab) = Lab::new() else { return };
        let (latency, _) = lab.forward(&config, || ping(&lab, "-c 200 -i 0.002"));
        let (tcp, totals) = lab.forward(&config, || iperf(&lab, ""));
        eprintln!(
            "checksums left {partial}, segmentation left {long}: {latency}\n  TCP {:.1} Gb/s, {} retransmissions, {totals:?}",
            gigabits(&tcp, "sum_received"),
            tcp["end"]["sum_sent"]["retransmits"],
        );
        assert_eq!(bad_checksums(&lab), [""; 0]);
        assert_eq!(totals.partial.load(Relaxed) > 0, partial);
        assert_eq!(totals.super_packets.load(Relaxed) > 0, long);
        assert_eq!(totals.longest.load(Relaxed) > 1514, long, "{totals:?}");
        assert_eq!(totals.not_sent.load(Relaxed), 0, "{totals:?}");
    }
}

#[suite::test(netns)]
fn jumbo_frames() {
    let Some(lab) = Lab::new() else { return };
    let config = Config { host_mtu: Some(9000), ..Config::new("tap0") };
    lab.forward(&config, || {
        ping(&lab, "-c 10 -i 0.01 -M do -s 8972");
        ping(&lab, "-c 10 -i 0.01 -s 60000");
    });
    assert_eq!(bad_checksums(&lab), [""; 0]);
}

#[suite::test(netns)]
fn two_queues_and_udp() {
    let Some(lab) = Lab::new() else { return };
    let config = Config { queues: 2, ..Config::new("tap0") };
    let (tcp, totals) = lab.forward(&config, || iperf(&lab, "-P 4"));
    eprintln!(
        "4 connections over 2 queues: TCP {:.1} Gb/s, {totals:?}",
        gigabits(&tcp, "sum_received")
    );
    let (udp, totals) = lab.forward(&config, || iperf(&lab, "-u -b 200M -l 1400"));
    eprintln!(
        "UDP {:.2} Gb/s, {:.2} % lost, {totals:?}",
        gigabits(&udp, "sum"),
        udp["end"]["sum"]["lost_percent"].as_f64().unwrap()
    );
    assert_eq!(bad_checksums(&lab), [""; 0]);
}
