// SPDX-License-Identifier: Apache-2.0
//! Bindings beside a plain model: packets are built anew with what they should have.

use super::*;
use crate::binding::{Binding, Match, Rewrite, length, mask};
use ::nat::key::End;
use ::nat::packet::Packet as Fields;
use graph::drive::Bench;
use proptest::prelude::*;
use std::net::Ipv4Addr;

fn end() -> impl Strategy<Value = End> {
    (any::<u32>(), any::<u16>()).prop_map(|(addr, port)| End::new(Ipv4Addr::from_bits(addr), port))
}

fn build(kind: u8, from: End, to: End, payload: usize) -> Vec<u8> {
    let ip = pkt::ip4(from.addr, to.addr);
    let upper = match kind {
        0 => ip.udp(from.port, to.port),
        1 => ip.tcp(from.port, to.port),
        _ => ip.icmp_echo(9, 9),
    };
    upper.payload_len(payload).build()
}

proptest! {
    /// Rewritten packets are those that the new fields make; rewriting back gives the first again.
    #[suite::test]
    fn packets_get_the_fields_of_the_binding(
        kind in 0..3_u8, old in (end(), end()), new in (end(), end()), bits in 1..16_u32, len in 0..20_usize
    ) {
        let mut bench = Bench::new(PLUGINS);
        let before = build(kind, old.0, old.1, len);
        let mut b = bench.rt.cache().alloc().expect("a buffer");
        assert!(b.set_data(&before));
        let p = Fields::read(&b, 0, None).expect("a packet");
        let rewrite = |ends: (End, End)| Rewrite {
            mask: bits, from: ends.0, to: ends.1, copy_from: 0, copy_to: 0, clear: 0,
        };
        let there = rewrite(new);
        prop_assert!(there.fits(length(&before)));
        let mut bytes = before.clone();
        there.apply(&mut bytes, &p, false);
        let pick = |bit: u32, old: u16, new: u16| if bits & bit != 0 { new } else { old };
        let pick_addr = |bit: u32, old: Ipv4Addr, new: Ipv4Addr| if bits & bit != 0 { new } else { old };
        let from = End::new(
            pick_addr(mask::SOURCE, old.0.addr, new.0.addr),
            pick(mask::SOURCE_PORT, old.0.port, new.0.port),
        );
        let to = End::new(
            pick_addr(mask::DESTINATION, old.1.addr, new.1.addr),
            pick(mask::DESTINATION_PORT, old.1.port, new.1.port),
        );
        let want = build(kind, from, to, len);
        // Both forms of zero are right.
        prop_assert_eq!(l4::verify(&bytes), Ok(Verdict::Valid));
        let without = |packet: &[u8]| {
            let at = UpperLayer::find4(packet).expect("an upper layer").offset + [6, 16, 2][usize::from(kind)];
            let mut packet = packet.to_vec();
            packet[at..at + 2].fill(0);
            packet[10..12].fill(0);
            packet
        };
        prop_assert_eq!(without(&bytes), without(&want));
        assert!(b.set_data(&bytes));
        let p = Fields::read(&b, 0, None).expect("a packet");
        rewrite(old).apply(&mut bytes, &p, false);
        prop_assert_eq!(without(&bytes), without(&before));
        prop_assert_eq!(l4::verify(&bytes), Ok(Verdict::Valid));
        bench.rt.cache().free(b);
    }

    /// A flow matches the binding whose fields it has, of those that the mask names.
    #[suite::test]
    fn flows_match_by_their_mask(from in end(), to in end(), bits in 0..16_u32, protocol: u8, other in end()) {
        let what = Match { mask: bits, from, to, protocol: IpProtocol(protocol) };
        let binding = Binding { what: what.only(bits), rewrite: Rewrite {
            mask: 1, from, to, copy_from: 0, copy_to: 0, clear: 0,
        } };
        prop_assert_eq!(what.only(bits), binding.what);
        let differs = Match { from: other, ..what };
        let same = (bits & mask::SOURCE == 0 || other.addr == from.addr)
            && (bits & mask::SOURCE_PORT == 0 || other.port == from.port);
        prop_assert_eq!(differs.only(bits) == binding.what, same);
    }
}
