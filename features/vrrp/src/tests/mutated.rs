// SPDX-License-Identifier: Apache-2.0
//! Mutated packets: each is taken, or dropped by name, and the machine stays sound.

use super::*;
use testkit::mutate::Mutator;

#[suite::test]
fn mutated_packets_do_no_harm() {
    let mut rig = rig(1);
    rig.cli("vrrp vr add p0 vr_id 7 accept_mode 10.0.0.9");
    rig.cli("vrrp vr add p0 vr_id 7 ipv6 2001:db8::9");
    rig.cli("vrrp proto start p0 vr_id 7");
    rig.cli("vrrp proto start p0 vr_id 7 ipv6");
    let target: std::net::Ipv6Addr = "2001:db8::9".parse().expect("an address");
    let peer = "2001:db8::2".parse().expect("an address");
    let bases = [
        advertisement(7, 200, "10.0.0.2", "10.0.0.9"),
        advertisement(7, 50, "10.0.0.2", "10.0.0.9"),
        advertisement(7, 0, "10.0.0.2", "10.0.0.9"),
        advertisement(7, 200, "fe80::2", "2001:db8::9"),
        advertisement(7, 0, "fe80::2", "2001:db8::9"),
        ip6_nd::compose::solicitation(peer_mac(0), peer, target, None).to_vec(),
        arp_request(),
        // Faults behind good checksums.
        advertisement(8, 200, "10.0.0.2", "10.0.0.9"),
        two_addresses(),
        advertisement(8, 200, "fe80::2", "2001:db8::9"),
    ];
    let mut mutator = Mutator::new(0x112);
    let mut masters = 0;
    for _ in 0..500 {
        for frame in mutator.vector(&bases, 200, 0) {
            rig.bench.arrive(rig.ports[0], &frame);
        }
        rig.bench.settle();
        let jump = mutator.rng().below(200) as u64;
        rig.bench.world.clock.adjust(jump * CS);
        rig.bench.settle();
        masters += u32::from(state(&rig, 7, false) == State::Master);
        sent(&rig);
    }
    let processed = |node| rig.count(node, "VRRP packets processed");
    assert!(processed("vrrp4-input") > 500 && processed("vrrp6-input") > 300);
    assert!(processed("vrrp4-arp-input") > 0 && processed("vrrp6-nd-input") > 0);
    for name in crate::counters::FAULTS {
        let count = crate::counters::fault(&rig.world(), name).sum(crate::counters::CELL);
        assert!(count > 10, "{name}: {count}");
    }
    assert!(masters > 10, "it was master for a while");
    // All of that leaves nothing behind.
    rig.cli("vrrp vr del p0 vr_id 7");
    rig.cli("vrrp vr del p0 vr_id 7 ipv6");
    assert_eq!(rig.world().get::<net::FurtherMacs>().list(rig.ports[0]), []);
    assert_eq!(rig.world().get::<net::Addresses<wire::Ip4>>().own(rig.ports[0]).len(), 1);
}

fn two_addresses() -> Vec<u8> {
    let addresses = &[ip("10.0.0.9"), ip("10.0.0.10")];
    let content = Content { id: 7, priority: 1, interval: 100, addresses, is_plain: true };
    content.frame(MacAddr([0, 0, 0x5e, 0, 1, 7]), ip("10.0.0.3"))
}

fn arp_request() -> Vec<u8> {
    testkit::pkt::arp_request(peer_mac(0), [10, 0, 0, 2], [10, 0, 0, 9]).build()
}
