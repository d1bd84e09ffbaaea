// SPDX-License-Identifier: Apache-2.0
//! A device and a transmit node that lead nowhere, for tests and benches beside [`graph::drive`].

use crate::{Device, IfKind, Interfaces, Neighbor, Neighbors, NewInterface};
use buffer::Buffer;
use graph::drive::Bench;
use graph::{Cx, Next, Node, Plugin, Shared, SwIfIndex, World};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use wire::MacAddr;

/// A device that there is none of.
pub struct Nowhere;

impl Device for Nowhere {
    fn driver(&self) -> &'static str {
        "test"
    }
}

/// An Ethernet interface of 1500 bytes whose cable is in, to be created with a transmit node of the test's.
pub fn ethernet(name: impl Into<String>, mac: MacAddr) -> NewInterface {
    NewInterface {
        name: name.into(),
        kind: IfKind::Ethernet,
        device: Arc::new(Nowhere),
        mac,
        mtu: 1500,
        link_up: true,
    }
}

/// Interfaces `t0`, `t1`, … that are up, with 10.0.0.1/24, 10.0.1.1/24, … each with a neighbour .2 that is known. For an instance with
/// the plugins of interfaces and IP.
pub fn networks(bench: &mut Bench, n: u8) {
    for i in 0..n {
        let new = ethernet(format!("t{i}"), MacAddr([2, 0, 0, 0, 0, i]));
        let sw_if = bench.world.get::<Interfaces>().create(&bench.world, new, |_, _, _| Tx).expect("created");
        for line in
            [format!("set interface state t{i} up"), format!("set interface ip address t{i} 10.0.{i}.1/24")]
        {
            bench.cli(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
        let known = Neighbor::new(sw_if, Ipv4Addr::new(10, 0, i, 2).into(), MacAddr([2, 0, 0, 0, 1, i]));
        bench.world.get::<Neighbors>().set(&bench.world, known).expect("set");
    }
}

/// Frees what an interface sends.
pub struct Tx;

/// The only way out.
#[derive(Next, Clone, Copy)]
pub enum TxTo {
    /// Freed.
    #[free]
    Sent,
}

impl Node for Tx {
    const NAME: &'static str = "test-tx";
    type Next = TxTo;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> TxTo {
        TxTo::Sent
    }
}

/// The state of interfaces, tables and neighbours, for tests of plugins without the plugin `interface`.
pub static STATE: Plugin =
    Plugin { name: "net-state", state: &[crate::STATE], counters: crate::COUNTERS, ..Plugin::EMPTY };

/// Interface and bytes of every frame that interfaces with a [`Recorder`] have sent.
#[derive(Default)]
pub struct Recorded(Mutex<Vec<(u32, Vec<u8>)>>);

impl Shared for Recorded {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Recorded {
    /// What was sent since it was last asked.
    pub fn take(&self) -> Vec<(u32, Vec<u8>)> {
        std::mem::take(&mut self.0.lock().expect("no panic"))
    }
}

/// Keeps what an interface sends.
pub struct Recorder {
    sw_if: u32,
    recorded: Arc<Recorded>,
}

impl Recorder {
    /// For an interface.
    pub fn new(world: &World, sw_if: SwIfIndex) -> Self {
        world.declare::<Recorded>();
        Self { sw_if: sw_if.0, recorded: world.get() }
    }
}

impl Node for Recorder {
    const NAME: &'static str = Tx::NAME;
    type Next = TxTo;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> TxTo {
        let bytes = b.segments().flatten().copied().collect();
        self.recorded.0.lock().expect("no panic").push((self.sw_if, bytes));
        TxTo::Sent
    }
}
