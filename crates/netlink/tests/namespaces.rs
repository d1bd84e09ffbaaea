// SPDX-License-Identifier: Apache-2.0
//! The host's view, in namespaces that the tests make and that end with them. Needs root.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    process::Command,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use netlink::{Ethtool, Link, LinkEvent, Monitor, Namespace, OperState, Rtnl};

/// An empty namespace; a skipped test if this process may not make one.
#[track_caller]
fn namespace() -> Option<Namespace> {
    testkit::or_skip("make a network namespace", Namespace::create())
}

fn ip(namespace: &Namespace, arguments: &str) -> String {
    let run = || Command::new("ip").args(arguments.split(' ')).output();
    String::from_utf8(namespace.run(run).expect("iproute2 is installed").stdout).unwrap()
}

/// Collects changes until one is as wanted, or an interface is gone, which is returned.
fn read_until(
    monitor: &mut Monitor,
    seen: &mut Vec<Link>,
    wanted: impl Fn(&Link) -> bool,
) -> Option<Link> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let (mut found, mut gone) = (false, None);
        monitor
            .read(|event| match event {
                LinkEvent::Changed(link) => {
                    found |= wanted(&link);
                    seen.push(link);
                }
                LinkEvent::Gone(link) => gone = Some(link),
                LinkEvent::Lost => panic!("nothing may be lost here"),
            })
            .unwrap();
        if found || gone.is_some() {
            return gone;
        }
        assert!(Instant::now() < deadline, "no such event; seen: {seen:#?}");
        let timeout = Timespec { tv_sec: 1, tv_nsec: 0 };
        poll(&mut [PollFd::new(monitor, PollFlags::IN)], Some(&timeout)).unwrap();
    }
}

#[suite::test(netns)]
fn a_pair_in_two_namespaces() {
    let Some((here, there)) = namespace().zip(namespace()) else { return };
    let mut rtnl = Rtnl::in_namespace(&here).unwrap();
    let mut far = Rtnl::in_namespace(&there).unwrap();
    let mut monitor = here.run(Monitor::new).unwrap();
    rtnl.add_veth("v0", "v1", Some(&there)).unwrap();
    let (v0, v1) = (rtnl.link("v0").unwrap(), far.link("v1").unwrap());
    assert_eq!((v0.kind.as_deref(), v0.mtu, v0.is_admin_up()), (Some("veth"), 1500, false));

    rtnl.set_mtu(v0.index, 9000).unwrap();
    let mac = wire::MacAddr([2, 0, 0, 0, 0, 9]);
    rtnl.set_mac(v0.index, mac).unwrap();
    rtnl.set_admin_up(v0.index, true).unwrap();
    let link = rtnl.link_by_index(v0.index).unwrap();
    assert!(link.is_admin_up() && !link.is_link_up(), "the other end is still down: {link:?}");
    assert_eq!((link.mtu, link.mac), (9000, Some(mac)));
    far.set_admin_up(v1.index, true).unwrap();
    let mut seen: Vec<Link> = Vec::new();
    let gone = read_until(&mut monitor, &mut seen, |link| link.oper == OperState::Up);
    assert_eq!(gone, None);
    assert!(seen.last().unwrap().is_link_up() && rtnl.link("v0").unwrap().is_link_up());
    assert_eq!(ip(&here, "-o link show v0").matches("02:00:00:00:00:09").count(), 1);

    rtnl.set_admin_up(v0.index, false).unwrap();
    rtnl.set_name(v0.index, "renamed").unwrap();
    far.delete_link(v1.index).unwrap();
    assert_eq!(rtnl.link("renamed").unwrap_err().raw_os_error(), Some(libc::ENODEV));

    let gone = read_until(&mut monitor, &mut seen, |_| false);
    assert_eq!(gone.map(|l| (l.index, l.name)), Some((v0.index, "renamed".into())));
    assert!(seen.iter().any(|l| l.name == "v0" && l.mtu == 9000));
    assert!(seen.iter().any(|l| l.name == "v0" && l.mac == Some(mac)));
    assert!(seen.iter().any(|l| l.name == "renamed"));
}

