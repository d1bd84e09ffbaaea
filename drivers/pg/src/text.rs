// SPDX-License-Identifier: Apache-2.0
//! The text of a stream's packets, in VPP's form.
//!
//! `IP4: 1.2.3 -> 4.5.6` is an Ethernet header for IPv4 (addresses as three numbers or as usual),
//! `UDP: 10.0.0.1 -> 10.0.0.9` behind it an IP header for UDP, `UDP: 1234 -> 2345` behind that a
//! UDP header. An address or port is one value, `a-b` (one after the other) or `a+b` (random).
//! Words behind a header set its fields. Payload: `incrementing N`, `hex 0x…`.

use crate::template::{Edit, Step, Template};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::{EtherType, Ipv4Header, MacAddr};
use zerocopy::IntoBytes;

/// The type of the text's first header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// An Ethernet header.
    Ethernet,
    /// An IPv4 header.
    Ip4,
    /// An IPv6 header.
    Ip6,
}

/// The type of the next header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expect {
    Ethernet,
    Arp,
    Ip4,
    Ip6,
    Ports(u8),
    Icmp,
    Payload,
}

/// Bytes of a packet at most.
const LONGEST: usize = 65_535;

/// Reads the text.
///
/// # Errors
/// What stands where, and what was expected.
pub fn parse(text: &str, start: Start) -> Result<Template, String> {
    let mut words = text.split_whitespace().peekable();
    let mut t = Template::default();
    let mut expect = match start {
        Start::Ethernet => Expect::Ethernet,
        Start::Ip4 => Expect::Ip4,
        Start::Ip6 => Expect::Ip6,
    };
    let mut header = 0;
    while let Some(word) = words.next() {
        if let Some(name) = word.strip_suffix(':') {
            let from = words
                .next()
                .ok_or_else(|| format!("`{word}': expected `{word} source -> destination'"))?;
            let arrow = words.next();
            if arrow != Some("->") {
                return Err(format!(
                    "`{word} {from}': expected `->' and a destination, not `{}'",
                    arrow.unwrap_or("the end")
                ));
            }
            let to = words
                .next()
                .ok_or_else(|| format!("`{word} {from} ->': expected a destination"))?;
            header = t.bytes.len();
            expect = layer(&mut t, expect, name, from, to)?;
            continue;
        }
        let mut number = |what: &str| -> Result<u64, String> {
            let value = words.next().ok_or_else(|| format!("`{word}': expected {what}"))?;
            parse_number(value).ok_or_else(|| format!("`{word} {value}': expected {what}"))
        };
        match word {
            "incrementing" => {
                let n = number("a number of bytes")?;
                if n > LONGEST as u64 {
                    return Err(format!("`{word} {n}': a packet has at most {LONGEST} bytes"));
                }
                t.bytes.extend((0..n).map(|i| i as u8));
                expect = Expect::Payload;
            }
            "hex" => {
                let digits = words.next().ok_or("`hex': expected 0x and digits")?;
                t.bytes.extend(parse_hex(digits).ok_or_else(|| {
                    format!("`hex {digits}': expected an even number of hex digits")
                })?);
                expect = Expect::Payload;
            }
            "echo_request" | "echo_reply" if expect == Expect::Icmp => {
                expect = icmp_echo(&mut t, word == "echo_request");
            }
            "ICMP" if expect == Expect::Icmp => {}
            _ => field(&mut t, expect, header, word, &mut number)?,
        }
    }
    if t.bytes.len() > LONGEST {
        return Err(format!("the data has {} bytes, a packet at most {LONGEST}", t.bytes.len()));
    }
    if t.bytes.is_empty() {
        return Err(
            "the data is empty: expected headers such as `IP4: 1.2.3 -> 4.5.6', or `hex 0x…'"
                .into(),
        );
    }
    Ok(t)
}

