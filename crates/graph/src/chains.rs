// SPDX-License-Identifier: Apache-2.0
//! Chains of features: the steps that workers read, and the references of interfaces on them.
//!
//! Equal chains are stored once. A chain never changes: a packet that is held, or handed off to
//! another thread, keeps a valid position, and the configuration that stands there. A chain that no
//! interface has any more stays until its steps are needed for another one: the oldest ones go
//! first, after a grace period, and [`KEPT`] steps stay in any case, for packets that are held.

use crate::NodeIndex;
use crate::config::{ConfigWords, words_of};
use mem::{Plain, Reserve};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use sync::{GraceTicket, Qsbr};
use zerocopy::IntoBytes;

/// Steps of all chains at most.
const STEPS: usize = 1 << 22;
/// Steps of unused chains that stay: a chain is overwritten only after many others have gone out
/// of use. A packet waits for a reassembly, say, for seconds.
const KEPT: usize = 1 << 16;

/// One step of a chain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// The node that the packet goes to.
    pub node: NodeIndex,
    /// The feature's configuration on the interface.
    pub config: ConfigWords,
}

/// The steps as workers read them.
#[derive(Debug)]
pub struct StepTable(
    /// The node plus one, 0 for a step that isn't there; behind it the configuration. A step is a
    /// quarter of a cache line.
    Reserve<[AtomicU32; 1 + size_of::<ConfigWords>() / 4]>,
);

impl StepTable {
    /// Returns an empty table.
    ///
    /// # Errors
    /// Address space that can't be had.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self(Reserve::new(STEPS)?))
    }

    /// The node of a step.
    #[inline(always)]
    pub fn node(&self, at: u32) -> Option<NodeIndex> {
        let [node, ..] = self.0.as_slice().get(at as usize)?;
        node.load(Ordering::Relaxed).checked_sub(1).map(NodeIndex)
    }

    /// The configuration of a step, the default one for a position in no chain. Loads no more words
    /// than the type has.
    #[inline(always)]
    pub fn config<C: Plain>(&self, at: u32) -> C {
        let Some([_, config @ ..]) = self.0.as_slice().get(at as usize) else {
            return C::default();
        };
        let mut words = ConfigWords::default();
        for (word, cell) in words.iter_mut().zip(config).take(const { words_of::<C>() }) {
            *word = cell.load(Ordering::Relaxed);
        }
        C::load(words.as_bytes())
    }

    /// Writes a chain to these steps. No worker reads them.
    fn write(&self, start: u32, room: usize, chain: &[Step]) {
        let steps = chain.iter().map(|step| (step.node.0 + 1, step.config));
        let steps = steps.chain(std::iter::repeat((0, ConfigWords::default())));
        let cells = &self.0.as_slice()[start as usize..][..room];
        for ([node, config @ ..], (to, words)) in cells.iter().zip(steps) {
            node.store(to, Ordering::Relaxed);
            config.iter().zip(words).for_each(|(cell, word)| cell.store(word, Ordering::Relaxed));
        }
    }
}

/// A chain as control knows it.
struct Chain {
    steps: Arc<[Step]>,
    /// Number of interfaces that have it, each arc by itself.
    users: usize,
    /// Number of its release, if it has no user.
    released: u64,
}

/// The control side.
pub struct Chains {
    domain: Arc<Qsbr>,
    /// The first step of each chain.
    known: HashMap<Arc<[Step]>, u32>,
    by_start: HashMap<u32, Chain>,
    /// Chains without users, in the order of their releases.
    unused: BTreeMap<u64, (GraceTicket, u32)>,
    releases: u64,
    /// Number of steps of the chains without users.
    kept: usize,
    /// First steps of free ranges, by their lengths; those that are free for longest come first.
    free: BTreeMap<usize, VecDeque<u32>>,
    /// All steps from here on have never been used.
    end: usize,
}

/// The steps that a chain takes: powers of two, so that ranges fit other chains.
fn room(chain: &[Step]) -> usize {
    chain.len().next_power_of_two()
}

impl Chains {
    /// Returns the state without a chain.
    pub fn new(domain: Arc<Qsbr>) -> Self {
        Self {
            domain,
            known: HashMap::new(),
            by_start: HashMap::new(),
            unused: BTreeMap::new(),
            releases: 0,
            kept: 0,
            free: BTreeMap::new(),
            end: 0,
        }
    }

    /// Takes a reference on a chain, which is written if it is new. Returns its first step.
    ///
    /// # Errors
    /// Too many different chains.
    pub fn hold(&mut self, table: &StepTable, chain: Vec<Step>) -> Result<u32, String> {
        if let Some(start) = self.known.get(&chain[..]).copied() {
            if let Some(known) = self.by_start.get_mut(&start) {
                if known.users == 0 {
                    self.unused.remove(&known.released);
                    self.kept -= room(&chain);
                }
                known.users += 1;
            }
            return Ok(start);
        }
        let room = room(&chain);
        self.reclaim();
        let start = match self.free.get_mut(&room).and_then(VecDeque::pop_front) {
            Some(start) => start,
            None if self.end + room > STEPS => {
                return Err(format!(
                    "too many different chains of features, {STEPS} steps at most"
                ));
            }
            None => {
                self.end += room;
                (self.end - room) as u32
            }
        };
        table.write(start, room, &chain);
        let steps: Arc<[Step]> = chain.into();
        self.known.insert(steps.clone(), start);
        self.by_start.insert(start, Chain { steps, users: 1, released: 0 });
        Ok(start)
    }

