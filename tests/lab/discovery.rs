// SPDX-License-Identifier: Apache-2.0
//! IPv6 neighbour discovery with real hosts and a real router.
//!
//! Covers: features/ip6-nd, features/ip-neighbor.

use fixture::{Cable, PATIENCE, RouterKind, Side, Site, eventually};
use serde_json::Value;
use testkit::lab::{Lab, Netns, require};
use wire::MacAddr;

fn site(words: &[&str]) -> Option<(Lab, Site)> {
    let lab = require(words)?;
    let site = Site::new(&lab, RouterKind::Ferrovia(1, Cable::Veth));
    Some((lab, site))
}

/// Enables IPv6 on a host: it makes its link-local address, and solicits routers.
fn enable(host: &Netns) {
    host.sysctl("net/ipv6/conf/eth0/disable_ipv6", "0");
}

/// The host's address in a /64 of this beginning, once it may be used.
fn address(host: &Netns, beginning: &str) -> Option<String> {
    let text = host.ip("-6 -o addr show dev eth0 scope global");
    let ours = |l: &&str| !l.contains("tentative") && !l.contains("dadfailed");
    let words = text.lines().filter(ours).filter_map(|l| l.split_whitespace().nth(3));
    words.filter_map(|w| w.split('/').next()).find(|a| a.starts_with(beginning)).map(str::to_string)
}

fn default_route(host: &Netns) -> Option<String> {
    let text = host.ip("-6 route show default");
    text.split_whitespace().skip_while(|w| *w != "via").nth(1).map(str::to_string)
}

/// The router's interface towards a side gets an address and advertises its network.
fn advertise(site: &Site, side: &Side, network: u8) {
    let port = &side.port;
    site.router().script(&format!(
        "set interface ip address {port} 2001:db8:{network}::1/64\n\
         ip6 nd {port} no ra-suppress\nip6 nd {port} prefix 2001:db8:{network}::/64 3600 1800\n\
         ip6 nd {port} ra-hop-limit 55\n"
    ));
}

fn neighbors(site: &Site) -> Vec<Value> {
    let Value::Array(all) = site.router().json("show ip6 neighbors") else {
        panic!("a list was expected")
    };
    all
}

#[test]
fn hosts_make_addresses_and_routes_of_what_we_advertise() {
    let Some((_lab, site)) = site(&["root", "ping"]) else { return };
    let hosts = [(&site.left, 1), (&site.right, 2)];
    let addresses = hosts.map(|(side, network)| {
        advertise(&site, side, network);
        enable(&side.host);
        let beginning = format!("2001:db8:{network}:");
        eventually("an address of our prefix", || address(&side.host, &beginning))
    });
    for (side, _) in hosts {
        let route = eventually("a default route", || default_route(&side.host));
        assert!(route.starts_with("fe80::"), "{route}");
        // The hop limit that hosts put in their packets.
        assert_eq!(side.host.sh("cat /proc/sys/net/ipv6/conf/eth0/hop_limit").ok().trim(), "55");
        // And the neighbour is known as a router.
        let _ = side.host.ping("-c1", &format!("{route}%eth0"));
        let seen = side.host.ip(&format!("-6 neigh show {route} dev eth0"));
        assert!(seen.contains("router"), "{seen}");
    }
    site.left.host.pings("-c3 -i0.05", &addresses[1]);
    site.right.host.pings("-c3 -i0.05", &addresses[0]);
    let known = neighbors(&site);
    for address in &addresses {
        assert!(known.iter().any(|n| n["ip"] == **address), "{address} {known:?}");
    }
    // The last advertisements withdraw us as a default router.
    site.router().run(&format!("ip6 nd {} ra-suppress", site.left.port));
    eventually("no default route", || default_route(&site.left.host).is_none().then_some(()));
    site.finish();
}

