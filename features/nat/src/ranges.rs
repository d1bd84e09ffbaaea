// SPDX-License-Identifier: Apache-2.0
//! Ranges of addresses of pools, as lines that save them have them: a line for each address would
//! publish a large pool as often as it has addresses.

use crate::error;
use cli::{Result, retval};
use std::net::Ipv4Addr;

/// Addresses of one range at most.
pub const MOST: u32 = 1 << 16;

/// The addresses of a range.
///
/// # Errors
/// A range that ends before it begins, or is too long (−7).
pub fn expand(first: Ipv4Addr, last: Ipv4Addr) -> Result<impl Iterator<Item = Ipv4Addr>> {
    let (from, to) = (first.to_bits(), last.to_bits());
    if to < from || to - from >= MOST {
        let why = format!("expected a range of 1 to {MOST} addresses, not {first} - {last}");
        return Err(error(retval::INVALID_VALUE, why));
    }
    Ok((from..=to).map(Ipv4Addr::from_bits))
}

/// Joins addresses that follow each other and are alike, in the order of the pool; each range as
/// commands take it, with what its addresses share.
pub fn ranges<T: PartialEq>(
    addresses: impl IntoIterator<Item = (Ipv4Addr, T)>,
) -> Vec<(String, T)> {
    let mut all: Vec<(Ipv4Addr, Ipv4Addr, T)> = Vec::new();
    for (addr, of) in addresses {
        let follows = |(first, last, shared): &&mut (Ipv4Addr, Ipv4Addr, T)| {
            *shared == of
                && last.to_bits().checked_add(1) == Some(addr.to_bits())
                && addr.to_bits() - first.to_bits() < MOST
        };
        match all.last_mut().filter(follows) {
            Some((_, last, _)) => *last = addr,
            None => all.push((addr, addr, of)),
        }
    }
    let text = |(first, last, of): (Ipv4Addr, Ipv4Addr, T)| match first == last {
        true => (first.to_string(), of),
        false => (format!("{first} - {last}"), of),
    };
    all.into_iter().map(text).collect()
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn neighbours_that_are_alike_make_a_range() {
        let addr = |last, of| (Ipv4Addr::new(192, 0, 2, last), of);
        let joined = ranges([addr(1, 7), addr(2, 7), addr(3, 8), addr(4, 8), addr(9, 8)]);
        let wanted = [("192.0.2.1 - 192.0.2.2", 7), ("192.0.2.3 - 192.0.2.4", 8), ("192.0.2.9", 8)];
        assert_eq!(joined, wanted.map(|(text, of)| (text.to_string(), of)));
        // The order of a pool decides who gets which address.
        assert_eq!(ranges([addr(2, 7), addr(1, 7)]).len(), 2);
        let many = (0..MOST + 1).map(|n| (Ipv4Addr::from_bits(0x0a00_0000 + n), ()));
        assert_eq!(ranges(many).len(), 2);
    }
}
