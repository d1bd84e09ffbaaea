// SPDX-License-Identifier: Apache-2.0
//! `interface-rx-dpo-ip4`, `interface-rx-dpo-ip6`: packets that a route sends in again, as if
//! another interface had received them.
//!
//! This is a hop: two routes that send packets to each other's interfaces mustn't keep a thread
//! busy for ever.

use crate::family::{Ip, IpTrace};
use buffer::Buffer;
use cli::Error;
use graph::{Build, Cx, Next, Node, SwIfIndex, ThreadIndex, World, name_of};
use net::{Adjacencies, IfLanes, Interfaces, IpMeta, Link, ObjectInterface, ObjectType};
use std::marker::PhantomData;
use std::sync::Arc;
use wire::{Ip4, Ip6};

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

/// Interfaces as objects of paths: packets are received again by the interface.
pub static INTERFACE_RX: ObjectType = ObjectType {
    name: "interface-rx",
    words: "rx-{ip}",
    interface: Some(ObjectInterface::Receives),
    node: |world, link, sw_if| {
        world.get::<Interfaces>().check(SwIfIndex(sw_if))?;
        let name = match link {
            Link::IP4 => name_of::<InterfaceRx<Ip4>>(),
            Link::IP6 => name_of::<InterfaceRx<Ip6>>(),
            _ => return Err(Error::unsupported("packets of such routes are IP")),
        };
        world.node(name).ok_or_else(|| Error::unsupported("the node of such routes isn't there"))
    },
    describe: |world, sw_if| world.get::<Interfaces>().name(SwIfIndex(sw_if)),
    ..ObjectType::PLAIN
};
