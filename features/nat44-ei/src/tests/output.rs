// SPDX-License-Identifier: Apache-2.0
//! Packets that are translated as they leave.

use super::*;

fn outputs(ports: usize, lines: &[&str]) -> Rig {
    let mut rig = bare(ports);
    rig.cli("nat44 ei plugin enable");
    rig.cli("nat44 ei add address 192.0.2.7");
    lines.iter().for_each(|line| drop(rig.cli(line)));
    rig
}

#[suite::test]
fn packets_are_translated_as_they_leave() {
    let mut rig = outputs(3, &["set interface nat44 ei out p1 output-feature"]);
    let ask = packet(0, "10.0.0.2", "10.0.1.2").udp(5000, 53);
    let seen = one(&mut rig, 0, &ask);
    assert_eq!((seen.port, seen.from.0), (1, addr(PUBLIC)));
    assert_eq!(one(&mut rig, 0, &ask).from, seen.from);
    let back = one(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).udp(53, seen.from.1));
    assert_eq!((back.port, back.to), (0, end("10.0.0.2", 5000)));
    let seen = one(&mut rig, 2, &packet(2, "10.0.2.2", "10.0.0.2").udp(1, 2));
    assert_eq!((seen.port, seen.from), (0, end("10.0.2.2", 1)), "not there");
    let out = rig.ports[1].at();
    assert_eq!(stat(&rig, "in2out/slowpath/udp", out), 1);
    assert_eq!(stat(&rig, "in2out/fastpath/udp", out), 1);
    // The router's own packets have an address that the world knows.
    let seen = one(&mut rig, 1, &packet(1, "10.0.1.2", "10.0.1.1").icmp_echo(7, 1));
    assert_eq!(seen.from.0, addr("10.0.1.1"));
    assert!(refused(&mut rig, "set interface nat44 ei out p1").contains("either"));
}

/// Users of an interface where packets are translated as they leave reach each other.
#[suite::test]
fn users_reach_each_other() {
    let mut rig = outputs(
        2,
        &[
            "set interface nat44 ei in p0 out p1 output-feature",
            "nat44 ei add static mapping tcp local 10.0.0.30 5678 external 192.0.2.7 8765",
        ],
    );
    let seen = one(&mut rig, 0, &syn(packet(0, "10.0.0.2", PUBLIC), 1234, 8765));
    assert_eq!((seen.port, seen.from.0, seen.to), (0, addr(PUBLIC), end("10.0.0.30", 5678)));
    let both = TcpFlags::SYN | TcpFlags::ACK;
    let answer = packet(0, "10.0.0.30", PUBLIC).tcp(5678, seen.from.1).segment(both, 1, 2);
    let back = one(&mut rig, 0, &answer);
    assert_eq!((back.from, back.to), (end(PUBLIC, 8765), end("10.0.0.2", 1234)));
    // Packets of the world were translated as it came in.
    let seen = one(&mut rig, 1, &syn(packet(1, "10.0.1.2", PUBLIC), 4000, 8765));
    assert_eq!((seen.from, seen.to), (end("10.0.1.2", 4000), end("10.0.0.30", 5678)));
}
