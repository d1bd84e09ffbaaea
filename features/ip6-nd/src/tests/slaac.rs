// SPDX-License-Identifier: Apache-2.0
//! Router advertisements of other routers.

use super::*;
use crate::api::nd::{Ip6RaEvent, Ip6ndSendRouterSolicitation, WantIp6RaEvents};
use crate::api::rd::Ip6NdAddressAutoconfig;
use net::api::InterfaceIndex;
use net::fib::{Fib, TableIndex};
use wire::nd::PrefixInfo;

const MADE: &str = "2001:db8:42::ff:fe00:1";
const BOTH: u8 = PrefixInfo::ON_LINK | PrefixInfo::AUTONOMOUS;

/// A router's advertisement: how long it is a default router, a prefix and its lifetime.
fn router(from: &str, lifetime: u16, flags: u8, valid: u32, prefix: &str) -> Vec<u8> {
    let info = PrefixInfo::new(prefix.parse().expect("a prefix"), BOTH, valid, valid.min(100));
    let link = link_option(NdOptionKind::SOURCE_LINK, PEER);
    let behind = [&[0; 8][..], &link, info.as_bytes()].concat();
    let rest = 64 << 24 | u32::from(flags) << 16 | u32::from(lifetime);
    let macs = (PEER, MacAddr([0x33, 0x33, 0, 0, 0, 1]));
    message(macs, (from, "ff02::1"), (Icmp6Type::ROUTER_ADVERTISEMENT, 0, rest), &behind, 255)
}

fn addresses(r: &Rig) -> Vec<String> {
    r.bench.world.get::<Addresses<Ip6>>().list(r.t0).iter().map(ToString::to_string).collect()
}

/// Where the default route leads.
fn default_route(r: &Rig) -> Vec<String> {
    let fib = r.bench.world.get::<Fib<Ip6>>();
    let route = fib.covering(TableIndex(0), ip("2001:db8:ffff::1")).expect("there is always one");
    let paths = route.sources.first().map(|s| s.paths.clone()).unwrap_or_default();
    paths
        .iter()
        .filter_map(|(p, _)| match p.kind {
            net::PathKind::Neighbor { nexthop, .. } => Some(nexthop.to_string()),
            _ => None,
        })
        .collect()
}

fn listening() -> Rig {
    let mut r = bare();
    r.run("ip6 nd address autoconfig t0 default-route");
    r
}

#[suite::test]
fn an_address_and_a_default_route_come_and_go() {
    let mut r = listening();
    r.pass(10);
    let asked = r.sent_of(Icmp6Type::ROUTER_SOLICITATION);
    assert!(asked.len() >= 3 && asked.len() <= 5, "{}", asked.len());
    assert_eq!(asked[0][48..56], link_option(NdOptionKind::SOURCE_LINK, OWN)[..]);
    r.receive(&router(HIM_LOCAL, 1800, 0, 7300, "2001:db8:42::/64"));
    r.sent();
    assert_eq!(addresses(&r), [format!("{MADE}/64")]);
    assert_eq!(default_route(&r), [HIM_LOCAL]);
    assert!(r.neighbor(HIM_LOCAL).is_some_and(|n| n.router && n.mac == PEER));
    r.pass(100);
    assert!(r.sent_of(Icmp6Type::ROUTER_SOLICITATION).is_empty(), "answered");
    // A forger can't end it at once. (The instance's clock goes on by itself, too.)
    r.receive(&router(HIM_LOCAL, 1800, 0, 0, "2001:db8:42::/64"));
    let json = r.json("show ip6 nd autoconfig t0");
    assert_eq!(json[0]["what"].as_str(), Some("address"));
    assert!(json[0]["valid"].as_u64().is_some_and(|left| (7100..=7200).contains(&left)), "{json}");
    // The router advertises that it is a default router no longer.
    r.receive(&router(HIM_LOCAL, 0, 0, 0, "2001:db8:42::/64"));
    assert_eq!(default_route(&r), [] as [&str; 0]);
    r.bench.world.clock.adjust(7201 * SECOND);
    r.bench.settle();
    assert_eq!(addresses(&r), [] as [&str; 0]);
}