#[test]
fn who_has_an_address_first_keeps_it() {
    let Some((_lab, site)) = site(&["root", "ping"]) else { return };
    let (host, port, router) = (&site.left.host, &site.left.port, site.router());
    router.run(&format!("ip6 nd {port} ra-suppress"));
    router.run("set ip6 dad enable");
    enable(host);
    host.ip("-6 addr add 2001:db8:1::1/64 dev eth0");
    eventually("the host's address", || address(host, "2001:db8:1:"));
    let state = |ip: &str| {
        let json = router.json("show ip6 dad");
        let all = json["addresses"].as_array().expect("a list").clone();
        all.iter().find(|a| a["address"] == ip)?["state"].as_str().map(str::to_string)
    };
    router.run(&format!("set interface ip address {port} 2001:db8:1::1/64"));
    eventually("that the host has it", || (state("2001:db8:1::1")? == "duplicate").then_some(()));
    assert!(router.log().contains("has 2001:db8:1::1: it is not used"), "{}", router.log());
    // An address that no host has is ours, and the host may not take it.
    router.run(&format!("set interface ip address {port} 2001:db8:1::7/64"));
    eventually("that nobody has it", || state("2001:db8:1::7").is_none().then_some(()));
    // Also from the address in dispute: packets to that are his.
    host.pings("-c1 -I 2001:db8:1::1", "2001:db8:1::7");
    host.ip("-6 addr add 2001:db8:1::7/64 dev eth0");
    eventually("that we have it", || {
        host.ip("-6 addr show dev eth0")
            .lines()
            .any(|l| l.contains("::7/") && l.contains("dadfailed"))
            .then_some(())
    });
    site.finish();
}

#[test]
fn neighbours_fail_and_recover_in_both_families() {
    let Some((_lab, site)) = site(&["root", "ping"]) else { return };
    let (left, right, router) = (&site.left, &site.right, site.router());
    for (side, network) in [(left, 1), (right, 2)] {
        router.run(&format!("ip6 nd {} ra-suppress", side.port));
        router.run(&format!("set interface ip address {} 2001:db8:{network}::1/64", side.port));
        enable(&side.host);
        side.host.ip(&format!("-6 addr add 2001:db8:{network}::2/64 dev eth0 nodad"));
        side.host.ip(&format!("-6 route add default via 2001:db8:{network}::1"));
    }
    let both = ["2001:db8:2::2", right.address];
    both.iter().for_each(|ip| drop(left.host.pings("-c2 -i0.05", ip)));
    // No host has this address.
    let output = left.host.ping("-c1 -W6", "2001:db8:2::99");
    assert!(
        output.stdout.contains("Destination unreachable: Address unreachable"),
        "{}",
        output.complaint()
    );
    // The station is replaced, without an announcement.
    right.host.set_mac("eth0", MacAddr([2, 0, 0, 0, 0, 0x77]));
    for ip in both {
        assert!(!left.host.ping("-c2 -i0.05 -W1", ip).success(), "{ip}");
    }
    router.run("set clock adjust 31");
    eventually("asking anew", || {
        let up = |ip: &&str| left.host.ping("-c1 -W1", ip).success();
        both.iter().all(up).then_some(())
    });
    both.iter().for_each(|ip| drop(left.host.pings("-c3 -i0.05", ip)));
    // The link goes and comes.
    right.host.down("eth0");
    eventually("the link's end", || {
        neighbors(&site).iter().all(|n| n["ip"] != "2001:db8:2::2").then_some(())
    });
    right.host.up("eth0");
    right.host.ip("-6 addr replace 2001:db8:2::2/64 dev eth0 nodad");
    right.host.ip("-6 route replace default via 2001:db8:2::1");
    right.host.ip(&format!("route replace default via {}", right.gateway));
    eventually("both families again", || {
        both.iter().all(|ip| left.host.ping("-c1 -W1", ip).success()).then_some(())
    });
    site.finish();
}

