// SPDX-License-Identifier: Apache-2.0
//! `pppoe-cp-dispatch`: discovery and control packets of clients go to the control plane;
//! `pppoe-cp-input`: the control plane's go to the clients.

use crate::clients::{Client, Clients};
use crate::header::{self, Bad, Code, Header};
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::Interfaces;
use std::fmt;
use std::sync::Arc;
use wire::{EtherType, Ethernet, Header as _, MacAddr};

/// The source address of the frame around the packet.
#[inline(always)]
pub fn source(b: &mut Buffer) -> Option<MacAddr> {
    around(b).map(|(ethernet, _)| ethernet.src)
}

/// The Ethernet header of the frame around the packet, and the type behind its tags.
#[inline(always)]
fn around(b: &mut Buffer) -> Option<(Ethernet, EtherType)> {
    let l2 = b.l2_len();
    if l2 < Ethernet::LEN || !b.rewind(l2) {
        return None;
    }
    let ethernet = Ethernet::view(b.data()).copied();
    let ethertype = b.bytes::<2>(l2 - 2).map(|t| EtherType(u16::from_be_bytes(*t)));
    let pulled = b.pull(l2);
    debug_assert!(pulled);
    ethernet.zip(ethertype)
}

/// A packet between a client and the control plane.
#[derive(Clone, Copy)]
pub struct CpTrace {
    source: MacAddr,
    to: Option<u32>,
}

impl Trace for CpTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PPPoE control packet from {}", self.source)?;
        match self.to {
            Some(sw_if) => write!(f, " to sw_if_index {sw_if}"),
            None => f.write_str(" dropped"),
        }
    }
}

/// Sends packets of clients to the control plane.
pub struct CpDispatch {
    clients: Arc<Clients>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The output node of the control plane's interface.
    #[dynamic]
    Output(NodeIndex),
    /// packets to the control plane
    #[count]
    #[counter("control plane packet")]
    Control,
    /// version or type isn't 1
    #[drop]
    #[counter("bad version and type in pppoe header")]
    Version,
    /// no interface of a control plane is set
    #[drop]
    NoControlPlane,
    /// discovery packet that servers send
    #[drop]
    OfServer,
    /// discovery packet of a client with a session identifier
    #[drop]
    HasSession,
    /// source address isn't one host's
    #[drop]
    BadSource,
    /// frame shorter than its headers
    #[drop]
    TooShort,
    /// clients that control was too far behind to take note of
    #[count]
    Busy,
}

impl From<Bad> for To {
    fn from(why: Bad) -> Self {
        match why {
            Bad::TooShort => Self::TooShort,
            Bad::Version => Self::Version,
        }
    }
}

impl Build for CpDispatch {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { clients: world.get(), interfaces: world.get() }
    }
}

/// Checks a packet of a client; returns whether it makes the client known.
#[inline(always)]
fn check(b: &Buffer, ethertype: EtherType) -> Result<bool, To> {
    let header = Header::of(b)?;
    if ethertype == EtherType::PPPOE_SESSION {
        return Ok(header.protocol(b).is_some_and(header::is_control));
    }
    match Code::of(header.code) {
        // RFC 2516 5.1, 5.3: the session identifier is 0.
        Code::OfClient if header.session != 0 => Err(To::HasSession),
        Code::OfClient => Ok(true),
        Code::End => Ok(false),
        // RFC 2516 5.2, 5.4.
        Code::Other => Err(To::OfServer),
    }
}

