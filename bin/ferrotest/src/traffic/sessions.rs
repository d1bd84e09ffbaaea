// SPDX-License-Identifier: Apache-2.0
//! Sessions through a device that translates addresses (RFC 9693): packets that open one each, and
//! packets that belong to sessions which exist.

use std::net::Ipv4Addr;
use std::sync::Arc;

use measure::siitperf::{Ports, Vary};
use wire::{EtherType, Ethernet, Header, IpHeader, Ipv4Header, UdpHeader};

/// Addresses and ports of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tuple {
    /// Source.
    pub src: (Ipv4Addr, u16),
    /// Destination.
    pub dst: (Ipv4Addr, u16),
}

impl Tuple {
    /// Addresses and ports of a UDP packet in IPv4.
    #[inline]
    pub fn of(frame: &[u8]) -> Option<Self> {
        let (l3, ethertype) = Ethernet::l3_at(frame)?;
        if ethertype != EtherType::IP4 {
            return None;
        }
        let ip = Ipv4Header::view_at(frame, l3)?;
        let udp = UdpHeader::view_at(frame, l3 + ip.header_len())?;
        let (src, dst) = (Ipv4Addr::from(ip.src), Ipv4Addr::from(ip.dst));
        Some(Self { src: (src, udp.src_port.get()), dst: (dst, udp.dst_port.get()) })
    }

    /// Addresses and ports of an answer.
    pub fn reversed(self) -> Self {
        Self { src: self.dst, dst: self.src }
    }
}

/// All combinations of two ranges of ports, in a pseudorandom order unless another is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Combinations {
    ports: Ports,
    seed: u64,
    order: Vary,
}

impl Combinations {
    /// Combinations in the order of a seed.
    pub fn new(ports: Ports, seed: u64) -> Self {
        Self { ports, seed, order: Vary::Random }
    }

    /// The same combinations in another order; source ports change first.
    #[must_use]
    pub fn ordered(self, order: Vary) -> Self {
        Self { order, ..self }
    }

    fn counts(&self) -> (u64, u64) {
        let count = |min: u16, max: u16| u64::from(max.saturating_sub(min)) + 1;
        let Ports { source, destination } = self.ports;
        (count(source.min, source.max), count(destination.min, destination.max))
    }

    /// Number of combinations.
    pub fn total(&self) -> u64 {
        let (sources, destinations) = self.counts();
        sources * destinations
    }

    /// Combination `n`, below the total; each `n` has another one.
    #[inline]
    pub fn get(&self, n: u64) -> (u16, u16) {
        let total = self.total();
        match self.order {
            Vary::Increase => self.at(n % total),
            Vary::Decrease => self.at(total - 1 - n % total),
            Vary::Random | Vary::Fixed => self.at(self.permuted(n, total)),
        }
    }

    /// Another number below the total for each `n`.
    #[inline]
    fn permuted(&self, n: u64, total: u64) -> u64 {
        let half = (64 - (total - 1).leading_zeros()).div_ceil(2).max(1);
        let mask = (1_u64 << half) - 1;
        let mut value = n % total;
        // A Feistel network permutes all numbers of so many bits; a step that leaves the range is
        // followed by others until one is inside.
        loop {
            let (mut left, mut right) = (value >> half, value & mask);
            for round in 0..4_u64 {
                let mut mixed = (right + 1).wrapping_mul(self.seed | 1).wrapping_add(round);
                mixed = (mixed ^ mixed >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (left, right) = (right, left ^ (mixed >> 32) & mask);
            }
            value = left << half | right;
            if value < total {
                return value;
            }
        }
    }

    #[inline]
    fn at(&self, value: u64) -> (u16, u16) {
        let (sources, _) = self.counts();
        let Ports { source, destination } = self.ports;
        (source.min + (value % sources) as u16, destination.min + (value / sources) as u16)
    }
}

/// Choice of the addresses and ports of packets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Pick {
    /// They are drawn for each packet.
    #[default]
    Drawn,
    /// Each packet has the next combination of ports: it opens a session.
    Each(Combinations),
    /// One of the first combinations, which have sessions.
    Among(Combinations, u32),
    /// Each entry of a table once.
    Once(Arc<[Tuple]>),
    /// Entries of a table, in an order; a fixed one is the first.
    Of(Arc<[Tuple]>, Vary),
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use measure::siitperf::Span;

    #[suite::test]
    fn every_combination_comes_once_and_not_in_order() {
        let span = |min, max| Span { vary: Vary::Random, min, max };
        for (sources, destinations) in [(1, 1), (7, 3), (1000, 17), (1, 513)] {
            let ports =
                Ports { source: span(1024, 1023 + sources), destination: span(1, destinations) };
            let all = Combinations::new(ports, 5);
            let mut found: Vec<_> = (0..all.total()).map(|n| all.get(n)).collect();
            let total = usize::from(sources) * usize::from(destinations);
            if total > 100 {
                assert!(!found.is_sorted());
            }
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), total);
            assert_eq!(found[0], (1024, 1));
            assert_eq!(found[total - 1], (1023 + sources, destinations));
        }
    }

    #[suite::test]
    fn combinations_go_up_and_down_by_source_ports() {
        let span = |min, max| Span { vary: Vary::Random, min, max };
        let all = Combinations::new(Ports { source: span(8, 9), destination: span(1, 2) }, 5);
        let of = |order| (0..5).map(|n| all.ordered(order).get(n)).collect::<Vec<_>>();
        assert_eq!(of(Vary::Increase), [(8, 1), (9, 1), (8, 2), (9, 2), (8, 1)]);
        assert_eq!(of(Vary::Decrease), [(9, 2), (8, 2), (9, 1), (8, 1), (9, 2)]);
    }
}
