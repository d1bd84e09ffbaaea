// SPDX-License-Identifier: Apache-2.0
//! Tagged frames.

use super::*;
use net::{SubFrames, SubInterface, Tags, Vlan};

/// A frame of 46 bytes of payload with these tags (protocol, TCI).
fn tagged(destination: [u8; 6], tags: &[(u16, u16)], ethertype: u16) -> Vec<u8> {
    let mut bytes = frame(destination, ethertype);
    let tags = tags.iter().flat_map(|(protocol, tci)| [*protocol, *tci]).flat_map(u16::to_be_bytes);
    bytes.splice(12..12, tags);
    bytes
}

fn tags(outer: Vlan, inner: Option<Vlan>, exact: bool) -> Tags {
    Tags { dot1ad: false, outer, inner, exact }
}

/// Makes a sub-interface that is up.
fn sub(bench: &Bench, parent: SwIfIndex, id: u32, frames: SubFrames) -> u32 {
    let interfaces = bench.world.get::<Interfaces>();
    let sub =
        interfaces.create_sub(&bench.world, parent, SubInterface { id, frames }).expect("made");
    interfaces.set_admin(&bench.world, sub, true).expect("up");
    sub.0
}

const Q: u16 = 0x8100;
const AD: u16 = 0x88a8;

#[suite::test]
fn frames_come_in_untagged_by_the_sub_interface_that_asks_for_them() {
    let (mut bench, parent) = bench();
    let interfaces = bench.world.get::<Interfaces>();
    interfaces.set_admin(&bench.world, parent, true).expect("up");
    let make = |id, tags| sub(&bench, parent, id, SubFrames::Tagged(tags));
    let hundred = make(100, tags(Vlan::Id(100), None, true));
    let inner = make(7, tags(Vlan::Id(100), Some(Vlan::Id(7)), true));
    let loose = make(200, tags(Vlan::Id(200), None, false));
    let any = make(8, tags(Vlan::Id(200), Some(Vlan::Any), false));
    let service = make(9, Tags { dot1ad: true, ..tags(Vlan::Id(100), None, true) });
    type Case<'a> = (&'a [(u16, u16)], Option<u32>);
    let cases: [Case<'_>; 16] = [
        (&[(Q, 100)], Some(hundred)),
        (&[(Q, 0xf064)], Some(hundred)),
        (&[(0x9100, 100)], Some(hundred)),
        (&[(0x9200, 100)], Some(hundred)),
        (&[(AD, 100)], Some(service)),
        (&[(Q, 100), (Q, 7)], Some(inner)),
        (&[(0x9100, 100), (Q, 7)], Some(inner)),
        // The inner tag is a customer's: what looks like another is a type that nothing takes.
        (&[(Q, 100), (AD, 7)], None),
        (&[(Q, 100), (Q, 8)], None),
        (&[(Q, 100), (Q, 7), (Q, 1)], None),
        (&[(Q, 200)], Some(loose)),
        (&[(Q, 200), (Q, 8)], Some(any)),
        (&[(Q, 300)], None),
        (&[(AD, 200)], None),
        (&[(Q, 0)], Some(parent.0)),
        (&[(Q, 0), (Q, 100)], None),
    ];
    let mut wanted = BTreeMap::new();
    for (tags, want) in cases {
        let bytes = tagged(OWN.0, tags, 0x0800);
        for n in [1, 20] {
            for o in bench.node("ethernet-input", &vec![bytes.clone(); n], |b| b.rx_if = parent.0) {
                let (node, came, rest) = (o.node.as_str(), o.rx_if, o.bytes);
                if let Some(want) = want {
                    let payload = frame(OWN.0, 0x0800)[14..].to_vec();
                    assert_eq!((node, came, rest), ("taker", want, payload), "{tags:?}");
                } else {
                    let why = Some("no sub-interface takes this VLAN");
                    assert_eq!((node, o.reason, &rest), ("error-drop", why, &bytes), "{tags:?}");
                }
                if came != parent.0 {
                    let (packets, octets) = wanted.entry(came).or_insert((0, 0));
                    (*packets, *octets) = (*packets + 1, *octets + bytes.len() as u64);
                }
            }
        }
    }
    let counters: Arc<IfCounters> = bench.world.get();
    for (sub, count) in wanted {
        assert_eq!(counters.rx.sum(sub as usize), count, "whole frames");
        assert_eq!(counters.rx_unicast.sum(sub as usize), count);
    }
}

