// SPDX-License-Identifier: Apache-2.0
//! The threads that have sessions, and the ports of each.

use crate::error;
use crate::timeouts::{FIRST_PORT, PORTS};
use cli::{Error, Matches, Result, retval};
use graph::World;

/// Ports in an order: the ones that users get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plan {
    /// Consecutive ports.
    Range {
        /// The first one.
        first: u32,
        /// Number of ports.
        len: u32,
    },
    /// The ports of a port set identifier (MAP-E), as VPP places it: `length` bits of it, `offset`
    /// bits up, where the bits below aren't all zero.
    Psid {
        /// Bits below the identifier.
        offset: u8,
        /// Bits of the identifier.
        length: u8,
        /// The identifier.
        psid: u16,
    },
}

impl Default for Plan {
    fn default() -> Self {
        Self::Range { first: FIRST_PORT, len: PORTS }
    }
}

impl Plan {
    /// Number of ports.
    pub const fn len(&self) -> u32 {
        match *self {
            Self::Range { len, .. } => len,
            Self::Psid { offset, length, .. } => {
                ((1 << offset) - 1) << (16 - offset as u32 - length as u32)
            }
        }
    }

    /// True without any port.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The port of a position below [`Self::len`].
    #[inline(always)]
    pub fn port(&self, at: u32) -> u16 {
        match *self {
            Self::Range { first, .. } => (first + at) as u16,
            Self::Psid { offset, length, psid } => {
                let lows = ((1_u32 << offset) - 1).max(1);
                let (high, low) = (at / lows, at % lows + 1);
                (low | u32::from(psid) << offset | high << (offset + length)) as u16
            }
        }
    }

    /// The position of a port; `None` if it is none of these.
    #[inline(always)]
    pub fn at(&self, port: u16) -> Option<u32> {
        let port = u32::from(port);
        match *self {
            Self::Range { first, len } => port.checked_sub(first).filter(|at| *at < len),
            Self::Psid { offset, length, psid } => {
                let lows = (1_u32 << offset) - 1;
                let low = (port & lows).checked_sub(1)?;
                let is_set = port >> offset & ((1 << length) - 1) == u32::from(psid);
                is_set.then_some((port >> (offset + length)) * lows + low)
            }
        }
    }
}

/// The part of a plan that a thread has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortSet {
    plan: Plan,
    first: u32,
    len: u32,
}

impl Default for PortSet {
    fn default() -> Self {
        Self::range(FIRST_PORT, PORTS)
    }
}

impl PortSet {
    /// Consecutive ports.
    pub const fn range(first: u32, len: u32) -> Self {
        Self { plan: Plan::Range { first, len }, first: 0, len }
    }

    /// Number of ports.
    #[inline(always)]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// True without any port.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The port of a position below [`Self::len`].
    #[inline(always)]
    pub fn port(&self, at: u32) -> u16 {
        self.plan.port(self.first + at)
    }

    /// The position of a port; `None` if it is none of these.
    #[inline(always)]
    pub fn at(&self, port: u16) -> Option<u32> {
        self.plan.at(port)?.checked_sub(self.first).filter(|at| *at < self.len)
    }
}

/// The threads that have sessions: each has an equal part of the ports.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Workers {
    threads: Vec<u16>,
    plan: Plan,
}

impl Workers {
    /// These threads, with the ports of a plan.
    pub fn new(threads: Vec<u16>, plan: Plan) -> Self {
        Self { threads, plan }
    }

    fn len(&self) -> usize {
        self.threads.len().max(1)
    }

    /// Ports of each thread.
    fn share(&self) -> u32 {
        self.plan.len() / self.len() as u32
    }

    /// The ports of a thread.
    pub fn block(&self, thread: u16) -> PortSet {
        let at = self.threads.iter().position(|worker| *worker == thread).unwrap_or(0) as u32;
        let len = self.share();
        PortSet { plan: self.plan, first: at * len, len }
    }

    /// The thread of a hash.
    #[inline(always)]
    pub fn pick(&self, hash: u32) -> u16 {
        self.threads.get(hash as usize % self.len()).copied().unwrap_or(0)
    }

    /// The thread of a port; the first one for a port that no user gets.
    #[inline(always)]
    pub fn of_port(&self, port: u16) -> u16 {
        self.of_position(self.plan.at(port).unwrap_or(0))
    }

