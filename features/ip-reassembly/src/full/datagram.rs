// SPDX-License-Identifier: Apache-2.0
//! One datagram under reassembly.

use crate::fragment::{Fragment, Fragments};
use crate::store::Waiting;
use buffer::{Buffer, Cache, Flags, Owned};
use wire::Ecn;

/// Minimum number of bytes in the first segment of a reassembled packet, if it has them: nodes find
/// all headers there.
const TOGETHER: usize = 256;

/// A fragment that was received.
pub struct Piece {
    /// Its parsed header.
    pub fragment: Fragment,
    /// The packet, at its IP header.
    pub packet: Owned,
}

/// The result of checking a fragment against its datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// It fits.
    Fits,
    /// All its bytes were received already (RFC 8200 4.5).
    Duplicate,
    /// It contradicts the datagram's end, or overlaps another fragment where it may not (RFC 5722).
    Overlap,
    /// The datagram has the maximum number of fragments.
    TooMany,
}

/// The received fragments of one datagram.
#[derive(Default)]
pub struct Datagram {
    /// Fragments in order, without overlaps.
    pub pieces: Vec<Piece>,
    since: u64,
    have: usize,
    /// Length of its payload in bytes, once the last fragment was received.
    total: Option<usize>,
    /// Set of received ECN values, a bit each.
    ecn: u8,
    /// True if it was given up: further fragments are dropped.
    pub dead: bool,
}

impl Waiting for Piece {
    fn into_packet(self) -> Owned {
        self.packet
    }

    fn packet(&self) -> &Owned {
        &self.packet
    }

    fn bytes(&self) -> usize {
        self.fragment.len()
    }
}

impl crate::store::Datagram for Datagram {
    type Part = Piece;
    type To = super::To;

    fn new(since: u64, pieces: Vec<Piece>) -> Self {
        Self { since, pieces, ..Self::default() }
    }

    fn since(&self) -> u64 {
        self.since
    }

    fn parts(&self) -> &Vec<Piece> {
        &self.pieces
    }

    fn parts_mut(&mut self) -> &mut Vec<Piece> {
        &mut self.pieces
    }

    fn give_up(&mut self) {
        self.dead = true;
    }
}

impl Datagram {
    /// Checks a fragment against those received, of which there may be at most `limit`.
    pub fn judge<F: Fragments>(&self, fragment: &Fragment, packet: &Buffer, limit: usize) -> Fit {
        // Fragments mostly come in order.
        let behind = self.pieces.iter().rposition(|p| p.fragment.start <= fragment.start);
        if let Some(before) = behind.map(|at| &self.pieces[at]) {
            let there = before.fragment;
            let known = if F::MAY_OVERLAP {
                fragment.end <= there.end
            } else {
                (there.start, there.end, there.more)
                    == (fragment.start, fragment.end, fragment.more)
                    && equal(before, fragment, packet)
            };
            if known && (fragment.more || self.total == Some(fragment.end as usize)) {
                return Fit::Duplicate;
            }
            if !F::MAY_OVERLAP && there.end > fragment.start {
                return Fit::Overlap;
            }
        }
        let ahead = self.pieces.get(behind.map_or(0, |at| at + 1));
        let (end, last) =
            (fragment.end as usize, self.pieces.last().map_or(0, |p| p.fragment.end as usize));
        let contradicts = match self.total {
            Some(total) if fragment.more => end > total,
            Some(total) => end != total || !F::MAY_OVERLAP,
            None => !fragment.more && end < last,
        };
        if contradicts || !F::MAY_OVERLAP && ahead.is_some_and(|p| p.fragment.start < fragment.end)
        {
            return Fit::Overlap;
        }
        if self.pieces.len() >= limit { Fit::TooMany } else { Fit::Fits }
    }

