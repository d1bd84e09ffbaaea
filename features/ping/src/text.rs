// SPDX-License-Identifier: Apache-2.0
//! What operators read.

use wire::Icmp4Type;
use wire::icmp::code4;

/// What an ICMP error says.
pub fn error(kind: u8, code: u8, rest: u32) -> String {
    let unreachable = |what: &str| format!("{what} unreachable");
    match (Icmp4Type(kind), code) {
        (Icmp4Type::UNREACHABLE, code4::NET_UNREACHABLE) => unreachable("network"),
        (Icmp4Type::UNREACHABLE, code4::HOST_UNREACHABLE) => unreachable("host"),
        (Icmp4Type::UNREACHABLE, code4::PROTOCOL_UNREACHABLE) => unreachable("protocol"),
        (Icmp4Type::UNREACHABLE, code4::PORT_UNREACHABLE) => unreachable("port"),
        (Icmp4Type::UNREACHABLE, code4::FRAGMENTATION_NEEDED) => {
            format!("fragmentation needed, MTU {}", rest & 0xffff)
        }
        (Icmp4Type::UNREACHABLE, 9 | 10 | code4::ADMIN_PROHIBITED) => "administratively prohibited".into(),
        (Icmp4Type::UNREACHABLE, code) => format!("destination unreachable, code {code}"),
        (Icmp4Type::TIME_EXCEEDED, code4::TTL_IN_TRANSIT) => "time exceeded in transit".into(),
        (Icmp4Type::TIME_EXCEEDED, _) => "time exceeded in reassembly".into(),
        (Icmp4Type::PARAMETER_PROBLEM, _) => format!("parameter problem at byte {}", rest >> 24),
        (kind, code) => format!("{kind} code {code}"),
    }
}

/// A number with at most two digits behind the point.
pub fn short(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers() {
        assert_eq!(error(3, 4, 1400), "fragmentation needed, MTU 1400");
        assert_eq!(error(3, 13, 0), "administratively prohibited");
        assert_eq!(error(3, 7, 0), "destination unreachable, code 7");
        assert_eq!(error(11, 0, 0), "time exceeded in transit");
        assert_eq!(error(12, 0, 20 << 24), "parameter problem at byte 20");
        assert_eq!(error(4, 0, 0), "source_quench code 0");
        for (x, text) in [(0.0, "0"), (100.0, "100"), (33.333, "33.33"), (12.5, "12.5"), (20.0, "20")] {
            assert_eq!(short(x), text);
        }
    }
}
