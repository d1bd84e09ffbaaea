// SPDX-License-Identifier: Apache-2.0
//! Maximum lengths of packets.

/// The packets that an MTU is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MtuKind {
    /// All packets of the link; the other MTUs are at most this one.
    Link,
    /// All layer-3 packets that have no MTU of their own.
    L3,
    /// IPv4.
    Ip4,
    /// IPv6.
    Ip6,
    /// MPLS.
    Mpls,
}

/// The MTUs of an interface, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mtus {
    /// In the order of [`MtuKind`]; 0 means inherited: L3 from link, the others from L3.
    pub own: [u16; 5],
    /// The link's MTU, if it is configured.
    pub configured: Option<u16>,
    /// Limit of IP packets that what is below the interface gives, whatever MTU it is configured
    /// with: [`super::Interfaces::limit_mtu`].
    pub limit: Option<u16>,
}

impl Mtus {
    /// The MTUs of a new interface, whose link has this one.
    pub(super) fn of_link(mtu: u16) -> Self {
        Self { own: [mtu, 0, 0, 0, 0], configured: None, limit: None }
    }

    /// The MTU in force for these packets.
    pub fn of(&self, kind: MtuKind) -> u16 {
        let [link, l3, ..] = self.own;
        let l3 = if l3 == 0 { link } else { l3.min(link) };
        let mtu = match kind {
            MtuKind::Link => return link,
            MtuKind::L3 => l3,
            _ => match self.own[kind as usize] {
                0 => l3,
                own => own.min(link),
            },
        };
        // IPv6 has no links of less (RFC 8200 5): what is below fragments (RFC 2473 7.1).
        let least = if kind == MtuKind::Ip6 { 1280 } else { 68 };
        self.limit.map_or(mtu, |limit| mtu.min(limit.max(least)))
    }
}