/// A field of the last header.
fn field(
    t: &mut Template,
    expect: Expect,
    header: usize,
    word: &str,
    number: &mut dyn FnMut(&str) -> Result<u64, String>,
) -> Result<(), String> {
    let ip4 = t.ip4 == Some(header);
    let ip6 = t.ip6 == Some(header);
    let l4 = t.l4 == Some(header);
    let put = |t: &mut Template, at: usize, width: usize, value: u64| {
        write_at(&mut t.bytes, header + at, width, value)
    };
    match word {
        "ttl" if ip4 => put(t, 8, 1, number("a time to live")?),
        "ttl" | "hop-limit" if ip6 => put(t, 7, 1, number("a hop limit")?),
        "tos" if ip4 => put(t, 1, 1, number("a type of service")?),
        "fragment_id" | "id" if ip4 => put(t, 4, 2, number("an identification")?),
        "df" if ip4 => put(t, 6, 2, u64::from(Ipv4Header::DF)),
        "fragment" if ip4 => put(t, 6, 2, number("flags and offset")?),
        "version" if ip4 => {
            let version = number("a version")? as u8;
            t.bytes[header] = version << 4 | t.bytes[header] & 15;
        }
        "length" if ip4 => {
            put(t, 2, 2, number("a length")?);
            t.keep.ip_length = true;
        }
        "checksum" if ip4 => {
            put(t, 10, 2, number("a checksum")?);
            t.keep.ip_checksum = true;
        }
        "length" if l4 && expect == Expect::Payload => {
            put(t, 4, 2, number("a length")?);
            t.keep.l4_length = true;
        }
        "checksum" if l4 => {
            let tcp = t.ip4.is_some_and(|at| t.bytes[at + 9] == 6)
                || t.ip6.is_some_and(|at| t.bytes[at + 6] == 6);
            put(t, if tcp { 16 } else { 6 }, 2, number("a checksum")?);
            t.keep.l4_checksum = true;
        }
        _ => {
            return Err(format!(
                "`{word}' isn't known here: expected a header such as `UDP: 1 -> 2', `incrementing N' or `hex 0x…'"
            ));
        }
    }
    Ok(())
}

fn layer(
    t: &mut Template,
    expect: Expect,
    name: &str,
    from: &str,
    to: &str,
) -> Result<Expect, String> {
    let at = t.bytes.len();
    match expect {
        Expect::Ethernet => {
            let (ethertype, next) = match name {
                "IP4" => (EtherType::IP4.0, Expect::Ip4),
                "IP6" => (EtherType::IP6.0, Expect::Ip6),
                "ARP" => (EtherType::ARP.0, Expect::Arp),
                other => match parse_number(other) {
                    Some(n) if n <= 0xffff => (n as u16, Expect::Payload),
                    _ => {
                        return Err(format!(
                            "`{other}:': expected IP4, IP6, ARP or an Ethernet type such as 0x88cc"
                        ));
                    }
                },
            };
            t.bytes.extend(mac(to)?.0);
            t.bytes.extend(mac(from)?.0);
            t.bytes.extend(ethertype.to_be_bytes());
            Ok(next)
        }
        Expect::Ip4 => {
            let protocol = protocol(name)?;
            let header = Ipv4Header::new(
                Ipv4Addr::UNSPECIFIED,
                Ipv4Addr::UNSPECIFIED,
                wire::IpProtocol(protocol),
                0,
            );
            t.bytes.extend_from_slice(header.as_bytes());
            let address = |s: &str| s.parse::<Ipv4Addr>().ok().map(|a| u128::from(a.to_bits()));
            range(t, at + 12, 4, from, address, "an IPv4 address")?;
            range(t, at + 16, 4, to, address, "an IPv4 address")?;
            t.ip4 = Some(at);
            Ok(behind_ip(t, protocol))
        }
        Expect::Ip6 => {
            let protocol = protocol(name)?;
            t.bytes.extend([0x60, 0, 0, 0, 0, 0, protocol, 64]);
            t.bytes.extend([0; 32]);
            let address = |s: &str| s.parse::<Ipv6Addr>().ok().map(u128::from);
            range(t, at + 8, 16, from, address, "an IPv6 address")?;
            range(t, at + 24, 16, to, address, "an IPv6 address")?;
            t.ip6 = Some(at);
            Ok(behind_ip(t, protocol))
        }
        Expect::Arp => {
            // `ARP: request/sender-ip -> target-ip`: sender's MAC address is the frame's source.
            let source: Vec<u8> = t.bytes[at - 8..at - 2].to_vec();
            t.bytes.extend([0, 1, 8, 0, 6, 4, 0, if name == "reply" { 2 } else { 1 }]);
            t.bytes.extend(source);
            t.bytes.extend([0; 14]);
            let address = |s: &str| s.parse::<Ipv4Addr>().ok().map(|a| u128::from(a.to_bits()));
            range(t, at + 14, 4, from, address, "an IPv4 address")?;
            range(t, at + 24, 4, to, address, "an IPv4 address")?;
            Ok(Expect::Payload)
        }
        Expect::Ports(protocol) => {
            let port = |s: &str| parse_number(s).filter(|n| *n <= 0xffff).map(u128::from);
            let header: &[u8] = if protocol == 6 {
                // Data offset 5, ACK, a full window.
                &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]
            } else {
                &[0; 8]
            };
            t.bytes.extend_from_slice(header);
            range(t, at, 2, from, port, "a port")?;
            range(t, at + 2, 2, to, port, "a port")?;
            Ok(Expect::Payload)
        }
        Expect::Icmp | Expect::Payload => {
            Err(format!("`{name}: {from} -> {to}': no such header comes here"))
        }
    }
}

