// SPDX-License-Identifier: Apache-2.0
//! Self-describing payloads: cells of 16 bytes, each with the packet's tag, its place in the
//! payload and a hash of both. So every byte of any piece of a payload (a fragment, a segment) can
//! be verified without a memory of what was sent.

/// Bytes of a cell.
pub const CELL: usize = 16;

/// The tag of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// Number of the packet among those of its sender; 28 bits.
    pub number: u32,
    /// Cells of the payload; 12 bits.
    pub cells: u16,
    /// Index of its kind.
    pub kind: u8,
    /// The ports that it may come out of, a bit each.
    pub outputs: u8,
    /// The port that it was sent from.
    pub from: u8,
}

impl Tag {
    fn word(self) -> u64 {
        u64::from(self.number) << 36
            | u64::from(self.cells) << 24
            | u64::from(self.kind) << 16
            | u64::from(self.outputs) << 8
            | u64::from(self.from)
    }

    fn of_word(word: u64) -> Tag {
        Tag {
            number: (word >> 36) as u32,
            cells: (word >> 24) as u16 & 0xfff,
            kind: (word >> 16) as u8,
            outputs: (word >> 8) as u8,
            from: word as u8,
        }
    }

    fn cell(self, seed: u64, k: u32) -> [u8; CELL] {
        let mut hash = seed ^ self.word() ^ u64::from(k).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // splitmix64's finalizer
        hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
        let mut cell = [0; CELL];
        cell[..8].copy_from_slice(&self.word().to_be_bytes());
        cell[8..12].copy_from_slice(&k.to_be_bytes());
        cell[12..].copy_from_slice(&(hash as u32).to_be_bytes());
        cell
    }

    /// The payload of this packet.
    pub fn payload(self, seed: u64) -> Vec<u8> {
        (0..u32::from(self.cells)).flat_map(|k| self.cell(seed, k)).collect()
    }
}

/// An error in a piece of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corrupt {
    /// Offset of the first wrong byte, from the start of the piece.
    pub at: usize,
    /// Tag that the piece claims to have.
    pub claim: Tag,
}

/// Verifies a piece that begins `at` bytes into a payload: its tag, or `None` if it is too short to
/// hold a whole cell.
pub fn verify(seed: u64, piece: &[u8], at: usize) -> Result<Option<Tag>, Corrupt> {
    let lead = at.next_multiple_of(CELL) - at;
    let Some(word) = piece.get(lead..lead + CELL).and_then(|cell| cell.first_chunk()) else {
        return Ok(None);
    };
    let claim = Tag::of_word(u64::from_be_bytes(*word));
    let mut done = 0;
    while done < piece.len() {
        let (k, skip) = ((at + done) / CELL, (at + done) % CELL);
        let cell = claim.cell(seed, k as u32);
        let n = (CELL - skip).min(piece.len() - done);
        let wrong = (0..n).find(|i| piece[done + i] != cell[skip + i]);
        if let Some(i) = wrong {
            return Err(Corrupt { at: done + i, claim });
        }
        done += n;
    }
    let beyond = at + piece.len() > usize::from(claim.cells) * CELL;
    if beyond { Err(Corrupt { at: piece.len(), claim }) } else { Ok(Some(claim)) }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    const TAG: Tag = Tag { number: 0xabc_def0, cells: 90, kind: 7, outputs: 0x0e, from: 3 };

    #[suite::test]
    fn every_piece_is_verified() {
        let payload = TAG.payload(5);
        assert_eq!(payload.len(), 90 * CELL);
        for at in (0..payload.len()).step_by(8) {
            for len in [24, 40, 512, 1440] {
                let piece = &payload[at..payload.len().min(at + len)];
                let want = if piece.len() < CELL || at % CELL != 0 && piece.len() < 24 {
                    None
                } else {
                    Some(TAG)
                };
                assert_eq!(verify(5, piece, at), Ok(want), "{at} {len}");
            }
        }
    }

    #[suite::test]
    fn every_wrong_byte_is_seen() {
        let payload = TAG.payload(5);
        for i in 0..100 {
            let mut piece = payload[8..200].to_vec();
            piece[i] ^= 0x10;
            assert!(verify(5, &piece, 8).is_err(), "{i}");
        }
        // a piece of another place, of another run, or one that is too long
        assert!(verify(5, &payload[16..160], 0).is_err());
        assert!(verify(6, &payload[..160], 0).is_err());
        assert!(verify(5, &[&payload[..], &[0; 16]].concat(), 0).is_err());
    }
}
