// SPDX-License-Identifier: Apache-2.0
//! Packet filters: expressions of pcap-filter(7), compiled by libpcap.

use cli::Error;
use pcap::{BpfProgram, Capture, Linktype};

/// An expression, as the operator wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    /// Such as `tcp port 80`.
    pub text: String,
    /// Let libpcap optimise the program.
    pub optimize: bool,
}

/// A program for each layer that a packet may begin with. Each user has a copy of its own.
pub struct Program {
    ethernet: Option<BpfProgram>,
    ip: Option<BpfProgram>,
}

/// DLT_RAW on Linux: IPv4 or IPv6, by the version field.
const RAW: Linktype = Linktype(12);

impl Expression {
    /// Compiles it.
    ///
    /// # Errors
    /// The error that libpcap reports for the expression.
    pub fn compile(&self) -> Result<Program, Error> {
        let wrong = |e: pcap::Error| {
            let why = e.to_string();
            let why = why.strip_prefix("libpcap error: ").unwrap_or(&why);
            Error::parse(format!("`{}': {why}", self.text))
                .hint("expressions are those of pcap-filter(7)")
                .retval(msg::retval::INVALID_VALUE)
        };
        let compile = |link| Capture::dead(link).and_then(|c| c.compile(&self.text, self.optimize));
        // An expression about Ethernet addresses is none about raw IP packets: raw IP packets don't
        // match it.
        match (compile(Linktype::ETHERNET), compile(RAW)) {
            (Err(e), Err(_)) => Err(wrong(e)),
            (ethernet, ip) => Ok(Program { ethernet: ethernet.ok(), ip: ip.ok() }),
        }
    }
}

impl Program {
    /// Returns true if a packet matches; it begins with an IP header if `ip`, else with an Ethernet
    /// header.
    pub fn matches(&self, bytes: &[u8], ip: bool) -> bool {
        let program = if ip { &self.ip } else { &self.ethernet };
        program.as_ref().is_some_and(|p| p.filter(bytes))
    }

    /// The program for Ethernet frames, or else for IP packets: each instruction with its number.
    pub fn listing(&self) -> Vec<String> {
        let program = self.ethernet.as_ref().or(self.ip.as_ref());
        let all = program.into_iter().flat_map(BpfProgram::get_instructions).enumerate();
        all.map(|(n, instruction)| format!("({n:03}) {instruction}")).collect()
    }

    /// Number of instructions of the programs, for Ethernet and for IP.
    pub fn lengths(&self) -> [Option<usize>; 2] {
        [&self.ethernet, &self.ip].map(|p| p.as_ref().map(|p| p.get_instructions().len()))
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use testkit::pkt;

    fn program(text: &str) -> Program {
        Expression { text: text.into(), optimize: true }.compile().expect("well-formed")
    }

    #[suite::test]
    fn the_same_words_find_packets_with_and_without_ethernet_header() {
        let inner = pkt::ip4("10.0.0.1", "10.0.0.2").udp(5, 53).payload_len(20);
        let frame = pkt::ether("02:00:00:00:00:01", "02:00:00:00:00:02")
            .ip4("10.0.0.1", "10.0.0.2")
            .udp(5, 53)
            .payload_len(20);
        let (packet, frame) = (inner.build(), frame.build());
        let dns = program("udp dst port 53 and dst host 10.0.0.2");
        assert!(dns.matches(&packet, true) && dns.matches(&frame, false));
        assert!(!dns.matches(&frame, true) && !dns.matches(&packet, false));
        assert!(!program("tcp").matches(&packet, true));
        let ethernet = program("ether src 02:00:00:00:00:01");
        assert!(ethernet.matches(&frame, false) && !ethernet.matches(&packet, true));
        assert!(ethernet.lengths()[1].is_none());
        assert!(!dns.matches(&[], false));
    }

    #[suite::test]
    fn a_wrong_expression_says_why() {
        let error = Expression { text: "udp and and".into(), optimize: true }
            .compile()
            .err()
            .expect("refused");
        assert!(error.to_string().contains("syntax error"), "{error}");
        assert!(Expression { text: "udp\0".into(), optimize: true }.compile().is_err());
    }
}
