// SPDX-License-Identifier: Apache-2.0
//! Compact 32-byte copies of adjacencies, for forwarding most packets. A copy is addressed directly
//! by [`AdjIndex`], without pointers, and five hundred copies fit into half of a first-level cache.
//! For a small load-balance, a copy has its members.

use super::{Adj, AdjIndex, AdjKind};
use graph::NodeIndex;
use mem::Reserve;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Maximum number of adjacencies with a record; further ones have none.
const CAPACITY: usize = 1 << 22;
/// Length of an Ethernet header without tags, in bytes.
const ETHERNET: u8 = 14;

/// Index of each word in a record: two words for the Ethernet header or the members of a
/// load-balance, and the first and last word of the seqlock. `LAST` is 0 for an adjacency without
/// record.
const ENDS: [usize; 2] = [0, 1];
const FIRST: usize = 2;
const LAST: usize = 3;
/// Bit offset of the sequence number, in the first word and the last.
const NUMBER: u32 = 48;
/// Number of writes until the sequence number wraps. A sequence number of this value would match a
/// last word of 0.
const NUMBERS: u64 = 0x7fff;
/// Exclusive-or of the sequence numbers in the first and last word, for each kind of record.
const ORDINARY: u64 = 0xffff;
const CHOICE: u64 = 0x7fff;

/// An adjacency of a neighbour with a known MAC address, on an Ethernet interface without tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordinary {
    /// The first 8 bytes of the Ethernet header, and the last 8.
    pub ends: [[u8; 8]; 2],
    /// The interface to leave by.
    pub tx_if: u16,
    /// The interface's output node; its index is below 65,536.
    pub output: NodeIndex,
    /// Maximum length of an IP packet, in bytes.
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
        // A neighbour with a group MAC address: its frames are counted apart.
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

/// A load-balance with 1, 2 or 4 buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallLoadBalance {
    /// The bucket for each value of the lowest two bits of the flow hash.
    pub members: [AdjIndex; 4],
    /// See [`Adj::via`].
    pub via: u32,
}

impl SmallLoadBalance {
    fn of(adj: &Adj, buckets: &[AdjIndex]) -> Option<Self> {
        if adj.kind != AdjKind::LoadBalance
            || adj.via >= 1 << 24
            || !matches!(buckets.len(), 1 | 2 | 4)
        {
            return None;
        }
        Some(Self { members: std::array::from_fn(|i| buckets[i % buckets.len()]), via: adj.via })
    }
}

/// The records of all adjacencies that have one, by index.
///
/// Each record is a seqlock with one writer, control: its first word carries the sequence number,
/// its last word the same number with all bits inverted (of a load-balance, all but the highest). A
/// reader that reads the last word before and the first word after the rest, and finds them to
/// match, has a consistent record. A reader that meets a write doesn't wait: the adjacency has no
/// record for it this time. Two words that are zero don't match. Sequence numbers have 15 bits: a
/// reader would have to be suspended for exactly 32,767 writes of one adjacency to send a packet by
/// a mixture of two records.
pub(super) struct Records(Reserve<[AtomicU64; 4]>);

impl Records {
    pub fn new() -> Self {
        Self(Reserve::new(CAPACITY).expect("address space for the adjacencies"))
    }

    /// Writes a record; called by control, by one thread at a time. `buckets` are those of a
    /// load-balance.
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
        } else if let Some(SmallLoadBalance { members: [a, b, c, d], via }) =
            SmallLoadBalance::of(adj, buckets)
        {
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
        // A reader that sees one of the words stored below sees this first word or a later one.
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

/// A view of the records, for a loop: their address isn't read again for each packet.
#[derive(Clone, Copy)]
pub struct Ordinaries<'a>(&'a [[AtomicU64; 4]; CAPACITY]);

