// SPDX-License-Identifier: Apache-2.0
//! A netdev that the host itself needs isn't taken over by mistake: the one that leads to the
//! default route, and the one by which the operator is logged in.

use cli::{Error, retval};
use netlink::{Link, Rtnl};
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;

/// Kinds of links that send by the link below them.
const STACKED: [&str; 6] = ["vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec"];

/// Refuses a netdev that carries a default route of its namespace, or, in the daemon's own
/// namespace, the SSH session that the daemon was started from (`SSH_CONNECTION`).
///
/// The netdev carries the routes of the bridge or bond that it belongs to, and of VLANs and
/// macvlans on it, too.
///
/// # Errors
/// Such a netdev (−155), with the route; the kernel's, if the routes can't be read.
pub fn refuse_used(rtnl: &mut Rtnl, link: &Link, own_namespace: bool) -> Result<(), Error> {
    let session = std::env::var("SSH_CONNECTION").ok().filter(|_| own_namespace);
    let used = use_of(rtnl, link, session.as_deref());
    judge(used, &link.name)
}

/// Without an answer of the kernel a netdev may be in use.
fn judge(used: io::Result<Option<Error>>, name: &str) -> Result<(), Error> {
    let unknown = |error: io::Error| {
        Error::failed(format!("it isn't known if the host's interface {name} is in use: {error}"))
            .hint("the word `force' takes it all the same")
            .retval(retval::SYSCALL_ERROR_1)
    };
    used.map_err(unknown)?.map_or(Ok(()), Err)
}

/// Returns the reason why a netdev is in use, if it is.
fn use_of(rtnl: &mut Rtnl, link: &Link, session: Option<&str>) -> io::Result<Option<Error>> {
    let links = rtnl.links()?;
    let carried = carried(&links, link);
    let name_of = |index: u32| {
        let named = links.iter().find(|link| link.index == index);
        named.map_or_else(|| index.to_string(), |link| link.name.clone())
    };
    let routes = rtnl.default_routes()?;
    if let Some(route) = routes.iter().find(|route| carried.contains(&route.index)) {
        let family = if route.ip6 { "-6 " } else { "" };
        let via = route.gateway.map(|gateway| format!("via {gateway} ")).unwrap_or_default();
        let table =
            if route.table == MAIN { String::new() } else { format!(" table {}", route.table) };
        let words = format!("default {via}dev {}{table}", name_of(route.index));
        return Ok(Some(
            Error::failed(format!(
                "the host's interface {} carries a default route of the host: {words}",
                link.name
            ))
            .hint(format!(
                "`ip {family}route del {words}' if the host doesn't need it, another interface, \
                 or the word `force'"
            ))
            .retval(retval::RSRC_IN_USE),
        ));
    }
    let Some((client, server)) = session.and_then(ends) else { return Ok(None) };
    let addresses = rtnl.addresses()?;
    let own = addresses.iter().find(|a| a.address == server && carried.contains(&a.index));
    let by_address = own.map(|own| own.index);
    let by_route = rtnl.link_to(client)?.filter(|index| carried.contains(index));
    Ok(by_address.or(by_route).map(|index| {
        Error::failed(format!(
            "the host's interface {} carries the SSH session that started the daemon: from \
             {client} to {server}, by {}",
            link.name,
            name_of(index)
        ))
        .hint("log in by another interface, start the daemon as a service, or the word `force'")
        .retval(retval::RSRC_IN_USE)
    }))
}

/// `RT_TABLE_MAIN`
const MAIN: u32 = 254;

/// The links whose packets pass a link: itself, its masters, and those stacked on one of them.
fn carried(links: &[Link], link: &Link) -> BTreeSet<u32> {
    let mut carried = BTreeSet::from([link.index]);
    loop {
        let before = carried.len();
        for other in links {
            let is_stacked = other.kind.as_deref().is_some_and(|kind| STACKED.contains(&kind));
            if is_stacked && other.lower.is_some_and(|lower| carried.contains(&lower)) {
                carried.insert(other.index);
            }
            if let (true, Some(master)) = (carried.contains(&other.index), other.master) {
                carried.insert(master);
            }
        }
        if carried.len() == before {
            return carried;
        }
    }
}

