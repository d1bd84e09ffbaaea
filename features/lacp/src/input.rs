// SPDX-License-Identifier: Apache-2.0
//! `lacp-input`: data units of slow protocols.

use crate::control::{Ports, WAITING};
use crate::pdu::{self, MARKER_RESPONSE, MARKER_TYPE, Participant, PduError, SlowPdu};
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::{IfView, Interfaces};
use std::fmt;
use std::sync::Arc;

pub struct LacpInput {
    ports: Arc<Ports>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// An answer to a marker: the output of the interface that it came by.
    #[dynamic]
    Answer(NodeIndex),
    /// The data unit waits in the member's mailbox.
    #[free]
    Noted,
    /// data units that control reads
    #[count]
    #[counter("good lacp packets -- consumed")]
    Good,
    /// markers that were answered
    #[count]
    Marker,
    /// data units of another partner than the bond's
    #[count]
    #[counter("Bad key")]
    BadKey,
    /// LACP isn't enabled on the interface
    #[drop]
    #[counter("lacp packets received on disabled interfaces")]
    Disabled,
    /// slow protocol isn't LACP or the marker protocol
    #[drop]
    #[counter("unsupported slow protocol packets")]
    Unsupported,
    /// data unit has another TLV than it should have, or one of another length
    #[drop]
    #[counter("bad lacp packets -- bad TLV length")]
    TlvLength,
    /// data unit is too short
    #[drop]
    #[counter("bad lacp packets -- packet too small")]
    TooSmall,
    /// data unit comes from this system: the link leads back
    #[drop]
    #[counter("loopback port")]
    Loopback,
    /// control reads too slowly, or the member received more than 10 data units in a second
    #[drop]
    Busy,
}

/// The data unit, or its fault.
#[derive(Clone, Copy)]
pub struct LacpTrace(Result<SlowPdu, PduError>);

fn show(f: &mut fmt::Formatter<'_>, name: &str, p: &Participant) -> fmt::Result {
    write!(
        f,
        "\n{name}: system {} priority {}, key {}, port {} priority {}, state 0x{:02x}",
        p.system,
        p.system_priority,
        p.key,
        p.port,
        p.port_priority,
        p.state.bits()
    )
}

impl Trace for LacpTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(SlowPdu::Lacp(pdu)) => {
                f.write_str("LACPDU")?;
                show(f, "Actor Information TLV", &pdu.actor)?;
                show(f, "Partner Information TLV", &pdu.partner)
            }
            Ok(SlowPdu::Marker) => f.write_str("Marker Information TLV:"),
            Err(bad) => write!(f, "bad data unit: {bad:?}"),
        }
    }
}

impl Build for LacpInput {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { ports: world.get(), interfaces: world.get() }
    }
}

/// Makes the answer of a marker: the same data unit with another type, from this station (IEEE
/// 802.1AX-2014 6.5.4). False if the frame has no header in front.
fn answer(b: &mut Buffer, view: &IfView) -> bool {
    let header = b.l2_len();
    let Some(kind) = b.bytes_mut::<1>(MARKER_TYPE) else { return false };
    *kind = [MARKER_RESPONSE];
    if header < 14 || !b.rewind(header) {
        return false;
    }
    let Some(addresses) = b.bytes_mut::<12>(0) else { return false };
    addresses[..6].copy_from_slice(&pdu::GROUP.octets());
    addresses[6..].copy_from_slice(&view.mac.octets());
    b.flags.remove(Flags::L2_MULTICAST | Flags::L2_BROADCAST);
    true
}

impl Node for LacpInput {
    const NAME: &'static str = "lacp-input";
    type Next = To;
    type Trace = LacpTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        // A data unit of several buffers would be longer than a frame can be.
        let read = pdu::read(b.data());
        if TRACED {
            cx.trace(b, LacpTrace(read));
        }
        let Some(listener) = self.ports.listener(b.rx_if, cx.turn) else { return To::Disabled };
        match read {
            Err(PduError::TooSmall) => To::TooSmall,
            Err(PduError::TlvLength) => To::TlvLength,
            Err(PduError::Unsupported) => To::Unsupported,
            Ok(SlowPdu::Marker) => {
                let view = self.interfaces.views(cx.turn).get(b.rx_if as usize);
                let Some(view) = view.filter(|view| answer(b, view)) else { return To::TooSmall };
                cx.count(To::Marker, 1);
                b.tx_if = b.rx_if;
                To::Answer(view.output)
            }
            Ok(SlowPdu::Lacp(pdu)) => {
                if pdu.actor.system == listener.system {
                    return To::Loopback;
                }
                if listener.partner.is_some_and(|partner| partner != pdu.actor.lag()) {
                    cx.count(To::BadKey, 1);
                }
                // A full mailbox is looked at first, since posting to it would wake control each
                // time.
                if listener.received.len() >= WAITING || listener.received.post(pdu).is_err() {
                    return To::Busy;
                }
                self.ports.notify();
                cx.count(To::Good, 1);
                To::Noted
            }
        }
    }
}
