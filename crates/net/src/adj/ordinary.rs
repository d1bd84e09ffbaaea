// SPDX-License-Identifier: Apache-2.0
//! What forwarding most packets needs of an adjacency, in half a cache line at a place that its index gives: found without following
//! pointers, and five hundred of them fit into half of a first-level cache. Of a choice among few, which these are.

use super::{Adj, AdjIndex, AdjKind};
use graph::NodeIndex;
use mem::Reserve;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Adjacencies at most; further ones are never ordinary.
const CAPACITY: usize = 1 << 22;
/// Bytes of an Ethernet header without tags.
const ETHERNET: u8 = 14;

/// Where each field stands: Ethernet header or members of a choice, and two words that tell what was written together. `LAST` is 0 for what
/// has no record.
const ENDS: [usize; 2] = [0, 1];
const FIRST: usize = 2;
const LAST: usize = 3;
/// In the first word and the last, the number of the writing.
const NUMBER: u32 = 48;
/// Writings until their number comes again. With it, the number would match a last word of 0.
const NUMBERS: u64 = 0x7fff;
/// By what the numbers in first and last word differ, for each kind of record.
const ORDINARY: u64 = 0xffff;
const CHOICE: u64 = 0x7fff;

/// A neighbour on an Ethernet without tags whose address is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordinary {
    /// The first 8 bytes of the Ethernet header, and the last 8.
    pub ends: [[u8; 8]; 2],
    /// The interface to leave by.
    pub tx_if: u16,
    /// The interface's output node; below 65,536.
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
        let fits = adj.counter < 1 << 24 && adj.via < 1 << 24 && adj.output.0 < 1 << 16;
        if adj.kind != AdjKind::Rewrite || adj.rewrite_len != ETHERNET || !fits {
            return None;
        }
        let ends = adj.short_rewrite()?;
        // A neighbour with a group's address: its frames are counted apart.
        if ends[0][0] & 1 != 0 {
            return None;
        }
        Some(Self {
            ends,
            tx_if: adj.tx_if.try_into().ok()?,
            output: adj.output,
            mtu: adj.mtu,
            counter: adj.counter,
            via: adj.via,
        })
    }
}

/// A choice among few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What the lowest two bits of a flow's hash choose.
    pub members: [AdjIndex; 4],
    /// See [`Adj::via`].
    pub via: u32,
}

impl Choice {
    fn of(adj: &Adj, buckets: &[AdjIndex]) -> Option<Self> {
        if adj.kind != AdjKind::LoadBalance || adj.via >= 1 << 24 || !matches!(buckets.len(), 1 | 2 | 4) {
            return None;
        }
        Some(Self { members: std::array::from_fn(|i| buckets[i % buckets.len()]), via: adj.via })
    }
}

/// Those of all adjacencies that have one, by index.
///
/// A record is written in place, by control alone. Its first word carries the number of the writing, and its last one the same number
/// with all bits turned (of a choice, all but the highest): who reads the last one before and the first one after the rest, and finds them to
/// match, has read what was written together (a seqlock, but a reader that is disturbed doesn't wait: the adjacency has no record for it this
/// time). Two words that are zero don't match. The numbers have 15 bits: a reader would have to be away for exactly 32,767 writings of one
/// adjacency to send a packet by a mixture of two.
pub(super) struct Records(Reserve<[AtomicU64; 4]>);

impl Records {
    pub fn new() -> Self {
        Self(Reserve::new(CAPACITY).expect("address space for the adjacencies"))
    }

    /// Control, one at a time. `buckets` are those of a choice.
    pub fn set(&self, index: AdjIndex, adj: &Adj, buckets: &[AdjIndex]) {
        if index.at() >= CAPACITY {
            return;
        }
        let record = &self.0[index.at()];
        let (kind, ends, first, last) = if let Some(o) = Ordinary::of(adj) {
            // Interface and output node side by side, as the super-path compares them.
            let over = u64::from(o.output.0) << 16 | u64::from(o.tx_if);
            let last = u64::from(o.via) << 24 | u64::from(o.counter);
            (ORDINARY, o.ends.map(u64::from_le_bytes), u64::from(o.mtu) << 32 | over, last)
        } else if let Some(Choice { members: [a, b, c, d], via }) = Choice::of(adj, buckets) {
            let pair = |a: AdjIndex, b: AdjIndex| u64::from(b.0) << 32 | u64::from(a.0);
            (CHOICE, [pair(a, b), pair(c, d)], 0, u64::from(via) << 24)
        } else {
            if record[LAST].load(Ordering::Relaxed) != 0 {
                record[LAST].store(0, Ordering::Release);
            }
            return;
        };
        let number = ((record[FIRST].load(Ordering::Relaxed) >> NUMBER) + 1) % NUMBERS;
        record[FIRST].store(number << NUMBER | first, Ordering::Relaxed);
        // Who reads one of the words below, or a later first one, finds this first one or a later one.
        fence(Ordering::Release);
        for (at, end) in ENDS.into_iter().zip(ends) {
            record[at].store(end, Ordering::Relaxed);
        }
        record[LAST].store((number ^ kind) << NUMBER | last, Ordering::Release);
    }

