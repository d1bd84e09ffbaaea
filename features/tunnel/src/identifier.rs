// SPDX-License-Identifier: Apache-2.0
//! Identifiers of tunnels in the packets that ICMP errors quote.

/// Bytes behind the outer IP header that are compared.
const BYTES: usize = 16;

/// Bytes behind the outer IP header that all packets of a tunnel have and that name it: VNI, TEID,
/// GRE's key, session and cookie. They are compared as one number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Identifier {
    /// The bits that are compared.
    pub mask: u128,
    bits: u128,
}

impl Identifier {
    /// Compares this range of a tunnel's header too; bytes that aren't compared are left out.
    #[must_use]
    pub fn with(mut self, header: &[u8], range: std::ops::Range<usize>) -> Self {
        let compared = header.iter().enumerate().take(range.end.min(BYTES)).skip(range.start);
        for (at, byte) in compared {
            let shift = 8 * (BYTES - 1 - at);
            self.mask |= 0xff << shift;
            self.bits |= u128::from(*byte) << shift;
        }
        self
    }
}

/// The bytes behind an IP header that an error quotes. A router may quote only 8 (RFC 792); most
/// quote all that fits 576 bytes (RFC 1812 4.3.2.3), and IPv6 1,280 (RFC 4443 2.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quoted {
    bits: u128,
    /// The bits that are quoted.
    mask: u128,
}

impl Quoted {
    /// The first of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let Identifier { bits, mask } = Identifier::default().with(bytes, 0..BYTES);
        Self { bits, mask }
    }

    /// The identifier at the position of this mask, if all of it is quoted.
    pub fn identifier(&self, mask: u128) -> Option<Identifier> {
        (self.mask & mask == mask).then_some(Identifier { mask, bits: self.bits & mask })
    }
}
