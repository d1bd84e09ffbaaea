// SPDX-License-Identifier: Apache-2.0
//! `p2p-ethernet-input`: frames from clients are their sub-interfaces'.

use crate::control::Clients;
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::FrameInput;
use std::fmt;
use std::sync::Arc;
use wire::MacAddr;

pub struct P2pInput {
    clients: Arc<Clients>,
    input: FrameInput,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The first feature of the sub-interface, or `ethernet-input`.
    #[dynamic]
    Client(NodeIndex),
    /// The port's next feature.
    #[next_feature]
    Port,
    /// frames from clients
    #[count]
    #[counter("P2P ethernet incoming packets processed")]
    Processed,
}

#[derive(Clone, Copy)]
pub struct P2pTrace {
    source: MacAddr,
    port: u32,
    rx_if: u32,
}

impl Trace for P2pTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, port, rx_if } = self;
        write!(f, "P2P ethernet: {source} on sw_if_index {port} -> sw_if_index {rx_if}")
    }
}

impl Build for P2pInput {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { clients: world.get(), input: FrameInput::new(world, thread) }
    }
}

impl Node for P2pInput {
    const NAME: &'static str = "p2p-ethernet-input";
    const HOT: bool = true;
    type Next = To;
    type Trace = P2pTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let source = b.bytes::<6>(6).map_or(MacAddr::ZERO, |mac| MacAddr(*mac));
        let port = b.rx_if;
        let client = self.clients.find(port, source, cx.turn);
        if TRACED {
            let rx_if = client.unwrap_or(port);
            cx.trace(b, P2pTrace { source, port, rx_if });
        }
        let Some(client) = client else { return To::Port };
        b.rx_if = client;
        cx.count(To::Processed, 1);
        To::Client(self.input.receive(b, cx))
    }
}
