// SPDX-License-Identifier: Apache-2.0
//! Texts for operators.

use std::net::IpAddr;
use wire::icmp::{code4, code6};
use wire::{Icmp4Type, Icmp6Type};

/// Text for an ICMP error from this address.
pub fn error(from: IpAddr, kind: u8, code: u8, rest: u32) -> String {
    if from.is_ipv6() { error6(kind, code, rest) } else { error4(kind, code, rest) }
}

fn error6(kind: u8, code: u8, rest: u32) -> String {
    match (Icmp6Type(kind), code) {
        (Icmp6Type::UNREACHABLE, code6::NO_ROUTE) => "no route".into(),
        (Icmp6Type::UNREACHABLE, code6::ADMIN_PROHIBITED) => "administratively prohibited".into(),
        (Icmp6Type::UNREACHABLE, code6::BEYOND_SCOPE) => "beyond scope of source address".into(),
        (Icmp6Type::UNREACHABLE, code6::ADDRESS_UNREACHABLE) => "address unreachable".into(),
        (Icmp6Type::UNREACHABLE, code6::PORT_UNREACHABLE) => "port unreachable".into(),
        (Icmp6Type::UNREACHABLE, code) => format!("destination unreachable, code {code}"),
        (Icmp6Type::PACKET_TOO_BIG, _) => format!("packet too big, MTU {rest}"),
        (Icmp6Type::TIME_EXCEEDED, code6::HOP_LIMIT_IN_TRANSIT) => {
            "time exceeded in transit".into()
        }
        (Icmp6Type::TIME_EXCEEDED, _) => "time exceeded in reassembly".into(),
        (Icmp6Type::PARAMETER_PROBLEM, _) => format!("parameter problem at byte {rest}"),
        (kind, code) => format!("{kind} code {code}"),
    }
}

fn error4(kind: u8, code: u8, rest: u32) -> String {
    let unreachable = |what: &str| format!("{what} unreachable");
    match (Icmp4Type(kind), code) {
        (Icmp4Type::UNREACHABLE, code4::NET_UNREACHABLE) => unreachable("network"),
        (Icmp4Type::UNREACHABLE, code4::HOST_UNREACHABLE) => unreachable("host"),
        (Icmp4Type::UNREACHABLE, code4::PROTOCOL_UNREACHABLE) => unreachable("protocol"),
        (Icmp4Type::UNREACHABLE, code4::PORT_UNREACHABLE) => unreachable("port"),
        (Icmp4Type::UNREACHABLE, code4::FRAGMENTATION_NEEDED) => {
            format!("fragmentation needed, MTU {}", rest & 0xffff)
        }
        (Icmp4Type::UNREACHABLE, 9 | 10 | code4::ADMIN_PROHIBITED) => {
            "administratively prohibited".into()
        }
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

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn words_and_numbers() {
        let error6 =
            |kind, code, rest| error(std::net::Ipv6Addr::LOCALHOST.into(), kind, code, rest);
        let error =
            |kind, code, rest| error(std::net::Ipv4Addr::LOCALHOST.into(), kind, code, rest);
        assert_eq!(error6(2, 0, 1280), "packet too big, MTU 1280");
        assert_eq!(error6(1, 3, 0), "address unreachable");
        assert_eq!(error6(4, 1, 40), "parameter problem at byte 40");
        assert_eq!(error6(137, 0, 0), "redirect code 0");
        assert_eq!(error(3, 4, 1400), "fragmentation needed, MTU 1400");
        assert_eq!(error(3, 13, 0), "administratively prohibited");
        assert_eq!(error(3, 7, 0), "destination unreachable, code 7");
        assert_eq!(error(11, 0, 0), "time exceeded in transit");
        assert_eq!(error(12, 0, 20 << 24), "parameter problem at byte 20");
        assert_eq!(error(4, 0, 0), "source_quench code 0");
        for (x, text) in
            [(0.0, "0"), (100.0, "100"), (33.333, "33.33"), (12.5, "12.5"), (20.0, "20")]
        {
            assert_eq!(short(x), text);
        }
    }
}