/// The ends of a session in the form of `SSH_CONNECTION` (ssh(1)): client, its port, server, its
/// port. A link-local address has its interface behind a `%`.
fn ends(session: &str) -> Option<(IpAddr, IpAddr)> {
    let mut words = session.split_whitespace();
    let mut address = || {
        let word = words.next()?;
        let address = word.split('%').next().unwrap_or(word).parse::<IpAddr>().ok()?;
        words.next()?;
        Some(address.to_canonical())
    };
    Some((address()?, address()?))
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use testkit::lab::{self, Netns};

    fn link(index: u32, kind: &str, lower: Option<u32>, master: Option<u32>) -> Link {
        Link { index, kind: Some(kind.into()), lower, master, ..Link::default() }
    }

    #[suite::test]
    fn masters_and_vlans_are_carried_and_the_other_end_of_a_veth_is_not() {
        let links = [
            link(1, "veth", Some(2), Some(3)),
            link(2, "veth", Some(1), None),
            link(3, "bridge", None, None),
            link(4, "vlan", Some(3), None),
            link(5, "macvlan", Some(4), None),
            link(6, "vlan", Some(2), None),
        ];
        assert_eq!(carried(&links, &links[0]), BTreeSet::from([1, 3, 4, 5]));
        assert_eq!(carried(&links, &links[1]), BTreeSet::from([2, 6]));
        // A bond with two ports, under a VLAN.
        let bond = [
            link(1, "", None, Some(3)),
            link(2, "", None, Some(3)),
            link(3, "bond", None, None),
            link(4, "vlan", Some(3), None),
        ];
        assert_eq!(carried(&bond, &bond[1]), BTreeSet::from([2, 3, 4]));
        // A loop of links ends.
        let round = [link(1, "vlan", Some(2), Some(2)), link(2, "vlan", Some(1), Some(1))];
        assert_eq!(carried(&round, &round[0]), BTreeSet::from([1, 2]));
    }

    #[suite::test]
    fn ends_of_sessions() {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        let of = |text| ends(text);
        assert_eq!(of("192.0.2.1 50000 192.0.2.9 22"), Some((ip("192.0.2.1"), ip("192.0.2.9"))));
        assert_eq!(of("fe80::1%eth0 1 fe80::2%eth0 22"), Some((ip("fe80::1"), ip("fe80::2"))));
        assert_eq!(
            of("::ffff:192.0.2.1 1 ::ffff:192.0.2.9 22"),
            Some((ip("192.0.2.1"), ip("192.0.2.9")))
        );
        for bad in ["", "192.0.2.1", "192.0.2.1 1 x 22", "a b c d", "192.0.2.1 1 192.0.2.2"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }

    #[suite::test]
    fn a_netdev_is_refused_if_its_use_cant_be_read() {
        let error = judge(Err(io::Error::from(io::ErrorKind::InvalidData)), "eth0");
        let error = error.expect_err("refused");
        let text = error.to_string();
        assert!(error.is(retval::SYSCALL_ERROR_1) && text.contains("eth0"), "{text}");
        assert_eq!(judge(Ok(None), "eth0").map_err(|e| e.to_string()), Ok(()));
    }

    fn refusal(netns: &Netns, name: &str, session: Option<&str>) -> Option<String> {
        let namespace = netlink::Namespace::open(netns.name().expect("it has one")).expect("there");
        let mut rtnl = Rtnl::in_namespace(&namespace).expect("rtnetlink");
        let link = rtnl.link(name).expect("there");
        let error = use_of(&mut rtnl, &link, session).expect("the kernel answers")?;
        assert!(error.is(retval::RSRC_IN_USE));
        Some(error.to_string())
    }

    #[suite::test(netns)]
    fn the_kernels_routes_are_found_in_netns() {
        let Some(lab) = lab::require(&["root"]) else { return };
        let (a, b) = (lab.netns("a"), lab.netns("b"));
        for n in 0..3 {
            lab.veth((&a, &format!("eth{n}")), (&b, &format!("v{n}")));
            a.up(&format!("eth{n}"));
            b.up(&format!("v{n}"));
        }
        a.addr("eth0", "10.0.0.2/24");
        a.addr("eth1", "10.0.1.2/24");
        a.addr("eth1", "fd00::2/64");
        for name in ["eth0", "eth1", "eth2"] {
            assert_eq!(refusal(&a, name, None), None, "{name} has no default route");
        }
        a.route("default", "10.0.0.1");
        let text = refusal(&a, "eth0", None).expect("refused");
        assert!(text.contains("default via 10.0.0.1 dev eth0"), "{text}");
        assert!(text.contains("ip route del default via 10.0.0.1 dev eth0"), "{text}");
        assert_eq!(refusal(&a, "eth1", None), None);
        // The words mend it.
        a.ip("route del default via 10.0.0.1 dev eth0");
        assert_eq!(refusal(&a, "eth0", None), None);
        a.ip("route add default proto static nexthop via 10.0.0.1 nexthop via 10.0.1.1");
        assert!(refusal(&a, "eth0", None).is_some() && refusal(&a, "eth1", None).is_some());
        a.ip("route del default");
        a.ip("-6 route add default via fd00::1 dev eth1 table 77");
        let text = refusal(&a, "eth1", None).expect("refused");
        assert!(text.contains("ip -6 route del default via fd00::1 dev eth1 table 77"), "{text}");
        a.ip("-6 route del default via fd00::1 dev eth1 table 77");
        a.ip("route add unreachable default");
        for name in ["eth0", "eth1", "eth2"] {
            assert_eq!(refusal(&a, name, None), None, "{name}");
        }
        a.ip("route del unreachable default");

        // A port of a bridge with the route.
        a.ip("link add br0 type bridge");
        a.up("br0");
        a.ip("link set eth2 master br0");
        a.addr("br0", "10.0.2.2/24");
        a.route("default", "10.0.2.1");
        let text = refusal(&a, "eth2", None).expect("refused");
        assert!(text.contains("eth2 carries") && text.contains("dev br0"), "{text}");
        a.ip("route del default");

        // A route of IPv6 only.
        a.addr("br0", "fd02::2/64");
        a.ip("-6 route add default via fd02::1 dev br0");
        let text = refusal(&a, "eth2", None).expect("refused");
        assert!(text.contains("ip -6 route del default via fd02::1 dev br0"), "{text}");
        a.ip("link set eth2 nomaster");
        assert_eq!(refusal(&a, "eth2", None), None, "it is a port no more");
        a.ip("-6 route del default via fd02::1 dev br0");

        // A session by its address here, by the route to the other end, and one elsewhere.
        let text = refusal(&a, "eth0", Some("192.0.2.1 50000 10.0.0.2 22")).expect("refused");
        assert!(text.contains("from 192.0.2.1 to 10.0.0.2, by eth0"), "{text}");
        assert!(refusal(&a, "eth1", Some("10.0.1.77 50000 10.9.9.9 22")).is_some());
        assert_eq!(refusal(&a, "eth1", Some("10.0.0.77 50000 10.0.0.2 22")), None);
        assert_eq!(refusal(&a, "eth1", Some("nonsense")), None);
    }
}