#[suite::test]
fn what_nobody_asks_for_is_the_default_ones() {
    let (mut bench, parent) = bench();
    let interfaces = bench.world.get::<Interfaces>();
    interfaces.set_admin(&bench.world, parent, true).expect("up");
    let came = |bench: &mut Bench, tags: &[(u16, u16)]| {
        let bytes = [tagged([0xff; 6], tags, 0x0800)];
        let o = bench.node("ethernet-input", &bytes, |b| b.rx_if = parent.0).remove(0);
        o.reason.map_or(Ok(o.rx_if), Err)
    };
    let default = sub(&bench, parent, 1, SubFrames::Default);
    let seventh = sub(&bench, parent, 7, SubFrames::Tagged(tags(Vlan::Id(7), None, true)));
    for tags in [&[(Q, 0)][..], &[(Q, 8)], &[(AD, 7)], &[(Q, 7), (Q, 7)]] {
        assert_eq!(came(&mut bench, tags), Ok(default), "{tags:?}");
    }
    assert_eq!(came(&mut bench, &[(Q, 7)]), Ok(seventh));
    assert_eq!(came(&mut bench, &[]), Ok(parent.0), "it is for tagged ones");
    // Any outer tag is more exact than none.
    let any = sub(&bench, parent, 2, SubFrames::Tagged(tags(Vlan::Any, None, false)));
    assert_eq!(came(&mut bench, &[(Q, 8)]), Ok(any));
    interfaces.set_admin(&bench.world, SwIfIndex(any), false).expect("down");
    assert_eq!(came(&mut bench, &[(Q, 8)]), Err("interface is down"));
    interfaces.delete(&bench.world, SwIfIndex(any)).expect("gone");
    assert_eq!(came(&mut bench, &[(Q, 8)]), Ok(default));
    interfaces.delete(&bench.world, SwIfIndex(default)).expect("gone");
    assert_eq!(came(&mut bench, &[(Q, 8)]), Err("no sub-interface takes this VLAN"));
    assert_eq!(came(&mut bench, &[(Q, 7)]), Ok(seventh));
    // With the parent goes all that lies on it.
    loopback::delete(&bench.world, parent).expect("gone");
    assert!(interfaces.get(SwIfIndex(seventh)).is_err());
    let again = loopback::create(&bench.world, Some(OWN), None).expect("created");
    assert_eq!(again, parent, "the same number");
    interfaces.set_admin(&bench.world, parent, true).expect("up");
    assert_eq!(came(&mut bench, &[(Q, 7)]), Err("no sub-interface takes this VLAN"));
}

#[suite::test]
fn tagged_frames_are_for_us_or_dropped_by_name() {
    let (mut bench, parent) = bench();
    let interfaces = bench.world.get::<Interfaces>();
    interfaces.set_admin(&bench.world, parent, true).expect("up");
    let sub = sub(&bench, parent, 5, SubFrames::Tagged(tags(Vlan::Id(5), None, true)));
    let mut why = |bytes: Vec<u8>| {
        let o = bench.node("ethernet-input", &[bytes], |b| b.rx_if = parent.0).remove(0);
        (o.rx_if, o.reason)
    };
    let five = [(Q, 5)];
    let others = [2, 0, 0, 0, 0, 7];
    assert_eq!(
        why(tagged(others, &five, 0x0800)),
        (sub, Some("destination MAC address is another host's"))
    );
    assert_eq!(
        why(tagged(OWN.0, &five, 0x88cc)),
        (sub, Some("no feature takes this Ethernet type"))
    );
    assert_eq!(why(tagged(OWN.0, &five, 46)), (sub, None), "`llc-input' takes it");
    for len in 14..18 {
        let mut short = tagged(OWN.0, &five, 0x0800);
        short.truncate(len);
        assert_eq!(why(short), (parent.0, Some("no sub-interface takes this VLAN")), "{len}");
    }
}