    /// Gives a reference back. No interface leads to the chain by it any more.
    pub fn release(&mut self, start: u32) {
        let Some(chain) = self.by_start.get_mut(&start) else { return };
        chain.users -= 1;
        if chain.users == 0 {
            self.releases += 1;
            chain.released = self.releases;
            self.kept += room(&chain.steps);
            self.unused.insert(self.releases, (self.domain.grace(), start));
        }
    }

    /// Frees the oldest unused chains, as far as these are too many.
    fn reclaim(&mut self) {
        while self.kept > KEPT
            && let Some(oldest) = self.unused.first_entry()
            && oldest.get().0.is_over()
        {
            let (_, start) = oldest.remove();
            let Some(chain) = self.by_start.remove(&start) else { continue };
            self.known.remove(&chain.steps);
            let room = room(&chain.steps);
            self.kept -= room;
            self.free.entry(room).or_default().push_back(start);
        }
    }

    /// Number of steps that were ever used.
    #[cfg(feature = "tests")]
    pub fn steps(&self) -> usize {
        self.end
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn chain(config: u32, nodes: usize) -> Vec<Step> {
        (0..nodes).map(|n| Step { node: NodeIndex(n as _), config: [config, 0, 0] }).collect()
    }

    fn new() -> (StepTable, Chains, Arc<Qsbr>) {
        let domain = Qsbr::new();
        (StepTable::new().expect("address space"), Chains::new(domain.clone()), domain)
    }

    /// An interface whose configuration changes 200,000 times takes no more memory than one whose
    /// configuration changes a few thousand times, and its neighbours keep their chains.
    #[suite::test]
    fn many_values_take_bounded_memory() {
        let (table, mut chains, _) = new();
        let other = chains.hold(&table, chain(u32::MAX, 5)).expect("room");
        let mut held: Option<u32> = None;
        for value in 0..200_000 {
            let start = chains.hold(&table, chain(value, 2 + value as usize % 7)).expect("room");
            assert_eq!(table.config::<u32>(start + 1), value);
            if let Some(before) = held.replace(start) {
                chains.release(before);
            }
        }
        // Chains of each length may be those that stay.
        assert!(chains.steps() <= 4 * (KEPT + 16), "{}", chains.steps());
        assert_eq!(chains.by_start.len(), chains.known.len());
        assert_eq!(table.config::<u32>(other + 4), u32::MAX);
        assert_eq!(table.node(other + 5), None, "a chain that is shorter than its room ends");
    }

    /// Values that come again are the same chains, and none of them is freed.
    #[suite::test]
    fn values_that_come_again_take_no_memory() {
        let (table, mut chains, _) = new();
        let starts = [1, 2].map(|value| chains.hold(&table, chain(value, 3)).expect("room"));
        for _ in 0..100_000 {
            for (value, start) in [1, 2].into_iter().zip(starts) {
                chains.release(start);
                assert_eq!(chains.hold(&table, chain(value, 3)), Ok(start));
            }
        }
        assert_eq!((chains.steps(), chains.unused.len(), chains.kept), (8, 0, 0));
    }

    /// A chain with several users stays until the last one is gone.
    #[suite::test]
    fn the_last_user_decides() {
        let (table, mut chains, _) = new();
        let start = chains.hold(&table, chain(7, 3)).expect("room");
        assert_eq!(chains.hold(&table, chain(7, 3)), Ok(start));
        chains.release(start);
        assert_eq!((chains.unused.len(), chains.kept), (0, 0));
        chains.release(start);
        assert_eq!((chains.unused.len(), chains.kept), (1, 4));
    }

    /// Steps that a turn may still read aren't overwritten, however many chains go out of use.
    #[suite::test]
    fn a_turn_keeps_the_chains_that_it_may_read() {
        let (table, mut chains, domain) = new();
        let mut reader = domain.register();
        let turn = reader.turn();
        let first = chains.hold(&table, chain(0, 4)).expect("room");
        chains.release(first);
        for value in 1..50_000 {
            let start = chains.hold(&table, chain(value, 4)).expect("room");
            chains.release(start);
        }
        assert_eq!((table.config::<u32>(first), chains.steps()), (0, 50_000 * 4));
        drop(turn);
        for value in 50_000..100_000 {
            let start = chains.hold(&table, chain(value, 4)).expect("room");
            chains.release(start);
        }
        assert_eq!(chains.steps(), 50_000 * 4);
        assert_ne!(table.config::<u32>(first), 0);
    }
}
