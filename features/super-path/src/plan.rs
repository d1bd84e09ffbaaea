// SPDX-License-Identifier: Apache-2.0
//! Plans: the ordinary packets of a block, and their destinations.

use crate::front::Moved;
use crate::gate::{DirectedBy, Open};
use crate::next_hop::Protocol;
use crate::rx::Rx;
use crate::tags::{Parsed, parse, run, run_behind, skip};
use crate::{AHEAD, ASIDE, Bits, ETHERNET, To};
use buffer::Buffer;
use graph::Vector;
use ip::Words;
use ip::headers::{BLOCK, Headers, Onward};
use net::Front;
use std::cell::Cell;
use wire::{Address, Ip4, Ip6};

/// Consecutive packets of a vector that came in by one interface.
struct Block {
    from: usize,
    len: usize,
    /// Mask of the packets that no plan has yet.
    left: u64,
}

/// Packets of one protocol: at first all that are for us, then only the ones whose headers are
/// ordinary.
pub struct Plan<F: Protocol> {
    n: usize,
    /// The packets follow each other in the vector, from the first of its block on.
    in_row: bool,
    from: usize,
    /// Padding may lie behind some packets.
    pub padded: bool,
    /// Their indices in the vector.
    at: [u8; BLOCK],
    /// Their destinations.
    keys: [F::Key; BLOCK],
    headers: Headers<F>,
    /// Some packets were dropped from the plan since their headers were stored: those of the others
    /// have other numbers there.
    renumbered: bool,
    /// The interface that they came in by.
    pub rx_if: u32,
    pub front: Front,
    /// 1 if they are to be counted as received by it, else 0: they are already.
    pub fresh: u64,
    /// The table that they are looked up in.
    pub table: u32,
    /// Their adjacencies; before the lookups are complete, the state of the lookups.
    pub hops: [u32; BLOCK],
    pub routes: [u32; BLOCK],
    /// See [`Rx::chain`].
    pub chain: Option<u32>,
    /// They have passed features, which must not see them again.
    pub passed: bool,
    /// The object that they take instead of a lookup.
    pub directed: Option<DirectedBy>,
    /// Packets of the plan that have gone on to another node, as far as they are counted.
    pub gone: Cell<u64>,
    /// True while lookups are in progress: hops and routes aren't there yet.
    pub stepping: bool,
}

impl<F: Protocol> Plan<F> {
    fn new() -> Self {
        Self {
            n: 0,
            in_row: false,
            from: 0,
            padded: false,
            at: [0; BLOCK],
            keys: [F::key(F::Addr::ZERO); BLOCK],
            headers: Headers::default(),
            renumbered: false,
            rx_if: 0,
            front: Front::NONE,
            fresh: 0,
            table: 0,
            hops: [0; BLOCK],
            routes: [0; BLOCK],
            chain: None,
            passed: false,
            directed: None,
            gone: Cell::new(0),
            stepping: false,
        }
    }

    #[inline(always)]
    pub fn clear(&mut self) {
        (self.n, self.stepping, self.passed, self.directed) = (0, false, false, None);
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.n.min(BLOCK)
    }

    #[inline(always)]
    pub fn keys(&self) -> &[F::Key] {
        &self.keys[..self.len()]
    }

    /// Destinations, and the columns for their hops and routes.
    #[inline(always)]
    pub fn columns(&mut self) -> (&[F::Key], &mut [u32], &mut [u32]) {
        let n = self.len();
        (&self.keys[..n], &mut self.hops[..n], &mut self.routes[..n])
    }

    /// State of the lookups in progress.
    #[inline(always)]
    pub fn places(&self) -> &[u32] {
        let n = if self.stepping { self.len() } else { 0 };
        &self.hops[..n]
    }

    /// The indices in the vector of the packets.
    #[inline(always)]
    pub fn places_in_vector(&self) -> &[u8; BLOCK] {
        &self.at
    }

    /// The index in the vector of packet `i` of the plan.
    #[inline(always)]
    pub fn at(&self, i: usize) -> usize {
        self.at[i % BLOCK].into()
    }

    /// The changed header word and the length of packet `i` of the plan for the next hop.
    #[inline(always)]
    pub fn onward(&self, i: usize) -> Onward {
        self.headers.onward(i)
    }

    /// The routes that were looked up for the packets, in order.
    #[inline(always)]
    pub fn routes(&self) -> &[u32] {
        &self.routes[..self.len()]
    }

    /// Total lengths of the packets, in order.
    #[inline(always)]
    pub fn totals(&self) -> &[u32] {
        self.headers.totals(self.len())
    }

    /// Returns true if some packet is longer than `than` bytes.
    #[inline(always)]
    pub fn any_longer(&self, than: u32) -> bool {
        self.headers.any_longer(self.len(), than)
    }

    /// Where these packets begin in the vector, if they are all of the plan and follow each other
    /// there.
    #[inline(always)]
    pub fn row(&self, which: u64) -> Option<usize> {
        (self.in_row && which == u64::MAX >> (BLOCK - self.len())).then_some(self.from)
    }

