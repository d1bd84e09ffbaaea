// SPDX-License-Identifier: Apache-2.0
//! LLDP data units: a list of elements with type and length (IEEE 802.1AB-2016 clause 8).

use std::net::{Ipv4Addr, Ipv6Addr};
use wire::MacAddr;

/// Where data units go: the nearest bridge of any kind doesn't forward them (clause 7.1).
pub const NEAREST_BRIDGE: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0, 0, 0x0e]);

/// Types of elements (table 8-1).
mod kind {
    pub const END: u8 = 0;
    pub const CHASSIS: u8 = 1;
    pub const PORT: u8 = 2;
    pub const TTL: u8 = 3;
    pub const PORT_DESCRIPTION: u8 = 4;
    pub const SYSTEM_NAME: u8 = 5;
    pub const MANAGEMENT: u8 = 8;
}

/// A chassis is named by a MAC address (table 8-2).
pub const CHASSIS_MAC: u8 = 4;
/// A chassis is named by a network address: its family, then its bytes.
pub const CHASSIS_NETWORK: u8 = 5;
/// A port is named by a MAC address (table 8-3).
pub const PORT_MAC: u8 = 3;
/// A port is named by a network address.
pub const PORT_NETWORK: u8 = 4;
/// A port is named by its interface's name.
pub const PORT_NAME: u8 = 5;

/// Bytes of a name at most (8.5.2.3).
const LONGEST: usize = 255;

/// A name of a chassis or a port: what kind of name it is, and its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Id {
    /// Subtype of the element.
    pub kind: u8,
    len: u8,
    bytes: [u8; LONGEST],
}

impl Id {
    /// `None` if the element has no name, or a longer one than there can be.
    fn of(value: &[u8]) -> Option<Self> {
        let (&kind, name) = value.split_first()?;
        let len = u8::try_from(name.len()).ok().filter(|len| *len > 0)?;
        let mut bytes = [0; LONGEST];
        bytes[..name.len()].copy_from_slice(name);
        Some(Self { kind, len, bytes })
    }

    /// The name's bytes, 1 to 255.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// A received data unit: the sender, its port and its TTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu {
    /// Chassis ID of the sender.
    pub chassis: Id,
    /// Port ID of the sender.
    pub port: Id,
    /// TTL in seconds; 0 when the sender shuts the port down.
    pub ttl: u16,
}

/// Type and value of an element.
type Element<'a> = (u8, &'a [u8]);

/// Takes one element off the front.
fn split(data: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let (head, rest) = data.split_first_chunk::<2>()?;
    let head = u16::from_be_bytes(*head);
    let (value, rest) = rest.split_at_checked(usize::from(head & 0x1ff))?;
    Some((((head >> 9) as u8, value), rest))
}

/// Reads a data unit; `None` if it isn't one. Chassis, port and lifetime come first, in this order
/// and once (clause 9.2.7.7.1); an end is wanted unless the frame ends with an element.
pub fn read(data: &[u8]) -> Option<Pdu> {
    let ((chassis_kind, chassis), data) = split(data)?;
    let ((port_kind, port), data) = split(data)?;
    let ((ttl_kind, ttl), mut data) = split(data)?;
    if [chassis_kind, port_kind, ttl_kind] != [kind::CHASSIS, kind::PORT, kind::TTL] {
        return None;
    }
    let ttl = u16::from_be_bytes(*ttl.first_chunk()?);
    while !data.is_empty() {
        let ((element, value), rest) = split(data)?;
        match element {
            kind::END if value.is_empty() => break,
            kind::END | kind::CHASSIS | kind::PORT | kind::TTL => return None,
            _ => data = rest,
        }
    }
    Some(Pdu { chassis: Id::of(chassis)?, port: Id::of(port)?, ttl })
}

/// The contents of our own data units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalSystem<'a> {
    /// The interface's address; it names the chassis too.
    pub mac: MacAddr,
    /// The interface's name.
    pub port: &'a str,
    /// The interface's number.
    pub number: u32,
    /// TTL in seconds; 0 for a shutdown data unit.
    pub ttl: u16,
    /// Description of the port; empty for none.
    pub description: &'a str,
    /// The system's name; empty for none.
    pub system: &'a str,
    /// Where the system is managed.
    pub management: (Option<Ipv4Addr>, Option<Ipv6Addr>),
    /// The object that is managed there, as bytes of an object identifier.
    pub object: &'a [u8],
}

