// SPDX-License-Identifier: Apache-2.0
//! Bytes of packets.

use super::*;
use crate::packet::Numbers;
use crate::router::Query;
use wire::igmp::{IP_HEADER_LEN, Igmp3Report};

#[suite::test]
fn bytes_of_queries() {
    let numbers = Numbers { response: 100, interval: 125 };
    let general = packet::queries(own(0), 1500, numbers, None);
    #[rustfmt::skip]
    let expected = [
        0x01, 0, 0x5e, 0, 0, 1, 2, 0xfe, 0, 0, 0, 0, 8, 0,
        0x46, 0xc0, 0, 36, 0, 0, 0, 0, 1, 2, 0x3a, 0x12, 10, 0, 0, 1, 224, 0, 0, 1, 0x94, 4, 0, 0,
        0x11, 100, 0xec, 0x1e, 0, 0, 0, 0, 2, 125, 0, 0,
    ];
    assert_eq!(general, [expected], "{general:02x?}");
    let query = Query { group: ip("239.1.2.3"), sources: set(&["10.0.0.1", "10.0.0.2"]) };
    let of_sources = packet::queries(own(0), 1500, numbers, Some(&query));
    assert_eq!(of_sources[0][..6], [0x01, 0, 0x5e, 1, 2, 3]);
    assert_eq!(of_sources[0][30..34], [239, 1, 2, 3]);
    assert_eq!(of_sources[0][42..], [239, 1, 2, 3, 2, 125, 0, 2, 10, 0, 0, 1, 10, 0, 0, 2]);
    // One source a packet.
    assert_eq!(packet::queries(own(0), 40, numbers, Some(&query)).len(), 2);
}

#[suite::test]
fn reports_are_split_at_the_mtu() {
    let many: Vec<_> = (0..100).map(|n| format!("10.0.0.{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let records = [
        record(Kind::IS_INCLUDE, "239.1.1.1", &many[..10]),
        record(Kind::ALLOW, "239.1.1.2", &many),
        record(Kind::TO_EXCLUDE, "239.1.1.3", &[]),
        record(Kind::IS_EXCLUDE, "239.1.1.4", &many),
    ];
    let frames = packet::reports(own(0), 232, &records);
    let mut read = Vec::new();
    for frame in &frames {
        assert!(frame.len() - 14 <= 232);
        let records = Igmp3Report::records(&frame[14 + IP_HEADER_LEN..]).expect("whole");
        read.push(
            records.map(|(r, s)| (r.kind, r.group().octets()[3], s.len())).collect::<Vec<_>>(),
        );
    }
    assert_eq!(
        read,
        [
            vec![(Kind::IS_INCLUDE, 1, 10)],
            vec![(Kind::ALLOW, 2, 48)],
            vec![(Kind::ALLOW, 2, 48)],
            vec![(Kind::ALLOW, 2, 4), (Kind::TO_EXCLUDE, 3, 0)],
            // An excluding record can't be split: the rest is left out, so that more comes in than
            // asked for.
            vec![(Kind::IS_EXCLUDE, 4, 48)],
        ]
    );
    assert!(packet::reports(own(0), 1500, &[]).is_empty());
}
