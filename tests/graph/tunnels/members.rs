// SPDX-License-Identifier: Apache-2.0
//! Tunnels of frames under other interfaces, which send by the node that all tunnels share.

use daemon::plugins;
use net::drive::Rig;
use testkit::pkt;

use super::KINDS;

/// Frames of a bond leave by its members, and frames of a sub-interface by its tunnel.
#[test]
fn bonds_and_sub_interfaces_send_by_tunnels() {
    // Tunnels of GTP-U carry frames in layer-2 mode only.
    for kind in KINDS.iter().filter(|kind| !kind.layer3 && kind.prefix != "gtpu_tunnel") {
        let mut rig = Rig::new(plugins::ALL, 2);
        rig.networks();
        let names = [5, 6, 7].map(|id| {
            let name = rig.cli(&kind.create("10.0.1.1", "10.0.1.2", id)).trim().to_string();
            rig.cli(&format!("set interface state {name} up"));
            name
        });
        let [first, second, over] = &names;
        rig.cli("create bond mode broadcast");
        for member in [first, second] {
            rig.cli(&format!("bond add BondEthernet0 {member}"));
        }
        let sub = rig.cli(&format!("create sub-interfaces {over} 9")).trim().to_string();
        let above = ["BondEthernet0".to_string(), sub];
        for (n, name) in above.into_iter().enumerate() {
            rig.cli(&format!("set interface state {name} up"));
            rig.cli(&format!("set interface ip address {name} 10.{n}.9.1/24"));
            rig.cli(&format!("ip neighbor {name} 10.{n}.9.2 02:00:00:00:00:22 static"));
            let packet = pkt::ip4("10.0.0.2", format!("10.{n}.9.2").as_str())
                .udp(5, 6)
                .payload(name.clone());
            rig.bench.rt.turn(true);
            rig.sent();
            let sent = rig.route(&packet.build());
            let inside = |id: u32| {
                let head = (kind.header)(id, &[]);
                let of_tunnel = |b: &[u8]| b.windows(head.len()).any(|bytes| bytes == head);
                sent.iter()
                    .filter(|(port, b)| *port == 1 && of_tunnel(b) && b.ends_with(name.as_bytes()))
                    .count()
            };
            let want = if n == 0 { [1, 1, 0] } else { [0, 0, 1] };
            assert_eq!([5, 6, 7].map(inside), want, "{name} over {}: {sent:x?}", kind.prefix);
        }
    }
}
