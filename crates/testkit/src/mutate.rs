// SPDX-License-Identifier: Apache-2.0
//! Broken packets, the same ones on every run.
//!
//! Random bytes die at the first check; what finds faults is a good packet with something wrong in
//! the right place. So most mutations hit a field: a length, a version, a type, a TTL, with the
//! values that parsers get wrong.

use crate::Rng;

/// Makes broken packets from good ones, reproducibly.
#[derive(Clone, Debug)]
pub struct Mutator {
    rng: Rng,
}

/// One change that was made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mutation {
    /// One bit of byte `at`.
    BitFlip {
        /// Index of the byte.
        at: usize,
    },
    /// Byte `at` got another value.
    Byte {
        /// Index of the byte.
        at: usize,
    },
    /// The end was cut off; `len` bytes are left.
    Truncate {
        /// Number of bytes left.
        len: usize,
    },
    /// Bytes were added at the end.
    Extend {
        /// Number of bytes now.
        len: usize,
    },
    /// A run of bytes was copied over another one.
    Copy {
        /// Index of the destination.
        at: usize,
    },
    /// A field of a header got a telling value.
    Field {
        /// Its name.
        name: &'static str,
        /// Its first byte.
        at: usize,
    },
}

/// A field of `width` bytes at `at`.
type Field = (&'static str, usize, usize);

const ETHERNET: &[Field] =
    &[("ethernet.dst", 0, 1), ("ethernet.src", 6, 1), ("ethernet.type", 12, 2)];
const VLAN: &[Field] = &[("vlan.tci", 0, 2), ("vlan.type", 2, 2)];
const ARP: &[Field] = &[
    ("arp.hardware", 0, 2),
    ("arp.protocol", 2, 2),
    ("arp.hardware-len", 4, 1),
    ("arp.protocol-len", 5, 1),
    ("arp.op", 6, 2),
    ("arp.sender-mac", 8, 1),
    ("arp.sender-ip", 14, 4),
    ("arp.target-ip", 24, 4),
];
const IP4: &[Field] = &[
    ("ip4.version-ihl", 0, 1),
    ("ip4.tos", 1, 1),
    ("ip4.length", 2, 2),
    ("ip4.id", 4, 2),
    ("ip4.fragment", 6, 2),
    ("ip4.ttl", 8, 1),
    ("ip4.protocol", 9, 1),
    ("ip4.checksum", 10, 2),
    ("ip4.src", 12, 4),
    ("ip4.dst", 16, 4),
];
const IP6: &[Field] = &[
    ("ip6.version", 0, 1),
    ("ip6.length", 4, 2),
    ("ip6.next-header", 6, 1),
    ("ip6.hop-limit", 7, 1),
    ("ip6.src", 8, 1),
    ("ip6.dst", 24, 1),
    ("ip6.ext-next", 40, 1),
    ("ip6.ext-length", 41, 1),
];
const OPTIONS: &[Field] =
    &[("option.kind", 0, 1), ("option.length", 1, 1), ("option.pointer", 2, 1)];
const ICMP: &[Field] =
    &[("icmp.type", 0, 1), ("icmp.code", 1, 1), ("icmp.checksum", 2, 2), ("icmp.rest", 4, 4)];
const UDP: &[Field] =
    &[("udp.src", 0, 2), ("udp.dst", 2, 2), ("udp.length", 4, 2), ("udp.checksum", 6, 2)];
const TCP: &[Field] = &[
    ("tcp.src", 0, 2),
    ("tcp.dst", 2, 2),
    ("tcp.offset", 12, 1),
    ("tcp.flags", 13, 1),
    ("tcp.checksum", 16, 2),
    ("tcp.option-kind", 20, 1),
    ("tcp.option-length", 21, 1),
];

/// Values at which parsers go wrong, cut to the width of the field.
const TELLING: &[u32] = &[
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    19,
    20,
    21,
    39,
    40,
    41,
    59,
    60,
    127,
    128,
    254,
    255,
    0x40,
    0x44,
    0x46,
    0x4f,
    0x50,
    0x54,
    0x60,
    0x0600,
    0x05ff,
    0x0800,
    0x0806,
    0x86dd,
    0x8100,
    0x88a8,
    0x8847,
    0x1fff,
    0x2000,
    0x3fff,
    0x4000,
    0x7fff,
    0x8000,
    0xfffe,
    0xffff,
    0x7f00_0001,
    0xa9fe_0101,
    0xe000_0001,
    0xefff_ffff,
    0xf000_0001,
    0xffff_ffff,
];

impl Mutator {
    /// Equal seeds make equal mutations of equal packets.
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed) }
    }

    /// Its source of randomness.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Fills `frame` with one of `bases`, an Ethernet frame each, broken by one to three mutations,
    /// half of the time by one only. After a change inside it, an IPv4 header gets a right
    /// checksum three times in four, because a wrong one would hide everything behind it.
    pub fn next_frame(&mut self, bases: &[Vec<u8>], frame: &mut Vec<u8>) {
        frame.clear();
        frame.extend_from_slice(self.rng.pick::<Vec<u8>>(bases));
        let more = [0, 0, 1, 2][self.rng.below(4)];
        for _ in 0..=more {
            self.mutate(frame);
        }
        if !self.rng.one_in(4)
            && let Some(packet) = ip4_offset(frame).and_then(|at| frame.get_mut(at..))
        {
            wire::Ipv4Header::set_checksum_at(packet);
        }
    }

    /// So many frames: a quarter of them is whole, the others are as of [`Self::next_frame`]. The
    /// first `head` bytes of each are those of the first base, so that all get as far as what
    /// stands behind them.
    pub fn vector(&mut self, bases: &[Vec<u8>], n: usize, head: usize) -> Vec<Vec<u8>> {
        let mut one = || {
            let mut frame = Vec::new();
            match self.rng.one_in(4) {
                true => frame.clone_from(self.rng.pick(bases)),
                false => self.next_frame(bases, &mut frame),
            }
            [&bases[0][..head], frame.get(head..).unwrap_or_default()].concat()
        };
        (0..n).map(|_| one()).collect()
    }

    /// As many frames as [`Self::next_frame`] makes, cut to `longest` bytes.
    pub fn frames(&mut self, bases: &[Vec<u8>], n: usize, longest: usize) -> Vec<Vec<u8>> {
        let mut one = || {
            let mut frame = Vec::new();
            self.next_frame(bases, &mut frame);
            frame.truncate(longest);
            frame
        };
        (0..n).map(|_| one()).collect()
    }

    /// Makes one mutation of an Ethernet frame and returns it.
    pub fn mutate(&mut self, frame: &mut Vec<u8>) -> Mutation {
        if frame.is_empty() {
            return self.extend(frame);
        }
        let at = self.rng.below(frame.len());
        match self.rng.below(20) {
            0 | 1 => {
                frame[at] ^= 1 << self.rng.below(8);
                Mutation::BitFlip { at }
            }
            2 => {
                frame[at] = self.rng.next() as u8;
                Mutation::Byte { at }
            }
            3 | 4 => {
                frame.truncate(at);
                Mutation::Truncate { len: at }
            }
            5 => self.extend(frame),
            6 => {
                let from = self.rng.below(frame.len());
                let len = self.rng.below(frame.len() - from.max(at)) + 1;
                frame.copy_within(from..from + len, at);
                Mutation::Copy { at }
            }
            _ => self.field(frame),
        }
    }

    fn extend(&mut self, frame: &mut Vec<u8>) -> Mutation {
        // mostly within a minimal frame, sometimes beyond an MTU
        let limit = if self.rng.one_in(8) { 2000 } else { 60 };
        let old = frame.len();
        frame.resize(old + 1 + self.rng.below(limit), 0);
        self.rng.fill(&mut frame[old..]);
        Mutation::Extend { len: frame.len() }
    }

    fn field(&mut self, frame: &mut [u8]) -> Mutation {
        let layers = layers(frame);
        let (fields, start) = *self.rng.pick(&layers);
        let (name, offset, width) = *self.rng.pick(fields);
        let at = start + offset;
        let Some(field) = frame.get_mut(at..at + width) else {
            // the frame ends before it: any byte will do
            let at = self.rng.below(frame.len());
            frame[at] = !frame[at];
            return Mutation::Byte { at };
        };
        let mut bytes = [0; 4];
        bytes[4 - width..].copy_from_slice(field);
        let old = u32::from_be_bytes(bytes);
        let new = match self.rng.below(6) {
            0 => old.wrapping_add(1),
            1 => old.wrapping_sub(1),
            2 => self.rng.next() as u32,
            _ => *self.rng.pick(TELLING),
        };
        field.copy_from_slice(&new.to_be_bytes()[4 - width..]);
        Mutation::Field { name, at }
    }
}

