// SPDX-License-Identifier: Apache-2.0
//! Frames of one port whose addresses are looked up together.

use crate::To;
use buffer::{Buffer, Flags};
use graph::Vector;
use ip::headers::BLOCK;
use l2::{Origin, UnicastPath};
use tables::mac::{MacHash, MacKey, MacView};
use wire::EtherType;

/// Equal addresses in a row after which the next frame is expected to have them, too.
const REPEATED: u32 = 3;
/// The bit of group addresses in the first 8 bytes of a frame, read big-endian.
const GROUP: u64 = 1 << 56;

/// Destination and source of a frame, each in the upper 48 bits of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    destination: u64,
    source: u64,
}

impl Addresses {
    const NONE: Self = Self { destination: 0, source: 0 };

    /// Of a frame that doesn't need the graph.
    #[inline(always)]
    pub fn of(b: &Buffer, origin: &Origin) -> Option<Self> {
        let header = b.bytes::<{ crate::ETHERNET }>(0)?;
        let destination = u64::from_be_bytes(*header.first_chunk()?);
        let source_and_type = u64::from_be_bytes(*header.last_chunk()?);
        let is_ordinary = !b.flags.contains(Flags::TRACED)
            && destination & GROUP == 0
            && !(origin.has_subs && EtherType(source_and_type as u16).is_vlan());
        let address = |word| word & !0xffff;
        is_ordinary
            .then(|| Self { destination: address(destination), source: address(source_and_type) })
    }

    /// The keys of both in a domain.
    #[inline(always)]
    pub fn keys(self, domain: u16) -> (MacKey, MacKey) {
        (MacKey::of_word(self.destination, domain), MacKey::of_word(self.source, domain))
    }
}

/// The frames, and the keys by which they are looked up.
pub struct Block {
    pub len: usize,
    pub at: [u8; BLOCK],
    pub destinations: [(MacKey, MacHash); BLOCK],
    pub sources: [(MacKey, MacHash); BLOCK],
    /// The addresses of the last frame, if those in front of it have them, too. The block ends with
    /// it, since the frames behind need no lookup.
    pub repeated: Option<Addresses>,
}

impl Block {
    pub const fn new() -> Self {
        let none = (MacKey::new([0; 6], 0), MacHash::NONE);
        let (destinations, sources) = ([none; BLOCK], [none; BLOCK]);
        Self { len: 0, at: [0; BLOCK], destinations, sources, repeated: None }
    }

    #[inline(always)]
    pub fn clear(&mut self) {
        (self.len, self.repeated) = (0, None);
    }

    /// Gathers consecutive frames of a port from offset `from` of the vector on, and prefetches the
    /// cache lines that their lookups read. Returns the offset behind the last one.
    #[inline(always)]
    pub fn gather(
        &mut self,
        v: &mut Vector<'_, To>,
        from: usize,
        origin: &Origin,
        macs: MacView<'_>,
    ) -> usize {
        let (to, mut n, mut seen) = ((from + BLOCK).min(v.len()), 0, 0);
        let UnicastPath::Bridged { learns } = origin.unicast_path else { return to };
        let (mut last, mut equal) = (Addresses::NONE, 0);
        for b in v.range_mut_ahead(from, to) {
            if b.rx_if != origin.rx_if {
                break;
            }
            seen += 1;
            let Some(found) = Addresses::of(b, origin) else { continue };
            let ((destination, source), i) = (found.keys(origin.domain), n % BLOCK);
            self.at[i] = (from + seen - 1) as u8;
            self.destinations[i] = (destination, macs.prefetch(destination));
            if learns {
                self.sources[i] = (source, macs.prefetch(source));
            }
            n += 1;
            equal = if found == last { equal + 1 } else { 0 };
            last = found;
            if equal == REPEATED {
                self.repeated = Some(found);
                break;
            }
        }
        self.len = n;
        from + seen
    }
}
