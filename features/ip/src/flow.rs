// SPDX-License-Identifier: Apache-2.0
//! The flow that a packet belongs to, as a number: packets of one flow take one path.

use buffer::Buffer;
use net::FlowHash;
use wire::{IpProtocol, Ipv4Header};

const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hash of the packet's fields that `choice` names. Fragments of one packet have to take one path, and only the first has
/// ports: they are hashed without.
#[inline(always)]
pub fn hash(b: &Buffer, choice: FlowHash) -> u32 {
    let Some(header) = b.bytes::<20>(0) else { return 0 };
    let addresses = u64::from_le_bytes([
        header[12], header[13], header[14], header[15], header[16], header[17], header[18], header[19],
    ]);
    let protocol = IpProtocol(header[9]);
    let whole = u16::from_be_bytes([header[6], header[7]]) & 0x3fff == 0;
    let ported =
        matches!(protocol, IpProtocol::TCP | IpProtocol::UDP | IpProtocol::SCTP | IpProtocol::UDP_LITE);
    let at = if header[0] == Ipv4Header::PLAIN { 20 } else { usize::from(header[0] & 15) * 4 };
    let ports = if whole & ported { b.bytes::<4>(at).map_or(0, |p| u32::from_le_bytes(*p)) } else { 0 };
    let fields = Fields { addresses, ports, protocol: protocol.0 };
    let Fields { addresses, ports, protocol } =
        if choice == FlowHash::default() { fields } else { fields.choose(choice) };
    mix(addresses, u64::from(ports) << 8 | u64::from(protocol))
}

/// Source in the low half, destination in the high one.
struct Fields {
    addresses: u64,
    ports: u32,
    protocol: u8,
}

impl Fields {
    #[inline(never)]
    fn choose(self, choice: FlowHash) -> Self {
        let keep = |field, mask: u64| if choice.has(field) { mask } else { 0 };
        let low = u64::from(u32::MAX);
        let addresses = self.addresses & (keep(FlowHash::SRC, low) | keep(FlowHash::DST, low << 32));
        let ports = self.ports & (keep(FlowHash::SPORT, 0xffff) | keep(FlowHash::DPORT, 0xffff << 16)) as u32;
        let (turned, crossed) = (addresses.rotate_left(32), ports.rotate_left(16));
        let (addresses, ports) = if choice.has(FlowHash::SYMMETRIC) {
            (addresses.min(turned), ports.min(crossed))
        } else if choice.has(FlowHash::REVERSE) {
            (turned, crossed)
        } else {
            (addresses, ports)
        };
        Self { addresses, ports, protocol: self.protocol & keep(FlowHash::PROTO, 0xff) as u8 }
    }
}

/// Two rounds of multiplication, halves folded: every bit of the input reaches the low bits, which choose buckets.
#[inline(always)]
fn mix(a: u64, b: u64) -> u32 {
    let fold = |x: u64, y: u64| {
        let wide = u128::from(x) * u128::from(y);
        wide as u64 ^ (wide >> 64) as u64
    };
    let hash = fold(fold(a ^ MIX, b ^ 0xd6e8_feb8_6659_fd93), MIX);
    (hash ^ hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use graph::drive::Bench;
    use proptest::prelude::*;
    use testkit::pkt;

    /// The hash of a packet from here to there.
    fn of(bench: &mut Bench, from: (u32, u16), to: (u32, u16), choice: u32) -> u32 {
        let ip = std::net::Ipv4Addr::from_bits;
        let bytes = pkt::ip4(ip(from.0), ip(to.0)).udp(from.1, to.1).build();
        let b = bench.buffer(&bytes);
        let hash = hash(&b, FlowHash::from_bits(choice).expect("bits"));
        bench.rt.cache().free(b);
        hash
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn only_what_was_chosen_counts(a: (u32, u16), b: (u32, u16), c: (u32, u16)) {
            let mut bench = Bench::new(&[]);
            let mut of = |from, to, choice| of(&mut bench, from, to, choice);
            prop_assert_eq!(of(a, b, 0x5f), of(b, a, 0x5f), "symmetric");
            prop_assert_eq!(of(a, b, 0x3f), of(b, a, 0x1f), "reverse");
            prop_assert_eq!(of(a, b, 1), of((a.0, c.1), c, 1), "source address");
            prop_assert_eq!(of(a, b, 2), of(c, (b.0, c.1), 2), "destination address");
            prop_assert_eq!(of(a, b, 4), of((c.0, a.1), c, 4), "source port");
            prop_assert_eq!(of(a, b, 8), of(c, (c.0, b.1), 8), "destination port");
            prop_assert_eq!(of(a, b, 0x10), of(c, c, 0x10), "protocol");
            if a.0 != c.0 {
                prop_assert_ne!(of(a, b, 1), of(c, b, 1));
            }
        }
    }
}
