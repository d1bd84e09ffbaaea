// SPDX-License-Identifier: Apache-2.0
//! Messages of the kernel, good and broken.

use super::*;
use crate::socket::messages;
use proptest::prelude::*;

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = [(4 + value.len()) as u16, kind].map(u16::to_ne_bytes).concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn message(kind: u16, flags: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (16 + payload.len() as u32).to_ne_bytes().to_vec();
    bytes.extend([kind, flags].map(u16::to_ne_bytes).concat());
    bytes.extend([0; 8]);
    bytes.extend(payload);
    bytes
}

fn parsed(bytes: &[u8]) -> Result<Option<Change>, DecodeError> {
    parse(&messages(bytes).next().expect("one").expect("whole"))
}

fn route_message(kind: u8, attributes: &[Vec<u8>]) -> Vec<u8> {
    let header = [&[2u8, 24, 0, 0, 254, 186, 0, kind][..], &[0; 4]].concat();
    let payload = [header, attributes.concat()].concat();
    message(libc::RTM_NEWROUTE, NLM_F_REPLACE, &payload)
}

fn multipath_message() -> Vec<u8> {
    let hop = |index: u32, hops: u8, attributes: &[u8]| {
        let len = (RTNEXTHOP + attributes.len()) as u16;
        [&len.to_ne_bytes()[..], &[0, hops], &index.to_ne_bytes(), attributes].concat()
    };
    let via = [&10u16.to_ne_bytes()[..], &Ipv6Addr::LOCALHOST.octets()].concat();
    let hops = [
        hop(3, 0, &attribute(libc::RTA_GATEWAY, &[10, 0, 0, 2])),
        hop(4, 9, &attribute(RTA_VIA, &via)),
    ];
    route_message(
        1,
        &[
            attribute(libc::RTA_DST, &[192, 0, 2, 0]),
            attribute(libc::RTA_TABLE, &7u32.to_ne_bytes()),
            attribute(libc::RTA_PRIORITY, &0x1_0014u32.to_ne_bytes()),
            attribute(libc::RTA_MULTIPATH, &hops.concat()),
        ],
    )
}

#[suite::test]
fn a_route_over_several_next_hops() {
    let Ok(Some(Change::Route(route))) = parsed(&multipath_message()) else { panic!() };
    assert_eq!((route.prefix, route.len, route.table), ([192, 0, 2, 0].into(), 24, 7));
    assert_eq!((route.metric, route.protocol, route.replaces), (0x1_0014, 186, true));
    let hop = |index, gateway: IpAddr, weight| Hop {
        index,
        gateway: Some(gateway),
        weight,
        is_encapsulated: false,
    };
    let wanted = [hop(3, [10, 0, 0, 2].into(), 1), hop(4, Ipv6Addr::LOCALHOST.into(), 10)];
    assert_eq!(route.hops, wanted);
}

#[suite::test]
fn a_route_without_next_hops() {
    let dst = attribute(libc::RTA_DST, &[192, 0, 2, 0]);
    let Ok(Some(Change::Route(route))) = parsed(&route_message(6, &[dst])) else { panic!() };
    assert_eq!((route.kind, &route.hops[..]), (RouteKind::Blackhole, &[][..]));
}

#[suite::test]
fn a_neighbor() {
    let mut payload = vec![2u8, 0, 0, 0];
    payload.extend(9u32.to_ne_bytes());
    payload.extend([0x80, 0, 0, 0]);
    payload.extend(attribute(NDA_DST, &[10, 0, 0, 2]));
    payload.extend(attribute(NDA_LLADDR, &[2, 0, 0, 0, 0, 1]));
    let got = parsed(&message(libc::RTM_DELNEIGH, 0, &payload));
    let Ok(Some(Change::NeighborGone(neighbor))) = got else { panic!("{got:?}") };
    assert_eq!((neighbor.index, neighbor.mac), (9, Some(MacAddr([2, 0, 0, 0, 0, 1]))));
    assert!(neighbor.is_static() && neighbor.is_usable() && !neighbor.has_failed());
}

fn nexthop_message(family: u8, kind: u16, attributes: &[Vec<u8>]) -> Vec<u8> {
    let payload = [&[family, 0, 11, 0, 0, 0, 0, 0][..], &attributes.concat()].concat();
    message(kind, 0x501, &payload)
}

#[suite::test]
fn next_hop_objects() {
    let id = |id: u32| attribute(NHA_ID, &id.to_ne_bytes());
    let object = |family, attributes: &[Vec<u8>]| match parsed(&nexthop_message(
        family, NEWNEXTHOP, attributes,
    )) {
        Ok(Some(Change::NextHop(object))) => Some((object.id, object.target)),
        Ok(None) => None,
        other => panic!("{other:?}"),
    };
    let gateway = attribute(NHA_GATEWAY, &[10, 0, 0, 2]);
    let hop =
        Hop { index: 3, gateway: Some([10, 0, 0, 2].into()), weight: 1, is_encapsulated: false };
    let oif = attribute(NHA_OIF, &3u32.to_ne_bytes());
    let got = object(2, &[id(13), gateway.clone(), oif]);
    assert_eq!(got, Some((13, NextHopTarget::Hop(hop))));
    let got = object(2, &[id(14), gateway]);
    assert_eq!(got, Some((14, NextHopTarget::Hop(Hop { index: 0, ..hop }))));
    let got = object(2, &[id(12), attribute(NHA_BLACKHOLE, &[])]);
    assert_eq!(got, Some((12, NextHopTarget::Blackhole)));
    let members = [13u32.to_ne_bytes(), [0; 4], 15u32.to_ne_bytes(), [9, 0, 0, 0]].concat();
    let got = object(0, &[id(16), attribute(NHA_GROUP, &members)]);
    assert_eq!(got, Some((16, NextHopTarget::Group(vec![(13, 1), (15, 10)]))));
    // The high byte of the weight.
    let members = [13u32.to_ne_bytes(), [231, 3, 0, 0], 15u32.to_ne_bytes(), [255; 4]].concat();
    let got = object(0, &[id(16), attribute(NHA_GROUP, &members)]);
    assert_eq!(got, Some((16, NextHopTarget::Group(vec![(13, 1000), (15, u16::MAX)]))));
    assert_eq!(object(0, &[id(17), attribute(NHA_FDB, &[])]), None);
    let got = parsed(&nexthop_message(0, DELNEXTHOP, &[id(16)]));
    assert_eq!(got.ok(), Some(Some(Change::NextHopGone(16))));
    for broken in [&[][..], &[attribute(NHA_ID, &[1])], &[id(1), attribute(NHA_GROUP, &[7])]] {
        assert!(parsed(&nexthop_message(2, NEWNEXTHOP, broken)).is_err(), "{broken:?}");
    }
}

#[suite::test]
fn other_families_are_skipped() {
    let payload = [&[28u8, 20, 0, 0, 254, 2, 0, 1][..], &[0; 4]].concat();
    assert_eq!(parsed(&message(libc::RTM_NEWROUTE, 0, &payload)).ok(), Some(None));
}

proptest! {
    #[suite::test]
    fn broken_routes_dont_panic(
        changes in proptest::collection::vec((16usize..120, any::<u8>()), 1..6),
        len in 16usize..120,
    ) {
        let mut bytes = multipath_message();
        for (at, byte) in changes {
            if let Some(b) = bytes.get_mut(at) {
                *b = byte;
            }
        }
        bytes.truncate(len);
        let len = bytes.len() as u32;
        bytes[..4].copy_from_slice(&len.to_ne_bytes());
        let _ = parsed(&bytes);
    }
}