    /// The thread whose users get a port, if any do.
    #[inline(always)]
    pub fn owner_of(&self, port: u16) -> Option<u16> {
        self.plan.at(port).map(|at| self.of_position(at))
    }

    #[inline(always)]
    fn of_position(&self, at: u32) -> u16 {
        let at = at / self.share().max(1);
        self.threads.get((at as usize).min(self.len() - 1)).copied().unwrap_or(0)
    }
}

/// The threads that have sessions, out of a mask of workers; all without one.
pub fn threads(world: &World, mask: Option<u64>) -> Vec<u16> {
    let n = world.threads() as u16;
    if n == 1 {
        return vec![0];
    }
    let mask = mask.unwrap_or(u64::MAX);
    let is_chosen = |thread: &u16| mask.checked_shr(u32::from(*thread) - 1).unwrap_or(0) & 1 == 1;
    (1..n).filter(is_chosen).collect()
}

/// The mask of all workers.
pub fn all(world: &World) -> u64 {
    u64::MAX.checked_shr(65_u32.saturating_sub(world.threads() as u32)).unwrap_or(0)
}

/// Checks a mask of workers; `None` if it has all of them.
///
/// # Errors
/// Fewer than two workers (−30); none, or one that isn't there (−89).
pub fn check(world: &World, mask: u64) -> Result<Option<u64>> {
    let workers = world.threads() - 1;
    if workers < 2 {
        let why = format!("there are {workers} workers: expected 2 at least");
        return Err(error(retval::FEATURE_DISABLED, why));
    }
    if mask == 0 || mask.checked_shr(workers as u32).unwrap_or(0) != 0 {
        let why = format!("expected some of the workers 0 to {}", workers - 1);
        return Err(error(retval::INVALID_WORKER, why));
    }
    Ok((mask != all(world)).then_some(mask))
}

/// Reads the word `workers`: numbers and ranges, as 0,2-3, or all.
///
/// # Errors
/// It is none of these.
pub fn read(world: &World, m: &Matches) -> Result<u64> {
    let wrong = || {
        Error::parse(format!("expected numbers of workers, as 0,2-3, not `{}'", m.str("workers")))
            .at(m.span("workers"))
    };
    if m.str("workers") == "all" {
        return Ok(all(world));
    }
    let mut mask = 0_u64;
    for part in m.str("workers").split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n < 64).ok_or_else(wrong);
        for worker in number(first)?..=number(last)? {
            mask |= 1 << worker;
        }
    }
    Ok(mask)
}

/// The numbers of the workers of a mask, as [`read`] takes them.
pub fn words(mask: u64) -> String {
    let numbers = (0..64).filter(|bit| mask >> bit & 1 == 1).map(|bit: u32| bit.to_string());
    numbers.collect::<Vec<_>>().join(",")
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        /// Plans of all shapes: each port has one position, and one thread.
        #[suite::test]
        fn ports_have_one_thread(
            offset in 1_u8..12, length in 0_u8..5, bits in any::<u16>(), n in 1_u16..5,
        ) {
            let psid = bits & ((1 << length) - 1);
            for plan in [
                Plan::Psid { offset, length, psid },
                Plan::Range { first: 1 + u32::from(bits >> 1), len: 1 + u32::from(bits >> 2) },
            ] {
                let workers = Workers::new((1..=n).collect(), plan);
                let mut all = BTreeSet::new();
                for thread in 1..=n {
                    let set = workers.block(thread);
                    for at in 0..set.len() {
                        let port = set.port(at);
                        prop_assert_eq!(set.at(port), Some(at));
                        prop_assert!(workers.of_port(port) == thread && all.insert(port));
                    }
                }
                prop_assert!(plan.len() - (all.len() as u32) < u32::from(n));
            }
        }
    }

    /// The ports of an identifier, as VPP counts them.
    #[suite::test]
    fn port_sets_are_vpps() {
        let plan = Plan::Psid { offset: 6, length: 6, psid: 10 };
        assert_eq!(plan.len(), 63 << 4);
        assert_eq!((plan.port(0), plan.port(62)), (1 | 10 << 6, 63 | 10 << 6));
        assert_eq!(plan.port(63), 1 | 10 << 6 | 1 << 12);
        assert_eq!(plan.port(plan.len() - 1), 63 | 10 << 6 | 15 << 12);
        assert_eq!((plan.at(10 << 6), plan.at(11 << 6 | 1)), (None, None));
    }
}
