// SPDX-License-Identifier: Apache-2.0
//! CDP packets: a header and a list of elements, each with its type and length. Cisco publishes the
//! format; Wireshark's dissector is the reference for its checksum.

use std::net::Ipv4Addr;
use wire::MacAddr;

/// Destination of all packets: Cisco's protocols of a link.
pub const GROUP: MacAddr = MacAddr([0x01, 0, 0x0c, 0xcc, 0xcc, 0xcc]);
/// Cisco's organisation in SNAP.
pub const CISCO: [u8; 3] = [0, 0, 0x0c];
/// CDP among the protocols of Cisco.
pub const PROTOCOL: u16 = 0x2000;
/// LLC of SNAP.
const LLC: [u8; 3] = [0xaa, 0xaa, 3];
/// The version that is sent.
const VERSION: u8 = 2;
/// Bytes of the header: version, TTL in seconds, checksum.
const HEADER: usize = 4;
/// Bytes of an element's head: type and length, which includes them.
const HEAD: usize = 4;

/// Types of elements.
mod kind {
    pub const DEVICE: u16 = 1;
    pub const ADDRESSES: u16 = 2;
    pub const PORT: u16 = 3;
    pub const CAPABILITIES: u16 = 4;
    pub const SOFTWARE: u16 = 5;
    pub const PLATFORM: u16 = 6;
}

/// Capability of a router.
const ROUTER: u32 = 1;

/// A text of at most `N` bytes; longer ones are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Text<const N: usize> {
    len: u8,
    bytes: [u8; N],
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self { len: 0, bytes: [0; N] }
    }
}

impl<const N: usize> Text<N> {
    fn of(value: &[u8]) -> Self {
        let len = value.len().min(N).min(u8::MAX.into());
        let mut bytes = [0; N];
        bytes[..len].copy_from_slice(&value[..len]);
        Self { len: len as u8, bytes }
    }

    /// Returns true if the neighbour sent no text.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The text on one line: whatever isn't printable becomes a dot.
    pub fn display(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes[..usize::from(self.len)]);
        text.trim_end().chars().map(|c| if net::is_printable(c) { c } else { '.' }).collect()
    }
}

/// The contents of a neighbour's packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pdu {
    /// Version of the protocol, 1 or 2.
    pub version: u8,
    /// Seconds until the neighbour is removed; 0 when it takes its leave.
    pub ttl: u8,
    /// The neighbour's name.
    pub device: Text<127>,
    /// Its port.
    pub port: Text<127>,
    /// Its hardware.
    pub platform: Text<127>,
    /// Its software.
    pub software: Text<255>,
}

/// Reasons why a packet isn't one of CDP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PduError {
    /// Neither version 1 nor 2.
    Version,
    /// The checksum is of other bytes.
    Checksum,
    /// An element is shorter than its head or longer than the packet.
    Element,
}

/// The sum of big-endian words, with the last byte as `last` adds it.
fn sum(bytes: &[u8], last: fn(u8) -> u32) -> u16 {
    let (words, rest) = bytes.as_chunks::<2>();
    let mut sum: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    sum += rest.first().map_or(0, |byte| last(*byte));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Returns true if the checksum is right. For packets of odd length, senders differ in the last
/// byte: as RFC 1071 pads it, or in place of the low byte of a word as Cisco does, which also
/// counts it as a signed number and is off by one then.
fn is_intact(bytes: &[u8]) -> bool {
    let signed =
        |byte: u8| if byte < 0x80 { u32::from(byte) } else { 0xff00 + u32::from(byte) - 1 };
    let all = [
        sum(bytes, |byte| u32::from(byte) << 8),
        sum(bytes, |byte| byte.into()),
        sum(bytes, signed),
    ];
    all.contains(&0xffff)
}

/// Type and value of an element.
type Element<'a> = (u16, &'a [u8]);

/// Takes one element off the front.
fn split(bytes: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let (&[k0, k1, l0, l1], _) = bytes.split_first_chunk::<HEAD>()?;
    let (element, rest) = bytes.split_at_checked(usize::from(u16::from_be_bytes([l0, l1])))?;
    Some(((u16::from_be_bytes([k0, k1]), element.get(HEAD..)?), rest))
}

