// SPDX-License-Identifier: Apache-2.0
//! Namespaces as hosts; everything ends with the last descriptor.

#![allow(dead_code, reason = "each test program uses a part")]

use std::{
    io,
    process::{Command, Output},
    time::{Duration, Instant},
};

use netlink::{Namespace, Rtnl};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tap::{Config, RxQueue, Tap};
use wire::offload::Offload;

/// An empty namespace without IPv6 chatter; a skipped test if this process may not make one, or has
/// no tun devices.
#[track_caller]
pub fn namespace() -> Option<Namespace> {
    if !testkit::has_file("/dev/net/tun") {
        return None;
    }
    let namespace = testkit::or_skip("make a network namespace", Namespace::create())?;
    sh(&namespace, "sysctl -qw net.ipv6.conf.all.autoconf=0 net.ipv6.conf.default.accept_dad=0");
    sh(&namespace, "sysctl -qw net.ipv6.conf.default.addr_gen_mode=1; ip link set lo up");
    Some(namespace)
}

/// Opens a tap whose host is `namespace`.
pub fn open(namespace: &Namespace, config: &Config) -> io::Result<Tap> {
    namespace.run(|| Tap::open(config))
}

pub fn index(namespace: &Namespace, name: &str) -> io::Result<u32> {
    Ok(Rtnl::in_namespace(namespace)?.link(name)?.index)
}

/// Runs a command line inside a namespace; it has to succeed.
pub fn sh(namespace: &Namespace, line: &str) -> String {
    let Output { status, stdout, stderr } =
        namespace.run(|| Command::new("sh").args(["-c", line]).output()).unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{line}: {status}\n{stdout}{stderr}");
    stdout.into_owned()
}

/// Waits for a condition, 10 s at most.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Receives until there are `count` frames, or nothing comes for half a second.
pub fn collect(rx: &mut RxQueue, count: usize) -> Vec<(Offload, Vec<u8>)> {
    let mut all = Vec::new();
    while all.len() < count {
        if rx.recv(256, |frame| all.push((frame.offload, frame.data.to_vec()))) == 0
            && !wait(rx, Duration::from_millis(500))
        {
            break;
        }
    }
    all
}

/// Waits until the descriptor is readable.
pub fn wait(rx: &RxQueue, timeout: Duration) -> bool {
    let timeout = Timespec { tv_sec: 0, tv_nsec: timeout.as_nanos() as i64 };
    match poll(&mut [PollFd::new(rx, PollFlags::IN)], Some(&timeout)) {
        Ok(ready) => ready > 0,
        Err(error) => panic!("{}", io::Error::from(error)),
    }
}

/// An IPv4/UDP packet of `len` bytes from 10.8.0.2 to 10.8.0.1, port 4660.
pub fn packet(len: usize, source_port: u16) -> Vec<u8> {
    let [hi, lo] = (len as u16).to_be_bytes();
    let mut packet = vec![0x45, 0, hi, lo, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 8, 0, 2, 10, 8, 0, 1];
    let checksum = !sum(&packet);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend_from_slice(&source_port.to_be_bytes());
    packet.extend_from_slice(&[0x12, 0x34]);
    packet.extend_from_slice(&(len as u16 - 20).to_be_bytes());
    packet.extend_from_slice(&[0, 0]);
    packet.resize(len, 0xab);
    packet
}

/// The packet in an Ethernet frame to `mac`.
pub fn frame(mac: wire::MacAddr, packet: &[u8]) -> Vec<u8> {
    [&mac.octets()[..], &[2, 0, 0, 0, 0, 2, 0x08, 0x00], packet].concat()
}

fn sum(bytes: &[u8]) -> u16 {
    let sum: u32 =
        bytes.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// The sum of an IPv4/UDP packet's pseudo-header: addresses, protocol, UDP length.
pub fn pseudo_sum(packet: &[u8]) -> u16 {
    sum(&[&packet[12..20], &[0, 17], &packet[24..26]].concat())
}
