// SPDX-License-Identifier: Apache-2.0
//! Configuration of queues: mode and thread of receive queues, threads that send by transmit
//! queues, and the receive queues that a device spreads packets over.

use cli::{Error, Result};
use graph::{InputMode, SwIfIndex, ThreadIndex, World};
use msg::retval;
use net::{Column, Interface, Interfaces, Property, RxQueue};
use std::collections::{BTreeMap, BTreeSet};

/// The configuration of a receive queue; `None` leaves a setting to the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RxQueueConfig {
    /// The receive mode: polling, interrupt or adaptive.
    pub mode: Option<InputMode>,
    /// The thread that polls it.
    pub thread: Option<ThreadIndex>,
    /// The placement by the driver, before it was configured.
    made: RxQueue,
}

/// The configured placement of an interface's receive queues, by queue number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RxConfig(pub BTreeMap<u16, RxQueueConfig>);

impl Property for RxConfig {}

/// The configured threads of an interface's transmit queues, by queue. A thread is in one list at
/// most. A queue without a list has the threads `t` with `t % n` equal to its number, of `n`
/// queues, that are in no list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TxConfig(pub BTreeMap<u16, Vec<ThreadIndex>>);

impl Property for TxConfig {}

/// The receive queues that an interface's device is to spread packets over, if they are configured.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RssQueues(pub Option<Vec<u16>>);

impl Property for RssQueues {}

/// Changes the configuration of a receive queue, and places it.
///
/// # Errors
/// An interface, a queue or a thread that isn't there; a mode that the device hasn't got.
pub fn place_rx(
    w: &World,
    sw_if: SwIfIndex,
    queue: u16,
    change: impl FnOnce(&mut RxQueueConfig),
) -> Result<()> {
    let interface = w.get::<Interfaces>().get(sw_if)?;
    let now = interface.device.rx_queues().into_iter().find(|q| q.queue == queue);
    let made = now.ok_or_else(|| {
        Error::not_found(format!("{} has no receive queue {queue}", interface.name))
            .retval(retval::INVALID_QUEUE)
    })?;
    let column = w.get::<Column<RxConfig>>();
    let before = column.get(sw_if).0.get(&queue).copied();
    let mut config = before.unwrap_or(RxQueueConfig { mode: None, thread: None, made });
    change(&mut config);
    let RxQueueConfig { mode, thread, made } = config;
    let place =
        RxQueue { queue, mode: mode.unwrap_or(made.mode), thread: thread.unwrap_or(made.thread) };
    interface.device.place(w, place)?;
    column.update(w, sw_if, |rx| _ = rx.0.insert(queue, config))
}

/// The queue of each of `threads` threads, of `n` queues.
fn by_thread(config: &TxConfig, n: u16, threads: usize) -> Vec<Option<u16>> {
    let queue = |thread: u16| {
        let listed = config
            .0
            .iter()
            .find(|(queue, list)| **queue < n && list.contains(&ThreadIndex(thread)));
        let usual = Some(thread % n.max(1)).filter(|q| n > 0 && !config.0.contains_key(q));
        listed.map(|(queue, _)| *queue).or(usual)
    };
    (0..threads as u16).map(queue).collect()
}

/// The threads that send by a transmit queue.
pub fn tx_threads(w: &World, interface: &Interface, queue: u16) -> Vec<ThreadIndex> {
    let config = w.get::<Column<TxConfig>>().get(interface.sw_if);
    let queues = by_thread(&config, interface.device.tx_queues(), w.threads());
    let threads = (0..).zip(queues).filter(|(_, q)| *q == Some(queue));
    threads.map(|(thread, _)| ThreadIndex(thread)).collect()
}

/// Sets the threads that send by a transmit queue; they don't send by another one then. `None`
/// removes the queue's list.
///
/// # Errors
/// An interface, a queue (−125) or a thread (−7) that isn't there; a device whose queues can't be
/// moved (−9), unless they stay where they are.
pub fn set_tx_threads(
    w: &World,
    sw_if: SwIfIndex,
    queue: u16,
    threads: Option<&[ThreadIndex]>,
) -> Result<()> {
    let interface = w.get::<Interfaces>().get(sw_if)?;
    let n = interface.device.tx_queues();
    if queue >= n {
        let error = format!("{} has no transmit queue {queue}; it has {n}", interface.name);
        return Err(Error::not_found(error).retval(retval::INVALID_QUEUE));
    }
    let mut missing = threads.into_iter().flatten().filter(|t| t.at() >= w.threads());
    if let Some(thread) = missing.next() {
        let error = format!("there is no thread {thread}; there are {}", w.threads());
        return Err(Error::not_found(error).retval(retval::INVALID_VALUE));
    }
    let column = w.get::<Column<TxConfig>>();
    let old = column.get(sw_if);
    let mut config = old.clone();
    match threads {
        Some(threads) => {
            config.0.values_mut().for_each(|list| list.retain(|t| !threads.contains(t)));
            let mut list = threads.to_vec();
            list.sort_unstable();
            list.dedup();
            config.0.insert(queue, list);
        }
        None => drop(config.0.remove(&queue)),
    }
    let now = by_thread(&old, n, w.threads());
    let wanted = by_thread(&config, n, w.threads());
    if wanted != now {
        interface.device.place_tx(w, &wanted)?;
    }
    column.set(w, sw_if, config)
}

/// Sets the receive queues that the device spreads packets over; `None` for all, which is what
/// every device does by itself.
///
/// # Errors
/// An interface that isn't there; a queue that isn't (−125); a device that can't (−9).
pub fn set_rss_queues(w: &World, sw_if: SwIfIndex, queues: Option<&[u16]>) -> Result<()> {
    let interface = w.get::<Interfaces>().get(sw_if)?;
    let there = interface.device.rx_queues();
    let mut missing = queues.into_iter().flatten();
    if let Some(queue) = missing.find(|q| !there.iter().any(|there| there.queue == **q)) {
        let error =
            format!("{} has no receive queue {queue}; it has {}", interface.name, there.len());
        return Err(Error::not_found(error).retval(retval::INVALID_QUEUE));
    }
    // A list of all queues stands for no choice.
    let chosen = |list: Option<&[u16]>| {
        let list = list.map(|list| BTreeSet::from_iter(list.iter().copied()));
        list.filter(|list| list.len() != there.len())
    };
    let column = w.get::<Column<RssQueues>>();
    let (now, wanted) = (chosen(column.get(sw_if).0.as_deref()), chosen(queues));
    if wanted != now {
        let wanted: Option<Vec<_>> = wanted.map(|list| list.into_iter().collect());
        interface.device.set_rss_queues(w, wanted.as_deref())?;
    }
    column.set(w, sw_if, RssQueues(queues.map(<[u16]>::to_vec)))
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn config(lists: &[(u16, &[u16])]) -> TxConfig {
        let threads = |list: &[u16]| list.iter().map(|t| ThreadIndex(*t)).collect();
        TxConfig(lists.iter().map(|(queue, list)| (*queue, threads(list))).collect())
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
            let lists = lists.into_iter();
            let lists = lists.map(|(queue, list)| (queue, list.into_iter().map(ThreadIndex).collect()));
            let config = TxConfig(lists.collect());
            for (thread, queue) in (0u16..).zip(by_thread(&config, n, 6)) {
                let listed = |q: &u16| config.0.get(q).is_some_and(|l| l.contains(&ThreadIndex(thread)));
                prop_assert!(queue.is_none_or(|q| q < n && (listed(&q) || q == thread % n)));
                prop_assert!(queue.is_some() || n == 0 || config.0.contains_key(&(thread % n)));
            }
        }
    }
}