/// Appends an element; one that doesn't fit its length field is cut.
fn put(to: &mut Vec<u8>, kind: u8, value: &[&[u8]]) {
    let value = value.concat();
    let value = &value[..value.len().min(0x1ff)];
    to.extend((u16::from(kind) << 9 | value.len() as u16).to_be_bytes());
    to.extend(value);
}

/// The LLDP frame that announces us to a neighbour.
pub fn frame(own: &LocalSystem<'_>) -> Vec<u8> {
    let mut frame = [NEAREST_BRIDGE.0, own.mac.0].concat();
    frame.extend(wire::EtherType::LLDP.0.to_be_bytes());
    put(&mut frame, kind::CHASSIS, &[&[CHASSIS_MAC], &own.mac.0]);
    put(&mut frame, kind::PORT, &[&[PORT_NAME], cut(own.port)]);
    put(&mut frame, kind::TTL, &[&own.ttl.to_be_bytes()]);
    // A shutdown data unit carries nothing else (clause 9.1.2.3).
    if own.ttl != 0 {
        for (kind, text) in
            [(kind::PORT_DESCRIPTION, own.description), (kind::SYSTEM_NAME, own.system)]
        {
            if !text.is_empty() {
                put(&mut frame, kind, &[cut(text)]);
            }
        }
        // Families are IANA's numbers: 1 is IPv4, 2 IPv6, 6 a MAC address (clause 8.5.9).
        let (ip4, ip6) = own.management;
        let mut addresses = Vec::new();
        addresses.extend(ip4.map(|ip| [&[1], ip.octets().as_slice()].concat()));
        addresses.extend(ip6.map(|ip| [&[2], ip.octets().as_slice()].concat()));
        if addresses.is_empty() {
            addresses.push([&[6], own.mac.0.as_slice()].concat());
        }
        // The number is that of the interface, as ifIndex is (table 8-7).
        const IF_INDEX: u8 = 2;
        let object = &own.object[..own.object.len().min(128)];
        for address in addresses {
            let len = [address.len() as u8];
            let number = own.number.to_be_bytes();
            let value: [&[u8]; 6] =
                [&len, &address, &[IF_INDEX], &number, &[object.len() as u8], object];
            put(&mut frame, kind::MANAGEMENT, &value);
        }
    }
    put(&mut frame, kind::END, &[]);
    frame
}

/// A text of at most 255 bytes.
fn cut(text: &str) -> &[u8] {
    &text.as_bytes()[..text.len().min(LONGEST)]
}

