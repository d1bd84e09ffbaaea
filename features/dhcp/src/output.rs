// SPDX-License-Identifier: Apache-2.0
//! `ip4-dhcp-client-output`, `ip6-dhcp-client-output`: frames of clients leave along the arc
//! `ip4-output` or `ip6-output`, as forwarded packets do: access lists and marks apply to them.

use buffer::{Buffer, Flags};
use cli::{Error, Result, retval};
use graph::{ArcIndex, Build, Cx, Next, Node, NodeIndex, SwIfIndex, ThreadIndex, World, filled};
use net::{IfKind, Interface, Interfaces, Net};
use stats::Simple;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use wire::{Ethernet, Header};

/// `ip4-dhcp-client-output` or `ip6-dhcp-client-output`.
pub struct ClientOutput<F> {
    interfaces: Arc<Interfaces>,
    arc: Option<ArcIndex>,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The first feature, or the interface's output.
    #[dynamic]
    Node(NodeIndex),
    /// the client's interface is gone
    #[drop]
    Gone,
}

#[derive(Clone, Copy)]
pub struct OutputTrace(u32);

impl graph::Trace for OutputTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DHCP client: sent by sw_if_index {}", self.0)
    }
}

impl<F: Net> Build for ClientOutput<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        let arc = world.arc(&filled("{ip}-output", F::IS_V6));
        Self { interfaces: world.get(), arc, version: PhantomData }
    }
}

impl<F: Net> Node for ClientOutput<F> {
    const NAME: &'static str = "{ip}-dhcp-client-output";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = OutputTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        cx.trace(b, OutputTrace(b.tx_if));
        let Some(view) = self.interfaces.views(cx.turn).get(b.tx_if as usize) else {
            return To::Gone;
        };
        let first = self.arc.and_then(|arc| cx.start_arc(arc, b.tx_if, b));
        To::Node(first.unwrap_or(view.output))
    }
}

/// The interface, if clients can be there.
///
/// # Errors
/// An interface that isn't there (−2) or carries no Ethernet frames (−151).
pub fn ethernet(world: &World, sw_if: SwIfIndex) -> Result<Interface> {
    let interface = world.get::<Interfaces>().get(sw_if)?;
    if interface.kind != IfKind::Ethernet {
        let why = format!("{} carries no Ethernet frames", interface.name);
        return Err(Error::unsupported(why).retval(retval::NON_ETHERNET));
    }
    Ok(interface)
}

/// Sends a frame of an IP version by an interface, from the main thread. A frame that finds no
/// buffer is counted for the interface in `unsent`.
pub fn send<F: Net>(world: &World, sw_if: SwIfIndex, frame: Vec<u8>, unsent: &Simple) {
    let node = filled(ClientOutput::<F>::NAME, F::IS_V6);
    inject(world, &node, sw_if, frame, unsent, move |b| {
        let pulled = b.pull(Ethernet::LEN);
        b.mark_l3();
        let rewound = b.rewind(Ethernet::LEN);
        debug_assert!(pulled && rewound, "a frame has its header");
        b.tx_if = sw_if.0;
    });
}

/// Brings a packet of a client in at a node, on the main thread, once `prepare` has set what the
/// node reads.
pub fn inject(
    world: &World,
    node: &str,
    sw_if: SwIfIndex,
    packet: Vec<u8>,
    unsent: &Simple,
    prepare: impl FnOnce(&mut Buffer) + Send + 'static,
) {
    let Some(node) = world.node(node) else { return };
    let main = ThreadIndex(0);
    let unsent = unsent.lane(main.at());
    world.on_thread(main, move |rt| {
        let Some(mut b) = rt.cache().alloc_own() else {
            unsent.add(sw_if.at(), 1);
            return;
        };
        if !b.append_bytes(&packet, rt.cache()) {
            unsent.add(sw_if.at(), 1);
            rt.cache().free(b);
            return;
        }
        (b.rx_if, b.flow_hash) = (0, 0);
        b.flags.insert(Flags::LOCAL.union(Flags::IP4_CSUM_OK).union(Flags::L4_CSUM_OK));
        prepare(&mut b);
        rt.inject(node, b);
    });
}
