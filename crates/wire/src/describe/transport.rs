// SPDX-License-Identifier: Apache-2.0
//! ICMP, UDP, TCP.

use core::fmt;
use core::net::Ipv4Addr;

use super::{Inner, Layer, Printer};
use crate::{
    Header, Icmp4Type, Icmp6Type, IcmpHeader, TcpHeader, TcpOptionKind, TlvOption, U16, U32,
    UdpHeader, icmp::code4,
};

impl Printer<'_, '_> {
    pub(super) fn icmp4<'b>(&mut self, bytes: &'b [u8]) -> Inner<'b> {
        let Some((icmp, quoted)) = IcmpHeader::split(bytes) else { return self.cut("ICMP", bytes) };
        let kind = Icmp4Type(icmp.kind);
        self.icmp_line("ICMP", &kind, icmp)?;
        match kind {
            Icmp4Type::ECHO_REQUEST | Icmp4Type::ECHO_REPLY => self.echo(icmp)?,
            Icmp4Type::REDIRECT => {
                self.text(format_args!(" gateway {}", Ipv4Addr::from(icmp.rest())))?
            }
            Icmp4Type::UNREACHABLE if icmp.code == code4::FRAGMENTATION_NEEDED => {
                self.text(format_args!(" mtu {}", icmp.seq.get()))?;
            }
            _ => {}
        }
        Ok(kind.is_error().then_some((Layer::Ip4, quoted)))
    }

    pub(super) fn icmp6<'b>(&mut self, bytes: &'b [u8]) -> Inner<'b> {
        let Some((icmp, quoted)) = IcmpHeader::split(bytes) else {
            return self.cut("ICMP6", bytes);
        };
        let kind = Icmp6Type(icmp.kind);
        self.icmp_line("ICMP6", &kind, icmp)?;
        match kind {
            Icmp6Type::ECHO_REQUEST | Icmp6Type::ECHO_REPLY => self.echo(icmp)?,
            Icmp6Type::PACKET_TOO_BIG => self.text(format_args!(" mtu {}", icmp.rest()))?,
            Icmp6Type::PARAMETER_PROBLEM => self.text(format_args!(" pointer {}", icmp.rest()))?,
            kind => self.discovery(kind, bytes)?,
        }
        Ok(kind.is_error().then_some((Layer::Ip6, quoted)))
    }

    fn icmp_line(&mut self, name: &str, kind: &dyn fmt::Display, icmp: &IcmpHeader) -> fmt::Result {
        self.line(format_args!("{name} {kind}"))?;
        if icmp.code != 0 {
            self.text(format_args!(" code {}", icmp.code))?;
        }
        self.text(format_args!(" checksum 0x{:04x}", icmp.checksum.get()))
    }

    fn echo(&mut self, icmp: &IcmpHeader) -> fmt::Result {
        self.text(format_args!(" id {} seq {}", icmp.id.get(), icmp.seq.get()))
    }

    pub(super) fn udp<'b>(&mut self, bytes: &'b [u8]) -> Inner<'b> {
        let Some((udp, rest)) = UdpHeader::split(bytes) else { return self.cut("UDP", bytes) };
        self.line(format_args!("UDP: {} -> {}", udp.src_port, udp.dst_port))?;
        self.detail(format_args!("length {}, checksum 0x{:04x}", udp.len, udp.checksum.get()))?;
        Ok(Layer::of_port(udp.dst_port.get()).map(|layer| (layer, rest)))
    }

    pub(super) fn tcp<'b>(&mut self, bytes: &'b [u8]) -> Inner<'b> {
        let Some(tcp) = TcpHeader::view(bytes) else { return self.cut("TCP", bytes) };
        self.line(format_args!("TCP: {} -> {}", tcp.src_port, tcp.dst_port))?;
        self.detail(format_args!("seq 0x{:08x} ack 0x{:08x}", tcp.seq.get(), tcp.ack.get()))?;
        self.detail(format_args!("flags {}, header length {}", tcp.flags, tcp.header_len()))?;
        self.detail(format_args!("window {}, checksum 0x{:04x}", tcp.window, tcp.checksum.get()))?;
        if tcp.urgent.get() != 0 {
            self.text(format_args!(", urgent {}", tcp.urgent))?;
        }
        for (i, option) in TcpHeader::options(bytes).enumerate() {
            match i {
                0 => self.detail(format_args!("options: "))?,
                _ => self.text(format_args!(", "))?,
            }
            match option {
                Ok(option) => self.tcp_option(&option)?,
                Err(error) => self.text(format_args!("{error}"))?,
            }
        }
        Ok(None)
    }

    fn tcp_option(&mut self, option: &TlvOption<'_>) -> fmt::Result {
        match (option.kind, option.data) {
            (TcpOptionKind::MSS, [a, b]) => {
                self.text(format_args!("mss {}", U16::from_bytes([*a, *b])))
            }
            (TcpOptionKind::WINDOW_SCALE, [shift]) => {
                self.text(format_args!("window scale {shift}"))
            }
            (TcpOptionKind::SACK_PERMITTED, []) => self.text(format_args!("sack permitted")),
            (TcpOptionKind::SACK, blocks) if blocks.len() % 8 == 0 => {
                self.text(format_args!("sack {} blocks", blocks.len() / 8))
            }
            (TcpOptionKind::TIMESTAMPS, [a, b, c, d, e, f, g, h]) => {
                let (value, echo) =
                    (U32::from_bytes([*a, *b, *c, *d]), U32::from_bytes([*e, *f, *g, *h]));
                self.text(format_args!("timestamps {value} {echo}"))
            }
            (kind, data) => self.text(format_args!("kind {kind} length {}", data.len() + 2)),
        }
    }
}
