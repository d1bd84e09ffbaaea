// SPDX-License-Identifier: Apache-2.0
//! Frames made in advance, of which each packet changes addresses, ports and signature only.
//!
//! The checksum of the part that never changes is computed once; that of a packet is this sum and
//! the changed fields, so that no packet is summed as a whole.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::checksum::Sum;
use wire::{
    EtherType, Ethernet, Header, IpHeader, IpProtocol, Ipv4Header, Ipv6Header, UdpHeader, VlanTag,
};
use zerocopy::IntoBytes;

use super::random::{Draw, Random, port, step};
use super::sessions::{Pick, Tuple};
use super::signature::{self, FILLER, LONGEST, Signature};
use super::size::{FCS, LONGEST as LONGEST_FRAME, for_kind, pattern};
use super::{Flow, Kind};

/// EtherType of frames without IP: IEEE 802's local experimental EtherType 1.
pub const EXPERIMENTAL: EtherType = EtherType(0x88b5);

/// A frame with zeros where packets differ.
#[derive(Clone, Debug)]
struct Template {
    kind: Kind,
    bytes: Vec<u8>,
    /// Offset of the network header.
    l3: usize,
    /// Sum of the IPv4 header without addresses.
    ip: Sum,
    /// Sum of pseudo-header without addresses, UDP header, filler and signature, all without the
    /// fields that change.
    udp: Sum,
    /// True if the signature begins at an odd offset of the UDP datagram.
    odd: bool,
}

impl Template {
    fn new(flow: &Flow, kind: Kind, size: u32, stream: u16) -> Result<Self, String> {
        let shortest = kind.shortest(flow.vlan.is_some());
        if !(shortest..=LONGEST_FRAME).contains(&size) {
            return Err(format!(
                "frames of {size} bytes: {kind} needs {shortest} to {LONGEST_FRAME}"
            ));
        }
        let ethertype = match kind {
            Kind::Ip4 => EtherType::IP4,
            Kind::Ip6 => EtherType::IP6,
            Kind::Ethernet => EXPERIMENTAL,
        };
        let outer = if flow.vlan.is_some() { EtherType::VLAN } else { ethertype };
        let mut bytes = Ethernet::new(flow.src_mac, flow.dst_mac, outer).as_bytes().to_vec();
        if let Some(id) = flow.vlan {
            bytes.extend(VlanTag::new(id, 0, false, ethertype).as_bytes());
        }
        let l3 = bytes.len();
        let payload = size as usize - FCS - kind.headers(flow.vlan.is_some());
        let datagram = (payload + 8) as u16;
        let (mut ip, mut udp) = (Sum::ZERO, Sum::ZERO);
        match kind {
            Kind::Ip4 => {
                let any = Ipv4Addr::UNSPECIFIED;
                let mut header = Ipv4Header::new(any, any, IpProtocol::UDP, datagram);
                header.checksum.set(0);
                ip = Sum::of(header.as_bytes());
                udp = header.pseudo_sum(IpProtocol::UDP, datagram.into());
                bytes.extend(header.as_bytes());
            }
            Kind::Ip6 => {
                let any = Ipv6Addr::UNSPECIFIED;
                let header = Ipv6Header::new(any, any, IpProtocol::UDP, datagram);
                udp = header.pseudo_sum(IpProtocol::UDP, datagram.into());
                bytes.extend(header.as_bytes());
            }
            Kind::Ethernet => {}
        }
        let l4 = bytes.len();
        if kind != Kind::Ethernet {
            bytes.extend(UdpHeader::new(0, 0, payload as u16).as_bytes());
        }
        let filler = payload - signature::LEN;
        bytes.extend(&FILLER[LONGEST - filler..]);
        bytes.extend(Signature::new(stream, 0, 0).as_bytes());
        udp += Sum::of(&bytes[l4..]);
        Ok(Self { kind, bytes, l3, ip, udp, odd: filler % 2 == 1 })
    }

