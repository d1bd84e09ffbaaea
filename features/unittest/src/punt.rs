// SPDX-License-Identifier: Apache-2.0
//! `test punt`: what a feature does that punts packets for a reason of its own, and what clients do
//! that take them.

use ::punt::{name_reason, reasons, set_client};
use buffer::{Buffer, Flags};
use cli::{Error, Matches, Output};
use graph::{
    Build, Cx, Deleted, Next, Node, NodeIndex, Shared, SwIfIndex, ThreadIndex, World, filled,
};
use ip::{Ip, IpTrace};
use net::{AdjIndex, Adjacencies, Interfaces, IpMeta};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use wire::{Header, Ip4, Ip6, IpHeader};

/// Packets that are punted: from the first of these addresses to the second.
const FOUR: [Ipv4Addr; 2] = [Ipv4Addr::new(1, 1, 1, 1), Ipv4Addr::new(1, 1, 1, 2)];
const SIX: [Ipv6Addr; 2] =
    [Ipv6Addr::new(1, 0, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(1, 0, 0, 0, 0, 0, 0, 2)];

/// `punt-test-ip4`, `punt-test-ip6`: a feature that punts some packets.
pub struct Feature<F>(PhantomData<F>);

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum FeatureTo {
    #[next_feature]
    Next,
    /// packets that a test punts
    #[punt]
    Test,
}

impl<F> Build for Feature<F> {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self(PhantomData)
    }
}

impl<F: Ip> Node for Feature<F> {
    const NAME: &'static str = "punt-test-{ip}";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = FeatureTo;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> FeatureTo {
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        let ends = F::Header::view(b.data()).map(|ip| [ip.src().into(), ip.dst().into()]);
        let wanted = if F::IS_V6 { SIX.map(IpAddr::V6) } else { FOUR.map(IpAddr::V4) };
        if ends == Some(wanted) { FeatureTo::Test } else { FeatureTo::Next }
    }
}

/// Clients of each version.
const CLIENTS: usize = 2;

/// The adjacencies by which clients send what they receive.
pub struct ClientOutputs<F> {
    outputs: [AtomicU32; CLIENTS],
    family: PhantomData<F>,
}

impl<F: Ip> Shared for ClientOutputs<F> {
    fn make(_: &World) -> Self {
        Self { outputs: [const { AtomicU32::new(AdjIndex::DROP.0) }; CLIENTS], family: PhantomData }
    }

    /// Clients that send by an interface are free again.
    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(sw_if) = deleted.of::<SwIfIndex>() else { return };
        let adjacencies = world.get::<Adjacencies>();
        for (at, output) in self.outputs.iter().enumerate() {
            let adj = AdjIndex(output.load(Ordering::Relaxed));
            if adj != AdjIndex::DROP
                && adjacencies.info(adj).is_some_and(|info| info.adj.tx_if == sw_if.0)
            {
                // Can't fail: node and reason are there as long as the plugin is.
                let _ = subscribe::<F>(world, at, false);
                output.store(AdjIndex::DROP.0, Ordering::Relaxed);
                adjacencies.release(adj);
            }
        }
    }
}

/// `punt-client-0-ip4` and so on: sends what was punted to a neighbour, as it is.
pub struct Client<F, const AT: usize> {
    outputs: Arc<ClientOutputs<F>>,
    adjacencies: Arc<Adjacencies>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
#[allow(
    dead_code,
    reason = "packets go by the adjacency's own node; the picture of the graph shows this"
)]
pub enum ClientTo {
    #[dynamic]
    Node(NodeIndex),
    #[next("{ip}-rewrite")]
    Rewrite,
    /// the test's neighbour is gone
    #[drop]
    Gone,
}

impl<F: Ip, const AT: usize> Build for Client<F, AT> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { outputs: world.get(), adjacencies: world.get() }
    }
}

impl<F: Ip, const AT: usize> Node for Client<F, AT> {
    const NAME: &'static str = if AT == 0 { "punt-client-0-{ip}" } else { "punt-client-1-{ip}" };
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = ClientTo;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> ClientTo {
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        let output = AdjIndex(self.outputs.outputs[AT].load(Ordering::Relaxed));
        let Some(adj) = self.adjacencies.get(output, cx.turn) else { return ClientTo::Gone };
        b.set_scratch(IpMeta::of(output, 0));
        // No hop counts.
        b.flags.insert(Flags::LOCAL);
        ClientTo::Node(adj.next)
    }
}

/// Names the reasons.
pub fn start(world: &World) -> Result<(), String> {
    name_reason(world, "punt-test-ip4", "test", reason_name::<Ip4>())?;
    name_reason(world, "punt-test-ip6", "test", reason_name::<Ip6>())
}

fn reason_name<F: Ip>() -> &'static str {
    if F::IS_V6 { "reason-v6" } else { "reason-v4" }
}

pub fn test(world: &World, m: &Matches) -> Result<Output, Error> {
    let interfaces = world.get::<Interfaces>();
    let sw_if = interfaces.find(m.str("interface")).map_err(m.at("interface"))?;
    let Some(nexthop) = m.opt::<IpAddr>("address")? else {
        for v6 in [false, true] {
            let (arc, node) = (filled("{ip}-unicast", v6), filled("punt-test-{ip}", v6));
            world.set_feature(&arc, &node, sw_if, true).map_err(Error::unsupported)?;
        }
        return Ok(Output::empty());
    };
    let adj = world.get::<Adjacencies>().neighbor(world, sw_if, nexthop)?;
    let found = if nexthop.is_ipv6() { take::<Ip6>(world, adj) } else { take::<Ip4>(world, adj) };
    found.inspect_err(|_| world.get::<Adjacencies>().release(adj))?;
    Ok(Output::empty())
}

/// The next free client sends packets there.
fn take<F: Ip>(world: &World, adj: AdjIndex) -> Result<(), Error> {
    let outputs = world.get::<ClientOutputs<F>>();
    let free = outputs
        .outputs
        .iter()
        .position(|output| output.load(Ordering::Relaxed) == AdjIndex::DROP.0);
    let full =
        || Error::limit(format!("a test has {CLIENTS} clients of IPv{} already", F::VERSION));
    let at = free.ok_or_else(full)?;
    outputs.outputs[at].store(adj.0, Ordering::Relaxed);
    subscribe::<F>(world, at, true)
}

/// Sends packets of the reason to a client, or no longer.
fn subscribe<F: Ip>(world: &World, at: usize, on: bool) -> Result<(), Error> {
    let name = reason_name::<F>();
    let reason = reasons(world).into_iter().find(|reason| reason.name == name);
    let id = reason
        .map(|reason| reason.id)
        .ok_or_else(|| Error::not_found(format!("no reason {name}")))?;
    set_client(world, id, &filled(&format!("punt-client-{at}-{{ip}}"), F::IS_V6), on)
        .map_err(Error::failed)
}
