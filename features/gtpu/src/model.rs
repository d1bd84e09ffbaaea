// SPDX-License-Identifier: Apache-2.0
//! The parameters of a GTP-U tunnel.

use cli::{Error, Result, retval};
use object::Arguments;
use tunnel::{HeaderMarking, Next, TunnelEndpoints};

/// A GTP-U tunnel.
#[derive(Arguments, Clone, PartialEq, Debug)]
pub struct Gtpu {
    /// The ends. The other one may be a group.
    #[words(
        "{src <source:ip>} {dst <destination:ip> | group <group:ip> <interface:interface>} \
         [encap-vrf-id <table:u32>]"
    )]
    pub ends: TunnelEndpoints,
    /// The identifier in what is received.
    #[words("{teid <teid:u32>}")]
    pub teid: u32,
    /// The identifier in what is sent; 0: the same.
    #[words("[tteid <tteid:u32>]", default)]
    pub tteid: u32,
    /// The QoS flow in a PDU session container, if packets have one.
    #[words("[qfi <qfi:u8>]", then = check_qfi)]
    pub qfi: Option<u8>,
    /// The next node of decapsulated packets.
    #[words("[decap-next <next:l2|ip4|ip6|drop|node> [<node:word>]]", json = "decap_next")]
    pub next: Next,
    /// The settings of outer headers.
    #[part]
    pub marks: HeaderMarking,
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
}

/// Checks the QoS flow.
///
/// # Errors
/// More than 6 bits (−7).
pub fn check_qfi(qfi: Option<u8>) -> Result<Option<u8>> {
    if let Some(qfi) = qfi.filter(|qfi| *qfi > MAX_QFI) {
        let why = format!("a QoS flow identifier is at most {MAX_QFI}, not {qfi}");
        return Err(Error::parse(why).retval(retval::INVALID_VALUE));
    }
    Ok(qfi)
}

/// Returns whether packets of a tunnel with this next node are IP packets.
pub fn is_ip(next: Next) -> bool {
    matches!(next, Next::Node("ip4-input" | "ip6-input"))
}
