// SPDX-License-Identifier: Apache-2.0
//! Options of IPv6's hop-by-hop and destination headers (RFC 8200 §4.2).

use crate::{OptionError, TlvOption};

/// Iterator over the options of an extension header; offsets count from the header's first byte.
/// Padding is stepped over. A length beyond the end gives one error and ends it. Every step
/// consumes a byte.
#[derive(Clone, Debug)]
pub struct Ip6Options<'a> {
    header: &'a [u8],
    at: usize,
}

impl<'a> Ip6Options<'a> {
    /// Kind of the lone byte that fills.
    pub const PAD1: u8 = 0;
    /// Kind of an option that fills.
    pub const PADN: u8 = 1;
    /// Kind: routers look at the packet (RFC 2711).
    pub const ROUTER_ALERT: u8 = 5;

    /// Over the whole header, next-header and length field included.
    #[inline(always)]
    pub fn new(header: &'a [u8]) -> Self {
        Self { header, at: 2 }
    }
}

impl<'a> Iterator for Ip6Options<'a> {
    type Item = Result<TlvOption<'a>, OptionError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let offset = self.at;
            let kind = *self.header.get(offset)?;
            if kind == Self::PAD1 {
                self.at += 1;
                continue;
            }
            let end =
                self.header.get(offset + 1).map_or(offset, |len| offset + 2 + usize::from(*len));
            let Some(data) = self.header.get(offset + 2..end) else {
                self.at = self.header.len();
                return Some(Err(OptionError { offset }));
            };
            self.at = end;
            if kind != Self::PADN {
                return Some(Ok(TlvOption { kind, offset, data }));
            }
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[suite::test]
    fn padding_is_stepped_over() {
        let header = [58, 1, 5, 2, 0, 0, 1, 2, 0, 0, 0, 0x3e, 1, 9, 1, 0];
        let seen: Vec<_> = Ip6Options::new(&header)
            .map(Result::unwrap)
            .map(|o| (o.kind, o.offset, o.data))
            .collect();
        assert_eq!(seen, [(5, 2, &[0, 0][..]), (0x3e, 11, &[9])]);
        assert_eq!(
            Ip6Options::new(&[58, 0, 5, 5, 0, 0, 1, 0]).last(),
            Some(Err(OptionError { offset: 2 }))
        );
        assert_eq!(
            Ip6Options::new(&[58, 0, 0, 0, 0, 0, 0, 7]).last(),
            Some(Err(OptionError { offset: 7 }))
        );
        assert_eq!(Ip6Options::new(&[58]).count(), 0);
    }

    proptest! {
        #[suite::test]
        fn any_bytes(header in proptest::collection::vec(prop_oneof![any::<u8>(), 0u8..6], 0..300)) {
            let mut end = 2;
            for option in Ip6Options::new(&header).flatten() {
                prop_assert!(option.offset >= end);
                end = option.offset + 2 + option.data.len();
                prop_assert!(end <= header.len());
            }
        }
    }
}
