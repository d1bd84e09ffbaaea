// SPDX-License-Identifier: Apache-2.0
//! Configuration of transmit queues: the threads that send by each, and the queues that a device
//! spreads received packets over.

use super::{Interface, Interfaces};
use cli::Error;
use graph::{SwIfIndex, ThreadIndex, World};
use std::collections::{BTreeMap, BTreeSet};

/// The configured threads of transmit queues, by queue. A thread is in one list at most. A queue
/// without a list has the threads `t` with `t % n` equal to its number, of `n` queues, that are in
/// no list.
pub type TxConfig = BTreeMap<u16, Vec<ThreadIndex>>;

/// The queue of each of `threads` threads, of `n` queues.
fn by_thread(config: &TxConfig, n: u16, threads: usize) -> Vec<Option<u16>> {
    let queue = |thread: u16| {
        let listed =
            config.iter().find(|(queue, list)| **queue < n && list.contains(&ThreadIndex(thread)));
        let usual = Some(thread % n.max(1)).filter(|q| n > 0 && !config.contains_key(q));
        listed.map(|(queue, _)| *queue).or(usual)
    };
    (0..threads as u16).map(queue).collect()
}

impl Interfaces {
    /// The threads that send by a transmit queue.
    pub fn tx_threads(&self, world: &World, interface: &Interface, queue: u16) -> Vec<ThreadIndex> {
        let queues =
            by_thread(&interface.tx_threads, interface.device.tx_queues(), world.threads());
        let threads = (0..).zip(queues).filter(|(_, q)| *q == Some(queue));
        threads.map(|(thread, _)| ThreadIndex(thread)).collect()
    }

    /// Sets the threads that send by a transmit queue; they don't send by another one then. `None`
    /// removes the queue's list.
    ///
    /// # Errors
    /// An interface, a queue (−125) or a thread (−7) that isn't there; a device whose queues can't
    /// be moved (−9), unless they stay where they are.
    pub fn set_tx_threads(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        queue: u16,
        threads: Option<&[ThreadIndex]>,
    ) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        let n = interface.device.tx_queues();
        if queue >= n {
            let error = format!("{} has no transmit queue {queue}; it has {n}", interface.name);
            return Err(Error::not_found(error).retval(msg::retval::INVALID_QUEUE));
        }
        let mut missing = threads.into_iter().flatten().filter(|t| t.at() >= world.threads());
        if let Some(thread) = missing.next() {
            let error = format!("there is no thread {thread}; there are {}", world.threads());
            return Err(Error::not_found(error).retval(msg::retval::INVALID_VALUE));
        }
        let mut config = interface.tx_threads.clone();
        match threads {
            Some(threads) => {
                config.values_mut().for_each(|list| list.retain(|t| !threads.contains(t)));
                let mut list = threads.to_vec();
                list.sort_unstable();
                list.dedup();
                config.insert(queue, list);
            }
            None => drop(config.remove(&queue)),
        }
        let now = by_thread(&interface.tx_threads, n, world.threads());
        let wanted = by_thread(&config, n, world.threads());
        if wanted != now {
            interface.device.place_tx(world, &wanted)?;
        }
        if let Some(Some(interface)) = self.inner().all.get_mut(sw_if.at()) {
            interface.tx_threads = config;
        }
        Ok(())
    }

    /// Sets the receive queues that the device spreads packets over; `None` for all, which is what
    /// every device does by itself.
    ///
    /// # Errors
    /// An interface that isn't there; a queue that isn't (−125); a device that can't (−9).
    pub fn set_rss_queues(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        queues: Option<&[u16]>,
    ) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        let there = interface.device.rx_queues();
        let mut missing = queues.into_iter().flatten();
        if let Some(queue) = missing.find(|q| !there.iter().any(|there| there.queue == **q)) {
            let error =
                format!("{} has no receive queue {queue}; it has {}", interface.name, there.len());
            return Err(Error::not_found(error).retval(msg::retval::INVALID_QUEUE));
        }
        // A list of all queues stands for no choice.
        let chosen = |list: Option<&[u16]>| {
            let list = list.map(|list| BTreeSet::from_iter(list.iter().copied()));
            list.filter(|list| list.len() != there.len())
        };
        let (now, wanted) = (chosen(interface.rss_queues.as_deref()), chosen(queues));
        if wanted != now {
            let wanted: Option<Vec<_>> = wanted.map(|list| list.into_iter().collect());
            interface.device.set_rss_queues(world, wanted.as_deref())?;
        }
        if let Some(Some(interface)) = self.inner().all.get_mut(sw_if.at()) {
            interface.rss_queues = queues.map(<[u16]>::to_vec);
        }
        Ok(())
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn config(lists: &[(u16, &[u16])]) -> TxConfig {
        let threads = |list: &[u16]| list.iter().map(|t| ThreadIndex(*t)).collect();
        lists.iter().map(|(queue, list)| (*queue, threads(list))).collect()
    }

    #[suite::test]
    fn lists_come_before_the_usual_queues() {
        assert_eq!(by_thread(&config(&[]), 2, 5), [0, 1, 0, 1, 0].map(Some));
        assert_eq!(by_thread(&config(&[]), 0, 2), [None, None]);
        // Thread 1 has moved from queue 1 to queue 0; threads 0 and 2 aren't in the list of theirs.
        let moved = config(&[(0, &[1])]);
        assert_eq!(by_thread(&moved, 2, 4), [None, Some(0), None, Some(1)]);
        // A queue that isn't there any more.
        assert_eq!(by_thread(&config(&[(7, &[1])]), 2, 2), [Some(0), Some(1)]);
        assert_eq!(by_thread(&config(&[(0, &[])]), 1, 2), [None, None]);
    }

    proptest! {
        /// Each thread sends by a queue that is there, and by the one whose list it is in.
        #[suite::test]
        fn each_thread_has_at_most_its_queue(
            lists in proptest::collection::btree_map(0u16..6, proptest::collection::vec(0u16..6, 0..4), 0..6),
            n in 0u16..6,
        ) {
            let config: TxConfig = lists
                .into_iter()
                .map(|(queue, list)| (queue, list.into_iter().map(ThreadIndex).collect()))
                .collect();
            for (thread, queue) in (0u16..).zip(by_thread(&config, n, 6)) {
                let listed = |q: &u16| config.get(q).is_some_and(|l| l.contains(&ThreadIndex(thread)));
                prop_assert!(queue.is_none_or(|q| q < n && (listed(&q) || q == thread % n)));
                prop_assert!(queue.is_some() || n == 0 || config.contains_key(&(thread % n)));
            }
        }
    }
}