    #[inline(always)]
    pub fn view(&self) -> Ordinaries<'_> {
        Ordinaries(self.0.as_slice().first_chunk().expect("as many as were reserved"))
    }
}

/// The records, for a loop: where they are isn't read again for each packet.
#[derive(Clone, Copy)]
pub struct Ordinaries<'a>(&'a [[AtomicU64; 4]; CAPACITY]);

impl Ordinaries<'_> {
    /// A record of that kind: the first words, and the other two.
    #[inline(always)]
    fn read(self, index: AdjIndex, kind: u64) -> Option<([u64; 2], u64, u64)> {
        let record = self.0.get(index.at())?;
        let last = record[LAST].load(Ordering::Acquire);
        let ends = ENDS.map(|at| record[at].load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        let first = record[FIRST].load(Ordering::Relaxed);
        ((first ^ last) >> NUMBER == kind).then_some((ends, first, last))
    }

    /// What a choice is among, if that is few; `None` says nothing.
    #[inline(always)]
    pub fn choice(self, index: AdjIndex) -> Option<Choice> {
        let ([ab, cd], _, last) = self.read(index, CHOICE)?;
        let members = [ab, ab >> 32, cd, cd >> 32].map(|member| AdjIndex(member as u32));
        Some(Choice { members, via: (last >> 24) as u32 & 0xff_ffff })
    }

    /// What forwarding needs of an adjacency, for most of them; `None` says nothing.
    #[inline(always)]
    pub fn get(self, index: AdjIndex) -> Option<Ordinary> {
        let (ends, first, last) = self.read(index, ORDINARY)?;
        Some(Ordinary {
            ends: ends.map(u64::to_le_bytes),
            tx_if: first as u16,
            output: NodeIndex((first >> 16) as u32 & 0xffff),
            mtu: (first >> 32) as u16,
            counter: last as u32 & 0xff_ffff,
            via: (last >> 24) as u32 & 0xff_ffff,
        })
    }

    /// Fetches what [`Self::get`] or [`Self::choice`] will read.
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
        // One host's address.
        let mut header = [n; 14];
        header[0] &= !1;
        adj.set_rewrite(&header);
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
        let group = {
            let mut group = adj(1);
            group.set_rewrite(&[1; 14]);
            group
        };
        let others = [
            Adj { kind: AdjKind::Incomplete, ..adj(1) },
            tagged,
            Adj { tx_if: 1 << 16, ..adj(1) },
            Adj { counter: 1 << 24, ..adj(1) },
            Adj { via: 1 << 24, ..adj(1) },
            group,
        ];
        for other in others {
            records.set(index, &adj(7), &[]);
            assert_eq!(records.view().get(index).as_ref().and_then(number), Some(7));
            records.set(index, &other, &[]);
            assert_eq!(records.view().get(index), None, "{other:?}");
            assert_eq!(records.view().choice(index), None, "{other:?}");
        }
        let edge = Adj { counter: (1 << 24) - 1, via: (1 << 24) - 1, mtu: u16::MAX, tx_if: 0xffff, ..adj(9) };
        records.set(index, &edge, &[]);
        assert_eq!(records.view().get(index), Ordinary::of(&edge));
        let beyond = AdjIndex(CAPACITY as u32);
        records.set(beyond, &adj(1), &[]);
        assert_eq!(records.view().get(beyond), None);
    }

    #[test]
    fn a_choice_among_few_is_found() {
        let records = Records::new();
        let index = AdjIndex(20);
        let balance = Adj { kind: AdjKind::LoadBalance, via: (1 << 24) - 1, ..adj(1) };
        let members = [21, u32::MAX, 23, 24].map(AdjIndex);
        for n in [1, 2, 4] {
            records.set(index, &balance, &members[..n]);
            assert_eq!(records.view().get(index), None);
            let found = records.view().choice(index).expect("a choice");
            assert_eq!(found.via, balance.via);
            assert!((0..4).all(|hash| found.members[hash] == members[hash & (n - 1)]), "{found:?}");
            records.set(index, &adj(7), &[]);
            assert_eq!(records.view().choice(index), None);
        }
        for (other, n) in [(balance, 8), (Adj { via: 1 << 24, ..balance }, 2)] {
            records.set(index, &balance, &members);
            records.set(index, &other, &[AdjIndex(21); 8][..n]);
            assert_eq!(records.view().choice(index), None);
        }
    }

    #[test]
    fn the_number_of_the_writing_wraps() {
        let records = Records::new();
        for i in 0..70_000_u32 {
            records.set(AdjIndex(16), &adj(i as u8 | 1), &[]);
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
                        if let Some(choice) = records.view().choice(index) {
                            assert_eq!(choice.members, [AdjIndex(choice.via); 4]);
                            found += 1;
                        }
                    }
                });
            }
            for i in 0..WRITES {
                let kind = match i % 7 {
                    0 => AdjKind::Incomplete,
                    1 | 4 => AdjKind::LoadBalance,
                    _ => AdjKind::Rewrite,
                };
                records.set(index, &Adj { kind, ..adj(i as u8) }, &[AdjIndex(i & 0xff)]);
            }
            records.set(index, &adj(1), &[]);
            done.store(true, Ordering::Release);
        });
    }
}