fn behind_ip(t: &mut Template, protocol: u8) -> Expect {
    match protocol {
        6 | 17 => {
            t.l4 = Some(t.bytes.len());
            Expect::Ports(protocol)
        }
        1 | 58 => {
            t.l4 = Some(t.bytes.len());
            Expect::Icmp
        }
        _ => Expect::Payload,
    }
}

fn icmp_echo(t: &mut Template, request: bool) -> Expect {
    let kind = match (t.ip6.is_some(), request) {
        (false, true) => 8,
        (false, false) => 0,
        (true, true) => 128,
        (true, false) => 129,
    };
    t.bytes.extend([kind, 0, 0, 0, 0, 1, 0, 1]);
    Expect::Payload
}

fn protocol(name: &str) -> Result<u8, String> {
    Ok(match name {
        "ICMP" => 1,
        "IGMP" => 2,
        "TCP" => 6,
        "UDP" => 17,
        "GRE" => 47,
        "ICMP6" => 58,
        "SCTP" => 132,
        other => parse_number(other).and_then(|n| u8::try_from(n).ok()).ok_or_else(|| {
            format!("`{other}:': expected a protocol: ICMP, TCP, UDP, GRE, ICMP6, SCTP or a number")
        })?,
    })
}

/// One value, `a-b` or `a+b`: writes the first, and notes the edit.
fn range(
    t: &mut Template,
    at: usize,
    width: usize,
    text: &str,
    value: impl Fn(&str) -> Option<u128>,
    what: &str,
) -> Result<(), String> {
    let wrong =
        || format!("`{text}': expected {what}, `a-b' (one after the other) or `a+b' (random)");
    let (low, high, step) = match text.split_once(['-', '+']) {
        None => {
            let one = value(text).ok_or_else(wrong)?;
            (one, one, Step::Increment)
        }
        Some((low, high)) => {
            let step = if text.contains('+') { Step::Random } else { Step::Increment };
            (value(low).ok_or_else(wrong)?, value(high).ok_or_else(wrong)?, step)
        }
    };
    if low > high {
        return Err(format!("`{text}': the first is above the last"));
    }
    t.bytes[at..at + width].copy_from_slice(&low.to_be_bytes()[16 - width..]);
    if low != high {
        t.edits.push(Edit { at, width, range: (low, high), step });
    }
    Ok(())
}

/// A MAC address as usual, or VPP's three 16-bit numbers (`1.2.3` is 00:01:00:02:00:03).
fn mac(text: &str) -> Result<MacAddr, String> {
    if let Ok(mac) = text.parse() {
        return Ok(mac);
    }
    let parts: Vec<u16> = text.split('.').filter_map(|p| u16::from_str_radix(p, 16).ok()).collect();
    match parts[..] {
        [a, b, c] if text.split('.').count() == 3 => {
            let [[a, b], [c, d], [e, f]] = [a, b, c].map(u16::to_be_bytes);
            Ok(MacAddr([a, b, c, d, e, f]))
        }
        _ => Err(format!("`{text}': expected a MAC address such as 02:00:00:00:00:01 or 1.2.3")),
    }
}

fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if digits.is_empty() || !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return None;
    }
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).ok()).collect()
}