    /// Adds a fragment that fits; returns true if the datagram is complete. Pieces that it covers
    /// leave by `covered`. In an overlap the fragment that begins later wins: so a piece is
    /// only ever cut at its end, by [`join`].
    pub fn add(
        &mut self,
        mut fragment: Fragment,
        packet: Owned,
        mut covered: impl FnMut(Owned),
    ) -> bool {
        self.ecn |= 1 << fragment.ecn;
        if !fragment.more {
            self.total = Some(fragment.end as usize);
        }
        let at = self
            .pieces
            .iter()
            .rposition(|p| p.fragment.start < fragment.start)
            .map_or(0, |at| at + 1);
        let behind =
            self.pieces[at..].iter().take_while(|p| p.fragment.end <= fragment.end).count();
        for Piece { fragment, packet } in self.pieces.drain(at..at + behind) {
            self.have -= fragment.len();
            covered(packet);
        }
        if let Some(before) = self.pieces[..at].last_mut() {
            self.have -= before.fragment.end_at(fragment.start);
        }
        if let Some(next) = self.pieces.get(at) {
            fragment.end_at(next.fragment.start);
        }
        self.have += fragment.len();
        self.pieces.insert(at, Piece { fragment, packet });
        self.total == Some(self.have)
    }

    /// Returns true if a fragment was marked CE; `None` if the marks contradict each other (RFC
    /// 3168 5.3).
    pub fn congestion(&self) -> Option<bool> {
        let seen = |ecn: Ecn| self.ecn & (1 << ecn as u8) != 0;
        match (seen(Ecn::Ce), seen(Ecn::NotEct)) {
            (true, true) => None,
            (met, _) => Some(met),
        }
    }
}

/// Returns true if the payload of a fragment equals that of a received piece.
fn equal(there: &Piece, fragment: &Fragment, packet: &Buffer) -> bool {
    fn payload(b: &Buffer, at: u16) -> impl Iterator<Item = &u8> {
        b.segments().flatten().skip(at.into())
    }
    payload(&there.packet, there.fragment.at).eq(payload(packet, fragment.at))
}

/// Joins all fragments of a datagram into one packet, taking them out of `pieces`. None of them
/// shares segments. `ce` if one of them was marked CE.
///
/// # Errors
/// The joined packet, if it is longer than a packet may be.
pub fn join<F: Fragments>(
    pieces: &mut Vec<Piece>,
    ce: bool,
    cache: &mut Cache,
) -> Result<Owned, Option<Owned>> {
    let len = pieces.last().map_or(0, |p| p.fragment.end as usize);
    let Some((head, rest)) = pieces.split_first_mut() else { return Err(None) };
    let first = head.fragment;
    let cut = |p: &mut Piece, cache: &mut Cache| {
        p.packet.trim_packet(usize::from(p.fragment.at) + p.fragment.len(), cache)
    };
    let mut alone = cut(head, cache);
    for piece in rest {
        alone &= cut(piece, cache);
        let Piece { fragment, packet } = piece;
        let pulled = packet.pull(fragment.at.into());
        debug_assert!(pulled, "headers were seen in the first segment");
        let head = &mut head.packet;
        if !head.is_chained() && head.len() < TOGETHER {
            let n = (TOGETHER - head.len()).min(packet.len());
            if let Some(room) = head.put(n) {
                room.copy_from_slice(&packet.data()[..n]);
                let pulled = packet.pull(n);
                debug_assert!(pulled, "so many were copied");
            }
        }
    }
    debug_assert!(alone, "none of them shares segments");
    let mut packets = pieces.drain(..).map(|p| p.packet);
    let Some(mut head) = packets.next() else { return Err(None) };
    let joined = head.append_segments(packets.by_ref().filter_map(|packet| {
        if packet.packet_len() > 0 {
            return Some(packet);
        }
        cache.free(packet);
        None
    }));
    debug_assert!(joined.is_ok(), "none of them shares segments");
    if let Err(refused) = joined {
        cache.free(refused);
        packets.for_each(|packet| cache.free(packet));
        return Err(Some(head));
    }
    // The offload flags of a fragment don't apply to the whole packet.
    head.flags.remove(Flags::L4_CSUM_OK | Flags::CSUM_PARTIAL | Flags::GSO);
    head.flow_hash = 0;
    if F::finish(&mut head, &first, len, ce) { Ok(head) } else { Err(Some(head)) }
}
