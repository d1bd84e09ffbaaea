// SPDX-License-Identifier: Apache-2.0
//! Configuration files of siitperf (`siitperf.conf`).
//!
//! A line is a key and a value; `#` begins a comment. Defaults are siitperf's. siitperf demands
//! CPU cores for each thread; here they may be left out, and the tester chooses.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Change of a value from frame to frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vary {
    /// One value.
    #[default]
    Fixed,
    /// Ascending values.
    Increase,
    /// Descending values.
    Decrease,
    /// Pseudorandom values.
    Random,
}

impl fmt::Display for Vary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Vary::Fixed => "fixed",
            Vary::Increase => "ascending",
            Vary::Decrease => "descending",
            Vary::Random => "pseudorandom",
        })
    }
}

/// Values between two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Change from frame to frame.
    pub vary: Vary,
    /// Least value.
    pub min: u16,
    /// Largest value.
    pub max: u16,
}

/// Ports of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// Source ports.
    pub source: Span,
    /// Destination ports.
    pub destination: Span,
}

impl Default for Ports {
    /// Ranges of RFC 4814, not used unless the ports vary.
    fn default() -> Ports {
        Ports {
            source: Span { vary: Vary::Fixed, min: 1024, max: 65_535 },
            destination: Span { vary: Vary::Fixed, min: 1, max: 49_151 },
        }
    }
}

/// One side of the device: left or right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// IP version of foreground frames that this side sends: 4 or 6.
    pub version: u8,
    /// IPv4 address of the tester.
    pub ip4_real: Option<Ipv4Addr>,
    /// IPv4 address that stands for the other side's IPv6 host.
    pub ip4_virtual: Option<Ipv4Addr>,
    /// IPv6 address of the tester.
    pub ip6_real: Option<Ipv6Addr>,
    /// IPv6 address that stands for the other side's IPv4 host.
    pub ip6_virtual: Option<Ipv6Addr>,
    /// MAC address of the tester's port.
    pub tester_mac: Option<[u8; 6]>,
    /// MAC address of the device's port.
    pub device_mac: Option<[u8; 6]>,
    /// Number of destination networks: 1 to 256.
    pub networks: u16,
    /// Values of the 16 bits of the address that vary.
    pub addresses: Span,
    /// Offset of these bits in an IPv4 address, in bytes: 1 or 2.
    pub ip4_offset: u8,
    /// Offset of these bits in an IPv6 address, in bytes: 6 to 14.
    pub ip6_offset: u8,
    /// Core of the sender.
    pub cpu_send: Option<u32>,
    /// Core of the receiver.
    pub cpu_receive: Option<u32>,
}

impl Side {
    fn new(version: u8) -> Side {
        Side {
            version,
            ip4_real: None,
            ip4_virtual: None,
            ip6_real: None,
            ip6_virtual: None,
            tester_mac: None,
            device_mac: None,
            networks: 1,
            addresses: Span { vary: Vary::Fixed, min: 0, max: 65_535 },
            ip4_offset: 2,
            ip6_offset: 14,
            cpu_send: None,
            cpu_receive: None,
        }
    }
}

/// Stateful tests of NAT devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stateful {
    /// Stateless test.
    #[default]
    No,
    /// The left side opens sessions.
    InitiatorLeft,
    /// The right side opens sessions.
    InitiatorRight,
}

/// Contents of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Siitperf {
    /// Left side.
    pub left: Side,
    /// Right side.
    pub right: Side,
    /// True if frames go from left to right.
    pub forward: bool,
    /// True if frames go from right to left.
    pub reverse: bool,
    /// True if ports receive frames for other MAC addresses.
    pub promiscuous: bool,
    /// Memory channels for DPDK.
    pub memory_channels: u8,
    /// Ports of frames from left to right.
    pub forward_ports: Ports,
    /// Ports of frames from right to left.
    pub reverse_ports: Ports,
    /// Kind of test.
    pub stateful: Stateful,
    /// Order in which a stateful test goes through all ports.
    pub enumerate_ports: Vary,
    /// Order in which a stateful test goes through all addresses.
    pub enumerate_addresses: Vary,
    /// Order in which the responder takes sessions from its table.
    pub responder_tuples: Vary,
}

