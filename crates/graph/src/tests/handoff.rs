// SPDX-License-Identifier: Apache-2.0
//! Packets from one thread to another, turn by turn.

use super::*;
use ::buffer::{Reservation, ShareStats};

type Log = Arc<Mutex<Vec<(usize, u32)>>>;

/// Records the numbers of its packets.
struct Recorder(usize, Log);

impl Node for Recorder {
    const NAME: &'static str = "recorder";
    type Next = SwitchTo;
    type Trace = ();
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> SwitchTo {
        let number = b.data().first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        self.1.lock().expect("no panic inside").push((self.0, number));
        SwitchTo::Gone
    }
}

/// The share of the first thread.
fn share(world: &World) -> ShareStats {
    let is = |s: &ShareStats| s.name == Reservation::HANDOFF.name && s.thread == Some(0);
    world.pool.shares().into_iter().find(is).expect("a share")
}

proptest! {
    /// Of the packets that are handed over, those that find room arrive at their nodes, in order;
    /// all others are counted. Nothing stays in the share.
    #[suite::test]
    fn handed_over_in_order(
        steps in prop::collection::vec((0_usize..2, 0_usize..200, 0_u8..4), 1..40),
        buffers in prop_oneof![Just(8192_usize), Just(1024)],
    ) {
        let config = WorldConfig { threads: 2, buffers, ..WorldConfig::default() };
        let (world, mut threads) = World::new(&config, PLUGINS).expect("an instance");
        let log = Log::default();
        let nodes = [0, 1].map(|i| {
            let log = log.clone();
            world.add_node(["even", "odd"][i], move |_, _| Recorder(i, log.clone())).expect("room")
        });
        threads.iter_mut().for_each(Runtime::receive);
        let mut sent = Vec::new();
        for (which, n, turns) in steps {
            for _ in 0..n {
                let number = sent.len() as u32;
                let Some(mut b) = threads[0].cache().alloc() else { break };
                assert!(b.set_data(&number.to_le_bytes()));
                threads[0].core.handoff(ThreadIndex(1), nodes[which], b);
                sent.push((which, number));
            }
            if turns & 1 == 1 {
                threads[0].turn(true);
            }
            if turns & 2 == 2 {
                threads[1].turn(true);
            }
        }
        for _ in 0..8 {
            threads.iter_mut().for_each(|rt| _ = rt.turn(true));
        }
        let log = log.lock().expect("no panic inside");
        // Packets of one node stay in order; what waits for a node is one frame.
        for node in 0..2 {
            let mut all = sent.iter().filter(|(which, _)| *which == node);
            for arrived in log.iter().filter(|(which, _)| *which == node) {
                prop_assert!(all.any(|sent| sent == arrived), "{arrived:?} came out of order");
            }
        }
        let lost = sent.len() - log.len();
        let sum = |name| world.stats.simple(name).sum(1);
        prop_assert_eq!(sum(crate::counters::CONGESTION), lost as u64);
        prop_assert_eq!(sum(crate::counters::HANDED), log.len() as u64);
        prop_assert_eq!(share(&world).held, 0);
        if sent.len() <= share(&world).limit.min(1024) as usize {
            prop_assert_eq!(lost, 0);
        }
        drop(threads);
        prop_assert_eq!(world.pool.release(), Ok(()));
    }
}

/// Packets that are handed over in one turn are one vector of their node.
#[suite::test]
fn a_vector_is_handed_over_as_a_vector() {
    let config = WorldConfig { threads: 2, buffers: 4096, ..WorldConfig::default() };
    let (world, mut threads) = World::new(&config, PLUGINS).expect("an instance");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let node = world.add_node("batch", move |_, _| Batch(log.clone())).expect("room");
    threads.iter_mut().for_each(Runtime::receive);
    for n in [1, 63, 64, 65, 250] {
        for _ in 0..n {
            let b = threads[0].cache().alloc().expect("a buffer");
            threads[0].core.handoff(ThreadIndex(1), node, b);
        }
        threads.iter_mut().for_each(|rt| _ = rt.turn(true));
        assert_eq!(std::mem::take(&mut *seen.lock().expect("no panic inside")), [n]);
    }
}