/// Reads a packet behind the SNAP header.
///
/// # Errors
/// The first fault. A packet without a header has no version.
pub fn read(bytes: &[u8]) -> Result<Pdu, PduError> {
    let (&[version, ttl, ..], mut rest) =
        bytes.split_first_chunk::<HEADER>().ok_or(PduError::Version)?;
    if !matches!(version, 1 | 2) {
        return Err(PduError::Version);
    }
    if !is_intact(bytes) {
        return Err(PduError::Checksum);
    }
    let mut unit = Pdu { version, ttl, ..Pdu::default() };
    while !rest.is_empty() {
        let ((kind, value), behind) = split(rest).ok_or(PduError::Element)?;
        match kind {
            kind::DEVICE => unit.device = Text::of(value),
            kind::PORT => unit.port = Text::of(value),
            kind::PLATFORM => unit.platform = Text::of(value),
            kind::SOFTWARE => unit.software = Text::of(value),
            _ => (),
        }
        rest = behind;
    }
    Ok(unit)
}

/// Head of a packet, and its neighbour's name and port, as far as its first bytes have them: for a
/// trace.
pub fn peek(bytes: &[u8]) -> Option<Pdu> {
    let (&[version, ttl, ..], mut rest) = bytes.split_first_chunk::<HEADER>()?;
    let mut unit = Pdu { version, ttl, ..Pdu::default() };
    while let Some(((kind, value), behind)) = split(rest) {
        match kind {
            kind::DEVICE => unit.device = Text::of(value),
            kind::PORT => unit.port = Text::of(value),
            _ => (),
        }
        rest = behind;
    }
    Some(unit)
}

/// The contents of our packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalSystem<'a> {
    /// The interface's address.
    pub mac: MacAddr,
    /// Our name.
    pub device: &'a str,
    /// The interface's name.
    pub port: &'a str,
    /// The interface's IPv4 addresses.
    pub addresses: &'a [Ipv4Addr],
    /// Seconds until a neighbour removes us.
    pub ttl: u8,
    /// Our software.
    pub software: &'a str,
}

/// Appends an element.
fn put(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    to.extend(kind.to_be_bytes());
    to.extend(((HEAD + value.len()) as u16).to_be_bytes());
    to.extend(value);
}

/// The CDP frame that announces us to neighbours.
pub fn frame(own: &LocalSystem<'_>) -> Vec<u8> {
    let mut packet = vec![VERSION, own.ttl, 0, 0];
    put(&mut packet, kind::DEVICE, cut(own.device));
    if !own.addresses.is_empty() {
        // Protocol type 1 is a network layer protocol id, of which 0xcc is IPv4's.
        let addresses = own.addresses.iter().take(16);
        let mut value = (addresses.len() as u32).to_be_bytes().to_vec();
        addresses.for_each(|address| {
            value.extend([1, 1, 0xcc, 0, 4]);
            value.extend(address.octets());
        });
        put(&mut packet, kind::ADDRESSES, &value);
    }
    put(&mut packet, kind::PORT, cut(own.port));
    put(&mut packet, kind::CAPABILITIES, &ROUTER.to_be_bytes());
    put(&mut packet, kind::PLATFORM, b"Ferrovia");
    // Of packets of even length there is one checksum only.
    let mut software = cut(own.software).to_vec();
    if !(packet.len() + HEAD + software.len()).is_multiple_of(2) {
        software.push(b' ');
    }
    put(&mut packet, kind::SOFTWARE, &software);
    let checksum = !sum(&packet, |byte| byte.into());
    packet[2..HEADER].copy_from_slice(&checksum.to_be_bytes());

    let [p0, p1] = PROTOCOL.to_be_bytes();
    let headers: [&[u8]; 3] = [&LLC, &CISCO, &[p0, p1]];
    let length = (headers.concat().len() + packet.len()) as u16;
    [&[GROUP.0, own.mac.0].concat(), length.to_be_bytes().as_slice(), &headers.concat(), &packet]
        .concat()
}

