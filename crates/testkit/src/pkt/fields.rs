// SPDX-License-Identifier: Apache-2.0
//! Changing the layer added last.

use wire::{EtherType, IpProtocol, Ipv4Header, TcpFlags, U16, VlanTag};

use super::{Checksum, Packet, build::Layer};

/// Overrides what would be computed; always a field of the layer.
fn set<T>(field: &mut Option<T>, value: T) -> bool {
    *field = Some(value);
    true
}

impl Packet {
    #[track_caller]
    fn change(mut self, field: &str, change: impl FnOnce(&mut Layer) -> bool) -> Self {
        let layer = self.layers.last_mut().unwrap_or_else(|| panic!("{field}: no layer yet"));
        assert!(change(layer), "{field}: the last layer has no such field: {layer:?}");
        self
    }

    /// TTL, hop limit, or TTL of a label.
    #[track_caller]
    pub fn ttl(self, ttl: u8) -> Self {
        self.change("ttl", |layer| {
            match layer {
                Layer::Ip4 { header, .. } => header.ttl = ttl,
                Layer::Ip6 { header, .. } => header.hop_limit = ttl,
                Layer::Mpls(label) => {
                    *label =
                        wire::MplsLabel::new(label.label(), label.class(), label.is_bottom(), ttl);
                }
                _ => return false,
            }
            true
        })
    }

    /// DSCP and ECN together.
    #[track_caller]
    pub fn tos(self, tos: u8) -> Self {
        self.change("tos", |layer| {
            match layer {
                Layer::Ip4 { header, .. } => header.tos = tos,
                Layer::Ip6 { header, .. } => header.set_traffic_class(tos),
                _ => return false,
            }
            true
        })
    }

    /// The version field of IP.
    #[track_caller]
    pub fn version(self, version: u8) -> Self {
        self.change("version", |layer| {
            match layer {
                Layer::Ip4 { header, .. } => {
                    header.version_ihl = version << 4 | header.version_ihl & 15
                }
                Layer::Ip6 { header, .. } => {
                    let word = header.version_class_flow.get() << 4 >> 4;
                    header.version_class_flow.set(u32::from(version) << 28 | word);
                }
                _ => return false,
            }
            true
        })
    }

    /// The header length of IPv4 or TCP, in words of 4 bytes, whatever it really is.
    #[track_caller]
    pub fn header_words(self, words: u8) -> Self {
        self.change("header_words", |layer| match layer {
            Layer::Ip4 { ihl, .. } | Layer::Tcp { ihl, .. } => set(ihl, words),
            _ => false,
        })
    }

    /// The length field of IPv4 (whole packet), IPv6 (payload) or UDP (header and payload),
    /// whatever it really is.
    #[track_caller]
    pub fn length(self, bytes: u16) -> Self {
        self.change("length", |layer| match layer {
            Layer::Ip4 { length, .. } | Layer::Ip6 { length, .. } | Layer::Udp { length, .. } => {
                set(length, bytes)
            }
            _ => false,
        })
    }

    /// Protocol or next header, whatever follows.
    #[track_caller]
    pub fn protocol(self, number: IpProtocol) -> Self {
        self.change("protocol", |layer| match layer {
            Layer::Ip4 { protocol, .. }
            | Layer::Ip6 { protocol, .. }
            | Layer::Ext { protocol, .. } => set(protocol, number),
            _ => false,
        })
    }

    /// Ethernet type, or length of an 802.3 frame, whatever follows.
    #[track_caller]
    pub fn ethertype(self, value: EtherType) -> Self {
        self.change("ethertype", |layer| match layer {
            Layer::Ether { ethertype, .. }
            | Layer::Vlan { ethertype, .. }
            | Layer::Gre { ethertype, .. } => set(ethertype, value),
            _ => false,
        })
    }

    /// Priority of a VLAN tag.
    #[track_caller]
    pub fn pcp(self, pcp: u8) -> Self {
        self.change("pcp", |layer| match layer {
            Layer::Vlan { tag, .. } => {
                *tag = VlanTag::new(tag.id(), pcp, tag.dei(), EtherType(0));
                true
            }
            _ => false,
        })
    }

    /// Identification of IPv4.
    #[track_caller]
    pub fn id(self, id: u16) -> Self {
        self.ip4_header("id", |header| header.id = U16::new(id))
    }

    /// Don't fragment.
    #[track_caller]
    pub fn df(self) -> Self {
        self.ip4_header("df", |header| {
            header.flags_fragment = U16::new(header.flags_fragment.get() | Ipv4Header::DF);
        })
    }

    /// A fragment: `offset` in bytes, a multiple of 8; are there `more`?
    #[track_caller]
    pub fn fragment(self, offset: u16, more: bool) -> Self {
        let bits = (offset / 8) | if more { Ipv4Header::MF } else { 0 };
        self.ip4_header("fragment", |header| {
            header.flags_fragment = U16::new(header.flags_fragment.get() & 0xc000 | bits);
        })
    }

    #[track_caller]
    fn ip4_header(self, field: &str, change: impl FnOnce(&mut Ipv4Header)) -> Self {
        self.change(field, |layer| match layer {
            Layer::Ip4 { header, .. } => {
                change(header);
                true
            }
            _ => false,
        })
    }

    /// Flow label of IPv6.
    #[track_caller]
    pub fn flow_label(self, label: u32) -> Self {
        self.change("flow_label", |layer| match layer {
            Layer::Ip6 { header, .. } => {
                let word = header.version_class_flow.get() & 0xfff0_0000;
                header.version_class_flow.set(word | label & 0xf_ffff);
                true
            }
            _ => false,
        })
    }

    /// Options of IPv4 or TCP, padded with zeros to a multiple of 4 bytes.
    #[track_caller]
    pub fn options(self, bytes: impl AsRef<[u8]>) -> Self {
        let mut bytes = bytes.as_ref().to_vec();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        self.change("options", |layer| match layer {
            Layer::Ip4 { options, .. } | Layer::Tcp { options, .. } => {
                *options = bytes;
                true
            }
            _ => false,
        })
    }

    /// Flags, sequence and acknowledgment number of TCP.
    #[track_caller]
    pub fn segment(self, flags: TcpFlags, seq: u32, ack: u32) -> Self {
        self.change("segment", |layer| match layer {
            Layer::Tcp { header, .. } => {
                (header.flags, header.seq, header.ack) = (flags, seq.into(), ack.into());
                true
            }
            _ => false,
        })
    }

    /// Window of TCP.
    #[track_caller]
    pub fn window(self, window: u16) -> Self {
        self.change("window", |layer| match layer {
            Layer::Tcp { header, .. } => {
                header.window = U16::new(window);
                true
            }
            _ => false,
        })
    }

    /// Sets how the checksum of IPv4, TCP, UDP or ICMP is filled.
    #[track_caller]
    pub fn checksum(self, how: Checksum) -> Self {
        self.change("checksum", |layer| match layer {
            Layer::Ip4 { checksum, .. }
            | Layer::Udp { checksum, .. }
            | Layer::Tcp { checksum, .. }
            | Layer::Icmp { checksum, .. } => {
                *checksum = how;
                true
            }
            _ => false,
        })
    }

    /// A wrong checksum.
    #[track_caller]
    pub fn bad_checksum(self) -> Self {
        self.checksum(Checksum::Wrong)
    }
}
