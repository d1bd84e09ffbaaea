// SPDX-License-Identifier: Apache-2.0
//! Which packets of a block are ordinary, and where they want to go.

use super::rx::Rx;
use super::way::Protocol;
use super::{ASIDE, ETHERNET, To};
use crate::headers::{BLOCK, Headers};
use buffer::Buffer;
use graph::Vector;
use wire::{Address, Ip4, Ip6};

/// Packets of one protocol, first those that are for us, then those of them whose headers are ordinary.
pub struct Plan<F: Protocol> {
    n: usize,
    /// Their places in the vector.
    at: [u8; BLOCK],
    /// Their destinations.
    keys: [F::Key; BLOCK],
    headers: Headers<F>,
}

impl<F: Protocol> Plan<F> {
    fn new() -> Self {
        Self { n: 0, at: [0; BLOCK], keys: [F::key(F::Addr::ZERO); BLOCK], headers: Headers::default() }
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.n.min(BLOCK)
    }

    #[inline(always)]
    pub fn keys(&self) -> &[F::Key] {
        &self.keys[..self.len()]
    }

    /// The place of packet `i` of the plan.
    #[inline(always)]
    pub fn at(&self, i: usize) -> usize {
        self.at[i % BLOCK].into()
    }

    #[inline(always)]
    fn put(&mut self, at: usize, b: &Buffer) {
        let n = self.n % BLOCK;
        self.at[n] = at as u8;
        if let Some((words, key)) = F::look(b) {
            self.headers.put(n, words, (b.len() - ETHERNET) as u32);
            self.keys[n] = key;
            self.n += 1;
        }
    }

    /// Leaves the ordinary ones.
    #[inline(always)]
    fn judge(&mut self) {
        let n = self.len();
        if n == 0 || !self.headers.judge::<true>(n).wrong {
            return;
        }
        self.n = 0;
        for i in 0..n {
            (self.at[self.n % BLOCK], self.keys[self.n % BLOCK]) = (self.at[i], self.keys[i]);
            self.n += usize::from(!self.headers.is_wrong(i));
        }
    }
}

/// What a frame carries for us.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    Ip4,
    Ip6,
}

/// What a frame carries for us; `None` for what the graph shall look at.
#[inline(always)]
pub fn carries(b: &Buffer, rx: &Rx) -> Option<Carries> {
    let &[d0, d1, d2, d3, d4, d5, d6, d7, _, _, _, _, t0, t1] = b.bytes::<ETHERNET>(0)?;
    let destination = u64::from_be_bytes([d0, d1, d2, d3, d4, d5, d6, d7]) & !0xffff;
    if destination != rx.own || b.flags.any(ASIDE) {
        return None;
    }
    match u16::from_be_bytes([t0, t1]) {
        0x0800 if rx.open[0] => Some(Carries::Ip4),
        0x86dd if rx.open[1] => Some(Carries::Ip6),
        _ => None,
    }
}

/// Plans for a block of packets.
pub struct Plans {
    // Here, and not on the stack, only to be filled anew without being cleared.
    pub ip4: Plan<Ip4>,
    pub ip6: Plan<Ip6>,
}

impl Plans {
    pub fn new() -> Self {
        Self { ip4: Plan::new(), ip6: Plan::new() }
    }

    /// Looks at the headers of packets `from .. to`, at most [`BLOCK`] of them. `rx` is what is known of the interface of the packet
    /// before, and `look` finds it for another one. True if they came in by several interfaces.
    #[inline(always)]
    #[must_use]
    pub fn make(
        &mut self,
        v: &mut Vector<'_, To>,
        from: usize,
        to: usize,
        rx: &mut Rx,
        look: impl Fn(u32) -> Rx,
    ) -> bool {
        let Self { ip4, ip6 } = self;
        (ip4.n, ip6.n) = (0, 0);
        let mut differ = false;
        for (i, b) in v.range_mut_ahead(from, to).enumerate() {
            if b.rx_if != rx.rx_if {
                differ |= i > 0;
                *rx = look(b.rx_if);
            }
            match carries(b, rx) {
                Some(Carries::Ip4) => ip4.put(from + i, b),
                Some(Carries::Ip6) => ip6.put(from + i, b),
                None => {}
            }
        }
        ip4.judge();
        ip6.judge();
        differ
    }
}
