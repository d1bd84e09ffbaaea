// SPDX-License-Identifier: Apache-2.0
//! Frames of bonds and of LACP.

use super::*;

/// `bond-input`, `BondEthernetN-tx` and `lacp-input`.
pub fn bonds(w: &mut Walk) {
    for line in [
        "create packet-generator interface pg20",
        "create packet-generator interface pg21",
        "create bond mode active-backup hw-addr 02:fe:00:00:00:20 id 0",
        "bond add BondEthernet0 pg20",
        "bond add BondEthernet0 pg21",
        "set interface state pg20 up",
        "set interface state pg21 up",
        "set interface state BondEthernet0 up",
    ] {
        w.run(line);
    }
    let frame = |kind: u16, body: &[u8]| {
        let mut frame =
            [&[2, 0xaa, 0, 0, 0, 2, 2, 0xaa, 0, 0, 0, 1][..], &kind.to_be_bytes(), body].concat();
        frame.resize(124, 0);
        frame
    };
    let arrive = |w: &mut Walk, counter: &str, port: &str, frame: &[u8]| {
        let port = w.bench.world.get::<Interfaces>().find(port).expect("there");
        w.moves(counter, |w| w.bench.arrive(port, frame));
    };
    let data = frame(0x88b5, &[]);
    arrive(w, "bond-input/no error", "pg20", &data);
    arrive(w, "bond-input/traffic received on passive interface", "pg21", &data);
    arrive(w, "bond-input/pass through (CDP, LLDP, slow protocols)", "pg21", &frame(0x8809, &[]));
    w.run("set interface state BondEthernet0 down");
    arrive(w, "bond-input/interface down", "pg20", &data);
    let send = |w: &mut Walk, counter: &str| {
        w.moves(counter, |w| w.bench.send("BondEthernet0-tx", &data, |_| {}))
    };
    send(w, "BondEthernet0-tx/interface down");
    w.run("set interface state BondEthernet0 up");
    w.run("set interface state pg20 down");
    w.run("set interface state pg21 down");
    send(w, "BondEthernet0-tx/no member");
    lacp(w, &frame, &arrive);
}

/// Counter, interface and frame that comes in there.
type Arrive<'a> = &'a dyn Fn(&mut Walk, &str, &str, &[u8]);

fn lacp(w: &mut Walk, frame: &dyn Fn(u16, &[u8]) -> Vec<u8>, arrive: Arrive<'_>) {
    for line in [
        "delete bond BondEthernet0",
        "create bond mode lacp hw-addr 02:fe:00:00:00:20 id 0",
        "bond add BondEthernet0 pg20",
        "bond add BondEthernet0 pg21",
        "set interface state pg20 up",
        "set interface state pg21 up",
        "set interface state BondEthernet0 up",
    ] {
        w.run(line);
    }
    arrive(w, "bond-input/not_collecting", "pg20", &frame(0x88b5, &[]));
    let group = |bytes: Vec<u8>| with(bytes, 0, &[1, 0x80, 0xc2, 0, 0, 2]);
    let unit = |system: u8| {
        let mut body =
            vec![1, 1, 1, 20, 0, 1, 2, 0xfe, 0, 0, 0, system, 0, 9, 0, 1, 0, 1, 0x47, 0, 0, 0];
        body.extend([2, 20]);
        body.resize(42, 0);
        body.extend([3, 16]);
        group(frame(0x8809, &body))
    };
    arrive(w, "lacp-input/good lacp packets -- consumed", "pg20", &unit(1));
    arrive(w, "lacp-input/Bad key", "pg21", &unit(2));
    arrive(w, "lacp-input/loopback port", "pg20", &unit(0x20));
    arrive(w, "lacp-input/bad lacp packets -- bad TLV length", "pg20", &with(unit(1), 17, &[9]));
    arrive(w, "lacp-input/bad lacp packets -- packet too small", "pg20", &unit(1)[..100]);
    arrive(w, "lacp-input/unsupported slow protocol packets", "pg20", &group(frame(0x8809, &[10])));
    arrive(w, "lacp-input/marker", "pg20", &group(frame(0x8809, &[2, 1, 1, 16])));
    w.frame("lacp-input/lacp packets received on disabled interfaces", group(frame(0x8809, &[1])));
}