    /// Empties the plan for a block that begins at index `from` of the vector.
    #[inline(always)]
    pub fn begin(&mut self, from: usize, rx: &Rx) {
        (self.n, self.in_row, self.from) = (0, true, from);
        self.receive(rx);
    }

    /// Appends the packet at an index behind the ones before, whose frame has so many bytes without
    /// tags.
    #[inline(always)]
    pub fn push(&mut self, at: usize, (words, key): (Words, F::Key), len: usize) {
        let i = self.n % BLOCK;
        self.in_row &= at == self.from + self.n;
        self.at[i] = at as u8;
        self.headers.slot(i).put(words, (len - ETHERNET) as u32);
        self.keys[i] = key;
        self.n += 1;
    }

    #[inline(always)]
    fn receive(&mut self, rx: &Rx) {
        (self.rx_if, self.table) = (rx.rx_if, rx.tables[usize::from(F::IS_V6)]);
        (self.front, self.fresh, self.passed) = (rx.front(), rx.fresh(), false);
        (self.chain, self.renumbered) = (rx.chain, false);
        self.gone.set(0);
    }

    /// Takes the first packets `from .. to` of a vector, as long as `take` does; returns their
    /// number.
    #[inline(always)]
    pub fn gather_row(
        &mut self,
        v: &mut Vector<'_, To>,
        (from, to): (usize, usize),
        mut take: impl FnMut(&mut Buffer) -> Option<(Words, F::Key)>,
    ) -> usize {
        let places = self.headers.slots().zip(&mut self.keys);
        let mut n = 0;
        for (b, (place, key_place)) in v.range_mut_ahead(from, to).zip(places) {
            let Some((words, key)) = take(b) else { break };
            place.put(words, (b.len() - ETHERNET) as u32);
            *key_place = key;
            n += 1;
        }
        for (i, at) in self.at.iter_mut().enumerate() {
            *at = (from + i) as u8;
        }
        self.n = n;
        n
    }

    /// Takes the packets of a block that carry this protocol to us in frames without tags. The
    /// block ends before a packet of another interface and before a run of frames with tags.
    #[inline(always)]
    fn gather(&mut self, v: &mut Vector<'_, To>, block: &mut Block, rx: &Rx) {
        let (mut n, mut others) = (0, 0);
        if rx.open::<F>() != Open::No && block.left == u64::MAX >> (BLOCK - block.len) {
            // By value: fields behind a reference are read again after every store.
            let rx = *rx;
            let take = move |b: &mut Buffer| {
                if b.rx_if == rx.rx_if { look_open::<F>(b, &rx) } else { None }
            };
            n = self.gather_row(v, (block.from, block.from + block.len), take);
            block.left &= u64::MAX.checked_shl(n as u32).unwrap_or(0);
        }
        let row = n;
        for i in Bits(block.left) {
            let at = block.from + i;
            v.prefetch(at + AHEAD);
            let b = v.get(at);
            if b.rx_if != rx.rx_if {
                block.len = i;
                break;
            }
            let Some((words, key)) = look::<F>(b, rx) else {
                if rx.has_subs && run(v, at) != Parsed::NONE {
                    block.len = i;
                    break;
                }
                others |= 1 << i;
                continue;
            };
            self.at[n % BLOCK] = at as u8;
            self.headers.slot(n).put(words, (b.len() - ETHERNET) as u32);
            self.keys[n % BLOCK] = key;
            n += 1;
        }
        (self.n, self.in_row, self.from) = (n, n == row, block.from);
        block.left = others;
        self.receive(rx);
    }

    /// Keeps the ordinary packets.
    #[inline(always)]
    pub fn judge(&mut self) {
        let n = self.len();
        if n == 0 {
            return;
        }
        let found = self.headers.judge::<true, true>(n);
        self.padded = found.padded;
        if found.wrong {
            self.keep_right();
        }
    }

    /// Drops the packets from the plan that need a closer look.
    #[inline(always)]
    fn keep_right(&mut self) {
        let n = self.len();
        (self.n, self.in_row, self.renumbered) = (0, false, true);
        for i in 0..n {
            let to = self.n % BLOCK;
            (self.at[to], self.keys[to]) = (self.at[i], self.keys[i]);
            self.headers.renumber(i, to);
            self.n += usize::from(!self.headers.is_wrong(i));
        }
    }

    /// Drops the packets from the plan that aren't in the mask. All of them are right so far.
    pub fn keep(&mut self, which: u64) {
        if which == 0 {
            (self.n, self.in_row) = (0, false);
            return;
        }
        for i in 0..self.len() {
            self.headers.set_wrong(i, which >> i & 1 == 0);
        }
        self.keep_right();
    }

    /// Reads the headers of packets again.
    pub fn read_again(&mut self, v: &mut Vector<'_, To>, which: u64) {
        for i in Bits(which) {
            let b = v.get(self.at(i));
            if let Some((words, key)) = F::look(b) {
                self.keys[i] = key;
                self.headers.set_onward(i, F::onward(words.0).0);
            }
        }
    }

