// SPDX-License-Identifier: Apache-2.0
//! A hundred thousand broken packets: none stops a node, and each is accounted for.

use super::*;
use ::nat::drive::{BROKEN, bases, receive_broken};

#[suite::test]
fn broken_packets_are_accounted_for() {
    let mut rig = router();
    rig.cli("set det44 timeouts udp 2 icmp 1 tcp transitory 1 tcp established 3");
    rig.cli("set ip4-sv-reassembly timeout 10");
    receive_broken(&mut rig, &[0, 1].map(|port| bases(port, port_of(2, 5000))));
    rig.seconds(60);
    assert_eq!(total(&rig), 0, "all sessions end");
    assert!(rig.cli("show det44 mappings").contains("sessions number: 0"));
    for (node, good) in
        [(IN2OUT, "Good in2out packets processed"), (OUT2IN, "Good out2in packets processed")]
    {
        let translated = rig.count(node, good);
        assert!(translated > BROKEN as u64 / 10, "{node}: {translated}");
        for reason in ["No translation", "Unsupported protocol"] {
            assert!(rig.count(node, reason) > 0, "{node}: {reason}");
        }
    }
}
