// SPDX-License-Identifier: Apache-2.0
//! `cdp-input`: reads a neighbour's packet.

use crate::pdu::{self, PduError};
use crate::port::Cdp;
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, ThreadIndex, Trace, World};
use std::fmt;
use std::sync::Arc;

pub struct CdpInput {
    cdp: Arc<Cdp>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The neighbour was noted.
    #[free]
    Noted,
    /// packets whose bytes differ from the port's last one.
    #[count]
    #[counter("good cdp packets (processed)")]
    Good,
    /// packets with the bytes of the port's last one.
    #[count]
    #[counter("good cdp packets (cache hit)")]
    Same,
    /// CDP isn't enabled, or not on interfaces of this kind.
    #[drop]
    #[counter("cdp packets received on disabled interfaces")]
    Disabled,
    /// version is neither 1 nor 2.
    #[drop]
    #[counter("cdp packets with bad protocol versions")]
    Version,
    /// checksum is wrong.
    #[drop]
    #[counter("cdp packets with bad checksums")]
    Checksum,
    /// an element is shorter than its head or ends behind the packet.
    #[drop]
    #[counter("cdp packets with bad TLVs")]
    BadTlv,
    /// control is too far behind to take note.
    #[drop]
    Busy,
}

#[derive(Clone, Copy)]
pub struct CdpTrace(Head);

impl Trace for CdpTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(unit) = pdu::peek(self.0.bytes()) else { return f.write_str("CDP, cut off") };
        write!(f, "CDP version {}, ttl(secs) {}", unit.version, unit.ttl)?;
        if !unit.device.is_empty() {
            write!(f, ", device {}", unit.device.display())?;
        }
        if !unit.port.is_empty() {
            write!(f, ", port {}", unit.port.display())?;
        }
        Ok(())
    }
}

impl Build for CdpInput {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { cdp: world.get() }
    }
}

impl Node for CdpInput {
    const NAME: &'static str = "cdp-input";
    type Next = To;
    type Trace = CdpTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, CdpTrace(Head::of(b)));
        }
        let Some(port) = self.cdp.port(b.rx_if, cx.turn) else { return To::Disabled };
        // A full mailbox is looked at first: the packet isn't read then, and control isn't woken.
        if port.is_full() {
            return To::Busy;
        }
        // A packet of several buffers would be longer than an 802.3 frame can be: its checksum
        // isn't that of the first one.
        let unit = match pdu::read(b.data()) {
            Ok(unit) => unit,
            Err(PduError::Version) => return To::Version,
            Err(PduError::Checksum) => return To::Checksum,
            Err(PduError::Element) => return To::BadTlv,
        };
        let is_same = port.note_bytes(b.data());
        if !port.post(unit) {
            return To::Busy;
        }
        self.cdp.notify();
        cx.count(if is_same { To::Same } else { To::Good }, 1);
        To::Noted
    }
}
