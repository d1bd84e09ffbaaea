// SPDX-License-Identifier: Apache-2.0
//! Two namespaces joined by a veth pair; everything ends with the last descriptor.

#![allow(dead_code, reason = "each test program uses a part")]

use std::{
    io,
    process::{Command, Output},
    time::{Duration, Instant},
};

use af_packet::{Config, HostInterface, RxFrame, RxQueue, TxQueue, Version};
use netlink::{Namespace, OperState, Rtnl};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use wire::offload::Offload;

/// A veth pair, `v0` in `near` and `v1` in `far`, both up.
pub struct Pair {
    pub near: Namespace,
    pub far: Namespace,
}

/// An empty namespace without IPv6 chatter; a skipped test if this process may not make one.
#[track_caller]
pub fn namespace() -> Option<Namespace> {
    let namespace = testkit::or_skip("make a network namespace", Namespace::create())?;
    sh(
        &namespace,
        "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1",
    );
    Some(namespace)
}

impl Pair {
    pub fn new(mtu: u32) -> Option<Self> {
        let pair = Self { near: namespace()?, far: namespace()? };
        connect(&pair.near, "v0", &pair.far, "v1", mtu);
        Some(pair)
    }

    pub fn near(&self, config: &Config) -> HostInterface {
        self.near.run(|| HostInterface::open(config)).unwrap()
    }

    pub fn far(&self) -> HostInterface {
        self.far.run(|| HostInterface::open(&config("v1"))).unwrap()
    }
}

/// Joins two namespaces by a veth pair and waits until it passes packets.
pub fn connect(a: &Namespace, a_name: &str, b: &Namespace, b_name: &str, mtu: u32) {
    let mut rtnl = Rtnl::in_namespace(a).unwrap();
    let mut far = Rtnl::in_namespace(b).unwrap();
    rtnl.add_veth(a_name, b_name, Some(b)).unwrap();
    for (rtnl, name) in [(&mut rtnl, a_name), (&mut far, b_name)] {
        let index = rtnl.link(name).unwrap().index;
        rtnl.set_mtu(index, mtu).unwrap();
        rtnl.set_admin_up(index, true).unwrap();
    }
    for (rtnl, name) in [(&mut rtnl, a_name), (&mut far, b_name)] {
        until("the link is up", || rtnl.link(name).unwrap().oper == OperState::Up);
    }
}

pub fn config(name: &str) -> Config {
    Config::new(name)
}

pub fn v3(name: &str) -> Config {
    Config { version: Version::V3, ..Config::new(name) }
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
pub fn collect<T>(rx: &mut RxQueue, count: usize, mut f: impl FnMut(RxFrame<'_>) -> T) -> Vec<T> {
    let mut all = Vec::new();
    while all.len() < count {
        if rx.recv(256, |frame| all.push(f(frame))) == 0 && !wait(rx, Duration::from_millis(500)) {
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

/// Sends frames one by one; all must be taken.
pub fn send<'d>(tx: &mut TxQueue, frames: impl IntoIterator<Item = (Offload, &'d [u8])>) {
    let mut batch = tx.batch();
    let mut count = 0;
    for (offload, frame) in frames {
        batch.push(offload, [frame]);
        count += 1;
    }
    let report = batch.flush();
    assert_eq!(report.sent, count, "{report:?}");
}

/// An Ethernet frame of `len` bytes with an IPv4/UDP header, different for every `flow`.
pub fn frame(len: usize, flow: u16) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 0x08, 0x00];
    let ip_len = (len - 14).min(65_535) as u16;
    let [hi, lo] = ip_len.to_be_bytes();
    frame.extend_from_slice(&[
        0x45, 0, hi, lo, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 1, 0, 1, 10, 2, 0, 1,
    ]);
    let checksum = checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    frame.extend_from_slice(&flow.to_be_bytes());
    frame.extend_from_slice(&[0x12, 0x34]);
    frame.extend_from_slice(&(ip_len - 20).to_be_bytes());
    frame.extend_from_slice(&[0, 0]);
    frame.resize_with(len, Default::default);
    for (i, byte) in frame[42..].iter_mut().enumerate() {
        *byte = (i as u16 ^ flow) as u8;
    }
    frame
}

fn checksum(bytes: &[u8]) -> u16 {
    let sum: u32 =
        bytes.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}
