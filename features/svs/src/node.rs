// SPDX-License-Identifier: Apache-2.0
//! `svs-ip4`, `svs-ip6`: chooses the table of a packet.

use buffer::{Buffer, Flags};
use graph::{Build, Configured, Cx, Next, Node, ThreadIndex, Trace, World};
use net::{AdjKind, Adjacencies, Fib, Net, TableIndex};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use sync::Turn;
use wire::{Header, IpHeader};

/// `svs-ip4` or `svs-ip6`.
pub struct Select<F: Net> {
    fib: Arc<Fib<F>>,
    adjacencies: Arc<Adjacencies>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    #[next_feature]
    Next,
}

#[derive(Clone, Copy)]
pub struct SelectTrace {
    source: Option<IpAddr>,
    by: TableIndex,
    table: Option<u32>,
}

impl Trace for SelectTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.source, self.table) {
            (Some(source), Some(table)) => {
                write!(f, "source {source} in fib {} selects fib {table}", self.by)
            }
            (Some(source), None) => write!(f, "source {source} in fib {} selects none", self.by),
            (None, _) => f.write_str("no header"),
        }
    }
}

impl<F: Net> Build for Select<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { fib: world.get(), adjacencies: world.get() }
    }
}

/// The table of sources.
impl<F: Net> Configured for Select<F> {
    type Config = TableIndex;
}

impl<F: Net> Select<F> {
    /// The table that a source leads to.
    #[inline(always)]
    fn table(&self, by: TableIndex, source: F::Addr, turn: &Turn<'_>) -> Option<u32> {
        let adj = self.adjacencies.get(self.fib.adj(by, source, turn)?, turn)?;
        (adj.kind == AdjKind::Lookup).then_some(adj.table)
    }
}

impl<F: Net> Node for Select<F> {
    const NAME: &'static str = "svs-{ip}";
    const V6: Option<bool> = Some(F::IS_V6);
    const HOT: bool = true;
    type Next = To;
    type Trace = SelectTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let by = cx.feature_config::<Self>(b);
        let source = F::Header::view_at(b.data(), 0).map(IpHeader::src);
        let table = source.and_then(|source| self.table(by, source, cx.turn));
        if let Some(table) = table {
            b.flags.insert(Flags::TABLE);
            b.tx_if = table;
        }
        if TRACED {
            cx.trace(b, SelectTrace { source: source.map(Into::into), by, table });
        }
        To::Next
    }
}