/// A name as people read it: addresses in their notation, texts as they are, other bytes in
/// hexadecimal.
pub fn display(id: &Id, mac: u8, network: u8) -> String {
    let bytes = id.bytes();
    if id.kind == mac
        && let Ok(mac) = bytes.try_into()
    {
        return MacAddr(mac).to_string();
    }
    if id.kind == network
        && let Some((family, address)) = bytes.split_first()
    {
        let ip4 = <[u8; 4]>::try_from(address).ok().filter(|_| *family == 1);
        let ip6 = <[u8; 16]>::try_from(address).ok().filter(|_| *family == 2);
        if let Some(address) = ip4
            .map(|a| Ipv4Addr::from(a).to_string())
            .or(ip6.map(|a| Ipv6Addr::from(a).to_string()))
        {
            return address;
        }
    }
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.chars().all(net::is_printable));
    text.map_or_else(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect(), str::to_string)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    fn own(ttl: u16) -> LocalSystem<'static> {
        LocalSystem {
            mac: OWN,
            port: "host-left",
            number: 7,
            ttl,
            description: "to the west",
            system: "router",
            management: (Some(Ipv4Addr::new(10, 0, 0, 1)), Some(Ipv6Addr::LOCALHOST)),
            object: &[],
        }
    }

    #[suite::test]
    fn bytes_as_in_the_standard() {
        let mut want = vec![0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 1, 0x88, 0xcc];
        want.extend([0x02, 7, 4, 2, 0, 0, 0, 0, 1]);
        want.extend([0x04, 10, 5]);
        want.extend(b"host-left");
        want.extend([0x06, 2, 0, 120]);
        want.extend([0x08, 11]);
        want.extend(b"to the west");
        want.extend([0x0a, 6]);
        want.extend(b"router");
        want.extend([0x10, 12, 5, 1, 10, 0, 0, 1, 2, 0, 0, 0, 7, 0]);
        want.extend([
            0x10, 24, 17, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 7, 0,
        ]);
        want.extend([0, 0]);
        assert_eq!(frame(&own(120)), want);
        let bare = LocalSystem {
            management: (None, None),
            description: "",
            system: "",
            object: b"x",
            ..own(9)
        };
        let mut want = want[..35].to_vec();
        want.extend([0x06, 2, 0, 9]);
        want.extend([0x10, 15, 7, 6, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 7, 1, b'x']);
        want.extend([0, 0]);
        assert_eq!(frame(&bare), want);
        let leave = frame(&own(0));
        assert_eq!(leave[35..], [0x06, 2, 0, 0, 0, 0], "nothing but that");
    }

    #[suite::test]
    fn what_is_said_is_read() {
        let unit = read(&frame(&own(120))[14..]).expect("a data unit");
        assert_eq!((unit.ttl, unit.chassis.kind, unit.port.kind), (120, CHASSIS_MAC, PORT_NAME));
        assert_eq!(display(&unit.chassis, CHASSIS_MAC, CHASSIS_NETWORK), "02:00:00:00:00:01");
        assert_eq!(display(&unit.port, PORT_MAC, PORT_NETWORK), "host-left");
    }

    #[suite::test]
    fn what_is_wrong_is_refused() {
        let good: [&[u8]; 3] = [&[0x02, 2, 7, b'a'], &[0x04, 2, 7, b'b'], &[0x06, 2, 0, 9]];
        let [chassis, port, ttl] = good;
        assert!(read(&[chassis, port, ttl].concat()).is_some(), "an end can be missing");
        assert!(
            read(&[chassis, port, ttl, &[0, 0], &[0xff; 3]].concat()).is_some(),
            "what follows is padding"
        );
        let bad: [&[&[u8]]; 9] = [
            &[port, chassis, ttl],
            &[chassis, ttl, port],
            &[chassis, port],
            &[chassis, port, &[0x06, 1, 0]],
            &[&[0x02, 1, 7], port, ttl],
            &[&[0x02, 0], port, ttl],
            &[chassis, port, ttl, &[0x0a, 5, b'x']],
            &[chassis, port, ttl, chassis],
            &[chassis, port, ttl, &[0, 1, 0]],
        ];
        for parts in bad {
            assert_eq!(read(&parts.concat()), None, "{parts:?}");
        }
        let long = [&[0x03, 1, 7][..], &[b'a'; 256], port, ttl].concat();
        assert_eq!(read(&long), None, "a name of 256 bytes");
    }

    #[suite::test]
    fn names_are_shown() {
        let show = |kind, bytes: &[u8]| {
            let id = Id::of(&[&[kind], bytes].concat()).expect("a name");
            display(&id, CHASSIS_MAC, CHASSIS_NETWORK)
        };
        assert_eq!(show(5, &[1, 10, 0, 0, 1]), "10.0.0.1");
        assert_eq!(show(5, &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]), "::1");
        assert_eq!(show(5, &[1, 10]), "010a");
        assert_eq!(show(4, b"abc"), "abc");
        assert_eq!(show(7, "Büro".as_bytes()), "Büro");
        assert_eq!(show(7, b"a\nb"), "610a62");
    }

    proptest! {
        #[suite::test]
        fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..600), at: prop::sample::Index) {
            let _ = read(&bytes);
            let mut good = frame(&own(120))[14..].to_vec();
            let at = at.index(good.len());
            good.splice(at..at, bytes.drain(..bytes.len() / 8));
            let _ = read(&good);
        }
    }
}
