// SPDX-License-Identifier: Apache-2.0
//! IPv4, IPv6.

use core::fmt;

use super::{Inner, Layer, Printer};
use crate::{
    ExtError, ExtHeader, ExtHeaders, Header, Ip4OptionKind, Ip6Fragment, IpHeader, IpProtocol,
    Ipv4Header, Ipv6Header, MAX_EXT_HEADERS, checksum,
};

/// A differentiated services code point by name (RFC 2474, 2597, 3246, 5865, 8622).
struct Dscp(u8);

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            46 => f.write_str("EF"),
            44 => f.write_str("VA"),
            1 => f.write_str("LE"),
            // eight class selectors, and four classes of three drop precedences
            cs if cs & 7 == 0 => write!(f, "CS{}", cs >> 3),
            af @ 10..=38 if af & 1 == 0 => write!(f, "AF{}{}", af >> 3, (af & 7) >> 1),
            other => write!(f, "{other}"),
        }
    }
}

fn ip4_option_name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        Ip4OptionKind::RECORD_ROUTE => "record-route",
        Ip4OptionKind::TIMESTAMP => "timestamp",
        Ip4OptionKind::LOOSE_SOURCE_ROUTE => "loose-source-route",
        Ip4OptionKind::STRICT_SOURCE_ROUTE => "strict-source-route",
        Ip4OptionKind::ROUTER_ALERT => "router-alert",
        _ => return None,
    })
}

impl Printer<'_, '_> {
    pub(super) fn ip4<'b>(&mut self, bytes: &'b [u8]) -> Inner<'b> {
        let Some(ip) = Ipv4Header::view(bytes) else { return self.cut("IP4", bytes) };
        self.line(format_args!("{}: {} -> {}", ip.protocol, ip.src(), ip.dst()))?;
        let header_len = ip.header_len();
        if ip.version() != 4 || header_len != 20 {
            self.detail(format_args!("version {}, header length {header_len}", ip.version()))?;
        }
        self.detail(format_args!(
            "tos 0x{:02x}, ttl {}, length {}, ",
            ip.tos,
            ip.ttl,
            ip.packet_len()
        ))?;
        self.text(format_args!("checksum 0x{:04x}", ip.checksum.get()))?;
        if let Some(header) = Ipv4Header::header_bytes(bytes) {
            let sum = checksum::Sum::of(header);
            if !sum.is_valid() {
                let right = checksum::update16(sum.finish(), ip.checksum.get(), 0);
                self.text(format_args!(" (should be 0x{right:04x})"))?;
            }
        }
        self.text(format_args!(" dscp {} ecn {}", Dscp(ip.dscp()), ip.ecn()))?;
        self.detail(format_args!("fragment id 0x{:04x}", ip.id.get()))?;
        if ip.is_fragment() {
            self.text(format_args!(", offset {}", ip.fragment_offset()))?;
        }
        for (set, name) in
            [(ip.more_fragments(), "MORE_FRAGMENTS"), (ip.dont_fragment(), "DONT_FRAGMENT")]
        {
            if set {
                self.text(format_args!(", {name}"))?;
            }
        }
        self.ip4_options(bytes)?;
        let inner = bytes.get(header_len.max(20)..ip.packet_len().max(header_len).min(bytes.len()));
        if ip.version() != 4 || header_len < 20 || ip.fragment_offset() != 0 {
            return Ok(None);
        }
        Ok(inner.and_then(|inner| Some((Layer::of_protocol(ip.protocol)?, inner))))
    }

    fn ip4_options(&mut self, bytes: &[u8]) -> fmt::Result {
        for (i, option) in Ipv4Header::options(bytes).enumerate() {
            match i {
                0 => self.detail(format_args!("options: "))?,
                _ => self.text(format_args!(", "))?,
            }
            match option {
                Ok(option) => match ip4_option_name(option.kind) {
                    Some(name) => self.text(format_args!("{name}"))?,
                    None => self.text(format_args!(
                        "kind {} length {}",
                        option.kind,
                        option.data.len() + 2
                    ))?,
                },
                Err(error) => self.text(format_args!("{error}"))?,
            }
        }
        Ok(())
    }

    pub(super) fn ip6<'b>(&mut self, bytes: &'b [u8]) -> Inner<'b> {
        let Some(ip) = Ipv6Header::view(bytes) else { return self.cut("IP6", bytes) };
        self.line(format_args!("{}: {} -> {}", ip.next_header, ip.src(), ip.dst()))?;
        if ip.version() != 6 {
            self.detail(format_args!("version {}", ip.version()))?;
        }
        let (class, flow) = (ip.traffic_class(), ip.flow_label());
        self.detail(format_args!(
            "tos 0x{class:02x}, flow label 0x{flow:x}, hop limit {}, ",
            ip.hop_limit
        ))?;
        self.text(format_args!("payload length {}", ip.payload_len.get()))?;
        self.text(format_args!(" dscp {} ecn {}", Dscp(ip.dscp()), ip.ecn()))?;
        if ip.version() != 6 {
            return Ok(None);
        }
        let mut walk = ExtHeaders::new(bytes);
        let mut later_fragment = false;
        while let Some(header) = walk.next() {
            match header {
                Ok(header) => later_fragment |= self.extension(&header)?,
                Err(ExtError::Truncated) => {
                    self.detail(format_args!("{}: header cut", walk.protocol()))?;
                    return Ok(None);
                }
                Err(ExtError::TooMany) => {
                    self.detail(format_args!("more than {MAX_EXT_HEADERS} extension headers"))?;
                    return Ok(None);
                }
            }
        }
        let inner = bytes.get(walk.offset()..ip.packet_len().max(walk.offset()).min(bytes.len()));
        if later_fragment {
            return Ok(None);
        }
        Ok(inner.and_then(|inner| Some((Layer::of_protocol(walk.protocol())?, inner))))
    }

    /// Returns whether it is the header of a fragment other than the first.
    fn extension(&mut self, header: &ExtHeader<'_>) -> Result<bool, fmt::Error> {
        self.detail(format_args!(
            "{}: next {}, length {}",
            header.kind,
            header.next,
            header.bytes.len()
        ))?;
        match header.kind {
            IpProtocol::FRAGMENT => {
                let Some(fragment) = Ip6Fragment::view(header.bytes) else { return Ok(false) };
                let (id, offset) = (fragment.id.get(), fragment.offset());
                self.text(format_args!(", id 0x{id:08x}, offset {offset}"))?;
                if fragment.more_fragments() {
                    self.text(format_args!(", MORE_FRAGMENTS"))?;
                }
                return Ok(offset != 0);
            }
            IpProtocol::ROUTING => {
                if let [_, _, kind, left, ..] = header.bytes {
                    self.text(format_args!(", type {kind}, segments left {left}"))?;
                }
            }
            _ => {}
        }
        Ok(false)
    }
}