#[suite::test]
fn all_vlans_of_two_tags_have_their_sub_interface() {
    let (mut bench, parent) = bench();
    bench.world.get::<Interfaces>().set_admin(&bench.world, parent, true).expect("up");
    let pairs: Vec<(u16, u16)> =
        (1..=4094).step_by(91).flat_map(|a| [1, 64, 4094].map(|b| (a, b))).collect();
    let subs: Vec<u32> = pairs
        .iter()
        .zip(1..)
        .map(|((outer, inner), id)| {
            let tags = tags(Vlan::Id(*outer), Some(Vlan::Id(*inner)), true);
            sub(&bench, parent, id, SubFrames::Tagged(tags))
        })
        .collect();
    for ((outer, inner), sub) in pairs.into_iter().zip(subs) {
        let bytes = tagged(OWN.0, &[(Q, outer), (Q, inner)], 0x0800);
        let o = bench.node("ethernet-input", &[bytes], |b| b.rx_if = parent.0).remove(0);
        assert_eq!((o.node.as_str(), o.rx_if), ("taker", sub));
    }
}

#[suite::test]
fn small_and_staged_agree_on_mutated_tagged_frames() {
    let (mut bench, parent) = bench();
    bench.world.get::<Interfaces>().set_admin(&bench.world, parent, true).expect("up");
    sub(&bench, parent, 7, SubFrames::Tagged(tags(Vlan::Id(7), None, true)));
    sub(&bench, parent, 8, SubFrames::Tagged(tags(Vlan::Id(8), Some(Vlan::Id(9)), true)));
    sub(
        &bench,
        parent,
        9,
        SubFrames::Tagged(Tags { dot1ad: true, ..tags(Vlan::Any, None, false) }),
    );
    sub(&bench, parent, 10, SubFrames::Default);
    let bases = [
        frame(OWN.0, 0x0800),
        tagged(OWN.0, &[(Q, 7)], 0x0800),
        tagged([0xff; 6], &[(Q, 7)], 0x0806),
        tagged(OWN.0, &[(Q, 8), (Q, 9)], 0x0800),
        tagged(OWN.0, &[(AD, 7), (Q, 9)], 0x0800),
        tagged(OWN.0, &[(Q, 8), (Q, 9), (Q, 1)], 0x0800),
        tagged(OWN.0, &[(Q, 0)], 0x0800),
    ];
    small_and_staged_agree(&mut bench, parent, &bases);
}

#[suite::test]
fn frames_for_a_further_mac_address_are_taken_where_it_was_added() {
    let (mut bench, sw_if) = bench();
    let further: std::sync::Arc<net::FurtherMacs> = bench.world.get();
    let user = net::MacUser { feature: "test", id: 7 };
    let mac = MacAddr([0, 0, 0x5e, 0, 1, 9]);
    let on_vlan = SubFrames::Tagged(tags(Vlan::Id(9), None, true));
    let sub = SwIfIndex(sub(&bench, sw_if, 9, on_vlan));
    bench.world.get::<Interfaces>().set_admin(&bench.world, sw_if, true).expect("up");
    let world = bench.world.clone();
    let mut dropped = |frame: &[u8]| {
        let before = bench.count("ethernet-input", "l3 mac mismatch");
        bench.send("ethernet-input", frame, |b| b.rx_if = sw_if.0);
        bench.count("ethernet-input", "l3 mac mismatch") - before == 1
    };
    let plain = frame(mac.0, 0x0800);
    let on_sub = tagged(mac.0, &[(0x8100, 9)], 0x0800);
    assert!(dropped(&plain) && dropped(&on_sub));
    further.add(&world, sub, mac, user).expect("added");
    assert!(dropped(&plain) && !dropped(&on_sub), "the sub-interface alone has it");
    further.add(&world, sw_if, mac, net::MacUser::OPERATOR).expect("added");
    further.add(&world, sw_if, mac, user).expect("added");
    assert!(!dropped(&plain) && !dropped(&on_sub));
    further.remove(&world, sub, mac, user).expect("removed");
    assert!(further.remove(&world, sub, mac, user).is_err(), "it has gone");
    further.remove(&world, sw_if, mac, user).expect("removed");
    assert!(!dropped(&plain) && dropped(&on_sub), "the operator still wants it");
    assert_eq!(further.of_user(sw_if, net::MacUser::OPERATOR), [mac]);
    further.remove(&world, sw_if, mac, net::MacUser::OPERATOR).expect("removed");
    assert!(dropped(&plain) && further.list(sw_if).is_empty());
}
