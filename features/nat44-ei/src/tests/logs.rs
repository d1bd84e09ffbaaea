// SPDX-License-Identifier: Apache-2.0
//! Ports that users get and give back, as collectors learn of them.

use super::*;
use ::nat::drive::{Logs, log_all, received};

fn logged(lines: &[&str]) -> Rig {
    let mut rig = router(lines);
    log_all(&mut rig);
    rig
}

#[suite::test]
fn a_port_is_told_when_it_is_given_and_when_it_is_free_again() {
    let mut rig =
        logged(&[&format!("nat44 ei add address {PUBLIC}"), "set nat44 ei timeout udp 5"]);
    let ask = packet(0, "10.0.0.2", "10.0.1.2").udp(5000, 53);
    rig.receive_all(0, &[ask.build()]);
    let seen = received(&mut rig);
    assert_eq!((seen.messages.len(), seen.events()), (1, vec![4]));
    let (begin, rest) = seen.messages[0].split_once("XSPORT=\"").expect("a port");
    let (port, end) = rest.split_once('"').expect("the end of the port");
    let wanted = "APMADD [napmap SSUBIX=\"0\" SVLAN=\"0\" IATYP=\"IPv4\" ISADDR=\"10.0.0.2\" \
                  ISPORT=\"5000\" XATYP=\"IPv4\" XSADDR=\"192.0.2.7\" ";
    assert_eq!((begin, end), (wanted, " PROTO=\"17\"]"));
    let record = |event| {
        let port = port.parse::<u16>().expect("a number").to_be_bytes();
        let source = [&[event, 10, 0, 0, 2, 192, 0, 2, 7, 17, 0x13, 0x88][..], &port, &[0; 4]];
        (256, source.concat())
    };
    assert_eq!(seen.records, [record(4)]);
    // Another host of the world sees the same port: nothing new.
    let other = packet(0, "10.0.0.2", "10.0.1.3").udp(5000, 53);
    rig.receive_all(0, &[other.build()]);
    assert_eq!(received(&mut rig), Logs::default());
    rig.seconds(8);
    let seen = received(&mut rig);
    assert_eq!(seen.records, [record(5)]);
    assert!(seen.messages[0].starts_with("APMDEL [napmap SSUBIX=\"0\""), "{:?}", seen.messages);
}

#[suite::test]
fn no_port_left_is_told_once_a_second() {
    let mut rig = logged(&[]);
    for port in 1..4 {
        rig.receive_all(0, &[packet(0, "10.0.0.2", "10.0.1.2").udp(port, 53).build()]);
    }
    assert_eq!(received(&mut rig).events(), [3]);
}

/// The export is saved by this plugin's command where there is no other one.
#[suite::test]
fn the_export_is_saved_without_nat44_ed() {
    let mut rig = bare(2);
    let line = "nat44 ei ipfix logging enable domain 3 src-port 4740";
    rig.cli(line);
    let world = rig.world();
    let lines = world.config_lines().all(&world);
    let saved: Vec<_> = lines.iter().filter(|of| of.text.contains("ipfix logging")).collect();
    assert_eq!(saved.len(), 1);
    assert_eq!((&saved[0].text[..], &saved[0].undo[..]), (line, "nat44 ei ipfix logging disable"));
}