    /// Writes what is different in each packet into a copy of the template.
    #[inline(always)]
    fn write(&self, frame: &mut [u8], packet: &Packet) -> Option<()> {
        let at = frame.len() - signature::LEN;
        let signature = Signature::view_at_mut(frame, at)?;
        signature.sequence.set(packet.sequence);
        signature.sent.set(packet.sent);
        if self.kind == Kind::Ethernet {
            return Some(());
        }
        let sent = packet.sent;
        let varying = Sum::ZERO
            .with_u32(packet.sequence)
            .with_u32((sent >> 32) as u32)
            .with_u32(sent as u32)
            .at(usize::from(self.odd));
        let ports = u32::from(packet.ports.0) << 16 | u32::from(packet.ports.1);
        let mut sum = self.udp + varying;
        sum = sum.with_u32(ports);
        let l4 = match self.kind {
            Kind::Ip4 => {
                let ip = Ipv4Header::view_at_mut(frame, self.l3)?;
                let addresses = Sum::ZERO.with_u32(packet.ip4.0).with_u32(packet.ip4.1);
                ip.src = packet.ip4.0.to_be_bytes();
                ip.dst = packet.ip4.1.to_be_bytes();
                ip.checksum.set((self.ip + addresses).finish());
                sum += addresses;
                self.l3 + 20
            }
            _ => {
                let ip = Ipv6Header::view_at_mut(frame, self.l3)?;
                ip.src = packet.ip6.0.to_be_bytes();
                ip.dst = packet.ip6.1.to_be_bytes();
                sum = sum.with(&ip.src).with(&ip.dst);
                self.l3 + 40
            }
        };
        let udp = UdpHeader::view_at_mut(frame, l4)?;
        udp.src_port.set(packet.ports.0);
        udp.dst_port.set(packet.ports.1);
        udp.checksum.set(sum.finish_udp());
        Some(())
    }
}

/// The fields in which packets differ.
struct Packet {
    sequence: u32,
    sent: u64,
    ports: (u16, u16),
    ip4: (u32, u32),
    ip6: (u128, u128),
}

impl Packet {
    /// Makes it an answer in a session.
    #[inline]
    fn set(&mut self, seen: Option<&Tuple>) {
        if let Some(Tuple { src, dst }) = seen.map(|seen| seen.reversed()) {
            self.ip4 = (src.0.to_bits(), dst.0.to_bits());
            self.ports = (src.1, dst.1);
        }
    }
}

/// Largest number of frames that are made at once.
pub const BURST: usize = 32;

/// Makes the frames of a flow, a burst at a time, without allocating.
#[derive(Debug)]
pub struct Generator {
    templates: Vec<Template>,
    /// Template of each packet of a period.
    pattern: Vec<u8>,
    /// Copies of all templates for each frame of a burst: `frame * templates + template`.
    copies: Vec<Vec<u8>>,
    /// Copy in use of each frame of the burst.
    used: [usize; BURST],
    random: Random,
    src: Draw,
    dst: Draw,
    flow: Flow,
}

impl Generator {
    /// Prepares the frames of a flow.
    ///
    /// # Errors
    /// A frame is too short for its headers.
    pub fn new(flow: &Flow, stream: u16) -> Result<Self, String> {
        let other = match flow.kind {
            Kind::Ip4 => Kind::Ip6,
            Kind::Ip6 => Kind::Ip4,
            Kind::Ethernet => Kind::Ethernet,
        };
        let sizes = pattern(for_kind(flow.size, flow.kind, flow.vlan.is_some()));
        let share = flow.share;
        let period = sizes.len() as u32 * share.of.max(1);
        let mut templates: Vec<(Kind, u32)> = Vec::new();
        let pattern = (0..period)
            .map(|sequence| {
                let kind = if share.is_foreground(sequence) { flow.kind } else { other };
                let size = sizes[sequence as usize % sizes.len()];
                let key = (kind, size.max(kind.shortest(flow.vlan.is_some())));
                let at = templates.iter().position(|&other| other == key).unwrap_or_else(|| {
                    templates.push(key);
                    templates.len() - 1
                });
                at as u8
            })
            .collect();
        let templates = templates
            .into_iter()
            .map(|(kind, size)| Template::new(flow, kind, size, stream))
            .collect::<Result<Vec<_>, _>>()?;
        let copies = (0..BURST).flat_map(|_| templates.iter().map(|t| t.bytes.clone())).collect();
        Ok(Self {
            templates,
            pattern,
            copies,
            used: [0; BURST],
            random: Random::new(flow.seed ^ u64::from(stream)),
            src: Draw::new(flow.src_spread, flow.seed.wrapping_add(1)),
            dst: Draw::new(flow.dst_spread, flow.seed.wrapping_add(2)),
            flow: flow.clone(),
        })
    }

