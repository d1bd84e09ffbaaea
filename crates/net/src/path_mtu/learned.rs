// SPDX-License-Identifier: Apache-2.0
//! Learned path MTUs: a router reports by an ICMP error that a packet of ours was too big for a
//! link further on (RFC 1191, RFC 8201).
//!
//! Such an error is easily forged. So the protocol that sent the quoted packet has to recognize it
//! before it reports it; the node that receives errors must not. An MTU only
//! ever decreases, not below the minimum of every link, and for ten minutes at most; their number
//! is limited, the oldest is removed first; and only our own packets heed them, not forwarded ones.
//! A path MTU that an operator or a client has set is never changed.

use super::HostKey;
use crate::Net;
use std::collections::BTreeMap;

/// Nanoseconds until a larger one is tried again (RFC 1191 6.3, RFC 8201 5.3).
const AGE: u64 = 600_000_000_000;
/// Entries of each version at most.
const MOST: usize = 1024;

/// Total lengths that links are made for (RFC 1191 7.1), for routers that don't report their MTU.
const PLATEAUS: [u16; 10] = [32_000, 17_914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68];

/// An ICMP error about a packet of ours that was too big.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooBig<A> {
    /// The index of the table that the packet went out in.
    pub table: u32,
    /// Destination of the packet.
    pub to: A,
    /// Total length of the packet.
    pub len: usize,
    /// MTU that the router reports; 0 if it reports none.
    pub mtu: u32,
}

impl<A> TooBig<A> {
    /// Returns the resulting path MTU, if it is plausible.
    fn mtu<F: Net>(&self) -> Option<u16> {
        let mtu = match self.mtu {
            0 if !F::IS_V6 => {
                PLATEAUS.into_iter().find(|plateau| usize::from(*plateau) < self.len)?
            }
            mtu => u16::try_from(mtu).ok()?,
        };
        (mtu >= F::MIN_MTU && usize::from(mtu) < self.len).then_some(mtu)
    }
}

/// A learned path MTU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LearnedMtu {
    /// Bytes that fit.
    pub mtu: u16,
    /// Time when it expires.
    pub until: u64,
}

/// All learned path MTUs of a version.
pub(super) type All<F> = BTreeMap<HostKey<F>, LearnedMtu>;

/// Learns a path MTU from an error.
pub(super) fn learn<F: Net>(all: &mut All<F>, reported: TooBig<F::Addr>, now: u64) {
    let Some(mtu) = reported.mtu::<F>() else { return };
    let at = (reported.table, reported.to);
    match all.get(&at) {
        // Reported for one of several paths, or late.
        Some(old) if old.mtu <= mtu => return,
        Some(_) => {}
        None if all.len() >= MOST => {
            let oldest = all.iter().min_by_key(|(_, learned)| learned.until).map(|(at, _)| *at);
            oldest.map(|at| all.remove(&at));
        }
        None => {}
    }
    all.insert(at, LearnedMtu { mtu, until: now + AGE });
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};
    use wire::{Ip4, Ip6};

    const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

    fn four(len: usize, mtu: u32) -> TooBig<Ipv4Addr> {
        TooBig { table: 0, to: HOST, len, mtu }
    }

    #[suite::test]
    fn what_a_router_says_has_to_make_sense() {
        let six = |len, mtu| TooBig { table: 0, to: Ipv6Addr::LOCALHOST, len, mtu }.mtu::<Ip6>();
        assert_eq!(
            (six(1500, 1400), six(1500, 1280), six(1500, 1279)),
            (Some(1400), Some(1280), None)
        );
        assert_eq!(
            (six(1400, 1400), six(1300, 1400), six(1500, 0)),
            (None, None, None),
            "it would have fitted"
        );
        assert_eq!(six(1500, 0x1_0000 + 1400), None);
        let four = |len, mtu| four(len, mtu).mtu::<Ip4>();
        assert_eq!(
            (four(1500, 1400), four(1500, 68), four(1500, 67)),
            (Some(1400), Some(68), None)
        );
        assert_eq!(
            (four(1500, 0), four(1492, 0), four(576, 0), four(68, 0)),
            (Some(1492), Some(1006), Some(508), None)
        );
    }

    #[suite::test]
    fn they_only_go_down_and_are_no_more_than_so_many() {
        let mut all = All::<Ip4>::new();
        let mtu = |all: &All<Ip4>| all.get(&(0, HOST)).map(|l| (l.mtu, l.until));
        learn::<Ip4>(&mut all, four(1500, 1400), 5);
        learn::<Ip4>(&mut all, four(1500, 1450), 6);
        assert_eq!(mtu(&all), Some((1400, 5 + AGE)));
        learn::<Ip4>(&mut all, four(1400, 1300), 7);
        assert_eq!(mtu(&all), Some((1300, 7 + AGE)));
        for i in 0..3 * MOST as u32 {
            let to = Ipv4Addr::from_bits(0x0a00_0000 + i);
            learn::<Ip4>(&mut all, TooBig { to, ..four(1500, 1400) }, 10 + u64::from(i));
        }
        assert_eq!((all.len(), mtu(&all)), (MOST, None), "the oldest went");
    }
}
