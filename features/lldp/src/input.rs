// SPDX-License-Identifier: Apache-2.0
//! `lldp-input`: reads a neighbour's data unit.

use crate::port::{Lldp, WAITING};
use crate::tlv;
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, ThreadIndex, Trace, World};
use std::fmt;
use std::sync::Arc;

pub struct LldpInput {
    lldp: Arc<Lldp>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The neighbour was noted.
    #[free]
    Noted,
    /// neighbours noted.
    #[count]
    #[counter("good lldp packets (processed)")]
    Good,
    /// LLDP isn't enabled on the interface.
    #[drop]
    #[counter("lldp packets received on disabled interfaces")]
    Disabled,
    /// data unit isn't well-formed.
    #[drop]
    #[counter("lldp packets with bad TLVs")]
    Malformed,
    /// control is too far behind to take note.
    #[drop]
    Busy,
}

#[derive(Clone, Copy)]
pub struct LldpTrace(Head);

impl Trace for LldpTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LLDP ")?;
        self.0.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Build for LldpInput {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { lldp: world.get() }
    }
}

impl Node for LldpInput {
    const NAME: &'static str = "lldp-input";
    type Next = To;
    type Trace = LldpTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, LldpTrace(Head::of(b)));
        }
        let Some(mailbox) = self.lldp.mailbox(b.rx_if, cx.turn) else { return To::Disabled };
        // A full mailbox is looked at first: the data unit isn't read then, and control isn't
        // woken.
        if mailbox.len() >= WAITING {
            return To::Busy;
        }
        // A data unit of several buffers would be longer than a frame can be (clause 8.1).
        let Some(unit) = tlv::read(b.data()) else { return To::Malformed };
        if mailbox.post(unit).is_err() {
            return To::Busy;
        }
        self.lldp.notify();
        cx.count(To::Good, 1);
        To::Noted
    }
}