/// Writes the low `width` bytes of `value`, big-endian, at `at`.
fn write_at(bytes: &mut [u8], at: usize, width: usize, value: u64) {
    bytes[at..at + width].copy_from_slice(&value.to_be_bytes()[8 - width..]);
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn packet(text: &str) -> Vec<u8> {
        let t = parse(text, Start::Ethernet).unwrap_or_else(|e| panic!("{text}: {e}"));
        let mut out = Vec::new();
        t.write(0, 0, &mut || 1, &mut out);
        out
    }

    #[suite::test]
    fn a_udp_packet_equals_the_one_built_by_hand() {
        let text = "IP4: 1.2.3 -> 02:00:00:00:00:05 UDP: 10.0.0.1 -> 10.0.1.2 ttl 9 UDP: 1234 -> 0x50 incrementing 20";
        let payload: Vec<u8> = (0..20).collect();
        let want = testkit::pkt::ether("00:01:00:02:00:03", "02:00:00:00:00:05")
            .ip4("10.0.0.1", "10.0.1.2")
            .ttl(9)
            .udp(1234, 0x50)
            .payload(&payload)
            .build();
        assert_eq!(packet(text), want);
    }

    #[suite::test]
    fn an_echo_request_has_a_good_checksum() {
        let bytes = packet(
            "IP4: 1.2.3 -> 4.5.6 ICMP: 10.0.0.1 -> 10.0.1.2 ICMP echo_request incrementing 11",
        );
        assert_eq!(wire::l4::verify(&bytes[14..]), Ok(wire::l4::Verdict::Valid));
        assert!(Ipv4Header::checksum_ok_at(&bytes[14..]));
    }

    #[suite::test]
    fn what_is_said_wrong_on_purpose_stays_wrong() {
        let bytes = packet(
            "IP4: 1.2.3 -> 4.5.6 UDP: 10.0.0.1 -> 10.0.1.2 checksum 0xbad length 9 UDP: 1 -> 2 incrementing 4",
        );
        assert_eq!((&bytes[16..18], &bytes[24..26]), (&[0, 9][..], &[0x0b, 0xad][..]));
    }

    #[suite::test]
    fn ranges_go_on() {
        let t = parse("UDP: 10.0.0.2-10.0.0.4 -> 10.1.0.1+10.1.0.9 UDP: 5 -> 6-7", Start::Ip4)
            .expect("good");
        let mut out = Vec::new();
        let mut seen = Vec::new();
        for n in 0..5 {
            t.write(n, 0, &mut || 3, &mut out);
            seen.push((out[15], out[19], out[23]));
            assert_eq!(wire::l4::verify(&out), Ok(wire::l4::Verdict::Valid));
        }
        assert_eq!(seen, [(2, 4, 6), (3, 4, 7), (4, 4, 6), (2, 4, 7), (3, 4, 6)]);
    }

    #[suite::test]
    fn errors_say_what_was_expected() {
        for (text, part) in [
            ("", "empty"),
            ("IP4: 1.2.3", "expected `->'"),
            ("IP4: 1.2 -> 4.5.6", "expected a MAC address"),
            ("IP4: 1.2.3 -> 4.5.6 UDP: 10.0.0.300 -> 1.1.1.1", "expected an IPv4 address"),
            ("IP4: 1.2.3 -> 4.5.6 UDP: 10.0.0.9-10.0.0.1 -> 1.1.1.1", "above the last"),
            ("IP4: 1.2.3 -> 4.5.6 BLA: 10.0.0.9 -> 1.1.1.1", "expected a protocol"),
            ("hex 0x123", "even number"),
            ("bogus", "isn't known here"),
            ("incrementing 99999999999999999", "at most 65535 bytes"),
            ("incrementing 65535 hex 0x00", "at most 65535"),
        ] {
            let error = parse(text, Start::Ethernet).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    proptest::proptest! {
        #[suite::test]
        fn no_text_panics(text in "(IP4:|IP6:|UDP:|TCP:|ICMP:|ICMP|echo_request|1.2.3|->|10.0.0.1|::1|5|hex|0x12|incrementing|ttl|checksum|length| ){0,20}") {
            for start in [Start::Ethernet, Start::Ip4, Start::Ip6] {
                if let Ok(t) = parse(&text.replace(':', ": "), start) {
                    t.write(1, 100, &mut || 7, &mut Vec::new());
                }
                let _ = parse(&text, start);
            }
        }
    }
}