impl Default for Siitperf {
    fn default() -> Siitperf {
        Siitperf {
            left: Side::new(6),
            right: Side::new(4),
            forward: true,
            reverse: true,
            promiscuous: true,
            memory_channels: 1,
            forward_ports: Ports::default(),
            reverse_ports: Ports::default(),
            stateful: Stateful::No,
            enumerate_ports: Vary::Fixed,
            enumerate_addresses: Vary::Fixed,
            responder_tuples: Vary::Fixed,
        }
    }
}

/// Error in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Line, counted from 1; 0 if the file as a whole is wrong.
    pub line: usize,
    /// Expected and actual text, in a sentence.
    pub text: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.text),
            line => write!(f, "line {line}: {}", self.text),
        }
    }
}

impl std::error::Error for Error {}

/// Value of a key, with the words for errors.
struct Word<'a> {
    key: &'a str,
    text: &'a str,
}

impl Word<'_> {
    fn wrong(&self, expected: &str) -> String {
        format!("{} is {expected}, not `{}`", self.key, self.text)
    }

    fn parse<T: FromStr>(&self, expected: &str) -> Result<T, String> {
        self.text.parse().map_err(|_| self.wrong(expected))
    }

    fn number(&self, min: u32, max: u32) -> Result<u32, String> {
        let expected = || self.wrong(&format!("a number from {min} to {max}"));
        // siitperf reads 0x as hexadecimal for addresses; no decimal number begins so.
        let value = match self.text.strip_prefix("0x").or_else(|| self.text.strip_prefix("0X")) {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => self.text.parse().ok(),
        };
        value.filter(|v| (min..=max).contains(v)).ok_or_else(expected)
    }

    fn small(&self, min: u16, max: u16) -> Result<u16, String> {
        Ok(self.number(u32::from(min), u32::from(max))? as u16)
    }

    fn flag(&self) -> Result<bool, String> {
        Ok(self.number(0, 1)? == 1)
    }

    fn vary(&self) -> Result<Vary, String> {
        let expected = "0 (one value), 1 (ascending), 2 (descending) or 3 (pseudorandom)";
        match self.text {
            "0" => Ok(Vary::Fixed),
            "1" => Ok(Vary::Increase),
            "2" => Ok(Vary::Decrease),
            "3" => Ok(Vary::Random),
            _ => Err(self.wrong(expected)),
        }
    }

    fn mac(&self) -> Result<[u8; 6], String> {
        let expected = || self.wrong("a MAC address such as 02:00:00:00:00:01");
        let mut mac = [0; 6];
        let mut parts = self.text.split(':');
        for byte in &mut mac {
            let part = parts.next().ok_or_else(expected)?;
            let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_hexdigit());
            *byte = Some(part)
                .filter(|p| digits && p.len() <= 2)
                .and_then(|p| u8::from_str_radix(p, 16).ok())
                .ok_or_else(expected)?;
        }
        if parts.next().is_some() { Err(expected()) } else { Ok(mac) }
    }
}