    /// Makes frame `slot` of a burst (below [`BURST`]): packet `sequence`, sent at `now`.
    #[inline(always)]
    pub fn make(&mut self, slot: usize, sequence: u32, now: u64) {
        let kind = match &self.pattern[..] {
            [one] => usize::from(*one),
            all => usize::from(all[sequence as usize % all.len()]),
        };
        let (flow, random) = (&self.flow, &mut self.random);
        let (src, dst) = (self.src.next(random), self.dst.next(random));
        let mut packet = Packet {
            sequence,
            sent: now,
            ports: (
                port(&flow.ports.source, sequence, random),
                port(&flow.ports.destination, sequence, random),
            ),
            ip4: (
                flow.src.ip4.to_bits().wrapping_add(src),
                flow.dst.ip4.to_bits().wrapping_add(dst),
            ),
            ip6: (
                flow.src.ip6.to_bits().wrapping_add(src.into()),
                flow.dst.ip6.to_bits().wrapping_add(dst.into()),
            ),
        };
        match &flow.pick {
            Pick::Drawn => {}
            Pick::Each(all) => packet.ports = all.get(sequence.into()),
            Pick::Among(all, count) => packet.ports = all.get(random.below(*count).into()),
            Pick::Once(table) => packet.set(table.get(sequence as usize)),
            Pick::Of(table, order) => {
                let count = (table.len() as u32).max(1);
                packet.set(table.get(step(*order, count, sequence, random) as usize));
            }
        }
        let slot = slot % BURST;
        let copy = slot * self.templates.len() + kind;
        self.used[slot] = copy;
        // A template has room for its own headers.
        let _ = self.templates[kind].write(&mut self.copies[copy], &packet);
    }

    /// Frame `slot` of the burst.
    #[inline(always)]
    pub fn frame(&self, slot: usize) -> &[u8] {
        &self.copies[self.used[slot % BURST]]
    }
}

#[cfg(feature = "tests")]
pub(crate) mod tests {
    use super::*;
    use crate::traffic::flow::{Ends, Share};
    use crate::traffic::random::{DESTINATION, SOURCE, Spread};
    use measure::Size;
    use measure::siitperf::{Ports, Span, Vary};
    use proptest::prelude::*;
    use wire::{MacAddr, l4};

    pub(crate) fn flow(kind: Kind, size: Size) -> Flow {
        let fixed = |port| Span { vary: Vary::Fixed, min: port, max: port };
        let ends = |side: u8| Ends {
            ip4: Ipv4Addr::new(198, 18 + side, 0, 2),
            ip6: Ipv6Addr::new(0x2001, 2, 0, u16::from(side) << 15, 0, 0, 0, 2),
        };
        Flow {
            kind,
            size,
            vlan: None,
            src_mac: MacAddr([2, 0, 0, 0, 0, 1]),
            dst_mac: MacAddr([2, 0, 0, 0, 0, 2]),
            src: ends(0),
            dst: ends(1),
            src_spread: Spread::Fixed,
            dst_spread: Spread::Fixed,
            ports: Ports { source: fixed(0x1234), destination: fixed(0x0007) },
            share: Share::ALL,
            pick: Pick::Drawn,
            seed: 1,
        }
    }

