// SPDX-License-Identifier: Apache-2.0
//! Packets of the router itself.

use super::*;
use crate::origin::{Counts, Ends, datagram, send};
use net::TableIndex;
use std::net::SocketAddr;

/// A datagram of the router itself, byte by byte.
#[suite::test]
fn own_datagrams_have_their_headers() {
    let ends = |from: &str, to: &str, checksum| Ends {
        from: SocketAddr::new(addr(from), 514),
        to: SocketAddr::new(addr(to), 4739),
        table: TableIndex::DEFAULT,
        checksum,
    };
    let four = ends("10.0.0.1", "10.0.1.2", true);
    let of = |how| {
        let packet = pkt::ip4("10.0.0.1", "10.0.1.2").id(7).udp(514, 4739);
        packet.checksum(how).payload("hello").build()
    };
    assert_eq!(datagram(&four, 7, b"hello"), Some(of(Checksum::Right)));
    let none = datagram(&Ends { checksum: false, ..four }, 7, b"hello");
    assert_eq!(none, Some(of(Checksum::Value(0))));
    // IPv6 always has a checksum.
    let six = ends("2001:db8:0::1", "2001:db8:1::2", false);
    let expected = pkt::ip6("2001:db8:0::1", "2001:db8:1::2").udp(514, 4739).payload("hello");
    assert_eq!(datagram(&six, 7, b"hello"), Some(expected.build()));
    assert_eq!(datagram(&ends("10.0.0.1", "2001:db8:1::2", true), 7, b""), None);
    assert_eq!(datagram(&four, 7, &[0; 65_508]), None);
    assert!(datagram(&four, 7, &[0; 65_507]).is_some());
    // A sum of zero is sent as all ones (RFC 768).
    let sum_of = |payload: &[u8]| {
        let bytes = datagram(&four, 0, payload).expect("a datagram");
        u16::from_be_bytes([bytes[26], bytes[27]])
    };
    let before = sum_of(&[0, 0]);
    assert_eq!(sum_of(&before.to_be_bytes()), u16::MAX);
}

/// Datagrams of the router itself are routed; those that lead nowhere are counted.
#[suite::test]
fn own_datagrams_are_routed() {
    let mut bench = router();
    let counts = Counts::new(&bench.world, "/reports", 3);
    for (from, to, port) in [
        ("10.0.0.1", "10.0.1.2", Some(1)),
        ("2001:db8:0::1", "2001:db8:2::2", Some(2)),
        ("10.0.0.1", "172.16.0.1", None),
        ("2001:db8:0::1", "2001:db9::1", None),
    ] {
        let ends = Ends {
            from: SocketAddr::new(addr(from), 1),
            to: SocketAddr::new(addr(to), 2),
            table: TableIndex::DEFAULT,
            checksum: true,
        };
        send(&bench.world, &ends, vec![b"one".to_vec(), b"two".to_vec()], &counts);
        bench.settle();
        let left = bench.world.get::<Recorded>().take();
        let ports: Vec<_> = left.iter().map(|(sw_if, _)| *sw_if).collect();
        let sw_if = |i| bench.world.get::<Interfaces>().find(&format!("t{i}")).expect("there").0;
        assert_eq!(ports, port.map_or(vec![], |i| vec![sw_if(i); 2]), "{to}");
        assert!(
            left.iter()
                .zip(["one", "two"])
                .all(|((_, frame), text)| frame.ends_with(text.as_bytes()))
        );
    }
    let ends = Ends {
        from: SocketAddr::new(addr("10.0.0.1"), 1),
        to: SocketAddr::new(addr("10.0.1.2"), 2),
        table: TableIndex::DEFAULT,
        checksum: true,
    };
    let all = |counts: &Counts| [counts.sent(), counts.unreachable(), counts.no_buffer()];
    assert_eq!(all(&counts), [4, 4, 0]);
    // Reports take none of the buffers that are kept for the router's protocols.
    let held: Vec<_> = std::iter::from_fn(|| bench.rt.cache().alloc()).collect();
    send(&bench.world, &ends, vec![b"three".to_vec(), vec![0; 65_508]], &counts);
    bench.settle();
    assert_eq!(all(&counts), [4, 4, 2]);
    assert!(bench.rt.cache().alloc_own().is_some());
    drop(held);
    assert_eq!(bench.world.stats.simple("/reports/no-buffer").sum(3), 2);
}
