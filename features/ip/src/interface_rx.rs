// SPDX-License-Identifier: Apache-2.0
//! `interface-rx-dpo-ip4`, `interface-rx-dpo-ip6`: packets that a route sends in again, as if another interface had received
//! them.
//!
//! This is a hop: two routes that send packets to each other's interfaces mustn't keep a thread busy for ever.

use crate::family::{Ip, IpTrace};
use buffer::Buffer;
use cli::Error;
use graph::{Build, Cx, Next, Node, ThreadIndex, World, name_of};
use net::{AdjIndex, Adjacencies, IfLanes, IpMeta, Link};
use std::marker::PhantomData;
use std::sync::Arc;

pub struct InterfaceRx<F> {
    adjacencies: Arc<Adjacencies>,
    counters: Arc<IfLanes>,
    ip: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("{ip}-input")]
    Input,
    /// {ip} adjacency is gone
    #[drop]
    NoAdjacency,
    /// {ip} {time to live|hop limit} ran out on the way through interfaces
    #[drop]
    Expired,
}

impl<F: Ip> Build for InterfaceRx<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { adjacencies: world.get(), counters: IfLanes::of(world, thread), ip: PhantomData }
    }
}

impl<F: Ip> Node for InterfaceRx<F> {
    const NAME: &'static str = "interface-rx-dpo-{ip}";
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = To;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        let meta: IpMeta = b.scratch();
        let Some(adj) = self.adjacencies.get(meta.adj(), cx.turn) else { return To::NoAdjacency };
        b.rx_if = adj.table;
        self.counters.rx.unicast(adj.table as usize, 1, b.packet_len() as u64);
        if F::pass(b) { To::Input } else { To::Expired }
    }
}

/// The adjacency of packets that go in by this interface.
pub fn take<F: Ip>(world: &World, sw_if: u32) -> Result<AdjIndex, Error> {
    let node = world.node(name_of::<InterfaceRx<F>>());
    let node = node.ok_or_else(|| Error::unsupported("the node of such routes isn't there"))?;
    Ok(world.get::<Adjacencies>().feature(F::LINK, node, sw_if))
}

/// As [`take`], for packets of a link.
pub fn taker(world: &World, link: Link, sw_if: u32) -> Result<AdjIndex, Error> {
    match link {
        Link::Ip4 => take::<wire::Ip4>(world, sw_if),
        Link::Ip6 => take::<wire::Ip6>(world, sw_if),
    }
}
