// SPDX-License-Identifier: Apache-2.0
//! The flow that a packet belongs to, as a number: packets of one flow take one path.

use crate::family::{Fields, Ip};
use buffer::Buffer;
use net::{Flow, FlowHash};
use tables::fold;
use wire::IpProtocol;

const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hashes the fields that `flow` names of a packet whose IP header begins at byte `at`, and the
/// router's number. Fragments of one packet have to take one path, and only the first has ports:
/// they are hashed without.
#[inline(always)]
pub fn hash<F: Ip>(b: &Buffer, at: usize, flow: Flow) -> u32 {
    // Other sets of fields in a function of their own: passing the fields to it would put them in
    // memory for all packets.
    if flow.fields != FlowHash::default() {
        return hash_of::<F>(b, at, flow);
    }
    Fields { label: 0, ..F::fields(b, at) }.hash(flow.router_id)
}

#[inline(never)]
fn hash_of<F: Ip>(b: &Buffer, at: usize, flow: Flow) -> u32 {
    F::fields(b, at).choose(flow.fields).hash(flow.router_id)
}

/// The ports at `at`, if the protocol has any.
#[inline(always)]
pub fn ports(b: &Buffer, protocol: u8, at: usize) -> u32 {
    let ported = matches!(
        IpProtocol(protocol),
        IpProtocol::TCP | IpProtocol::UDP | IpProtocol::SCTP | IpProtocol::UDP_LITE
    );
    if ported { b.bytes::<4>(at).map_or(0, |ports| u32::from_le_bytes(*ports)) } else { 0 }
}

impl Fields {
    fn choose(self, choice: FlowHash) -> Self {
        let keep = |field, mask: u64| if choice.contains(field) { mask } else { 0 };
        let (source, destination) = (
            self.source & keep(FlowHash::SRC, u64::MAX),
            self.destination & keep(FlowHash::DST, u64::MAX),
        );
        let ports = self.ports
            & (keep(FlowHash::SPORT, 0xffff) | keep(FlowHash::DPORT, 0xffff << 16)) as u32;
        let crossed = ports.rotate_left(16);
        let (source, destination, ports) = if choice.contains(FlowHash::SYMMETRIC) {
            (source.min(destination), source.max(destination), ports.min(crossed))
        } else if choice.contains(FlowHash::REVERSE) {
            (destination, source, crossed)
        } else {
            (source, destination, ports)
        };
        let protocol = self.protocol & keep(FlowHash::PROTO, 0xff) as u8;
        let label = self.label & keep(FlowHash::LABEL, 0xf_ffff) as u32;
        Self { source, destination, ports, protocol, label }
    }

    #[inline(always)]
    fn hash(self, router_id: u32) -> u32 {
        let Self { source, destination, ports, protocol, label } = self;
        let rest = u64::from(label) << 40 | u64::from(ports) << 8 | u64::from(protocol);
        let router = u64::from(router_id).wrapping_mul(MIX);
        mix(source ^ destination.rotate_left(32) ^ router, rest)
    }
}

/// An address of 128 bits as one of 64.
#[inline(always)]
pub fn shorten(address: u128) -> u64 {
    fold(address as u64 ^ 0xa076_1d64_78bd_642f, (address >> 64) as u64 ^ 0xe703_7ed1_a0b4_28db)
}

