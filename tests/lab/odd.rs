// SPDX-License-Identifier: Apache-2.0
//! Packets that no host sends, and what scapy says of the answers.
//!
//! Covers: features/ip, features/icmp, features/arp, features/ip6-nd.

use fixture::{Cable, RouterKind, Side, Site};
use testkit::lab;

fn odd_packets(which: RouterKind) {
    let needs = ["root", "ping", "/usr/lib/python3/dist-packages/scapy/__init__.py"];
    let Some(lab) = lab::require(&needs) else { return };
    let site = Site::new(&lab, which);
    site.mtu(&site.right, 1400);
    let Side { host, address, gateway, .. } = &site.left;
    // The host learns the router's address, and the router both hosts'.
    host.pings("-c1", site.right.address);
    let neighbors = host.ip(&format!("neigh show {gateway}"));
    let mac = neighbors.split("lladdr ").nth(1).and_then(|rest| rest.split(' ').next());
    let mac = mac.unwrap_or_else(|| panic!("{neighbors}"));
    let script = include_str!("odd.py");
    let words = ["-c", script, mac, address, gateway, site.right.address];
    let text = host
        .command("/usr/bin/python3")
        .args(words)
        .timeout(std::time::Duration::from_secs(60))
        .ok();
    assert_eq!(text, "all as it should be\n");
    if let Some(router) = &site.router {
        let errors = router.run("show errors");
        for reason in ["bad ip4 checksum", "ip4 version != 4", "hop limit exceeded response sent"] {
            assert!(errors.contains(reason), "{errors}");
        }
    }
    site.finish();
}

#[test]
fn odd_packets_through_linux() {
    odd_packets(RouterKind::Linux);
}

#[test]
fn odd_packets_through_ferrovia() {
    odd_packets(RouterKind::Ferrovia(1, Cable::Veth));
}
