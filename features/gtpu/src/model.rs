// SPDX-License-Identifier: Apache-2.0
//! The parameters of a GTP-U tunnel.

use cli::{Error, Result, retval};
use graph::SwIfIndex;
use tunnel::{HeaderMarking, Next, TunnelEndpoints};

/// A GTP-U tunnel.
#[derive(Clone, PartialEq, Debug)]
pub struct Gtpu {
    /// The ends. The other one may be a group.
    pub ends: TunnelEndpoints,
    /// The settings of outer headers.
    pub marks: HeaderMarking,
    /// The identifier in what is received.
    pub teid: u32,
    /// The identifier in what is sent; 0: the same.
    pub tteid: u32,
    /// The QoS flow in a PDU session container, if packets have one.
    pub qfi: Option<u8>,
    /// The interface that datagrams to a group leave by.
    pub group_interface: Option<SwIfIndex>,
    /// The next node of decapsulated packets.
    pub next: Next,
}

/// The highest QoS flow identifier (3GPP TS 38.415 5.5.3.3).
pub const MAX_QFI: u8 = 63;

impl Gtpu {
    /// The identifier in what is sent.
    pub fn sent_teid(&self) -> u32 {
        if self.tteid == 0 { self.teid } else { self.tteid }
    }

    /// Received packets are IP packets, also in layer-2 mode.
    pub fn is_ip(&self) -> bool {
        is_ip(self.next)
    }

    /// Checks the QoS flow.
    ///
    /// # Errors
    /// More than 6 bits (−7).
    pub fn check_qfi(qfi: Option<u8>) -> Result<()> {
        match qfi {
            Some(qfi) if qfi > MAX_QFI => {
                Err(Error::parse(format!("a QoS flow identifier is at most {MAX_QFI}, not {qfi}"))
                    .retval(retval::INVALID_VALUE))
            }
            _ => Ok(()),
        }
    }
}

/// Returns whether packets of a tunnel with this next node are IP packets.
pub fn is_ip(next: Next) -> bool {
    matches!(next, Next::Node("ip4-input" | "ip6-input"))
}
