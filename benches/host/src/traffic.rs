// SPDX-License-Identifier: Apache-2.0
//! The traffic between the hosts, and its measurement.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use tests::{PATIENCE, Site};

/// A UDP payload with which an Ethernet frame has the least length, 60 bytes without checksum.
const SMALL: usize = 18;
const PORT: u16 = 9999;

/// Small packets of one measurement.
#[derive(Clone, Copy, Default)]
pub struct Small {
    /// Packets a second that the sender got rid of.
    pub sent: f64,
    /// Packets a second that reached the other host.
    pub delivered: f64,
    /// CPU time of our router for each, in nanoseconds.
    pub cost: Option<f64>,
}

/// Pause of a sender that has sent what is due.
const PAUSE: Duration = Duration::from_micros(200);

/// Sends small datagrams from one thread, as fast as possible or so many a second, and prints how
/// many.
pub fn send(to: SocketAddr, time: Duration, rate: Option<f64>) -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect(to)?;
    let (start, mut sent) = (Instant::now(), 0u64);
    while start.elapsed() < time {
        let due = rate.map(|rate| (start.elapsed().as_secs_f64() * rate) as u64);
        let count = due.map_or(64, |due| due.saturating_sub(sent));
        if count == 0 {
            std::thread::sleep(PAUSE);
        }
        for _ in 0..count {
            match socket.send(&[0; SMALL]) {
                Ok(_) => sent += 1,
                // The interface's queue is full.
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::OutOfMemory) => {}
                Err(error) => return Err(error),
            }
        }
    }
    println!("{sent}");
    Ok(())
}

/// Holds a port open, without reading: the host's stack drops datagrams for which the socket has no
/// room, and answers none by ICMP.
pub fn receive(at: SocketAddr) -> io::Result<()> {
    let _socket = UdpSocket::bind(at)?;
    println!("bound");
    io::copy(&mut io::stdin(), &mut io::sink())?;
    std::thread::sleep(Duration::MAX);
    Ok(())
}

/// Sends small datagrams from the left host to the right one: as fast as possible, or so many a
/// second.
#[track_caller]
pub fn small(site: &Site, time: Duration, rate: Option<f64>) -> Small {
    let own =
        std::env::current_exe().expect("a process has a program").to_string_lossy().into_owned();
    let (left, right) = (&site.left.host, &site.right.host);
    let to = format!("{}:{PORT}", site.right.address);
    let receiver = right.command(&own).args(["receive", &to]).spawn();
    receiver.wait_for("bound", PATIENCE);
    let cpu = || site.router.as_ref().map(|router| router.cpu_time());
    let (before, cpu_before) = (right.counter("eth0", "rx_packets"), cpu());
    let sender = left
        .command(&own)
        .args(["send", &to, &time.as_secs().to_string()])
        .args(rate.map(|rate| format!("{rate:.0}")))
        .timeout(time + PATIENCE)
        .ok();
    let delivered = right.counter("eth0", "rx_packets") - before;
    let cost = cpu()
        .zip(cpu_before)
        .map(|(now, then)| (now - then).as_nanos() as f64 / delivered.max(1) as f64);
    drop(receiver.kill());
    let sent: u64 = sender.trim().parse().unwrap_or_else(|_| panic!("the sender said {sender:?}"));
    let rate = |packets: u64| packets as f64 / time.as_secs_f64();
    Small { sent: rate(sent), delivered: rate(delivered), cost }
}

/// Bits a second that one TCP connection carries from the left host to the right one.
#[track_caller]
pub fn tcp(site: &Site, time: Duration) -> f64 {
    let options = format!("-t {}", time.as_secs());
    let report = tests::iperf(&site.left.host, &site.right.host, site.right.address, &options);
    report["end"]["sum_received"]["bits_per_second"]
        .as_f64()
        .unwrap_or_else(|| panic!("iperf3 said {report}"))
}

/// Round-trip times of `count` pings from the left host to the right one, one every `interval`
/// milliseconds; the times are in milliseconds.
#[track_caller]
pub fn ping(site: &Site, count: usize, interval: usize) -> Vec<f64> {
    let (count, interval) = (count.to_string(), format!("{:.3}", interval as f64 / 1e3));
    let text = site
        .left
        .host
        .command("ping")
        .args(["-n", "-i", &interval, "-w", "30", "-c", &count, site.right.address])
        .ok();
    let time = |line: &str| line.split_once(" time=")?.1.split(' ').next()?.parse().ok();
    text.lines().filter_map(time).collect()
}
