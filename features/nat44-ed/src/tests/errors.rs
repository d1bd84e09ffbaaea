// SPDX-License-Identifier: Apache-2.0
//! Errors of ICMP.

use super::*;
use ::nat::drive::{check_damaged_errors, check_errors_of_the_world, check_errors_of_users};
use ::nat::quoted::Quoted;
use wire::Icmp4Type;

/// Errors of the world find the user, with the packet that the user has sent.
#[suite::test]
fn errors_of_the_world_find_the_user() {
    let mut rig = with_pool();
    check_errors_of_the_world(&mut rig);
    let icmp = rig.bench.world.stats.simple("/nat44-ed/out2in/slowpath/icmp");
    assert_eq!(icmp.sum(rig.ports[1].at()), 6);
}

/// Errors of users have an address that the world knows, whoever inside has sent them.
#[suite::test]
fn errors_of_users_have_the_address_of_the_world() {
    let mut rig = with_pool();
    rig.cli("nat44 add static mapping tcp local 10.0.0.2 8080 external 192.0.2.7 80");
    let of_world = syn(packet(1, "10.0.1.2", PUBLIC), 4000, 80);
    check_errors_of_users(&mut rig, &of_world, (4000, 80));
}

/// A damaged error, and one about nothing known, is dropped; trailing bytes don't matter.
#[suite::test]
fn damaged_errors_are_dropped() {
    let mut rig = with_pool();
    check_damaged_errors(&mut rig, 5001);
    assert_eq!(rig.count("nat44-ed-out2in-slowpath", "couldn't translate packet"), 1);
    assert_eq!(rig.count("nat44-ed-out2in-slowpath", "no translation"), 2);
}

/// An error about a packet of another node of the network is read only as far as it goes.
#[suite::test]
fn quotations_of_any_length_are_read() {
    let mut bench = graph::drive::Bench::new(PLUGINS);
    let whole = pkt::ip4("10.0.0.1", "10.0.0.2").icmp(Icmp4Type::UNREACHABLE, 3, 0);
    let inner = pkt::ip4("1.2.3.4", "5.6.7.8").tcp(1, 2).build();
    for len in 0..=inner.len() {
        let mut b = bench.rt.cache().alloc().expect("a buffer");
        assert!(b.set_data(&whole.clone().payload(&inner[..len]).build()));
        let quoted = Quoted::read(&b, 20);
        assert_eq!(quoted.is_some(), len >= 24, "{len}");
        bench.rt.cache().free(b);
    }
}