#[suite::test(netns)]
fn addresses_and_routes() {
    let Some(namespace) = namespace() else { return };
    let mut rtnl = Rtnl::in_namespace(&namespace).unwrap();
    rtnl.add_veth("a", "b", None).unwrap();
    let (a, b) = (rtnl.link("a").unwrap().index, rtnl.link("b").unwrap().index);
    rtnl.set_admin_up(a, true).unwrap();
    rtnl.set_admin_up(b, true).unwrap();
    let v4 = IpAddr::from([10, 9, 0, 1]);
    let v6: IpAddr = "2001:db8::1".parse().unwrap();
    rtnl.add_address(a, v4, 24).unwrap();
    rtnl.add_address(a, v6, 64).unwrap();
    assert_eq!(rtnl.add_address(a, v4, 24).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    rtnl.set_route(a, Ipv4Addr::UNSPECIFIED.into(), 0, [10, 9, 0, 254].into()).unwrap();
    rtnl.set_route(a, Ipv4Addr::UNSPECIFIED.into(), 0, [10, 9, 0, 253].into()).unwrap();
    rtnl.set_route(a, Ipv6Addr::UNSPECIFIED.into(), 0, "2001:db8::ff".parse().unwrap()).unwrap();
    rtnl.set_route(a, [10, 20, 0, 0].into(), 16, [10, 9, 0, 2].into()).unwrap();
    let addresses = ip(&namespace, "-o addr show dev a");
    assert!(
        addresses.contains("10.9.0.1/24") && addresses.contains("2001:db8::1/64"),
        "{addresses}"
    );
    let ours = ip(&namespace, "-o addr show dev a to 2001:db8::1");
    assert!(!ours.contains("tentative"), "usable at once: {ours}");
    let routes = ip(&namespace, "route show");
    assert!(routes.contains("default via 10.9.0.253 dev a") && !routes.contains("254"), "{routes}");
    assert!(routes.contains("10.20.0.0/16 via 10.9.0.2 dev a"), "{routes}");
    assert!(ip(&namespace, "-6 route show").contains("default via 2001:db8::ff dev a"));
    let mixed = rtnl.set_route(a, v4, 32, v6).unwrap_err();
    assert_eq!(mixed.kind(), io::ErrorKind::InvalidInput);
}

#[suite::test(netns)]
fn a_port_of_a_bridge_and_a_move() {
    let Some((here, there)) = namespace().zip(namespace()) else { return };
    ip(&here, "link add br0 type bridge");
    let mut rtnl = Rtnl::in_namespace(&here).unwrap();
    rtnl.add_veth("p0", "p1", None).unwrap();
    let (bridge, p0) = (rtnl.link("br0").unwrap(), rtnl.link("p0").unwrap());
    assert_eq!((bridge.kind.as_deref(), p0.master), (Some("bridge"), None));
    rtnl.set_master(p0.index, Some(bridge.index)).unwrap();
    assert_eq!(rtnl.link("p0").unwrap().master, Some(bridge.index));
    rtnl.set_master(p0.index, None).unwrap();
    assert_eq!(rtnl.link("p0").unwrap().master, None);
    rtnl.set_namespace(p0.index, &there).unwrap();
    assert!(rtnl.link("p0").is_err());
    assert_eq!(Rtnl::in_namespace(&there).unwrap().link("p0").unwrap().name, "p0");
}

#[suite::test(netns)]
fn more_links_than_one_datagram_holds() {
    let Some(namespace) = namespace() else { return };
    let mut rtnl = Rtnl::in_namespace(&namespace).unwrap();
    let loopbacks = rtnl.links().unwrap().len();
    for n in 0..60 {
        rtnl.add_veth(&format!("x{n}"), &format!("y{n}"), None).unwrap();
    }
    let links = rtnl.links().unwrap();
    assert_eq!(links.len(), 120 + loopbacks);
    assert!(links.iter().any(|l| l.name == "x59") && links.iter().any(|l| l.name == "lo"));
}

#[suite::test(netns)]
fn speeds_are_those_of_the_namespace() {
    let Some((here, there)) = namespace().zip(namespace()) else { return };
    let mut rtnl = Rtnl::in_namespace(&here).unwrap();
    rtnl.add_veth("v0", "v1", Some(&there)).unwrap();
    let v0 = rtnl.link("v0").unwrap();
    let mut ethtool = Ethtool::in_namespace(&here).unwrap();
    // The kernel says so of every veth.
    assert_eq!(ethtool.speed(&v0), Some(10_000));
    assert_eq!(Ethtool::in_namespace(&there).unwrap().speed(&Link { index: 999_999, ..v0 }), None);
    // And something of every tap.
    ip(&here, "tuntap add t0 mode tap");
    let t0 = rtnl.link("t0").unwrap();
    assert_eq!(ethtool.speed(&t0), None);
    assert!(ethtool.speed(&Link { kind: None, ..t0 }).is_some());
}

#[suite::test(netns)]
fn offloads_are_switched() {
    let Some(here) = namespace() else { return };
    let mut rtnl = Rtnl::in_namespace(&here).unwrap();
    rtnl.add_veth("v0", "v1", None).unwrap();
    let link = rtnl.link("v0").unwrap();
    let mut ethtool = Ethtool::in_namespace(&here).unwrap();
    let shown = || {
        let run = || Command::new("ethtool").args(["-k", "v0"]).output();
        String::from_utf8(here.run(run).expect("ethtool is installed").stdout).unwrap()
    };
    let names = ["tx-checksum-ip-generic", "tx-generic-segmentation"];
    for (on, word) in [(false, "off"), (true, "on")] {
        ethtool.set_features(&link, &names, on).unwrap();
        let text = shown();
        for line in [
            format!("tx-checksum-ip-generic: {word}"),
            format!("generic-segmentation-offload: {word}"),
        ] {
            assert!(text.contains(&line), "{line}: {text}");
        }
    }
    let error = ethtool.set_features(&link, &["no-such-feature"], true).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
}
