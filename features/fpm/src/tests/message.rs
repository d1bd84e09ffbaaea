// SPDX-License-Identifier: Apache-2.0
//! Frames as FRR makes them.

use std::net::IpAddr;

const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const RTA_MULTIPATH: u16 = 9;
const RTA_TABLE: u16 = 15;
const RTA_VIA: u16 = 18;
const RTA_NH_ID: u16 = 30;
pub const UNICAST: u8 = 1;
pub const BLACKHOLE: u8 = 6;
/// BGP's number of zebra.
const PROTOCOL: u8 = 186;

/// A frame with these messages.
pub fn frame(messages: &[Vec<u8>]) -> Vec<u8> {
    let len = 4 + messages.iter().map(Vec::len).sum::<usize>();
    let len = u16::try_from(len).expect("a short frame");
    [&[1, 1], &len.to_be_bytes()[..], &messages.concat()].concat()
}

pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = [(4 + value.len()) as u16, kind].map(u16::to_ne_bytes).concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

pub fn message(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (16 + payload.len() as u32).to_ne_bytes().to_vec();
    bytes.extend([kind, 0x501].map(u16::to_ne_bytes).concat());
    bytes.extend([0; 8]);
    bytes.extend(payload);
    bytes
}

pub fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

fn family(ip: IpAddr) -> u8 {
    if ip.is_ipv6() { 10 } else { 2 }
}

/// A next hop: the kernel's interface, gateway, weight.
pub type Hop = (u32, Option<IpAddr>, u8);

/// Where a route leads.
#[derive(Clone, Debug)]
pub enum To {
    Hops(Vec<Hop>),
    Object(u32),
    Blackhole,
}

fn gateway(of: IpAddr, ip: IpAddr) -> Vec<u8> {
    match of.is_ipv6() == ip.is_ipv6() {
        true => attribute(RTA_GATEWAY, &octets(ip)),
        false => {
            let family = u16::from(family(ip)).to_ne_bytes();
            attribute(RTA_VIA, &[&family[..], &octets(ip)].concat())
        }
    }
}

/// A route of zebra to a prefix in a table.
pub fn route(prefix: (IpAddr, u8), table: u32, to: &To) -> Vec<u8> {
    let (addr, len) = prefix;
    let kind = if matches!(to, To::Blackhole) { BLACKHOLE } else { UNICAST };
    let mut payload = vec![family(addr), len, 0, 0, table.min(255) as u8, PROTOCOL, 0, kind];
    payload.extend([0; 4]);
    payload.extend(attribute(RTA_DST, &octets(addr)));
    payload.extend(attribute(RTA_PRIORITY, &20u32.to_ne_bytes()));
    if table > 255 {
        payload.extend(attribute(RTA_TABLE, &table.to_ne_bytes()));
    }
    match to {
        To::Blackhole => {}
        To::Object(id) => payload.extend(attribute(RTA_NH_ID, &id.to_ne_bytes())),
        To::Hops(hops) if hops.len() == 1 => {
            let (index, ip, _) = hops[0];
            payload.extend(ip.map(|ip| gateway(addr, ip)).unwrap_or_default());
            if index > 0 {
                payload.extend(attribute(RTA_OIF, &index.to_ne_bytes()));
            }
        }
        To::Hops(hops) => {
            let mut all = Vec::new();
            for (index, ip, weight) in hops {
                let of = ip.map(|ip| gateway(addr, ip)).unwrap_or_default();
                all.extend((8 + of.len() as u16).to_ne_bytes());
                all.extend([0, weight - 1]);
                all.extend(index.to_ne_bytes());
                all.extend(of);
            }
            payload.extend(attribute(RTA_MULTIPATH, &all));
        }
    }
    message(libc::RTM_NEWROUTE, &payload)
}

/// The withdrawal of a route.
pub fn no_route((addr, len): (IpAddr, u8), table: u32) -> Vec<u8> {
    let mut payload = vec![family(addr), len, 0, 0, table.min(255) as u8, PROTOCOL, 0, UNICAST];
    payload.extend([0; 4]);
    payload.extend(attribute(RTA_DST, &octets(addr)));
    if table > 255 {
        payload.extend(attribute(RTA_TABLE, &table.to_ne_bytes()));
    }
    message(libc::RTM_DELROUTE, &payload)
}

fn object(family: u8, id: u32, attributes: &[Vec<u8>]) -> Vec<u8> {
    let of = attribute(1, &id.to_ne_bytes());
    let payload = [&[family, 0, 11, 0, 0, 0, 0, 0][..], &of, &attributes.concat()].concat();
    message(104, &payload)
}

/// A next hop as an object.
pub fn hop_object(id: u32, (index, ip, _): Hop) -> Vec<u8> {
    let ip = ip.expect("a gateway");
    let oif = attribute(5, &index.to_ne_bytes());
    object(family(ip), id, &[attribute(6, &octets(ip)), oif])
}

/// A group of objects, each with its weight.
pub fn group_object(id: u32, members: &[(u32, u8)]) -> Vec<u8> {
    let one = |(id, weight): &(u32, u8)| [&id.to_ne_bytes()[..], &[weight - 1, 0, 0, 0]].concat();
    object(0, id, &[attribute(2, &members.iter().flat_map(one).collect::<Vec<_>>())])
}

/// An object that drops packets.
pub fn blackhole_object(id: u32) -> Vec<u8> {
    object(2, id, &[attribute(4, &[])])
}

/// The removal of an object.
pub fn no_object(id: u32) -> Vec<u8> {
    let payload = [&[0; 8][..], &attribute(1, &id.to_ne_bytes())].concat();
    message(105, &payload)
}
