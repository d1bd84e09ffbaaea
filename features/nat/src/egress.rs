// SPDX-License-Identifier: Apache-2.0
//! Where packets to an address leave: a kind that translates before the routing has to know.

use graph::World;
use net::{AdjKind, Adjacencies, Fib, Net, TableIndex};
use std::sync::Arc;
use sync::Turn;

/// Steps from a route to the interface that packets leave by.
const STEPS: u32 = 8;

/// Where packets to an address leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Egress {
    /// Nowhere.
    None,
    /// It is an address of this router.
    Here,
    /// By this interface.
    By(u32),
}

/// The routes of one protocol.
pub struct Routes<F: Net> {
    fib: Arc<Fib<F>>,
    adjacencies: Arc<Adjacencies>,
}

impl<F: Net> Routes<F> {
    /// The routes of an instance.
    pub fn new(world: &World) -> Self {
        Self { fib: world.get(), adjacencies: world.get() }
    }

    /// True if there is a table with this index.
    pub fn has_table(&self, table: u32, turn: &Turn<'_>) -> bool {
        self.fib.table(TableIndex(table), turn).is_some()
    }

    /// Where packets to an address leave, by the table with this index.
    pub fn egress(&self, table: u32, addr: F::Addr, turn: &Turn<'_>) -> Egress {
        let mut adj = self.fib.adj(TableIndex(table), addr, turn);
        for step in 0..STEPS {
            let found = adj.and_then(|adj| self.adjacencies.get(adj, turn));
            let Some(found) = found else { return Egress::None };
            adj = match found.kind {
                AdjKind::LoadBalance => self.adjacencies.select(found, 0, step, turn),
                AdjKind::Lookup => self.fib.adj(TableIndex(found.table), addr, turn),
                AdjKind::Receive => return Egress::Here,
                kind if kind.forwards() => return Egress::By(found.tx_if),
                _ => return Egress::None,
            };
        }
        Egress::None
    }
}