#[test]
fn a_host_elsewhere_is_answered_for() {
    let Some((_lab, site)) = site(&["root", "ping"]) else { return };
    let (left, right, router) = (&site.left, &site.right, site.router());
    router.script(&format!(
        "ip6 nd {l} ra-suppress\nip6 nd {r} ra-suppress\n\
         set interface ip address {l} 2001:db8:1::1/64\nset interface ip address {r} 2001:db8:2::1/64\n\
         set ip6 nd proxy {r} 2001:db8:1::77\n",
        l = left.port,
        r = right.port
    ));
    for (side, ip, gateway) in
        [(left, "2001:db8:1::2/64", "2001:db8:1::1"), (right, "2001:db8:2::2/64", "2001:db8:2::1")]
    {
        enable(&side.host);
        side.host.ip(&format!("-6 addr add {ip} dev eth0 nodad"));
        side.host.ip(&format!("-6 route add default via {gateway}"));
    }
    right.host.ip("-6 addr add 2001:db8:1::77/128 dev eth0 nodad");
    // The left host believes him on its own link.
    left.host.pings("-c3 -i0.05", "2001:db8:1::77");
    let seen = left.host.ip("-6 neigh show 2001:db8:1::77 dev eth0");
    let ours = router.json(&format!("show hardware-interfaces {}", left.port)).to_string();
    let mac =
        seen.split_whitespace().skip_while(|w| *w != "lladdr").nth(1).expect("known").to_string();
    assert!(ours.contains(&mac), "{seen} {ours}");
    site.finish();
}

#[test]
fn we_make_an_address_and_a_route_of_what_a_router_advertises() {
    let Some((_lab, site)) = site(&["root", "ping", "radvd"]) else { return };
    let (right, router) = (&site.right, site.router());
    let (host, port) = (&right.host, &right.port);
    enable(host);
    host.sysctl("net/ipv6/conf/eth0/forwarding", "1");
    host.ip("-6 addr add 2001:db8:9::1/64 dev eth0 nodad");
    let config = router.file("radvd.conf");
    let text = "interface eth0 {\n AdvSendAdvert on;\n MinRtrAdvInterval 3;\n MaxRtrAdvInterval 4;\n\
                \x20prefix 2001:db8:9::/64 { AdvValidLifetime 9000; AdvPreferredLifetime 8000; };\n};\n";
    std::fs::write(&config, text).expect("written");
    let (config, pid) =
        (config.display().to_string(), router.file("radvd.pid").display().to_string());
    let radvd =
        host.command("radvd").args(["-n", "-m", "stderr", "-C", &config, "-p", &pid]).spawn();
    router.run(&format!("ip6 nd {port} ra-suppress"));
    router.run(&format!("ip6 nd address autoconfig {port} default-route"));
    let learned = |what: &str| {
        let json = router.json(&format!("show ip6 nd autoconfig {port}"));
        let all = json.as_array().expect("a list").clone();
        all.iter().find(|n| n["what"] == what)?["address"].as_str().map(str::to_string)
    };
    let address = eventually("an address", || learned("address"));
    assert!(address.starts_with("2001:db8:9:") && address.ends_with("/64"), "{address}");
    let gateway = eventually("a router", || learned("router"));
    assert!(host.ip("-6 addr show dev eth0").contains(&gateway), "{gateway}");
    let text = router.run("ping 2001:db8:9::1 repeat 2 interval 0.05");
    assert!(text.contains(" 0% packet loss"), "{text}");
    host.pings("-c2 -i0.05", address.split('/').next().expect("an address"));
    // Learned addresses and routes aren't saved.
    let saved = router.run("show running-config");
    assert!(
        saved.contains("ip6 nd address autoconfig") && !saved.contains("2001:db8:9:"),
        "{saved}"
    );
    // The router withdraws itself when it ends.
    let _ = radvd.stop(PATIENCE);
    eventually("the router's end", || learned("router").is_none().then_some(()));
    site.finish();
}