/// Two rounds of multiplication, halves folded: every bit of the input reaches the low bits, which
/// choose buckets.
#[inline(always)]
fn mix(a: u64, b: u64) -> u32 {
    let hash = fold(fold(a ^ MIX, b ^ 0xd6e8_feb8_6659_fd93), MIX);
    (hash ^ hash >> 32) as u32
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use graph::drive::Bench;
    use proptest::prelude::*;
    use testkit::pkt;
    use wire::{Ip4, Ip6};

    /// The hash of a packet from here to there.
    fn of<F: Ip>(bench: &mut Bench, from: (u32, u16), to: (u32, u16), choice: u32) -> u32 {
        let bytes = if F::IS_V6 {
            let ip = |low: u32| std::net::Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(low));
            pkt::ip6(ip(from.0), ip(to.0)).udp(from.1, to.1).build()
        } else {
            let ip = std::net::Ipv4Addr::from_bits;
            pkt::ip4(ip(from.0), ip(to.0)).udp(from.1, to.1).build()
        };
        let b = bench.buffer(&bytes);
        let fields = FlowHash::from_api(choice).expect("bits");
        let hash = hash::<F>(&b, 0, Flow { fields, router_id: 0 });
        let framed = bench.buffer(&[&[0; 14][..], &bytes].concat());
        assert_eq!(hash, self::hash::<F>(&framed, 14, Flow { fields, router_id: 0 }));
        [b, framed].into_iter().for_each(|b| bench.rt.cache().free(b));
        hash
    }

    type End = (u32, u16);

    fn only_what_was_chosen_counts<F: Ip>(a: End, b: End, c: End) -> Result<(), TestCaseError> {
        let mut bench = Bench::new(&[]);
        let mut of = |from, to, choice| of::<F>(&mut bench, from, to, choice);
        prop_assert_eq!(of(a, b, 0x5f), of(b, a, 0x5f), "symmetric");
        prop_assert_eq!(of(a, b, 0x3f), of(b, a, 0x1f), "reverse");
        prop_assert_eq!(of(a, b, 1), of((a.0, c.1), c, 1), "source address");
        prop_assert_eq!(of(a, b, 2), of(c, (b.0, c.1), 2), "destination address");
        prop_assert_eq!(of(a, b, 4), of((c.0, a.1), c, 4), "source port");
        prop_assert_eq!(of(a, b, 8), of(c, (c.0, b.1), 8), "destination port");
        prop_assert_eq!(of(a, b, 0x10), of(c, c, 0x10), "protocol");
        prop_assert_eq!(of(a, b, 0x80), of(c, c, 0x80), "flow label");
        if a.0 != c.0 {
            prop_assert_ne!(of(a, b, 1), of(c, b, 1));
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[suite::test]
        fn only_what_was_chosen_counts4(a: End, b: End, c: End) {
            only_what_was_chosen_counts::<Ip4>(a, b, c)?;
        }
        #[suite::test]
        fn only_what_was_chosen_counts6(a: End, b: End, c: End) {
            only_what_was_chosen_counts::<Ip6>(a, b, c)?;
        }
    }

    #[suite::test]
    fn routers_in_a_row_choose_differently() {
        let mut bench = Bench::new(&[]);
        let mut of = |port, router_id| {
            let b = bench.buffer(&pkt::ip4("10.0.0.1", "10.0.0.2").udp(port, 7).build());
            let hash = hash::<Ip4>(&b, 0, Flow { router_id, ..Flow::default() });
            bench.rt.cache().free(b);
            hash
        };
        // Of the flows that one router sends over the first of two paths, the next one sends half
        // over each of its own.
        for (before, after) in [(0, 1), (1, 2), (0x0a00_0001, 0x0a00_0002)] {
            let passed: Vec<u16> = (0..10_000).filter(|port| of(*port, before) % 2 == 0).collect();
            let first = passed.iter().filter(|port| of(**port, after) % 2 == 0).count();
            assert!((4800..5200).contains(&passed.len()), "{}", passed.len());
            assert!((2250..2750).contains(&first), "{first}");
        }
    }

    #[suite::test]
    fn behind_extension_headers() {
        let mut bench = Bench::new(&[]);
        let mut of = |bytes: &[u8], fields| {
            let b = bench.buffer(bytes);
            let hash = hash::<Ip6>(&b, 0, Flow { fields, router_id: 0 });
            bench.rt.cache().free(b);
            hash
        };
        let plain = pkt::ip6("2001:db8::1", "2001:db8::2").udp(1, 2).build();
        let mut behind = plain.clone();
        behind.splice(40..40, [17, 0, 1, 4, 0, 0, 0, 0]);
        (behind[5], behind[6]) = (behind[5] + 8, 60);
        assert_eq!(of(&plain, FlowHash::default()), of(&behind, FlowHash::default()));
        let mut other = plain.clone();
        other[3] = 7;
        assert_eq!(of(&plain, FlowHash::default()), of(&other, FlowHash::default()));
        assert_ne!(of(&plain, FlowHash::LABEL), of(&other, FlowHash::LABEL));
    }
}
