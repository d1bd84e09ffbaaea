// SPDX-License-Identifier: Apache-2.0
//! Translation of source addresses inside the tester, with limits that are known exactly.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use wire::{Ethernet, Header, Ipv4Header, UdpHeader, l4};

use crate::lab::End;
use crate::traffic::sessions::Tuple;

/// Limits of a translation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// Sessions that the table holds.
    pub sessions: u64,
    /// New sessions per second.
    pub opened: f64,
    /// Sessions that are removed in a second.
    pub removed: f64,
}

/// New sessions that may wait.
const WAITING: f64 = 4.0;

/// Table of sessions, the same for both directions.
#[derive(Debug, Default)]
pub struct Nat {
    inside: HashMap<Tuple, Tuple>,
    /// From answers, as they come in, to answers as they leave.
    outside: HashMap<Tuple, Tuple>,
    /// Time at which the next session may be opened.
    free: f64,
}

impl Nat {
    /// A trial begins: its time starts at 0.
    pub fn begin(&mut self) {
        self.free = 0.0;
    }

    /// Removes all sessions; returns their number.
    pub fn clear(&mut self) -> u64 {
        let count = self.inside.len() as u64;
        (self.inside, self.outside) = Default::default();
        count
    }

    /// Translates a packet; false if it is dropped.
    pub fn translate(&mut self, now: u64, from: End, limits: Limits, frame: &mut [u8]) -> bool {
        let Some(tuple) = Tuple::of(frame) else { return false };
        let to = match from {
            End::Left => match self.inside.get(&tuple).copied() {
                Some(to) => Some(to),
                None => self.open(now, limits, tuple),
            },
            End::Right => self.outside.get(&tuple).copied(),
        };
        to.is_some_and(|to| write(frame, to).is_some())
    }

    fn open(&mut self, now: u64, limits: Limits, tuple: Tuple) -> Option<Tuple> {
        let (now, time) = (now as f64, 1e9 / limits.opened);
        if self.inside.len() as u64 >= limits.sessions || self.free > now + WAITING * time {
            return None;
        }
        self.free = self.free.max(now) + time;
        // Ports from 1024 on, turned over: each has another one.
        let port = tuple.src.1;
        let port = if port < 1024 { port } else { u16::MAX - (port - 1024) };
        let to = Tuple { src: (End::Right.addresses().device.0, port), ..tuple };
        self.inside.insert(tuple, to);
        self.outside.insert(to.reversed(), tuple.reversed());
        Some(to)
    }
}

/// Writes addresses and ports, with new checksums.
fn write(frame: &mut [u8], to: Tuple) -> Option<()> {
    let (l3, _) = Ethernet::l3_at(frame)?;
    let octets = |address: Ipv4Addr| address.octets();
    let ip = Ipv4Header::view_at_mut(frame, l3)?;
    (ip.src, ip.dst) = (octets(to.src.0), octets(to.dst.0));
    let udp = UdpHeader::view_at_mut(frame, l3 + 20)?;
    udp.src_port.set(to.src.1);
    udp.dst_port.set(to.dst.1);
    udp.checksum.set(0);
    Ipv4Header::set_checksum_at(&mut frame[l3..]);
    l4::finish(&mut frame[l3..]).ok().map(drop)
}
