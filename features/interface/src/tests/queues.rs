// SPDX-License-Identifier: Apache-2.0
//! Threads of transmit queues, and receive queues that a device spreads packets over.

use super::*;
use crate::api::tx::*;
use graph::{InputMode, ThreadIndex};
use net::api::InterfaceIndex;
use net::{IfKind, NewInterface, RxQueue};
use std::sync::Mutex;

/// The last orders that a device got.
#[derive(Default)]
struct Orders {
    tx: Option<Vec<Option<u16>>>,
    rss: Option<Option<Vec<u16>>>,
}

/// A device with two queues in each direction, which go anywhere.
struct Movable(Mutex<Orders>);
impl Device for Movable {
    fn driver(&self) -> &'static str {
        "movable"
    }
    fn rx_queues(&self) -> Vec<RxQueue> {
        let queue = |queue| RxQueue { queue, thread: ThreadIndex(0), mode: InputMode::Polling };
        vec![queue(0), queue(1)]
    }
    fn tx_queues(&self) -> u16 {
        2
    }
    fn place_tx(&self, _: &World, queues: &[Option<u16>]) -> Result<(), cli::Error> {
        self.0.lock().expect("no panic inside").tx = Some(queues.to_vec());
        Ok(())
    }
    fn set_rss_queues(&self, _: &World, queues: Option<&[u16]>) -> Result<(), cli::Error> {
        self.0.lock().expect("no panic inside").rss = Some(queues.map(<[u16]>::to_vec));
        Ok(())
    }
}

/// A device that does none of it.
struct Fixed;
impl Device for Fixed {
    fn driver(&self) -> &'static str {
        "fixed"
    }
    fn rx_queues(&self) -> Vec<RxQueue> {
        let queue = |queue| RxQueue { queue, thread: ThreadIndex(0), mode: InputMode::Polling };
        vec![queue(0), queue(1)]
    }
    fn tx_queues(&self) -> u16 {
        2
    }
}

fn add(bench: &Bench, name: &str, device: Arc<dyn Device>) -> InterfaceIndex {
    let new = NewInterface {
        name: name.into(),
        kind: IfKind::Ip,
        device,
        mac: MacAddr([2, 0, 0, 0, 0, 2]),
        mtu: 9000,
        link_up: false,
    };
    bench.world.get::<Interfaces>().create(&bench.world, new, |_, _, _| Tx).expect("made").into()
}

#[suite::test]
fn transmit_queues_are_moved_by_commands_and_messages() {
    let bench = bench().0;
    let tree = Tree::new(PLUGIN.cli).expect("the commands are well-formed");
    let device = Arc::new(Movable(Mutex::default()));
    let m1 = add(&bench, "M1", device.clone());
    let f1 = add(&bench, "F1", Arc::new(Fixed));
    let last = || device.0.lock().expect("no panic inside").tx.take();
    let lines = || {
        let config = bench.world.running_config();
        let lines = config.iter().map(|line| line.text.clone());
        lines.filter(|line| line.contains("queue") && !line.contains("rx-mode")).collect::<Vec<_>>()
    };
    let shown = || run(&bench, &tree, "show interface tx-queue M1");
    assert_eq!(shown(), "M1 queue 0: thread 0\nM1 queue 1: no thread\n");
    // Where it is already: nothing to do for the device.
    run(&bench, &tree, "set interface tx-queue M1 queue 0 threads 0");
    assert_eq!(last(), None);
    assert_eq!(lines(), ["set interface tx-queue M1 queue 0 threads 0"]);
    run(&bench, &tree, "set interface tx-queue M1 queue 0 threads default");
    assert_eq!((last(), lines()), (None, vec![]));
    run(&bench, &tree, "set interface tx-queue M1 queue 1 threads 0");
    assert_eq!(last(), Some(vec![Some(1)]));
    assert_eq!(shown(), "M1 queue 0: no thread\nM1 queue 1: thread 0\n");
    assert_eq!(lines(), ["set interface tx-queue M1 queue 1 threads 0"]);
    assert!(run(&bench, &tree, "show hardware-interfaces M1").contains("1     no     0"));
    run(&bench, &tree, "set interface tx-queue M1 queue 1");
    assert_eq!(last(), Some(vec![Some(0)]), "its usual queue has no list");
    assert_eq!(lines(), ["set interface tx-queue M1 queue 1"]);
    run(&bench, &tree, "set interface tx-queue M1 queue 0");
    assert_eq!(last(), Some(vec![None]));
    run(&bench, &tree, "set interface tx-queue M1 queue 0 threads default");
    run(&bench, &tree, "set interface tx-queue M1 queue 1 threads default");
    assert_eq!((last(), lines()), (Some(vec![Some(0)]), vec![]));

    let mut client = bench.api();
    let set = |sw_if_index, queue_id, threads: &[u32]| SwInterfaceSetTxPlacement {
        sw_if_index,
        queue_id,
        threads: threads.to_vec(),
    };
    assert_eq!(client.call(set(m1, 1, &[0, 0])), Ok(()));
    assert_eq!(last(), Some(vec![Some(1)]));
    let all = client.dump(SwInterfaceTxPlacementGet { cursor: 0, sw_if_index: m1 });
    let threads: Vec<_> = all.iter().map(|d| (d.queue_id, &d.threads[..])).collect();
    assert_eq!(threads, [(0, &[][..]), (1, &[0])]);
    assert_eq!(client.call(set(m1, 2, &[0])), Err(-125));
    assert_eq!(client.call(set(m1, 1 << 20, &[0])), Err(-125));
    assert_eq!(client.call(set(m1, 1, &[7])), Err(-7));
    assert_eq!(client.call(set(m1, 1, &[1 << 20])), Err(-7));
    assert_eq!(client.call(set(f1, 0, &[0])), Ok(()), "it does already");
    assert_eq!(client.call(set(f1, 1, &[0])), Err(-9));
    for (line, part) in [
        ("set interface tx-queue F1 queue 1 threads 0", "fixed: each thread has a transmit queue"),
        ("set interface rss queues F1 list 0", "fixed: received packets can't be spread"),
        ("set interface rss queues M1 list 0,2", "no receive queue 2; it has 2"),
        ("set interface rss queues M1 list x", "not `x`"),
        ("set interface tx-queue M1 queue 9 threads 0", "no transmit queue 9; it has 2"),
    ] {
        let error = tree.answer(&bench.world, line).expect_err(line).to_string();
        assert!(error.contains(part), "{line}: {error}");
    }
    let rss = || device.0.lock().expect("no panic inside").rss.take();
    run(&bench, &tree, "set interface rss queues M1 list 1");
    assert_eq!(rss(), Some(Some(vec![1])));
    assert!(lines().contains(&"set interface rss queues M1 list 1".to_string()));
    // All of them: no choice of the device's.
    run(&bench, &tree, "set interface rss queues M1 list 0-1");
    assert_eq!(rss(), Some(None));
    assert!(lines().contains(&"set interface rss queues M1 list 0-1".to_string()));
    run(&bench, &tree, "set interface rss queues F1 list 1,0");
    run(&bench, &tree, "set interface rss queues F1 default");
    run(&bench, &tree, "set interface rss queues M1 default");
    assert_eq!(rss(), None);
    assert!(!lines().iter().any(|line| line.contains("rss")));
}
