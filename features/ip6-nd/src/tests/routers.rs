// SPDX-License-Identifier: Apache-2.0
//! Router advertisements that we send.

use super::*;
use crate::api::ra::*;
use net::api::InterfaceIndex;
use wire::Header;
use wire::nd::RouterAdvertisement;

/// A rig that advertises.
fn advertising() -> Rig {
    let mut r = bare();
    r.run("ip6 nd t0 no ra-suppress");
    r.add_address("2001:db8::1/64");
    r
}

/// Destination and lifetime of the advertisements that were sent.
fn advertised(r: &Rig) -> Vec<(Ipv6Addr, u16)> {
    let all = r.sent_of(Icmp6Type::ROUTER_ADVERTISEMENT);
    let one = |p: &Vec<u8>| {
        assert_eq!(wire::l4::verify(p), Ok(wire::l4::Verdict::Valid));
        assert_eq!((p[7], &p[8..24]), (255, &ip(US_LOCAL).octets()[..]));
        let ra = RouterAdvertisement::view(&p[40..]).expect("an advertisement");
        (Ipv6Addr::from(*p[24..].first_chunk().expect("an address")), ra.lifetime.get())
    };
    all.iter().map(one).collect()
}

fn host_asks(from: &str, options: &[u8]) -> Vec<u8> {
    let macs = (PEER, MacAddr([0x33, 0x33, 0, 0, 0, 2]));
    message(macs, (from, "ff02::2"), (Icmp6Type::ROUTER_SOLICITATION, 0, 0), options, 255)
}

#[suite::test]
fn they_start_with_ipv6_and_end_with_good_byes() {
    let mut r = bare();
    r.add_address("2001:db8::1/64");
    r.pass(9);
    assert_eq!(advertised(&r), [], "nobody wants them");
    r.run("ip6 nd t0 no ra-suppress");
    let all = ip("ff02::1");
    assert_eq!(advertised(&r), [(all, 600)]);
    r.pass(32);
    assert_eq!(advertised(&r).len(), 2, "sooner at the beginning");
    r.pass(100);
    assert_eq!(advertised(&r), []);
    r.run("ip6 nd t0 ra-suppress");
    assert_eq!(advertised(&r), [(all, 0)]);
    r.pass(10);
    assert_eq!(advertised(&r), [(all, 0); 2]);
    r.pass(300);
    assert_eq!(advertised(&r), []);
    r.run("ip6 nd t0 no ra-suppress");
    assert_eq!(advertised(&r), [(all, 600)]);
    r.run("ip6 nd t0 ra-cease");
    r.pass(3);
    assert_eq!(advertised(&r), [(all, 0)]);
    r.run("set interface state t0 down");
    r.pass(300);
    assert_eq!(advertised(&r), []);
}

#[suite::test]
fn hosts_that_ask_are_answered() {
    let mut r = advertising();
    r.pass(60);
    r.sent();
    r.receive(&host_asks(HIM_LOCAL, &link_option(NdOptionKind::SOURCE_LINK, PEER)));
    r.pass(1);
    assert_eq!(advertised(&r), [(ip("ff02::1"), 600)]);
    let n = r.neighbor(HIM_LOCAL).expect("noted");
    assert_eq!((n.mac, n.router), (PEER, false));
    r.run("ip6 nd t0 ra-send-unicast");
    r.pass(60);
    r.sent();
    r.receive(&host_asks(HIM_LOCAL, &[]));
    assert_eq!(advertised(&r), [(ip(HIM_LOCAL), 600)], "at once");
    r.receive(&host_asks(HIM_LOCAL, &[]));
    assert_eq!(advertised(&r), [], "not again");
    r.run("ip6 nd t0 ra-send-unicast");
    r.receive(&host_asks("::", &[]));
    let sent = r.sent();
    assert_eq!(
        (sent.len(), &sent[0][..6], &sent[0][38..54]),
        (1, &PEER.0[..], &ip("ff02::1").octets()[..])
    );
    let node = "icmp6-router-solicitation";
    for (reason, frame) in [
        ("probe_link_address", host_asks("::", &link_option(NdOptionKind::SOURCE_LINK, PEER))),
        (
            "link_address",
            host_asks(HIM_LOCAL, &link_option(NdOptionKind::SOURCE_LINK, MacAddr::ZERO)),
        ),
        ("own_frame", host_asks(HIM_LOCAL, &link_option(NdOptionKind::SOURCE_LINK, OWN))),
        ("router_solicitation_source_not_on_link", host_asks("2001:db8:9::9", &[])),
        ("options", host_asks(HIM_LOCAL, &[1, 0])),
    ] {
        assert_eq!(r.drops(node, reason, |r| r.receive(&frame)), 1, "{reason}");
    }
    r.run("ip6 nd t0 ra-suppress");
    assert_eq!(
        r.drops(node, "router_solicitation_radv_not_config", |r| r
            .receive(&host_asks(HIM_LOCAL, &[]))),
        1
    );
    let json = r.json("show ip6 ra t0");
    assert_eq!(
        (json[0]["solicitations"].as_u64(), json[0]["suppressed"].as_bool()),
        (Some(4), Some(true))
    );
}

