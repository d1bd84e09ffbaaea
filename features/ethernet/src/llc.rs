// SPDX-License-Identifier: Apache-2.0
//! `llc-input` and `snap-input`: 802.3 frames, by their 802.2 service access point and their SNAP
//! protocol.

use crate::types::Types;
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use std::fmt;
use std::sync::Arc;
use wire::{Header, Llc, Snap};

/// `llc-input`. Packets start at the frame's length field.
pub struct LlcInput;

#[derive(Next, Clone, Copy)]
pub enum LlcTo {
    #[next("snap-input")]
    Snap,
    /// no error.
    #[count]
    #[counter("no error")]
    #[allow(dead_code, reason = "monitoring systems read it, and it stays 0")]
    NoError,
    /// 802.3 frame is shorter than its length field says, or than an LLC header.
    #[drop]
    TooShort,
    /// no feature takes this service access point.
    #[drop]
    #[counter("unknown llc ssap/dsap")]
    UnknownSap,
    /// LLC frame is not unnumbered information.
    #[drop]
    #[counter("control != 0x3")]
    Control,
}

/// The 802.2 header.
#[derive(Clone, Copy)]
pub struct LlcTrace(Option<Llc>);

impl Trace for LlcTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Llc { dsap, ssap, control }) => {
                write!(f, "LLC {ssap:#04x} -> {dsap:#04x}, control {control:#04x}")
            }
            None => f.write_str("LLC, cut off"),
        }
    }
}

impl Build for LlcInput {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

/// Takes the length field and the padding off. False if the frame is shorter than the field says.
fn unpad<const TRACED: bool>(b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> bool {
    let Some(length) = b.bytes::<2>(0).map(|length| usize::from(u16::from_be_bytes(*length)))
    else {
        return false;
    };
    b.pull(2) && b.packet_len() >= length && b.trim_packet(length, cx.cache())
}

impl Node for LlcInput {
    const NAME: &'static str = "llc-input";
    type Next = LlcTo;
    type Trace = LlcTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> LlcTo {
        let is_whole = unpad(b, cx);
        let header = Llc::view(b.data()).copied().filter(|_| is_whole);
        if TRACED {
            cx.trace(b, LlcTrace(header));
        }
        match header {
            None => LlcTo::TooShort,
            Some(Llc { dsap: Llc::SNAP_SAP, ssap: Llc::SNAP_SAP, control: 3 })
                if b.pull(Llc::LEN) =>
            {
                LlcTo::Snap
            }
            Some(Llc { dsap: Llc::SNAP_SAP, ssap: Llc::SNAP_SAP, .. }) => LlcTo::Control,
            Some(_) => LlcTo::UnknownSap,
        }
    }
}

/// `snap-input`. Packets start at the SNAP header.
pub struct SnapInput {
    types: Arc<Types>,
}

#[derive(Next, Clone, Copy)]
pub enum SnapTo {
    #[dynamic]
    Node(NodeIndex),
    /// no error.
    #[count]
    #[counter("no error")]
    #[allow(dead_code, reason = "monitoring systems read it, and it stays 0")]
    NoError,
    /// frame is shorter than a SNAP header.
    #[drop]
    TooShort,
    /// no feature takes this SNAP protocol.
    #[drop]
    #[counter("unknown oui/snap protocol")]
    Unknown,
}

/// The SNAP header.
#[derive(Clone, Copy)]
pub struct SnapTrace(Head);

impl Trace for SnapTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Snap::view(self.0.bytes()) {
            Some(Snap { oui: [a, b, c], protocol }) => {
                write!(f, "SNAP oui {a:02x}{b:02x}{c:02x}, protocol {:#06x}", protocol.get())
            }
            None => f.write_str("SNAP, cut off"),
        }
    }
}

impl Build for SnapInput {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { types: world.get() }
    }
}

impl Node for SnapInput {
    const NAME: &'static str = "snap-input";
    type Next = SnapTo;
    type Trace = SnapTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> SnapTo {
        if TRACED {
            cx.trace(b, SnapTrace(Head::of(b)));
        }
        let Some(header) = Snap::view(b.data()) else { return SnapTo::TooShort };
        match self.types.get(cx.turn).find_snap((header.oui, header.protocol.get())) {
            Some(node) if b.pull(Snap::LEN) => SnapTo::Node(node),
            _ => SnapTo::Unknown,
        }
    }
}