    #[suite::test]
    fn bytes_of_a_frame() {
        let mut generator = Generator::new(&flow(Kind::Ip4, Size::Bytes(64)), 0x0a01).unwrap();
        generator.make(0, 5, 0x1122_3344_5566_7788);
        let filler = &FILLER[LONGEST - 2..];
        let mut expected = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
        expected.extend([0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
        expected.extend([0xee, 0x98, 198, 18, 0, 2, 198, 19, 0, 2]);
        expected.extend([0x12, 0x34, 0, 7, 0, 26]);
        let udp_sum = expected.len();
        expected.extend([0, 0]);
        expected.extend(filler);
        expected.extend([0xfe, 0x7e, 0x0a, 1, 0, 0, 0, 5]);
        expected.extend([0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]);
        // the two checksums are those of code that sums whole packets
        Ipv4Header::set_checksum_at(&mut expected[14..]);
        l4::finish(&mut expected[14..]).unwrap();
        assert_ne!(expected[udp_sum..udp_sum + 2], [0, 0]);
        assert_eq!(generator.frame(0), expected);
    }

    proptest! {
        #[suite::test]
        fn checksums_are_right(
            seed: u64, sequence: u32, now: u64, size in 64u32..=1518, kind in 0..2, vlan: bool,
            spread in 1u32..5000, share in 0u32..=3,
        ) {
            let kind = if kind == 0 { Kind::Ip4 } else { Kind::Ip6 };
            let size = for_kind(Size::Bytes(size), kind, vlan);
            let flow = Flow {
                vlan: vlan.then_some(7),
                src_spread: Spread::Random(spread),
                dst_spread: Spread::Zipf(spread),
                ports: Ports { source: SOURCE, destination: DESTINATION },
                share: Share { foreground: share, of: 3 },
                seed,
                ..flow(kind, size)
            };
            let mut generator = Generator::new(&flow, 3).unwrap();
            for sequence in [sequence, sequence.wrapping_add(1)] {
                generator.make(1, sequence, now);
                let frame = generator.frame(1);
                let (l3, ethertype) = Ethernet::l3_at(frame).unwrap();
                let packet = &frame[l3..];
                prop_assert_eq!(l4::verify(packet), Ok(l4::Verdict::Valid));
                if ethertype == EtherType::IP4 {
                    prop_assert!(Ipv4Header::checksum_ok_at(packet));
                }
                let foreground = flow.share.is_foreground(sequence);
                prop_assert_eq!((ethertype == EtherType::IP4) == (kind == Kind::Ip4), foreground);
                let signature = Signature::find(packet).unwrap();
                prop_assert_eq!(*signature, Signature::new(3, sequence, now));
            }
        }
    }

    #[suite::test]
    fn imix_frames_have_their_sizes() {
        let mut generator = Generator::new(&flow(Kind::Ip4, Size::Imix), 0).unwrap();
        let sizes: Vec<_> = (0..12)
            .map(|sequence| {
                generator.make(0, sequence, 0);
                generator.frame(0).len() as u32 + 4
            })
            .collect();
        assert_eq!(sizes, pattern(Size::Imix));
        let mut ethernet = Generator::new(&flow(Kind::Ethernet, Size::Bytes(64)), 0).unwrap();
        ethernet.make(0, 9, 9);
        assert_eq!((ethernet.frame(0).len(), &ethernet.frame(0)[12..14]), (60, &[0x88, 0xb5][..]));
    }

    #[suite::test]
    fn answers_have_the_order_of_their_table() {
        let of = |n: u16| Tuple {
            src: (Ipv4Addr::new(198, 19, 0, 1), 5000 + n),
            dst: (Ipv4Addr::new(198, 19, 0, 2), 7),
        };
        let seen = |order, sequences: std::ops::Range<u32>| -> Vec<u16> {
            let pick = Pick::Of((0..3).map(of).collect(), order);
            let flow = Flow { pick, ..flow(Kind::Ip4, Size::Bytes(64)) };
            let mut generator = Generator::new(&flow, 0).unwrap();
            let one = |sequence| {
                generator.make(0, sequence, 0);
                let tuple = Tuple::of(generator.frame(0)).unwrap();
                let n = tuple.dst.1 - 5000;
                assert_eq!(tuple, of(n).reversed());
                n
            };
            sequences.map(one).collect()
        };
        assert_eq!(seen(Vary::Increase, 0..4), [0, 1, 2, 0]);
        assert_eq!(seen(Vary::Decrease, 0..4), [2, 1, 0, 2]);
        assert_eq!(seen(Vary::Fixed, 0..4), [0; 4]);
        let mut random = seen(Vary::Random, 0..100);
        assert!(!random.is_sorted());
        random.sort_unstable();
        random.dedup();
        assert_eq!(random, [0, 1, 2]);
    }
}