/// A text of at most 254 bytes.
fn cut(text: &str) -> &[u8] {
    &text.as_bytes()[..text.len().min(254)]
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 9, 1)];

    fn own() -> LocalSystem<'static> {
        LocalSystem {
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            device: "router",
            port: "host-left",
            addresses: &ADDRESSES,
            ttl: 180,
            software: "Ferrovia 1",
        }
    }

    /// A packet with elements, and the checksum that this sum of its bytes makes.
    fn packet(elements: &[&[u8]], last: fn(u8) -> u32) -> Vec<u8> {
        let mut packet = [&[2, 180, 0, 0], elements.concat().as_slice()].concat();
        let checksum = !sum(&packet, last);
        packet[2..4].copy_from_slice(&checksum.to_be_bytes());
        packet
    }

    #[suite::test]
    fn bytes_as_published() {
        let mut want = vec![0x01, 0, 0x0c, 0xcc, 0xcc, 0xcc, 2, 0, 0, 0, 0, 1, 0, 96];
        want.extend([0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0x00]);
        // The checksum is Scapy's, and Wireshark calls it correct.
        want.extend([2, 180, 0x22, 0xc4]);
        want.extend([0, 1, 0, 10]);
        want.extend(b"router");
        want.extend([
            0, 2, 0, 26, 0, 0, 0, 2, 1, 1, 0xcc, 0, 4, 10, 0, 0, 1, 1, 1, 0xcc, 0, 4, 10, 0, 9, 1,
        ]);
        want.extend([0, 3, 0, 13]);
        want.extend(b"host-left");
        want.extend([0, 4, 0, 8, 0, 0, 0, 1]);
        want.extend([0, 6, 0, 12]);
        want.extend(b"Ferrovia");
        want.extend([0, 5, 0, 15]);
        want.extend(b"Ferrovia 1 ");
        assert_eq!(frame(&own()), want);
    }

    #[suite::test]
    fn what_is_sent_is_read() {
        let unit = read(&frame(&own())[22..]).expect("a packet");
        assert_eq!((unit.version, unit.ttl), (2, 180));
        let texts = [
            unit.device.display(),
            unit.port.display(),
            unit.platform.display(),
            unit.software.display(),
        ];
        assert_eq!(texts, ["router", "host-left", "Ferrovia", "Ferrovia 1"]);
    }

    #[suite::test]
    fn what_is_wrong_is_refused() {
        let low = |byte: u8| u32::from(byte);
        let device: &[u8] = &[0, 1, 0, 6, b'a', b'b'];
        let good = packet(&[device], low);
        assert!(read(&good).is_ok());
        assert!(read(&packet(&[], low)).is_ok(), "no element is wrong");
        assert_eq!(read(&good[..3]), Err(PduError::Version));
        for version in [0, 3, 255] {
            assert_eq!(read(&[&[version], &good[1..]].concat()), Err(PduError::Version));
        }
        for at in 1..good.len() {
            let mut other = good.clone();
            other[at] ^= 4;
            assert_eq!(read(&other), Err(PduError::Checksum), "byte {at}");
        }
        for element in [
            &[0, 1, 0, 3][..],
            &[0, 1, 0, 0],
            &[0, 1, 0, 8, b'.'],
            &[0, 1, 0xff, 0xff],
            &[0, 1, 0],
            &[0],
        ] {
            for before in [&[][..], device] {
                assert_eq!(
                    read(&packet(&[before, element], low)),
                    Err(PduError::Element),
                    "{element:?}"
                );
            }
        }
    }

    #[suite::test]
    fn checksums_of_odd_length_are_those_of_cisco_or_of_rfc_1071() {
        let padded = |byte: u8| u32::from(byte) << 8;
        let low = |byte: u8| u32::from(byte);
        let signed = |byte: u8| 0xff00 + u32::from(byte) - 1;
        for (last, way) in [
            (b'a', padded as fn(u8) -> u32),
            (b'a', low),
            (0xe4, padded),
            (0xe4, low),
            (0xe4, signed),
        ] {
            let packet = packet(&[&[0, 1, 0, 5, last]], way);
            assert!(read(&packet).is_ok(), "{last}");
        }
        // Scapy's.
        for packet in
            [[2, 0xb4, 0xfc, 0xe4, 0, 1, 0, 5, 0x61], [2, 0xb4, 0xfd, 0x61, 0, 1, 0, 5, 0xe4]]
        {
            assert!(read(&packet).is_ok(), "{packet:02x?}");
        }
    }

    #[suite::test]
    fn texts_are_cut_and_shown_on_one_line() {
        let long = packet(&[&[0, 1, 1, 4], &[b'x'; 256]], |byte| byte.into());
        assert_eq!(read(&long).expect("a packet").device.display(), "x".repeat(127));
        assert_eq!(Text::<20>::of(b"a\nb\x1b[1m ").display(), "a.b.[1m");
        assert_eq!(Text::<20>::of("Büro\u{9b}".as_bytes()).display(), "Büro.");
        assert_eq!(Text::<20>::of("a\u{202e}b\u{2028}c\u{200b}".as_bytes()).display(), "a.b.c.");
        assert_eq!(Text::<20>::of(b"a\xff\xc3").display(), "a\u{fffd}\u{fffd}");
    }

    proptest! {
        #[suite::test]
        fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..600), at: prop::sample::Index) {
            let _ = read(&bytes);
            let _ = peek(&bytes);
            // Behind the checksum, too.
            let mut changed = frame(&own())[22..].to_vec();
            let at = at.index(changed.len());
            changed.splice(at..at, bytes.drain(..bytes.len() / 8));
            let _ = peek(&changed);
            let _ = read(&packet(&[&changed[4..]], |byte| byte.into()));
        }
    }
}
