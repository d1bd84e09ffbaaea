// SPDX-License-Identifier: Apache-2.0
//! Data units of slow protocols: LACPDUs (IEEE 802.1AX-2014 6.4.2) and marker PDUs (6.5.3).

use bitflags::bitflags;
use wire::{EtherType, MacAddr};

/// The group that slow protocols are sent to. Bridges don't forward it (IEEE 802.3 57A.3).
pub const GROUP: MacAddr = MacAddr([1, 0x80, 0xc2, 0, 0, 2]);
/// Bytes of a data unit behind the Ethernet header, reserved ones included.
pub const LEN: usize = 110;
/// Bytes of an Ethernet header.
const HEADER: usize = 14;

/// Subtypes of slow protocols (IEEE 802.3 57A.4).
const LACP: u8 = 1;
const MARKER: u8 = 2;
/// Types and lengths of TLVs: actor, partner and collector information of an LACPDU, marker
/// information of a marker PDU.
const ACTOR: [u8; 2] = [1, 20];
const PARTNER: [u8; 2] = [2, 20];
const COLLECTOR: [u8; 2] = [3, 16];
const TERMINATOR: [u8; 2] = [0, 0];
const MARKER_INFORMATION: [u8; 2] = [1, 16];
/// The offset of a marker PDU's TLV type, and the type of an answer.
pub const MARKER_TYPE: usize = 2;
pub const MARKER_RESPONSE: u8 = 2;

bitflags! {
    /// `Actor_State`, `Partner_State` (6.4.2.3).
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct State: u8 {
        /// LACP activity: sends even if the partner is passive.
        const ACTIVITY = 1;
        /// Short timeout: requests a data unit each second.
        const SHORT_TIMEOUT = 2;
        /// The link can be aggregated.
        const AGGREGATION = 4;
        /// The link is in the right aggregation.
        const SYNCHRONIZATION = 8;
        /// Received frames are collected.
        const COLLECTING = 16;
        /// Frames are distributed.
        const DISTRIBUTING = 32;
        /// The sender uses default values for the partner.
        const DEFAULTED = 64;
        /// The sender hasn't received a data unit in time.
        const EXPIRED = 128;
    }
}

impl State {
    /// Names of the bits, the highest one first.
    pub const NAMES: [(Self, &'static str); 8] = [
        (Self::EXPIRED, "exp"),
        (Self::DEFAULTED, "def"),
        (Self::DISTRIBUTING, "dis"),
        (Self::COLLECTING, "col"),
        (Self::SYNCHRONIZATION, "syn"),
        (Self::AGGREGATION, "agg"),
        (Self::SHORT_TIMEOUT, "tim"),
        (Self::ACTIVITY, "act"),
    ];
}

/// One end of a link, actor or partner, as a data unit describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Participant {
    pub system_priority: u16,
    pub system: MacAddr,
    pub key: u16,
    pub port_priority: u16,
    pub port: u16,
    pub state: State,
}

/// One end's part of the identifier of an aggregation (6.3.6.1): links with equal parts at both
/// ends may be aggregated. That of a link that can't be aggregated contains its port, so it is
/// equal to no other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lag {
    system: (u16, MacAddr),
    key: u16,
    individual: Option<(u16, u16)>,
}

impl Participant {
    /// This end's part of the aggregation's identifier.
    pub fn lag(&self) -> Lag {
        let alone = !self.state.contains(State::AGGREGATION);
        Lag {
            system: (self.system_priority, self.system),
            key: self.key,
            individual: alone.then_some((self.port_priority, self.port)),
        }
    }

    /// All fields but the state.
    pub fn names(&self) -> (u16, MacAddr, u16, u16, u16) {
        (self.system_priority, self.system, self.key, self.port_priority, self.port)
    }

    fn write(&self, out: &mut Vec<u8>, tlv: [u8; 2]) {
        out.extend(tlv);
        out.extend(self.system_priority.to_be_bytes());
        out.extend(self.system.octets());
        for field in [self.key, self.port_priority, self.port] {
            out.extend(field.to_be_bytes());
        }
        out.extend([self.state.bits(), 0, 0, 0]);
    }

    fn read(tlv: &[u8; 20]) -> Self {
        let field = |at: usize| u16::from_be_bytes([tlv[at], tlv[at + 1]]);
        let [_, _, _, _, a, b, c, d, e, f, ..] = *tlv;
        Self {
            system_priority: field(2),
            system: MacAddr([a, b, c, d, e, f]),
            key: field(10),
            port_priority: field(12),
            port: field(14),
            state: State::from_bits_retain(tlv[16]),
        }
    }
}

/// An LACPDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu {
    /// Its sender.
    pub actor: Participant,
    /// The receiver, as the sender knows it.
    pub partner: Participant,
}

/// A data unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlowPdu {
    Lacp(Pdu),
    /// Marker information, which gets an answer.
    Marker,
}

/// Faults of data units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PduError {
    TooSmall,
    TlvLength,
    /// Another slow protocol, or an answer to a marker that wasn't sent.
    Unsupported,
}

/// Reads the bytes behind the Ethernet header.
pub fn read(data: &[u8]) -> Result<SlowPdu, PduError> {
    match data.first() {
        None => return Err(PduError::TooSmall),
        Some(&(LACP | MARKER)) => {}
        Some(_) => return Err(PduError::Unsupported),
    }
    let unit = data.first_chunk::<LEN>().ok_or(PduError::TooSmall)?;
    let tlv = |at: usize| [unit[at], unit[at + 1]];
    if unit[0] == MARKER {
        return match tlv(MARKER_TYPE) {
            MARKER_INFORMATION => Ok(SlowPdu::Marker),
            [MARKER_RESPONSE, _] => Err(PduError::Unsupported),
            _ => Err(PduError::TlvLength),
        };
    }
    // A later version has the TLVs of version 1 at the same places (6.4.2.3 b).
    if unit[1] == 0 {
        return Err(PduError::Unsupported);
    }
    if [tlv(2), tlv(22), tlv(42)] != [ACTOR, PARTNER, COLLECTOR] {
        return Err(PduError::TlvLength);
    }
    let party = |at: usize| {
        let mut bytes = [0; 20];
        bytes.copy_from_slice(&unit[at..at + 20]);
        Participant::read(&bytes)
    };
    Ok(SlowPdu::Lacp(Pdu { actor: party(2), partner: party(22) }))
}

/// A frame from this station.
pub fn frame(source: MacAddr, pdu: &Pdu) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER + LEN);
    out.extend(GROUP.octets());
    out.extend(source.octets());
    out.extend(EtherType::SLOW.0.to_be_bytes());
    out.extend([LACP, 1]);
    pdu.actor.write(&mut out, ACTOR);
    pdu.partner.write(&mut out, PARTNER);
    out.extend(COLLECTOR);
    // CollectorMaxDelay: frames are delivered at once. Then the reserved bytes.
    out.extend([0; 14]);
    out.extend(TERMINATOR);
    out.resize(HEADER + LEN, 0);
    out
}