#[suite::test]
fn more_prefixes_than_a_packet_or_a_buffer_holds_are_all_advertised() {
    use wire::nd::{NdOption, NdOptions};
    let mut r = advertising();
    for i in 0..70 {
        r.run(&format!("ip6 nd t0 prefix 2001:db8:{i:x}::/64"));
    }
    // With an MTU of 9000 the first packet takes two buffers.
    for (mtu, longest) in [(1500, 1500), (9000, 2056)] {
        r.run(&format!("set interface mtu {mtu} t0"));
        r.run(&format!("set interface mtu packet {mtu} t0"));
        r.run("ip6 nd t0 ra-suppress");
        r.pass(20);
        r.sent();
        r.run("ip6 nd t0 no ra-suppress");
        let all = r.sent_of(Icmp6Type::ROUTER_ADVERTISEMENT);
        assert_eq!(all.len(), 2, "MTU {mtu}");
        let len = all.iter().map(Vec::len).max().expect("two");
        assert!((longest - 40..=longest).contains(&len), "{len} of {longest}");
        let mut told = Vec::new();
        for packet in &all {
            assert_eq!(wire::l4::verify(packet), Ok(wire::l4::Verdict::Valid));
            let (_, options) = RouterAdvertisement::split(&packet[40..]).expect("an advertisement");
            for option in NdOptions::new(options) {
                if let NdOption::Prefix(p) = option.expect("a whole option").into() {
                    told.push(p.network().expect("a prefix").to_string());
                }
            }
        }
        let wanted: Vec<String> = (0..70)
            .map(|i| match i {
                0 => "2001:db8::/64".into(),
                i => format!("2001:db8:{i:x}::/64"),
            })
            .collect();
        assert_eq!(told, wanted, "MTU {mtu}");
    }
    assert_eq!(r.counted("tx/no-buffers"), 0);
    // 64 packets of 1280 bytes hold 2,368 prefixes.
    r.run("set interface mtu packet 1280 t0");
    let tree = Tree::new(PLUGINS.iter().flat_map(|p| p.cli)).expect("the commands are well-formed");
    let world = r.bench.world.clone();
    let refused = (70..3000)
        .find_map(|i| tree.execute(&world, &format!("ip6 nd t0 prefix 2001:db8:{i:x}::/64")).err());
    assert!(refused.expect("a limit").to_string().contains("64 at most are sent"));
}

#[suite::test]
fn messages_set_and_dump_what_is_advertised() {
    let mut r = advertising();
    let world = r.bench.world.clone();
    let mut client = msg::Loopback::new(&*world, &world.api);
    let t0 = InterfaceIndex(r.t0.0);
    let none = || SwInterfaceIp6ndRaConfig {
        sw_if_index: t0,
        suppress: 0,
        managed: 0,
        other: 0,
        ll_option: 0,
        send_unicast: 0,
        cease: 0,
        is_no: false,
        default_router: 0,
        max_interval: 0,
        min_interval: 0,
        lifetime: 0,
        initial_count: 0,
        initial_interval: 0,
    };
    let set = SwInterfaceIp6ndRaConfig {
        managed: 1,
        ll_option: 1,
        max_interval: 100,
        lifetime: 900,
        ..none()
    };
    assert_eq!(client.call(set), Ok(()));
    let prefix = SwInterfaceIp6ndRaPrefix {
        sw_if_index: t0,
        prefix: prefix_at("2001:db8::/64"),
        use_default: false,
        no_advertise: false,
        off_link: false,
        no_autoconfig: true,
        no_onlink: false,
        is_no: false,
        val_lifetime: 1000,
        pref_lifetime: 500,
    };
    assert_eq!(client.call(prefix), Ok(()));
    let all = client.dump(SwInterfaceIp6ndRaDump { sw_if_index: InterfaceIndex::NONE });
    assert_eq!(all.len(), 1);
    let d = &all[0];
    assert_eq!((d.adv_managed_flag, d.adv_link_layer_address, d.send_radv), (true, false, true));
    assert_eq!(
        (d.max_radv_interval, d.min_radv_interval, d.adv_router_lifetime),
        (100.0, 75.0, 900)
    );
    assert_eq!(d.prefixes.len(), 1);
    let p = d.prefixes[0];
    assert_eq!(
        (p.val_lifetime, p.pref_lifetime, p.onlink_flag, p.autonomous_flag),
        (1000, 500, true, false)
    );
    r.sent();
    r.pass(17);
    let sent = r.sent_of(Icmp6Type::ROUTER_ADVERTISEMENT).pop().expect("one");
    assert_eq!(sent[45], 0x80, "managed");
    assert_eq!(sent[56..58], [5, 1], "no link-layer address");
    let no = SwInterfaceIp6ndRaConfig { managed: 1, is_no: true, ..none() };
    assert_eq!(client.call(no), Ok(()));
    let odd = SwInterfaceIp6ndRaConfig { max_interval: 2000, ..none() };
    assert_eq!(client.call(odd), Err(-7));
    let other = SwInterfaceIp6ndRaConfig { sw_if_index: InterfaceIndex(0), managed: 1, ..none() };
    assert_eq!(client.call(other), Err(-151));
    let gone = SwInterfaceIp6ndRaPrefix { is_no: true, ..prefix_of(t0) };
    assert_eq!(
        (client.call(gone), client.call(SwInterfaceIp6ndRaPrefix { is_no: true, ..prefix_of(t0) })),
        (Ok(()), Err(-7))
    );
    let d = &client.dump(SwInterfaceIp6ndRaDump { sw_if_index: t0 })[0];
    assert_eq!((d.adv_managed_flag, d.prefixes.len()), (false, 0));
}