    /// Source addresses of the packets, in order.
    pub fn sources(&self, v: &Vector<'_, To>) -> [F::Addr; BLOCK] {
        let mut sources = [F::Addr::ZERO; BLOCK];
        for (i, source) in sources.iter_mut().enumerate().take(self.len()) {
            *source = match F::early_source(self.headers.first(i)) {
                Some(source) if !self.renumbered => source,
                _ => F::frame_source(v.get(self.at(i))),
            };
        }
        sources
    }
}

/// True if a frame without tags carries a packet to us that needn't be looked at by the graph.
#[inline(always)]
pub fn carries<F: Protocol>(b: &Buffer, rx: &Rx) -> bool {
    rx.open::<F>() != Open::No && is_ours::<F>(b, rx)
}

/// The same, where packets of the protocol may be taken.
#[inline(always)]
fn is_ours<F: Protocol>(b: &Buffer, rx: &Rx) -> bool {
    let Some(&[d0, d1, d2, d3, d4, d5, d6, d7, _, _, _, _, t0, t1]) = b.bytes::<ETHERNET>(0) else {
        return false;
    };
    is_ordinary::<F>(b, [d0, d1, d2, d3, d4, d5, d6, d7], [t0, t1], rx)
}

/// The same, of a frame with these first bytes and this type.
#[inline(always)]
pub fn is_ordinary<F: Protocol>(b: &Buffer, first: [u8; 8], ethertype: [u8; 2], rx: &Rx) -> bool {
    // The MAC address alone, on top.
    let destination = u64::from_le_bytes(first) << 16;
    destination == rx.own
        && u16::from_be_bytes(ethertype) == F::ETHERTYPE.0
        && !b.flags.intersects(ASIDE)
        && !b.is_chained()
}

/// The words by which the header of such a packet is judged, and the destination.
#[inline(always)]
fn look<F: Protocol>(b: &Buffer, rx: &Rx) -> Option<(Words, F::Key)> {
    if carries::<F>(b, rx) { F::look(b) } else { None }
}

/// The same, where packets of the protocol may be taken.
#[inline(always)]
fn look_open<F: Protocol>(b: &Buffer, rx: &Rx) -> Option<(Words, F::Key)> {
    if is_ours::<F>(b, rx) { F::look(b) } else { None }
}

/// Plans for a block of packets.
pub struct Plans {
    // Here, and not on the stack, only to be filled anew without being cleared.
    pub ip4: Plan<Ip4>,
    pub ip6: Plan<Ip6>,
    /// Set if packets got another start.
    pub moved: Option<Moved>,
}

impl Plans {
    pub fn new() -> Self {
        Self { ip4: Plan::new(), ip6: Plan::new(), moved: None }
    }

    #[inline(always)]
    pub fn clear(&mut self) {
        self.ip4.clear();
        self.ip6.clear();
        self.moved = None;
    }

    /// Examines the headers of packets `from .. to`, at most [`BLOCK`] of them, as far as they came
    /// in by one interface; returns where the next block begins. `rx` is the state of the
    /// previous packet's interface, `look` finds it for a packet of another device, and
    /// `of_run` for another run of frames of a device with sub-interfaces.
    #[inline(always)]
    pub fn make(
        &mut self,
        v: &mut Vector<'_, To>,
        (from, to): (usize, usize),
        rx: &mut Rx,
        look: impl Fn(&Buffer) -> Rx,
        of_run: impl Fn(&Buffer, Parsed) -> Rx,
    ) -> usize {
        self.clear();
        let first = v.get(from);
        if !rx.is_of(first) {
            *rx = look(first);
        }
        if rx.has_subs {
            let tags = run_behind(v, from, rx.tags);
            if tags != rx.tags {
                *rx = of_run(v.get(from), tags);
            }
        }
        let behind = if rx.moves() {
            self.gather_moved(v, (from, to), *rx)
        } else if rx.has_subs && parse(v.get(from)) != Parsed::NONE {
            skip(v, from)
        } else {
            self.gather(v, (from, to), rx)
        };
        self.ip4.judge();
        self.ip6.judge();
        behind
    }

    /// The same without judging the headers, for frames without tags.
    #[inline(always)]
    fn gather(&mut self, v: &mut Vector<'_, To>, (from, to): (usize, usize), rx: &Rx) -> usize {
        let Self { ip4, ip6, .. } = self;
        // One protocol after the other, so that a loop has less state; the protocol with probably
        // more packets goes first.
        let is_6 = carries::<Ip6>(v.get(from), rx);
        let mut block = Block { from, len: to - from, left: u64::MAX >> (BLOCK - (to - from)) };
        if is_6 {
            ip6.gather(v, &mut block, rx);
        }
        if block.left != 0 {
            ip4.gather(v, &mut block, rx);
        }
        if !is_6 && block.left != 0 {
            ip6.gather(v, &mut block, rx);
        }
        from + block.len
    }
}
