// SPDX-License-Identifier: Apache-2.0
//! Errors of ICMP.

use super::*;
use ::nat::drive::{
    check_damaged_errors, check_errors_of_the_world, check_errors_of_users, error, quoted,
};

/// Errors of the world find the user, with the packet that the user has sent.
#[suite::test]
fn errors_of_the_world_find_the_user() {
    let mut rig = with_pool();
    check_errors_of_the_world(&mut rig);
    assert_eq!(stat(&rig, "out2in/slowpath/icmp", rig.ports[1].at()), 6);
}

/// Errors of users have an address that the world knows, whoever inside has sent them.
#[suite::test]
fn errors_of_users_have_the_address_of_the_world() {
    let mut rig = with_pool();
    rig.cli("nat44 ei add static mapping tcp local 10.0.0.2 8080 external 192.0.2.7 80");
    let of_world = syn(packet(1, "10.0.1.2", PUBLIC), 4000, 80);
    check_errors_of_users(&mut rig, &of_world, (4000, 80));
}

/// A user's error about a packet of another user goes there.
#[suite::test]
fn errors_between_users_find_the_other_one() {
    let mut rig = with_pool();
    rig.cli("nat44 ei add static mapping udp local 10.0.0.30 53 external 192.0.2.7 53");
    let left = rig.pass(0, &packet(0, "10.0.0.2", PUBLIC).udp(5000, 53).build());
    assert_eq!(seen(&left[0]).to, end("10.0.0.30", 53));
    // The session of the server, which an answer makes.
    let port = seen(&left[0]).from.1;
    one(&mut rig, 0, &packet(0, "10.0.0.30", PUBLIC).udp(53, port));
    let about = &left[0].1[ETHERNET..];
    let back = rig.pass(0, &error(0, "10.0.0.30", PUBLIC, about).build());
    let outer = seen(&back[0]);
    assert_eq!((outer.from.0, outer.to.0), (addr(PUBLIC), addr("10.0.0.2")));
    assert_eq!(quoted(&back[0].1), [end("10.0.0.2", 5000), end(PUBLIC, 53)]);
}

/// A damaged error, and one about nothing known, is dropped; trailing bytes don't matter.
#[suite::test]
fn damaged_errors_are_dropped() {
    let mut rig = with_pool();
    check_damaged_errors(&mut rig, 1);
    assert_eq!(rig.count(BACK, "no translation"), 3);
}
