// SPDX-License-Identifier: Apache-2.0
//! Mirrored frames.

use super::*;

/// The nodes of port mirroring.
pub fn mirroring(w: &mut Walk) {
    for port in ["pg10", "pg11", "pg12"] {
        w.run(&format!("create packet-generator interface {port}"));
        w.run(&format!("set interface state {port} up"));
    }
    for line in [
        "set interface l2 xconnect pg10 pg11",
        "set interface l2 xconnect pg11 pg10",
        "set interface l2 bridge pg12 5",
        "set interface span pg10 destination pg12 rx",
        "set interface span pg11 destination pg12 tx",
        "set interface span pg10 destination pg12 rx l2",
        "set interface span pg11 destination pg12 tx l2",
    ] {
        w.run(line);
    }
    let rx = w.bench.world.get::<Interfaces>().find("pg10").expect("there");
    let frame = [&[2, 0xaa, 0, 0, 0, 2, 2, 0xaa, 0, 0, 0, 1, 0x88, 0xb5][..], &[7; 46]].concat();
    let arrive = |w: &mut Walk, counter: &str| w.moves(counter, |w| w.bench.arrive(rx, &frame));
    for node in ["span-input", "span-output", "span-l2-input", "span-l2-output"] {
        arrive(w, &format!("{node}/SPAN incoming packets processed"));
    }
    w.run("set interface state pg12 down");
    arrive(w, "span-input/down");
    arrive(w, "span-output/down");
}
