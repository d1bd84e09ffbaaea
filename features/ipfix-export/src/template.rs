// SPDX-License-Identifier: Apache-2.0
//! Templates: the information elements of a kind of records, in their order (RFC 7011 3.4.1).

/// An information element of a record, of fixed length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Element {
    /// Number at IANA, or at the enterprise; below 32,768.
    pub id: u16,
    /// Length in a record, in bytes.
    pub len: u16,
    /// Private enterprise number, if it isn't IANA's (RFC 7011 3.2).
    pub enterprise: Option<u32>,
}

impl Element {
    /// An element of IANA's registry.
    pub const fn iana(id: u16, len: u16) -> Self {
        Self { id, len, enterprise: None }
    }
}

/// A template as a feature declares it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Template {
    /// A name for operators.
    pub name: &'static str,
    /// The elements of a record, in their order.
    pub elements: &'static [Element],
}

impl Template {
    /// Bytes of a record.
    pub const fn record_len(&self) -> usize {
        let (mut len, mut at) = (0, 0);
        while at < self.elements.len() {
            len += self.elements[at].len as usize;
            at += 1;
        }
        len
    }

    /// Appends the template record (RFC 7011 3.4.1).
    pub fn encode(&self, id: u16, out: &mut Vec<u8>) {
        out.extend(id.to_be_bytes());
        out.extend((self.elements.len() as u16).to_be_bytes());
        for element in self.elements {
            let bit = u16::from(element.enterprise.is_some()) << 15;
            out.extend((element.id & 0x7fff | bit).to_be_bytes());
            out.extend(element.len.to_be_bytes());
            out.extend(element.enterprise.iter().flat_map(|number| number.to_be_bytes()));
        }
    }
}

/// Elements of IANA's registry of IPFIX that features use.
pub mod iana {
    use super::Element;

    /// protocolIdentifier.
    pub const PROTOCOL: Element = Element::iana(4, 1);
    /// sourceTransportPort.
    pub const SOURCE_PORT: Element = Element::iana(7, 2);
    /// sourceIPv4Address.
    pub const SOURCE_IP4: Element = Element::iana(8, 4);
    /// destinationTransportPort.
    pub const DESTINATION_PORT: Element = Element::iana(11, 2);
    /// sourceIPv6Address.
    pub const SOURCE_IP6: Element = Element::iana(27, 16);
    /// destinationIPv6Address.
    pub const DESTINATION_IP6: Element = Element::iana(28, 16);
    /// postNATSourceIPv4Address.
    pub const POST_NAT_SOURCE_IP4: Element = Element::iana(225, 4);
    /// postNATDestinationIPv4Address.
    pub const POST_NAT_DESTINATION_IP4: Element = Element::iana(226, 4);
    /// postNAPTSourceTransportPort.
    pub const POST_NAPT_SOURCE_PORT: Element = Element::iana(227, 2);
    /// postNAPTDestinationTransportPort.
    pub const POST_NAPT_DESTINATION_PORT: Element = Element::iana(228, 2);
    /// natEvent.
    pub const NAT_EVENT: Element = Element::iana(230, 1);
    /// ingressVRFID.
    pub const INGRESS_VRF: Element = Element::iana(234, 4);
    /// natPoolId.
    pub const NAT_POOL: Element = Element::iana(283, 4);
    /// observationTimeMilliseconds, since 1970.
    pub const OBSERVATION_TIME: Element = Element::iana(323, 8);
    /// natQuotaExceededEvent.
    pub const NAT_QUOTA_EVENT: Element = Element::iana(466, 4);
    /// maxSessionEntries.
    pub const MAX_SESSIONS: Element = Element::iana(471, 4);
    /// maxBIBEntries.
    pub const MAX_BIBS: Element = Element::iana(472, 4);
    /// maxEntriesPerUser.
    pub const MAX_ENTRIES_PER_USER: Element = Element::iana(473, 4);
}