impl CpDispatch {
    #[inline(always)]
    fn dispatch<const TRACED: bool>(&self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some((ethernet, ethertype)) = around(b) else { return To::TooShort };
        let learns = match check(b, ethertype) {
            Ok(learns) => learns,
            Err(why) => return why,
        };
        if ethernet.src.is_multicast() || ethernet.src.is_zero() {
            return To::BadSource;
        }
        let client = Client { mac: ethernet.src, sw_if: b.rx_if };
        if learns && !self.clients.report(client, cx.turn) {
            cx.count(To::Busy, 1);
        }
        let control_plane = self.clients.control_plane();
        let view = control_plane
            .and_then(|sw_if| Some((sw_if, self.interfaces.views(cx.turn).get(sw_if.at())?)));
        let Some((sw_if, view)) = view else { return To::NoControlPlane };
        // Without the tags of a sub-interface.
        let Some(frame) = b.push::<{ Ethernet::LEN }>() else { return To::TooShort };
        if let Some(header) = Ethernet::view_mut(frame) {
            *header = Ethernet::new(ethernet.src, ethernet.dst, ethertype);
        }
        b.mark_l2();
        b.flags.remove(Flags::VLAN);
        b.tx_if = sw_if.0;
        cx.count(To::Control, 1);
        To::Output(view.output)
    }
}

impl Node for CpDispatch {
    const NAME: &'static str = "pppoe-cp-dispatch";
    type Next = To;
    type Trace = CpTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let from = if TRACED { source(b) } else { None };
        let to = self.dispatch(b, cx);
        if TRACED {
            let sent = matches!(to, To::Output(_)).then_some(b.tx_if);
            cx.trace(b, CpTrace { source: from.unwrap_or(MacAddr::ZERO), to: sent });
        }
        to
    }
}

/// Sends packets of the control plane to clients.
pub struct CpInput {
    clients: Arc<Clients>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Onto {
    /// The output node of the client's interface.
    #[dynamic]
    Output(NodeIndex),
    /// Frames of other types.
    #[next_feature]
    Next,
    /// packets of the control plane
    #[count]
    #[counter("control plane packet")]
    Control,
    /// version or type isn't 1
    #[drop]
    #[counter("bad version and type in pppoe header")]
    Version,
    /// no client with this address was seen
    #[drop]
    UnknownClient,
    /// frame shorter than its headers
    #[drop]
    TooShort,
    /// control plane's interface is down
    #[drop]
    Down,
}

impl From<Bad> for Onto {
    fn from(why: Bad) -> Self {
        match why {
            Bad::TooShort => Self::TooShort,
            Bad::Version => Self::Version,
        }
    }
}

impl Build for CpInput {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { clients: world.get(), interfaces: world.get() }
    }
}

impl CpInput {
    #[inline(always)]
    fn to_client<const TRACED: bool>(&self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> Onto {
        let Some(&ethernet) = Ethernet::view(b.data()) else { return Onto::Next };
        if ![EtherType::PPPOE_DISCOVERY, EtherType::PPPOE_SESSION].contains(&ethernet.ethertype()) {
            return Onto::Next;
        }
        let views = self.interfaces.views(cx.turn);
        if !views.get(b.rx_if as usize).is_some_and(|view| view.is_up()) {
            return Onto::Down;
        }
        b.mark_l2();
        let pulled = b.pull(Ethernet::LEN);
        debug_assert!(pulled);
        let header = Header::of(b);
        let rewound = b.rewind(Ethernet::LEN);
        debug_assert!(rewound);
        if let Err(why) = header {
            return why.into();
        }
        let client = self.clients.find(ethernet.dst, cx.turn);
        let view = client.and_then(|sw_if| Some((sw_if, views.get(sw_if as usize)?)));
        let Some((sw_if, view)) = view else { return Onto::UnknownClient };
        if let Some(header) = Ethernet::view_mut(b.data_mut()) {
            header.src = view.mac;
        }
        b.tx_if = sw_if;
        cx.count(Onto::Control, 1);
        Onto::Output(view.output)
    }
}

impl Node for CpInput {
    const NAME: &'static str = "pppoe-cp-input";
    type Next = Onto;
    type Trace = CpTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> Onto {
        let source = b.bytes::<6>(6).map_or(MacAddr::ZERO, |mac| MacAddr(*mac));
        let to = self.to_client(b, cx);
        if TRACED && to != Onto::Next {
            let sent = matches!(to, Onto::Output(_)).then_some(b.tx_if);
            cx.trace(b, CpTrace { source, to: sent });
        }
        to
    }
}
