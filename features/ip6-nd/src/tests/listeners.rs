// SPDX-License-Identifier: Apache-2.0
//! Groups that are listened to.

use super::*;
use wire::mld::Mld2Report;

/// Kind and group of the records that were reported.
fn reported(r: &Rig) -> Vec<(u8, Ipv6Addr)> {
    let mut all = Vec::new();
    for frame in r.sent() {
        // Behind the hop-by-hop header with its router alert.
        if frame[20] == 0 && frame[62] == 143 {
            assert_eq!((frame[21], &frame[54..62]), (1, &[58, 0, 5, 2, 0, 0, 1, 0][..]));
            assert_eq!(wire::l4::verify(&frame[14..]), Ok(wire::l4::Verdict::Valid));
            all.extend(
                Mld2Report::records(&frame[62..]).map(|x| (x.kind, Ipv6Addr::from(x.group))),
            );
        }
    }
    all
}

fn query(group: &str, hops: u8, from: &str, len: usize) -> Vec<u8> {
    let behind = [&ip(group).octets()[..], &[0; 4]].concat();
    let kind = (Icmp6Type::MLD_QUERY, 0, 1000 << 16);
    let macs = (PEER, MacAddr([0x33, 0x33, 0, 0, 0, 1]));
    message(macs, (from, "ff02::1"), kind, &behind[..len], hops)
}

#[suite::test]
fn groups_of_addresses_are_joined_reported_and_left() {
    let mut r = bare();
    r.sent();
    r.add_address("2001:db8::1:2/64");
    r.pass(3);
    let seen = reported(&r);
    for group in ["ff02::2", "ff02::16", "ff02::1:ff01:2", "ff02::1:ff00:1", "ff02::1:ff00:0"] {
        assert_eq!(seen.iter().filter(|s| **s == (4, ip(group))).count(), 2, "{group} {seen:?}");
    }
    let shown = r.run("show ip6 interface t0");
    assert!(shown.contains("    ff02::1\n") && shown.contains("    ff02::1:ff01:2\n"), "{shown}");
    // Another address of the same group: one station.
    r.add_address("2001:db8:7::1:2/64");
    r.pass(3);
    r.sent();
    let stations = |r: &mut Rig| {
        r.run("show interface secondary-mac-address t0").matches("33:33:ff:01:00:02").count()
    };
    assert_eq!(stations(&mut r), 1);
    let world = r.bench.world.clone();
    let other = "2001:db8:7::1:2/64".parse().expect("a prefix");
    world.get::<Addresses<Ip6>>().remove(&world, r.t0, other).expect("removed");
    r.pass(3);
    assert!(
        !reported(&r).contains(&(3, ip("ff02::1:ff01:2"))) && stations(&mut r) == 1,
        "still needed"
    );
    let prefix = "2001:db8::1:2/64".parse().expect("a prefix");
    world.get::<Addresses<Ip6>>().enable(&world, r.t0, true).expect("enabled");
    world.get::<Addresses<Ip6>>().remove(&world, r.t0, prefix).expect("removed");
    r.pass(3);
    let seen = reported(&r);
    assert_eq!(seen.iter().filter(|s| **s == (3, ip("ff02::1:ff01:2"))).count(), 2, "{seen:?}");
    assert!(!seen.contains(&(3, ip("ff02::1:ff00:1"))), "the link-local one's stays");
    assert_eq!(stations(&mut r), 0);
}

#[suite::test]
fn routers_that_ask_are_answered() {
    let mut r = rig();
    r.receive(&query("::", 1, HIM_LOCAL, 20));
    r.pass(2);
    let seen = reported(&r);
    assert!(seen.len() == 4 && seen.iter().all(|(kind, _)| *kind == 2), "{seen:?}");
    r.receive(&query("ff02::1:ff00:1", 1, HIM_LOCAL, 20));
    r.pass(2);
    assert_eq!(reported(&r), [(2, ip("ff02::1:ff00:1"))]);
    // One that speaks version 1.
    r.receive(&query("::", 1, HIM_LOCAL, 16));
    r.pass(2);
    let sent = r.sent();
    assert!(sent.len() == 4 && sent.iter().all(|f| f[62] == 131), "{sent:02x?}");
    for (reason, frame) in [
        ("invalid_hop_limit_for_type", query("::", 2, HIM_LOCAL, 20)),
        ("source", query("::", 1, HIM, 20)),
        ("length_too_small_for_type", query("::", 1, HIM_LOCAL, 18)),
    ] {
        let n = r.drops("icmp6-multicast-listener-query", reason, |r| r.receive(&frame));
        assert_eq!(n, 1, "{reason}");
    }
}