impl Ordinaries<'_> {
    /// Reads a record of that kind: the `ENDS` words, the first word and the last.
    #[inline(always)]
    fn read(self, index: AdjIndex, kind: u64) -> Option<([u64; 2], u64, u64)> {
        let record = self.0.get(index.at())?;
        let last = record[LAST].load(Ordering::Acquire);
        let ends = ENDS.map(|at| record[at].load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        let first = record[FIRST].load(Ordering::Relaxed);
        ((first ^ last) >> NUMBER == kind).then_some((ends, first, last))
    }

    /// Reads the record of a small load-balance; `None` if there is no record, or it is being
    /// written.
    #[inline(always)]
    pub fn load_balance(self, index: AdjIndex) -> Option<SmallLoadBalance> {
        let ([ab, cd], _, last) = self.read(index, CHOICE)?;
        let members = [ab, ab >> 32, cd, cd >> 32].map(|member| AdjIndex(member as u32));
        Some(SmallLoadBalance { members, via: (last >> 24) as u32 & 0xff_ffff })
    }

    /// Reads the record of an ordinary adjacency; `None` if there is no record, or it is being
    /// written.
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

    /// Prefetches the record that [`Self::get`] or [`Self::load_balance`] will read.
    #[inline(always)]
    pub fn prefetch(self, index: AdjIndex) {
        if let Some(record) = self.0.get(index.at()) {
            simd::prefetch_read(record);
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// An adjacency whose fields all have the value `n`.
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
        // A unicast MAC address.
        let mut header = [n; 14];
        header[0] &= !1;
        adj.set_rewrite(&header);
        adj
    }

    fn number(o: &Ordinary) -> Option<u8> {
        let n = o.mtu as u8;
        (*o == Ordinary::of(&adj(n))?).then_some(n)
    }

    #[suite::test]
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
            assert_eq!(records.view().load_balance(index), None, "{other:?}");
        }
        let edge = Adj {
            counter: (1 << 24) - 1,
            via: (1 << 24) - 1,
            mtu: u16::MAX,
            tx_if: 0xffff,
            ..adj(9)
        };
        records.set(index, &edge, &[]);
        assert_eq!(records.view().get(index), Ordinary::of(&edge));
        let beyond = AdjIndex(CAPACITY as u32);
        records.set(beyond, &adj(1), &[]);
        assert_eq!(records.view().get(beyond), None);
    }

    #[suite::test]
    fn a_choice_among_few_is_found() {
        let records = Records::new();
        let index = AdjIndex(20);
        let balance = Adj { kind: AdjKind::LoadBalance, via: (1 << 24) - 1, ..adj(1) };
        let members = [21, u32::MAX, 23, 24].map(AdjIndex);
        for n in [1, 2, 4] {
            records.set(index, &balance, &members[..n]);
            assert_eq!(records.view().get(index), None);
            let found = records.view().load_balance(index).expect("a choice");
            assert_eq!(found.via, balance.via);
            assert!((0..4).all(|hash| found.members[hash] == members[hash & (n - 1)]), "{found:?}");
            records.set(index, &adj(7), &[]);
            assert_eq!(records.view().load_balance(index), None);
        }
        for (other, n) in [(balance, 8), (Adj { via: 1 << 24, ..balance }, 2)] {
            records.set(index, &balance, &members);
            records.set(index, &other, &[AdjIndex(21); 8][..n]);
            assert_eq!(records.view().load_balance(index), None);
        }
    }

    #[suite::test]
    fn the_number_of_the_writing_wraps() {
        let records = Records::new();
        for i in 0..70_000_u32 {
            records.set(AdjIndex(16), &adj(i as u8 | 1), &[]);
            assert_eq!(
                records.view().get(AdjIndex(16)).as_ref().and_then(number),
                Some(i as u8 | 1)
            );
        }
    }

    #[suite::test]
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
                        if let Some(load_balance) = records.view().load_balance(index) {
                            assert_eq!(load_balance.members, [AdjIndex(load_balance.via); 4]);
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