impl Siitperf {
    /// Reads the text of a configuration file. The error names the line and what it should have.
    pub fn parse(text: &str) -> Result<Siitperf, Error> {
        let mut conf = Siitperf::default();
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.split('#').next().unwrap_or("");
            let mut words = content.split_whitespace();
            let Some(key) = words.next() else { continue };
            // Text after the value is ignored, as siitperf does.
            let value = words.next().unwrap_or("");
            conf.set(&Word { key, text: value }).map_err(|text| Error { line, text })?;
        }
        conf.check().map_err(|text| Error { line: 0, text: text.into() })?;
        Ok(conf)
    }

    fn set(&mut self, word: &Word<'_>) -> Result<(), String> {
        let side = match word.key.split('-').nth(1) {
            Some("R") => &mut self.right,
            _ => &mut self.left,
        };
        let (ip4, ip6) = ("an IPv4 address", "an IPv6 address");
        let (forward, reverse) = (&mut self.forward_ports, &mut self.reverse_ports);
        match word.key {
            "IP-L-Vers" | "IP-R-Vers" => {
                side.version = match word.text {
                    "4" => 4,
                    "6" => 6,
                    _ => return Err(word.wrong("4 or 6")),
                }
            }
            "IPv4-L-Real" | "IPv4-R-Real" => side.ip4_real = Some(word.parse(ip4)?),
            "IPv4-L-Virt" | "IPv4-R-Virt" => side.ip4_virtual = Some(word.parse(ip4)?),
            "IPv6-L-Real" | "IPv6-R-Real" => side.ip6_real = Some(word.parse(ip6)?),
            "IPv6-L-Virt" | "IPv6-R-Virt" => side.ip6_virtual = Some(word.parse(ip6)?),
            "MAC-L-Tester" | "MAC-R-Tester" => side.tester_mac = Some(word.mac()?),
            "MAC-L-DUT" | "MAC-R-DUT" => side.device_mac = Some(word.mac()?),
            "Num-L-Nets" | "Num-R-Nets" => side.networks = word.small(1, 256)?,
            "CPU-L-Send" | "CPU-R-Send" => side.cpu_send = Some(word.number(0, 8191)?),
            "CPU-L-Recv" | "CPU-R-Recv" => side.cpu_receive = Some(word.number(0, 8191)?),
            "IP-L-var" | "IP-R-var" => side.addresses.vary = word.vary()?,
            "IP-L-min" | "IP-R-min" => side.addresses.min = word.small(0, u16::MAX)?,
            "IP-L-max" | "IP-R-max" => side.addresses.max = word.small(0, u16::MAX)?,
            "IPv4-L-offset" | "IPv4-R-offset" => side.ip4_offset = word.small(1, 2)? as u8,
            "IPv6-L-offset" | "IPv6-R-offset" => side.ip6_offset = word.small(6, 14)? as u8,
            "Forward" => self.forward = word.flag()?,
            "Reverse" => self.reverse = word.flag()?,
            "Promisc" => self.promiscuous = word.flag()?,
            "MEM-Channels" => self.memory_channels = word.small(1, 255)? as u8,
            "Fwd-var-sport" => forward.source.vary = word.vary()?,
            "Fwd-var-dport" => forward.destination.vary = word.vary()?,
            "Rev-var-sport" => reverse.source.vary = word.vary()?,
            "Rev-var-dport" => reverse.destination.vary = word.vary()?,
            "Fwd-sport-min" => forward.source.min = word.small(0, u16::MAX)?,
            "Fwd-sport-max" => forward.source.max = word.small(0, u16::MAX)?,
            "Fwd-dport-min" => forward.destination.min = word.small(0, u16::MAX)?,
            "Fwd-dport-max" => forward.destination.max = word.small(0, u16::MAX)?,
            "Rev-sport-min" => reverse.source.min = word.small(0, u16::MAX)?,
            "Rev-sport-max" => reverse.source.max = word.small(0, u16::MAX)?,
            "Rev-dport-min" => reverse.destination.min = word.small(0, u16::MAX)?,
            "Rev-dport-max" => reverse.destination.max = word.small(0, u16::MAX)?,
            "Stateful" => {
                self.stateful = match word.text {
                    "0" => Stateful::No,
                    "1" => Stateful::InitiatorLeft,
                    "2" => Stateful::InitiatorRight,
                    _ => {
                        return Err(
                            word.wrong("0 (stateless), 1 (initiator on the left) or 2 (right)")
                        );
                    }
                }
            }
            "Enumerate-ports" => self.enumerate_ports = word.vary()?,
            "Enumerate-ips" => self.enumerate_addresses = word.vary()?,
            // Earlier versions have the second name.
            "Responder-tuples" | "Responder-ports" => self.responder_tuples = word.vary()?,
            key => return Err(format!("siitperf has no key `{key}`")),
        }
        Ok(())
    }

    /// Rules between keys, as siitperf has them.
    fn check(&self) -> Result<(), &'static str> {
        let fixed = |vary: Vary| vary == Vary::Fixed;
        let stateless = self.stateful == Stateful::No;
        let addresses = [&self.left, &self.right].map(|s| !fixed(s.addresses.vary));
        let vary = addresses.contains(&true);
        let ports = [self.forward_ports, self.reverse_ports];
        let spans = || {
            let sides = [self.left.addresses, self.right.addresses];
            ports.iter().flat_map(|p| [p.source, p.destination]).chain(sides)
        };
        if stateless && !self.forward && !self.reverse {
            return Err("no direction is active: set Forward or Reverse to 1");
        }
        if spans().any(|s| s.min > s.max) {
            return Err("a range begins above its end: compare the keys -min and -max");
        }
        if stateless && !(fixed(self.enumerate_ports) && fixed(self.enumerate_addresses)) {
            return Err("Enumerate-ports and Enumerate-ips need a stateful test: set Stateful");
        }
        if vary && (self.left.networks > 1 || self.right.networks > 1) {
            return Err(
                "addresses vary within one network only: set Num-L-Nets and Num-R-Nets to 1",
            );
        }
        if !fixed(self.enumerate_ports)
            && !fixed(self.enumerate_addresses)
            && self.enumerate_ports != self.enumerate_addresses
        {
            return Err("Enumerate-ports and Enumerate-ips, where both are set, are equal");
        }
        if !fixed(self.enumerate_addresses) && addresses.contains(&false) {
            return Err("Enumerate-ips needs addresses that vary: set IP-L-var and IP-R-var");
        }
        if !fixed(self.enumerate_ports) && vary && fixed(self.enumerate_addresses) {
            return Err("Enumerate-ports with addresses that vary needs Enumerate-ips");
        }
        let vary_ports = spans().take(4).any(|s| !fixed(s.vary));
        if !fixed(self.enumerate_addresses) && vary_ports && fixed(self.enumerate_ports) {
            return Err("Enumerate-ips with ports that vary needs Enumerate-ports");
        }
        Ok(())
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn a_nat64_configuration_is_read() {
        let text = "# comment\n\
            IP-L-Vers 6 # left\n\tIP-R-Vers 4\n\n\
            IPv6-L-Real 2001:2:0:0::2\nIPv6-R-Virt 2001:2:0:1000::2\n\
            IPv4-L-Virt 198.18.0.2\nIPv4-R-Real 198.19.0.2\n\
            MAC-L-Tester a0:36:9f:c5:fa:1c # enp5s0f0\nMAC-R-DUT 2:0:0:0:0:1\n\
            Forward 1\nReverse 0\nPromisc 0\nNum-R-Nets 256\n\
            CPU-L-Send 2\nCPU-R-Recv 4\nMEM-Channels 2\n\
            Fwd-var-sport 3\nFwd-sport-min 1024\nFwd-dport-max 49151\n\
            IP-L-max 0xfffe\n";
        let conf = Siitperf::parse(text).unwrap();
        assert_eq!((conf.left.version, conf.right.version), (6, 4));
        assert_eq!(conf.left.ip6_real, Some("2001:2::2".parse().unwrap()));
        assert_eq!(conf.right.ip6_virtual, Some("2001:2:0:1000::2".parse().unwrap()));
        assert_eq!(conf.left.ip4_virtual, Some(Ipv4Addr::new(198, 18, 0, 2)));
        assert_eq!(conf.left.tester_mac, Some([0xa0, 0x36, 0x9f, 0xc5, 0xfa, 0x1c]));
        assert_eq!(conf.right.device_mac, Some([2, 0, 0, 0, 0, 1]));
        assert_eq!((conf.forward, conf.reverse, conf.promiscuous), (true, false, false));
        assert_eq!((conf.left.networks, conf.right.networks), (1, 256));
        assert_eq!((conf.left.cpu_send, conf.right.cpu_receive), (Some(2), Some(4)));
        assert_eq!(conf.forward_ports.source.vary, Vary::Random);
        assert_eq!(conf.reverse_ports, Ports::default());
        assert_eq!(conf.left.addresses.max, 0xfffe);
    }

    #[suite::test]
    fn errors_name_line_and_expectation() {
        let error = |text: &str| Siitperf::parse(text).unwrap_err().to_string();
        assert_eq!(error("\nSpeed 10\n"), "line 2: siitperf has no key `Speed`");
        assert_eq!(error("IP-L-Vers 5"), "line 1: IP-L-Vers is 4 or 6, not `5`");
        assert_eq!(
            error("Num-L-Nets 257"),
            "line 1: Num-L-Nets is a number from 1 to 256, not `257`"
        );
        assert_eq!(
            error("MAC-L-DUT 1:2:3"),
            "line 1: MAC-L-DUT is a MAC address such as 02:00:00:00:00:01, not `1:2:3`"
        );
        assert!(error("MAC-L-DUT 1:2:3:4:5:6:7").contains("MAC address"));
        assert!(error("MAC-L-DUT +1:2:3:4:5:6").contains("MAC address"));
        assert!(error("IPv4-L-Real").ends_with("an IPv4 address, not ``"));
        assert_eq!(
            error("Forward 0\nReverse 0"),
            "no direction is active: set Forward or Reverse to 1"
        );
        assert!(error("Enumerate-ports 1").contains("stateful"));
        assert!(error("IP-L-var 1\nNum-L-Nets 2").contains("one network"));
        assert!(error("Fwd-sport-min 9\nFwd-sport-max 8").contains("range"));
        assert!(error("Stateful 1\nEnumerate-ips 1").contains("IP-L-var"));
    }
}
