// SPDX-License-Identifier: Apache-2.0
//! What forwarding most packets needs of an adjacency, in half a cache line at a place that its index gives: found without following
//! pointers, and five hundred of them fit into half of a first-level cache.

use super::{Adj, AdjIndex, AdjKind};
use graph::NodeIndex;
use mem::Reserve;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Adjacencies at most; further ones are never ordinary.
const CAPACITY: usize = 1 << 22;
/// Bytes of an Ethernet header without tags.
const ETHERNET: u8 = 14;

/// Where each field stands. `LAST` is 0 for what isn't ordinary.
const ENDS: [usize; 2] = [0, 1];
const FIRST: usize = 2;
const LAST: usize = 3;
/// In the first word and the last, the number of the writing.
const NUMBER: u32 = 48;

/// A neighbour on an Ethernet without tags whose address is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordinary {
    /// The first 8 bytes of the Ethernet header, and the last 8.
    pub ends: [[u8; 8]; 2],
    /// The interface to leave by.
    pub tx_if: u16,
    /// The interface's output node.
    pub output: NodeIndex,
    /// Bytes of an IP packet at most.
    pub mtu: u16,
    /// See [`Adj::counter`].
    pub counter: u32,
    /// See [`Adj::via`].
    pub via: u32,
}

impl Ordinary {
    fn of(adj: &Adj) -> Option<Self> {
        let fits = adj.counter < 1 << 24 && adj.via < 1 << 24;
        if adj.kind != AdjKind::Rewrite || adj.rewrite_len != ETHERNET || !fits {
            return None;
        }
        Some(Self {
            ends: adj.short_rewrite()?,
            tx_if: adj.tx_if.try_into().ok()?,
            output: adj.output,
            mtu: adj.mtu,
            counter: adj.counter,
            via: adj.via,
        })
    }
}

/// The ordinary ones of all adjacencies, by index.
///
/// A record is written in place, by control alone. Its first word carries the number of the writing, and its last one the same number
/// with all bits turned: who reads the last one before and the first one after the rest, and finds them to match, has read what was
/// written together (a seqlock, but a reader that is disturbed doesn't wait: the adjacency isn't ordinary for it this time). Two words that
/// are zero don't match. The numbers have 16 bits: a reader would have to be away for exactly 65,535 writings of one adjacency to send a
/// packet by a mixture of two.
pub(super) struct Records(Reserve<[AtomicU64; 4]>);

impl Records {
    pub fn new() -> Self {
        Self(Reserve::new(CAPACITY).expect("address space for the adjacencies"))
    }

    /// Control, one at a time.
    pub fn set(&self, index: AdjIndex, adj: &Adj) {
        if index.at() >= CAPACITY {
            return;
        }
        let record = &self.0[index.at()];
        // All but 0xffff, which would match a last word of 0.
        let number = ((record[FIRST].load(Ordering::Relaxed) >> NUMBER) + 1) % 0xffff;
        let Some(o) = Ordinary::of(adj) else {
            if record[LAST].load(Ordering::Relaxed) != 0 {
                record[LAST].store(0, Ordering::Release);
            }
            return;
        };
        // Interface and output node side by side, as the super-path compares them.
        let over = u64::from(o.output.0) << 16 | u64::from(o.tx_if);
        let first = number << NUMBER | u64::from(o.mtu) << 32 | over;
        let last = (number ^ 0xffff) << NUMBER | u64::from(o.via) << 24 | u64::from(o.counter);
        record[FIRST].store(first, Ordering::Relaxed);
        // Who reads one of the words below, or a later first one, finds this first one or a later one.
        fence(Ordering::Release);
        for (at, end) in ENDS.into_iter().zip(o.ends) {
            record[at].store(u64::from_le_bytes(end), Ordering::Relaxed);
        }
        record[LAST].store(last, Ordering::Release);
    }

    #[inline(always)]
    pub fn view(&self) -> Ordinaries<'_> {
        Ordinaries(self.0.as_slice())
    }
}

/// The records, for a loop: where they are isn't read again for each packet.
#[derive(Clone, Copy)]
pub struct Ordinaries<'a>(&'a [[AtomicU64; 4]]);