#[suite::test]
fn the_router_that_is_preferred_counts_and_all_ends_when_it_is_disabled() {
    let mut r = listening();
    let prefix = "2001:db8:42::/64";
    r.receive(&router("fe80::a", 1800, 0, 7300, prefix));
    r.receive(&router("fe80::b", 60, 0x08, 7300, prefix));
    r.receive(&router("fe80::c", 1800, 0x18, 7300, prefix));
    assert_eq!(default_route(&r), ["fe80::b"], "high");
    r.pass(61);
    assert_eq!(default_route(&r), ["fe80::a"], "medium");
    // Advertised by the neighbour itself: it is a host now.
    let bare = (Icmp6Type::NEIGHBOR_ADVERTISEMENT, 0, 1 << 29);
    let behind =
        [&ip("fe80::a").octets()[..], &link_option(NdOptionKind::TARGET_LINK, PEER)].concat();
    r.receive(&message((PEER, OWN), ("fe80::a", US_LOCAL), bare, &behind, 255));
    assert_eq!(default_route(&r), ["fe80::c"]);
    let config: Vec<String> =
        r.bench.world.running_config().iter().map(|l| l.text.clone()).collect();
    assert!(
        config.contains(&"ip6 nd address autoconfig t0 default-route".to_string()),
        "{config:?}"
    );
    r.run("ip6 nd address autoconfig t0 disable");
    assert_eq!((addresses(&r), default_route(&r)), (vec![], vec![]));
}

#[suite::test]
fn what_is_wrong_is_dropped_by_name_and_what_is_odd_ignored() {
    let mut r = listening();
    let node = "icmp6-router-advertisement";
    let good = || router(HIM_LOCAL, 1800, 0, 7300, "2001:db8:42::/64");
    let mut forwarded = good();
    forwarded[21] = 254;
    for (reason, frame) in [
        (
            "router_advertisement_source_not_link_local",
            router("2001:db8::9", 1800, 0, 7300, "2001:db8:42::/64"),
        ),
        ("invalid_hop_limit_for_type", forwarded),
        ("duplicate_address", router(US_LOCAL, 1800, 0, 7300, "2001:db8:42::/64")),
    ] {
        assert_eq!(r.drops(node, reason, |r| r.receive(&frame)), 1, "{reason}");
    }
    for odd in ["2001:db8:42::/63", "fe80::/64", "ff05::/64"] {
        r.receive(&router(HIM_LOCAL, 0, 0, 7300, odd));
    }
    assert_eq!((addresses(&r), default_route(&r)), (vec![], vec![]));
}

#[suite::test]
fn clients_hear_of_routers_and_let_them_be_asked() {
    let mut r = bare();
    r.add_address("2001:db8::1/64");
    let world = r.bench.world.clone();
    let mut client = msg::Loopback::new(&*world, &world.api);
    let t0 = InterfaceIndex(r.t0.0);
    client.call(WantIp6RaEvents { enable: true, pid: 3 }).expect("wanted");
    r.sent();
    let ask = |stop| Ip6ndSendRouterSolicitation {
        irt: 1,
        mrt: 2,
        mrc: 2,
        mrd: 0,
        sw_if_index: t0,
        stop,
    };
    client.call(ask(false)).expect("asked");
    r.pass(10);
    assert_eq!(r.sent_of(Icmp6Type::ROUTER_SOLICITATION).len(), 2);
    client.call(ask(true)).expect("stopped");
    r.receive(&router(HIM_LOCAL, 1800, 0xc0, 7300, "2001:db8:42::/64"));
    let events = client.events::<Ip6RaEvent>();
    assert_eq!(events.len(), 1);
    let (pid, e) = &events[0];
    assert_eq!((*pid, e.sw_if_index, e.router_addr.0), (3, t0, ip(HIM_LOCAL).octets()));
    assert_eq!((e.router_lifetime_in_sec, e.flags, e.prefixes.len()), (1800, 0xc0, 1));
    assert_eq!(
        (e.prefixes[0].valid_time, e.prefixes[0].flags, e.prefixes[0].prefix.len),
        (7300, 0xc0, 64)
    );
    assert_eq!(addresses(&r), ["2001:db8::1/64"], "nobody wants addresses made");
    let on =
        Ip6NdAddressAutoconfig { sw_if_index: t0, enable: true, install_default_routes: false };
    client.call(on).expect("enabled");
    r.bench.settle();
    r.receive(&router(HIM_LOCAL, 1800, 0, 7300, "2001:db8:42::/64"));
    assert_eq!(addresses(&r), ["2001:db8::1/64".to_string(), format!("{MADE}/64")]);
    assert!(default_route(&r).is_empty());
}