#[suite::test]
fn what_is_dumped_of_interfaces_that_advertise_nothing_and_something() {
    let mut r = rig();
    r.second();
    let world = r.bench.world.clone();
    let mut client = msg::Loopback::new(&*world, &world.api);
    let dump = |client: &mut msg::Loopback<'_, World>| {
        let mut all = client.dump(SwInterfaceIp6ndRaDump { sw_if_index: InterfaceIndex::NONE });
        assert_eq!(all.len(), 1, "those with IPv6");
        all.remove(0)
    };
    let d = dump(&mut client);
    assert_eq!((d.sw_if_index.0, d.send_radv, d.n_advertisements_sent), (r.t0.0, false, 0));
    assert_eq!((d.last_radv_time, d.last_multicast_time, d.next_multicast_time), (0.0, 0.0, 0.0));
    r.run("ip6 nd t0 no ra-suppress");
    r.run("ip6 nd t0 prefix 2001:db8:9::/64");
    // One with the router's own address, which stands behind the first though it is less.
    let own = || SwInterfaceIp6ndRaPrefix {
        prefix: prefix_at("2001:db8::1/64"),
        ..prefix_of(d.sw_if_index)
    };
    assert_eq!(client.call(own()), Ok(()));
    r.pass(3);
    let d = dump(&mut client);
    assert!(
        d.send_radv && d.last_multicast_time > 0.0 && d.next_multicast_time > d.last_multicast_time
    );
    assert_eq!((d.last_radv_time, d.n_solicitations_rcvd), (0.0, 0), "nobody has asked");
    let prefixes =
        |d: &SwInterfaceIp6ndRaDetails| d.prefixes.iter().map(|p| p.prefix).collect::<Vec<_>>();
    assert_eq!(prefixes(&d), [prefix_at("2001:db8:9::/64"), prefix_at("2001:db8::1/64")]);
    let sent = r.sent_of(Icmp6Type::ROUTER_ADVERTISEMENT).pop().expect("one");
    let (_, options) = RouterAdvertisement::split(&sent[40..]).expect("an advertisement");
    assert_eq!(options[64..80], ip("2001:db8::1").octets(), "as it was set");
    r.run("ip6 nd t0 ra-send-unicast");
    r.receive(&host_asks(HIM_LOCAL, &[]));
    assert!(dump(&mut client).last_radv_time > 0.0);
    // The lifetimes of a message count, but for a prefix that is new.
    let again = SwInterfaceIp6ndRaPrefix { val_lifetime: 90, pref_lifetime: 80, ..own() };
    assert_eq!(client.call(again), Ok(()));
    let d = dump(&mut client);
    assert_eq!(d.prefixes.iter().map(|p| p.val_lifetime).collect::<Vec<_>>(), [2_592_000, 90]);
    let gone =
        SwInterfaceIp6ndRaPrefix { is_no: true, prefix: prefix_at("2001:db8::/64"), ..own() };
    assert_eq!(client.call(gone), Ok(()));
    assert_eq!(prefixes(&dump(&mut client)), [prefix_at("2001:db8:9::/64")]);
}

fn prefix_at(text: &str) -> net::api::Prefix {
    text.parse::<wire::Ip6Prefix>().expect("a prefix").into()
}

fn prefix_of(sw_if_index: InterfaceIndex) -> SwInterfaceIp6ndRaPrefix {
    SwInterfaceIp6ndRaPrefix {
        sw_if_index,
        prefix: prefix_at("2001:db8::/64"),
        use_default: true,
        no_advertise: false,
        off_link: false,
        no_autoconfig: false,
        no_onlink: false,
        is_no: false,
        val_lifetime: 0,
        pref_lifetime: 0,
    }
}
