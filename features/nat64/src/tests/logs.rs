// SPDX-License-Identifier: Apache-2.0
//! Bindings and sessions that begin and end, as collectors learn of them.

use super::*;
use ::nat::drive::{log_all, received};

fn logged(lines: &[&str]) -> Rig {
    let mut rig = router(lines);
    log_all(&mut rig);
    rig
}

fn receive(rig: &mut Rig, port: usize, packet: &Packet) {
    rig.receive_all(port, &[packet.build()]);
}

/// A record behind the event: the user's port 5000 with this one of the world.
fn source(port: u16) -> Vec<u8> {
    let user = "2001:db8::2".parse::<Ipv6Addr>().expect("an address").octets();
    let [a, b] = port.to_be_bytes();
    [&user[..], &[192, 0, 2, 7, 6, 0x13, 0x88, a, b]].concat()
}

fn with(event: u8, parts: &[&[u8]]) -> Vec<u8> {
    [&[event][..], &parts.concat()].concat()
}

#[suite::test]
fn bindings_and_sessions_are_told_with_all_their_ends() {
    let mut rig = logged(&[&format!("nat64 add pool address {PUBLIC}")]);
    receive(&mut rig, 0, &syn(of_user(USER, HOST6), 5000, 80));
    let seen = received(&mut rig);
    assert_eq!(seen.templates, [256, 257, 258, 259, 260, 261]);
    let [(260, bib), (261, session)] = &seen.records[..] else { panic!("{seen:?}") };
    let port = u16::from_be_bytes([bib[24], bib[25]]);
    let vrf = [0; 4];
    let host = HOST6.parse::<Ipv6Addr>().expect("an address").octets();
    let to = [&host[..], &[10, 0, 1, 2, 0, 80, 0, 80]].concat();
    assert_eq!(*bib, with(10, &[&source(port), &vrf]));
    assert_eq!(*session, with(6, &[&source(port), &to, &vrf]));
    let text = format!(
        "[nsess SVLAN=\"0\" IATYP=\"IPv6\" ISADDR=\"2001:db8::2\" ISPORT=\"5000\" XATYP=\"IPv4\" \
         XSADDR=\"192.0.2.7\" XSPORT=\"{port}\" PROTO=\"6\" XDADDR=\"10.0.1.2\" XDPORT=\"80\"]"
    );
    assert_eq!(seen.messages, [format!("SADD {text}")]);
    // They end with the address.
    rig.cli(&format!("nat64 add pool address {PUBLIC} del"));
    let seen = received(&mut rig);
    let (bib, session) = (with(11, &[&source(port), &vrf]), with(7, &[&source(port), &to, &vrf]));
    assert_eq!(seen.records, [(260, bib), (261, session)]);
    assert_eq!(seen.messages, [format!("SDEL {text}")]);
}

#[suite::test]
fn a_binding_ends_with_its_last_session() {
    let mut rig = logged(&[&format!("nat64 add pool address {PUBLIC}"), "set nat64 timeout udp 5"]);
    for port in [53, 54] {
        receive(&mut rig, 0, &of_user(USER, HOST6).udp(5000, port).payload("question"));
    }
    let mut events = received(&mut rig).events();
    events.sort();
    assert_eq!(events, [6, 6, 10]);
    rig.seconds(20);
    let mut events = received(&mut rig).events();
    events.sort();
    assert_eq!(events, [7, 7, 11]);
    // An operator's binding, too.
    rig.cli("nat64 add static bib 2001:db8::2 7000 192.0.2.7 700 tcp");
    assert_eq!(received(&mut rig).events(), [10]);
}

#[suite::test]
fn other_prefixes_are_in_records() {
    let lines =
        [&format!("nat64 add pool address {PUBLIC}")[..], "nat64 add prefix 2001:db8:64::/48"];
    let mut rig = logged(&lines);
    let to = "2001:db8:64:a00:1:200::";
    receive(&mut rig, 0, &syn(of_user(USER, to), 5000, 80));
    let seen = received(&mut rig);
    let octets = to.parse::<Ipv6Addr>().expect("an address").octets();
    let (_, session) = seen.records.iter().find(|(id, _)| *id == 261).expect("a session");
    assert_eq!(session[26..42], octets);
}

#[suite::test]
fn lacks_are_told() {
    let mut rig = logged(&[]);
    (0..3).for_each(|i| receive(&mut rig, 0, &syn(of_user(USER, HOST6), 5000 + i, 80)));
    assert_eq!(received(&mut rig).records, [(257, vec![3, 0, 0, 0, 0])]);
}
