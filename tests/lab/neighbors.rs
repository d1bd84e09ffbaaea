// SPDX-License-Identifier: Apache-2.0
//! ARP with real hosts.
//!
//! Covers: features/arp, features/ip-neighbor.

use fixture::{Cable, RouterKind, Site, eventually};
use serde_json::Value;
use testkit::lab::{Lab, require};
use wire::MacAddr;

fn site() -> Option<(Lab, Site)> {
    let lab = require(&["root", "ping"])?;
    let site = Site::new(&lab, RouterKind::Ferrovia(1, Cable::Veth));
    Some((lab, site))
}

/// The router's neighbours: address and station.
fn neighbors(site: &Site) -> Vec<(String, String)> {
    let Value::Array(all) = site.router().json("show ip4 neighbors") else {
        panic!("a list was expected")
    };
    let text = |n: &Value, key: &str| n[key].as_str().expect("a text").to_string();
    all.iter().map(|n| (text(n, "ip"), text(n, "ethernet"))).collect()
}

fn entry(address: &str, mac: MacAddr) -> (String, String) {
    (address.into(), mac.to_string())
}

#[test]
fn the_first_packet_to_somebody_unknown_arrives() {
    let Some((_lab, site)) = site() else { return };
    let (left, right) = (&site.left, &site.right);
    assert_eq!(neighbors(&site), []);
    left.host.pings("-c1", right.address);
    let macs = [left.host.mac("eth0"), right.host.mac("eth0")];
    let both = vec![entry(left.address, macs[0]), entry(right.address, macs[1])];
    assert_eq!(neighbors(&site), both);
    site.router().run("clear ip neighbors");
    assert_eq!(neighbors(&site), []);
    // Both directions wait at the same time.
    right.host.pings("-c3 -i0.05", left.address);
    assert_eq!(neighbors(&site), both);
    // It speaks to a host that has never spoken to it.
    site.router().run("clear ip neighbors");
    let text = site.router().run(&format!("ping {} repeat 2 interval 0.05", left.address));
    assert!(text.contains(" 0% packet loss") || text.contains("2 received"), "{text}");
    site.finish();
}

#[test]
fn a_host_that_is_not_there_is_said_to_be_unreachable() {
    let Some((_lab, site)) = site() else { return };
    let output = site.left.host.ping("-c1 -W6", "10.0.2.99");
    let expected = format!("From {} icmp_seq=1 Destination Host Unreachable", site.left.gateway);
    assert!(output.stdout.contains(&expected), "{}", output.complaint());
    assert_eq!(neighbors(&site).len(), 1, "who doesn't answer is no neighbour");
    site.finish();
}

#[test]
fn a_station_that_was_replaced_is_found_again() {
    let Some((_lab, site)) = site() else { return };
    let (left, right, router) = (&site.left, &site.right, site.router());
    left.host.pings("-c1", right.address);
    // Without an announcement, the router goes on to send to the old station.
    let mac = MacAddr([2, 0, 0, 0, 0, 0x77]);
    right.host.set_mac("eth0", mac);
    assert!(!left.host.ping("-c2 -i0.05 -W1", right.address).success());
    // Then the entry is probed, and the old station doesn't answer. (Timers run at most once for a
    // step of the clock.)
    router.run("set clock adjust 31");
    eventually("asking anew", || {
        let _ = left.host.ping("-c1 -W1", right.address);
        neighbors(&site).contains(&entry(right.address, mac)).then_some(())
    });
    left.host.pings("-c3 -i0.05", right.address);
    site.finish();
}

#[test]
fn hosts_hear_of_our_address_and_that_it_is_taken() {
    let Some((_lab, site)) = site() else { return };
    let (left, router) = (&site.left, site.router());
    left.host.pings("-c1", left.gateway);
    let station = |ip: &str| {
        let text = left.host.ip(&format!("neigh show {ip} dev eth0"));
        text.split_whitespace().skip_while(|w| *w != "lladdr").nth(1).map(str::to_string)
    };
    let old = station(left.gateway).expect("known");
    // The announcement is read from the host's table: the host sent no request.
    router.run("set arp announce on");
    router.run(&format!("set interface mac address {} 02:00:00:00:00:55", left.port));
    eventually("the announcement", || {
        (station(left.gateway)? == "02:00:00:00:00:55").then_some(())
    });
    assert_ne!(old, "02:00:00:00:00:55");
    left.host.pings("-c1", left.gateway);
    // Proxy ARP: the host believes these to be on its own link.
    left.host.ip("route add 10.99.0.0/24 dev eth0");
    router.script(&format!(
        "set arp proxy start 10.99.0.5 end 10.99.0.6\nset interface proxy-arp {} enable\n",
        left.port
    ));
    for (ip, answered) in [("10.99.0.5", true), ("10.99.0.7", false)] {
        let _ = left.host.ping("-c1 -W1", ip);
        assert_eq!(station(ip).is_some(), answered, "{ip}");
    }
    // Another host with our address is answered by an announcement, and the daemon logs it.
    left.host.addr("eth0", &format!("{}/24", left.gateway));
    left.host.ip("neigh flush all");
    let _ = left.host.command("ping").args(["-c1", "-W1", "-I", left.gateway, "10.0.1.77"]).run();
    eventually("the warning", || router.log().contains("uses our address 10.0.1.1").then_some(()));
    site.finish();
}
