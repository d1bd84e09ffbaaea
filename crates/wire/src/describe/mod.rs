// SPDX-License-Identifier: Apache-2.0
//! Headers as text, layer by layer, for packet traces.
//!
//! ```
//! use wire::describe::{Layer, describe};
//! let arp = [0, 1, 8, 0, 6, 4, 0, 1, 2, 0xfe, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2];
//! assert_eq!(
//!     describe(&arp, Layer::Arp).indent(2).to_string(),
//!     "  request, type ethernet/IP4, address size 6/4\n  02:fe:00:00:00:01/10.0.0.1 -> 00:00:00:00:00:00/10.0.0.2"
//! );
//! ```

mod ip;
mod link;
mod nd;
mod transport;

use core::fmt;

use crate::{EtherType, Geneve, Gtpu, IpProtocol, Vxlan, VxlanGpe};

/// The header that the bytes begin with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Layer {
    /// Ethernet, tags included.
    Ethernet,
    /// ARP.
    Arp,
    /// MPLS label stack.
    Mpls,
    /// IPv4 or IPv6, by the version field.
    Ip,
    /// IPv4.
    Ip4,
    /// IPv6.
    Ip6,
    /// ICMP.
    Icmp4,
    /// ICMPv6.
    Icmp6,
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
    /// GRE.
    Gre,
    /// VXLAN.
    Vxlan,
    /// VXLAN-GPE.
    VxlanGpe,
    /// GENEVE.
    Geneve,
    /// GTP-U.
    Gtpu,
}

impl Layer {
    /// The layer that an Ethernet type announces, if it can be described.
    pub fn of_ethertype(ethertype: EtherType) -> Option<Self> {
        Some(match ethertype {
            EtherType::IP4 => Self::Ip4,
            EtherType::IP6 => Self::Ip6,
            EtherType::ARP => Self::Arp,
            EtherType::MPLS | EtherType::MPLS_UPSTREAM => Self::Mpls,
            EtherType::TEB => Self::Ethernet,
            _ => return None,
        })
    }

    /// The layer of datagrams to a UDP port, if it can be described.
    pub fn of_port(port: u16) -> Option<Self> {
        Some(match port {
            Vxlan::PORT => Self::Vxlan,
            VxlanGpe::PORT => Self::VxlanGpe,
            Geneve::PORT => Self::Geneve,
            Gtpu::PORT => Self::Gtpu,
            _ => return None,
        })
    }

    /// The layer that an IP protocol announces, if it can be described.
    pub fn of_protocol(protocol: IpProtocol) -> Option<Self> {
        Some(match protocol {
            IpProtocol::ICMP => Self::Icmp4,
            IpProtocol::ICMP6 => Self::Icmp6,
            IpProtocol::UDP => Self::Udp,
            IpProtocol::TCP => Self::Tcp,
            IpProtocol::GRE => Self::Gre,
            IpProtocol::IP4 => Self::Ip4,
            IpProtocol::IP6 => Self::Ip6,
            IpProtocol::MPLS => Self::Mpls,
            IpProtocol::ETHERNET => Self::Ethernet,
            _ => return None,
        })
    }
}

/// `bytes`, which begin with `layer`, ready to be printed.
pub fn describe(bytes: &[u8], layer: Layer) -> Describe<'_> {
    Describe { bytes, layer, indent: 0, layers: Describe::LAYERS }
}

/// Prints one or more lines per header, from the outermost inwards, without a newline at the end.
/// Accepts any bytes: missing bytes are reported, not guessed, because a trace holds the front of a
/// packet only.
#[derive(Clone, Copy, Debug)]
pub struct Describe<'a> {
    bytes: &'a [u8],
    layer: Layer,
    indent: usize,
    layers: usize,
}

impl Describe<'_> {
    /// Default limit of printed layers.
    pub const LAYERS: usize = 12;

    /// Begins every line with `columns` spaces; details are two more to the right.
    pub fn indent(mut self, columns: usize) -> Self {
        self.indent = columns;
        self
    }

    /// Stops after `layers` headers.
    pub fn layers(mut self, layers: usize) -> Self {
        self.layers = layers;
        self
    }
}

impl fmt::Display for Describe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer { f, indent: self.indent, first: true };
        let (mut layer, mut bytes) = (self.layer, self.bytes);
        for _ in 0..self.layers {
            match printer.layer(layer, bytes)? {
                Some(inner) => (layer, bytes) = inner,
                None => break,
            }
        }
        Ok(())
    }
}

/// Layer and bytes of the payload of a described header, if it is described too.
type Inner<'a> = Result<Option<(Layer, &'a [u8])>, fmt::Error>;

struct Printer<'f, 'a> {
    f: &'f mut fmt::Formatter<'a>,
    indent: usize,
    first: bool,
}

impl Printer<'_, '_> {
    /// Starts a line, `deeper` columns to the right of the indentation.
    fn start(&mut self, deeper: usize) -> fmt::Result {
        if !core::mem::replace(&mut self.first, false) {
            self.f.write_str("\n")?;
        }
        write!(self.f, "{:1$}", "", self.indent + deeper)
    }

    fn line(&mut self, text: fmt::Arguments<'_>) -> fmt::Result {
        self.start(0)?;
        self.f.write_fmt(text)
    }

    fn detail(&mut self, text: fmt::Arguments<'_>) -> fmt::Result {
        self.start(2)?;
        self.f.write_fmt(text)
    }

    fn text(&mut self, text: fmt::Arguments<'_>) -> fmt::Result {
        self.f.write_fmt(text)
    }

    /// The header isn't all there.
    fn cut<'b>(&mut self, name: &str, bytes: &[u8]) -> Inner<'b> {
        if !bytes.is_empty() {
            self.line(format_args!("{name}: header cut after {} bytes", bytes.len()))?;
        }
        Ok(None)
    }

    fn layer<'b>(&mut self, layer: Layer, bytes: &'b [u8]) -> Inner<'b> {
        match layer {
            Layer::Ethernet => self.ethernet(bytes),
            Layer::Arp => self.arp(bytes),
            Layer::Mpls => self.mpls(bytes),
            Layer::Ip => match bytes.first().map(|first| first >> 4) {
                Some(4) => self.ip4(bytes),
                Some(6) => self.ip6(bytes),
                Some(version) => {
                    self.line(format_args!("IP version {version}"))?;
                    Ok(None)
                }
                None => Ok(None),
            },
            Layer::Ip4 => self.ip4(bytes),
            Layer::Ip6 => self.ip6(bytes),
            Layer::Icmp4 => self.icmp4(bytes),
            Layer::Icmp6 => self.icmp6(bytes),
            Layer::Udp => self.udp(bytes),
            Layer::Tcp => self.tcp(bytes),
            Layer::Gre => self.gre(bytes),
            Layer::Vxlan => self.vxlan(bytes),
            Layer::VxlanGpe => self.vxlan_gpe(bytes),
            Layer::Geneve => self.geneve(bytes),
            Layer::Gtpu => self.gtpu(bytes),
        }
    }
}

#[cfg(feature = "tests")]
mod tests;
