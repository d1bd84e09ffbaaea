// SPDX-License-Identifier: Apache-2.0
//! Common parts of the nodes that take messages.

use crate::check::{Checked, Fault, check};
use crate::local::{InterfaceAddresses, LocalAddresses};
use crate::trace::NdTrace;
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, ThreadIndex, World};
use net::{IfView, Interfaces};
use std::sync::Arc;
use wire::{Ethernet, Header, MacAddr};

/// The origin of a message: the receive interface, and its sender's station.
#[derive(Clone, Copy)]
pub struct MessageOrigin<'t> {
    pub sw_if: u32,
    /// The interface.
    pub view: IfView,
    /// The addresses that we answer for there.
    pub here: &'t InterfaceAddresses,
    /// The sender's station.
    pub source: MacAddr,
    pub now: u64,
}

/// State of all links that a node needs.
pub struct Links {
    interfaces: Arc<Interfaces>,
    local: Arc<LocalAddresses>,
}

impl Build for Links {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { interfaces: world.get(), local: world.get() }
    }
}

impl Links {
    /// Returns the origin of a packet that starts at its IPv6 header.
    #[inline(always)]
    pub fn origin<'t, const TRACED: bool>(
        &'t self,
        b: &mut Buffer,
        cx: &Cx<'t, TRACED>,
    ) -> Result<MessageOrigin<'t>, Fault> {
        let source = ethernet_source(b)?;
        let here = self.local.of(b.rx_if, cx.turn).ok_or(Fault::NotEnabled)?;
        let view = self.interfaces.views(cx.turn).get(b.rx_if as usize).unwrap_or_default();
        Ok(MessageOrigin { sw_if: b.rx_if, view, here, source, now: cx.now() })
    }
}

/// The source address of the frame around the packet.
#[inline(always)]
fn ethernet_source(b: &mut Buffer) -> Result<MacAddr, Fault> {
    let l2 = b.l2_len();
    if l2 < Ethernet::LEN || !b.rewind(l2) {
        return Err(Fault::NoHeader);
    }
    let source = Ethernet::view(b.data()).map(|e| e.src);
    let pulled = b.pull(l2);
    debug_assert!(pulled);
    source.ok_or(Fault::NoHeader)
}

/// Handler of messages of one type.
pub trait MessageHandler: Build + Send + 'static {
    /// The node's name.
    const NAME: &'static str;
    /// The fixed part of the message.
    type Message: Header;
    /// Next nodes of their packets.
    type To: Next + From<Fault>;
    /// Handles a message that is well-formed.
    fn handle(&mut self, m: &Checked<'_, Self::Message>, origin: &MessageOrigin<'_>) -> Self::To;
}

/// The node of a [`MessageHandler`].
pub struct HandlerNode<E> {
    links: Links,
    handler: E,
}

impl<E: MessageHandler> Build for HandlerNode<E> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { links: Links::build(world, thread), handler: E::build(world, thread) }
    }
}

impl<E: MessageHandler> Node for HandlerNode<E> {
    const NAME: &'static str = E::NAME;
    const DROP: &'static str = "ip6-drop";
    const PUNT: &'static str = "ip6-punt";
    type Next = E::To;
    type Trace = NdTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> E::To {
        if TRACED {
            cx.trace(b, NdTrace(Head::of(b)));
        }
        let origin = match self.links.origin(b, cx) {
            Ok(origin) => origin,
            Err(fault) => return fault.into(),
        };
        match check(b) {
            Ok(m) => self.handler.handle(&m, &origin),
            Err(fault) => fault.into(),
        }
    }
}