impl Ordinaries<'_> {
    /// What forwarding needs of an adjacency, for most of them; `None` says nothing.
    #[inline(always)]
    pub fn get(self, index: AdjIndex) -> Option<Ordinary> {
        let record = self.0.get(index.at())?;
        let last = record[LAST].load(Ordering::Acquire);
        let ends = ENDS.map(|at| record[at].load(Ordering::Relaxed).to_le_bytes());
        fence(Ordering::Acquire);
        let first = record[FIRST].load(Ordering::Relaxed);
        if (first ^ last) >> NUMBER != 0xffff {
            return None;
        }
        Some(Ordinary {
            ends,
            tx_if: first as u16,
            output: NodeIndex((first >> 16) as u16),
            mtu: (first >> 32) as u16,
            counter: last as u32 & 0xff_ffff,
            via: (last >> 24) as u32 & 0xff_ffff,
        })
    }

    /// Fetches what [`Self::get`] will read.
    #[inline(always)]
    pub fn prefetch(self, index: AdjIndex) {
        if let Some(record) = self.0.get(index.at()) {
            simd::prefetch_read(record);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// All fields of which tell the number.
    fn adj(n: u8) -> Adj {
        let mut adj = Adj {
            kind: AdjKind::Rewrite,
            tx_if: n.into(),
            output: NodeIndex(n.into()),
            mtu: n.into(),
            counter: n.into(),
            via: n.into(),
            ..Adj::default()
        };
        adj.set_rewrite(&[n; 14]);
        adj
    }

    fn number(o: &Ordinary) -> Option<u8> {
        let n = o.mtu as u8;
        (*o == Ordinary::of(&adj(n))?).then_some(n)
    }

    #[test]
    fn what_is_not_ordinary_is_not_found() {
        let records = Records::new();
        let index = AdjIndex(20);
        assert_eq!(records.view().get(index), None);
        let tagged = {
            let mut tagged = adj(1);
            tagged.set_rewrite(&[1; 18]);
            tagged
        };
        let others = [
            Adj { kind: AdjKind::Incomplete, ..adj(1) },
            Adj { kind: AdjKind::LoadBalance, ..adj(1) },
            tagged,
            Adj { tx_if: 1 << 16, ..adj(1) },
            Adj { counter: 1 << 24, ..adj(1) },
            Adj { via: 1 << 24, ..adj(1) },
        ];
        for other in others {
            records.set(index, &adj(7));
            assert_eq!(records.view().get(index).as_ref().and_then(number), Some(7));
            records.set(index, &other);
            assert_eq!(records.view().get(index), None, "{other:?}");
        }
        let edge = Adj { counter: (1 << 24) - 1, via: (1 << 24) - 1, mtu: u16::MAX, tx_if: 0xffff, ..adj(9) };
        records.set(index, &edge);
        assert_eq!(records.view().get(index), Ordinary::of(&edge));
        let beyond = AdjIndex(CAPACITY as u32);
        records.set(beyond, &adj(1));
        assert_eq!(records.view().get(beyond), None);
    }

    #[test]
    fn the_number_of_the_writing_wraps() {
        let records = Records::new();
        for i in 0..70_000_u32 {
            records.set(AdjIndex(16), &adj(i as u8 | 1));
            assert_eq!(records.view().get(AdjIndex(16)).as_ref().and_then(number), Some(i as u8 | 1));
        }
    }

    #[test]
    fn nobody_reads_a_mixture() {
        const WRITES: u32 = 200_000;
        let (records, done) = (Records::new(), AtomicBool::new(false));
        let index = AdjIndex(16);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut found = 0;
                    while !done.load(Ordering::Acquire) || found == 0 {
                        if let Some(ordinary) = records.view().get(index) {
                            assert!(number(&ordinary).is_some(), "{ordinary:?}");
                            found += 1;
                        }
                    }
                });
            }
            for i in 0..WRITES {
                let kind = if i % 7 == 0 { AdjKind::Incomplete } else { AdjKind::Rewrite };
                records.set(index, &Adj { kind, ..adj(i as u8) });
            }
            records.set(index, &adj(1));
            done.store(true, Ordering::Release);
        });
    }
}