/// Type after Ethernet and its tags, and the offset behind it.
fn ethernet_end(frame: &[u8]) -> Option<(u16, usize)> {
    let mut at = 12;
    loop {
        let ethertype = u16::from_be_bytes(*frame.get(at..)?.first_chunk()?);
        at += 2;
        match ethertype {
            0x8100 | 0x88a8 => at += 2,
            _ => return Some((ethertype, at)),
        }
    }
}

fn ip4_offset(frame: &[u8]) -> Option<usize> {
    ethernet_end(frame).filter(|(ethertype, _)| *ethertype == 0x0800).map(|(_, at)| at)
}

/// The headers that can be found, each with its place.
fn layers(frame: &[u8]) -> Vec<(&'static [Field], usize)> {
    let mut found = vec![(ETHERNET, 0)];
    let Some((ethertype, at)) = ethernet_end(frame) else { return found };
    found.extend((14..at).step_by(4).map(|tag| (VLAN, tag)));
    let byte = |offset: usize| frame.get(at + offset).copied().unwrap_or(0);
    let (protocol, upper) = match ethertype {
        0x0806 => {
            found.push((ARP, at));
            return found;
        }
        0x0800 => {
            found.push((IP4, at));
            let len = usize::from(byte(0) & 15) * 4;
            if len > 20 {
                found.push((OPTIONS, at + 20));
            }
            (byte(9), at + len.max(20))
        }
        0x86dd => {
            found.push((IP6, at));
            (byte(6), at + 40)
        }
        _ => return found,
    };
    match protocol {
        1 | 58 => found.push((ICMP, upper)),
        6 => found.push((TCP, upper)),
        17 => found.push((UDP, upper)),
        _ => {}
    }
    found
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::pkt;
    use std::collections::HashMap;

    fn bases() -> Vec<Vec<u8>> {
        let ether = || pkt::ether("02:fe:00:00:00:01", "02:fe:00:00:00:02");
        let ip4 = || ether().ip4("10.0.0.1", "10.0.0.2");
        vec![
            pkt::arp_request("02:fe:00:00:00:01", "10.0.0.1", "10.0.0.2").pad_to(60).build(),
            ip4().udp(1, 2).payload_len(30).build(),
            ip4().options([148, 4, 0, 0]).tcp(1, 2).options([2, 4, 5, 0xb4]).build(),
            ip4().icmp_echo(1, 2).payload_len(56).build(),
            ether().vlan(7).ip4("10.0.0.1", "10.0.0.2").udp(1, 2).build(),
            ether().ip6("::1", "::2").icmp6_echo(1, 2).build(),
        ]
    }

    #[suite::test]
    fn reproducible() {
        let bases = bases();
        let run = |seed| {
            let (mut mutator, mut frame, mut sum) = (Mutator::new(seed), Vec::new(), 0u64);
            for _ in 0..1000 {
                mutator.next_frame(&bases, &mut frame);
                sum = frame
                    .iter()
                    .fold(sum, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
            }
            sum
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[suite::test]
    fn every_kind_and_every_field_occurs() {
        let bases = bases();
        let (mut mutator, mut seen) = (Mutator::new(3), HashMap::<String, usize>::new());
        for i in 0..60_000 {
            let base = &bases[i % bases.len()];
            let mut frame = base.clone();
            let mutation = mutator.mutate(&mut frame);
            let name = match mutation {
                Mutation::Field { name, at } => {
                    assert!(at < base.len());
                    name.to_string()
                }
                Mutation::Truncate { len } => {
                    assert_eq!(frame, base[..len]);
                    "truncate".into()
                }
                Mutation::Extend { len } => {
                    assert!(len > base.len() && frame.starts_with(base));
                    "extend".into()
                }
                Mutation::BitFlip { at } => {
                    assert_eq!((frame[at] ^ base[at]).count_ones(), 1);
                    "flip".into()
                }
                Mutation::Byte { .. } => "byte".into(),
                Mutation::Copy { .. } => "copy".into(),
            };
            *seen.entry(name).or_default() += 1;
        }
        let fields = [ETHERNET, VLAN, ARP, IP4, IP6, OPTIONS, ICMP, UDP, TCP].concat();
        for name in fields.iter().map(|f| f.0).chain(["truncate", "extend", "flip", "byte", "copy"])
        {
            assert!(seen.get(name).is_some_and(|&n| n > 20), "{name}: {seen:?}");
        }
    }

    #[suite::test]
    fn survives_its_own_output() {
        let bases = bases();
        let (mut mutator, mut frame) = (Mutator::new(4), bases[2].clone());
        let mut checked = 0;
        for _ in 0..100_000 {
            mutator.mutate(&mut frame);
            if frame.len() > 4000 {
                frame.truncate(60);
            }
            mutator.next_frame(&bases, &mut frame);
            let packet = ip4_offset(&frame).and_then(|at| frame.get(at..)).unwrap_or_default();
            checked += usize::from(wire::Ipv4Header::checksum_ok_at(packet));
        }
        assert!(checked > 20_000, "{checked} of 100000 frames have a right IPv4 checksum");
    }
}
