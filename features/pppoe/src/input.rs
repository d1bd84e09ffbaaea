// SPDX-License-Identifier: Apache-2.0
//! `pppoe-input`: takes IP packets out of the frames of sessions.

use crate::dispatch::source;
use crate::header::{self, Bad, Header};
use crate::work::WorkTable;
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use std::fmt;
use std::sync::Arc;
use tunnel::{Flags, Onto, Receipt, Receiver};

pub struct PppoeInput {
    sessions: Arc<WorkTable>,
    receiver: Receiver,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("ip4-input")]
    Input4,
    #[next("ip6-input")]
    Input6,
    /// The first feature of the session's interface.
    #[dynamic]
    Feature(NodeIndex),
    /// Other protocols than IP.
    #[next("pppoe-cp-dispatch")]
    ControlPlane,
    /// good packets decapsulated
    #[count]
    #[counter("good packets decapsulated")]
    Decapsulated,
    /// packets to the control plane
    #[count]
    #[counter("control plane packet")]
    Control,
    /// version or type isn't 1
    #[drop]
    #[counter("bad version and type in pppoe header")]
    Version,
    /// client has no session with this identifier
    #[drop]
    #[counter("no such sessions")]
    NoSession,
    /// code isn't that of the session stage
    #[drop]
    BadCode,
    /// client has this session at another interface
    #[drop]
    OtherInterface,
    /// session's interface is down
    #[drop]
    Down,
    /// frame shorter than its headers
    #[drop]
    TooShort,
    /// super-packets can't be taken out of sessions
    #[drop]
    Super,
    /// no buffer for a copy of what is left of a frame
    #[drop]
    NoBuffer,
}

tunnel::from_decap_error!(To, NoSession);

impl From<Bad> for To {
    fn from(why: Bad) -> Self {
        match why {
            Bad::TooShort => Self::TooShort,
            Bad::Version => Self::Version,
        }
    }
}

#[derive(Clone, Copy)]
pub struct InputTrace {
    header: Option<Header>,
    protocol: u16,
    instance: Option<u32>,
}

impl Trace for InputTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Header { session, len, .. }) = self.header else {
            return f.write_str("PPPoE: bad header");
        };
        match self.instance {
            Some(instance) => write!(f, "PPPoE decap from pppoe_session{instance}")?,
            None => f.write_str("PPPoE: no session")?,
        }
        write!(f, " session_id {session} protocol 0x{:04x} length {len}", self.protocol)
    }
}

impl Build for PppoeInput {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { sessions: world.get(), receiver: Receiver::new(world, thread) }
    }
}

impl Node for PppoeInput {
    const NAME: &'static str = "pppoe-input";
    type Next = To;
    type Trace = InputTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let turn = cx.turn;
        let header = Header::of(b);
        let protocol = header.ok().and_then(|header| header.protocol(b));
        let work = match (header, source(b)) {
            (Ok(header), Some(mac)) => self.sessions.find(mac, header.session, turn).copied(),
            _ => None,
        };
        if TRACED {
            let (protocol, instance) = (protocol.unwrap_or(0), work.map(|work| work.instance));
            cx.trace(b, InputTrace { header: header.ok(), protocol, instance });
        }
        let header = match header {
            Ok(header) => header,
            Err(why) => return why.into(),
        };
        // RFC 2516 6.
        if header.code != header::SESSION {
            return To::BadCode;
        }
        let (to, onto) = match protocol {
            Some(header::IP4) => (To::Input4, Onto::Ip4),
            Some(header::IP6) => (To::Input6, Onto::Ip6),
            Some(_) => {
                cx.count(To::Control, 1);
                return To::ControlPlane;
            }
            None => return To::TooShort,
        };
        let Some(work) = work else { return To::NoSession };
        if work.encap != b.rx_if {
            return To::OtherInterface;
        }
        // Bytes behind the payload fill the shortest frame.
        if !b.trim_packet(header::LEN + header.len, cx.cache()) {
            return To::NoBuffer;
        }
        let receipt = Receipt { sw_if: work.sw_if, counts: work.sw_if, is_frame: false };
        let headers = header::LEN + header::PROTOCOL;
        match self.receiver.receive(b, receipt, Flags::default(), headers, 0, turn) {
            Ok(()) => {
                cx.count(To::Decapsulated, 1);
                self.receiver.first_feature(b, onto, cx).map_or(to, To::Feature)
            }
            Err(why) => why.into(),
        }
    }
}
