// SPDX-License-Identifier: Apache-2.0
//! Routes that come with addresses of IPv6.

use super::*;
use wire::Ip6Prefix;

fn p6(text: &str) -> Ip6Prefix {
    text.parse().expect("a prefix")
}

/// All entries that packets find, including implicit ones.
fn entries(fib: &Fib<Ip6>) -> BTreeMap<Ip6Prefix, Vec<(Source, PathKind)>> {
    let mut all = BTreeMap::new();
    let inner = fib.all.inner();
    inner.walk(Fib::<Ip6>::table_ref(TableIndex::DEFAULT), None, &mut |key, _, entry| {
        let kind = |list| inner.lists.get(list).expect("its list").paths[0].kind;
        all.insert(Ip6::prefix(key), entry.all().map(|s| (s.source, kind(s.list))).collect());
        true
    });
    all
}

/// The anycast address of a network's routers (RFC 4291 2.6.1) is the network with all host bits
/// zero. Of `::/n` that is the unspecified address, which no node has (RFC 4291 2.5.2).
#[suite::test]
fn the_unspecified_address_is_no_anycast_address_of_routers() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let a = up(&bench, "a");
    let (fib, addresses) = (world.get::<Fib<Ip6>>(), world.get::<Addresses<Ip6>>());
    let before = entries(&fib);
    let martian = vec![(Source::Implicit, PathKind::Fixed(AdjIndex::MARTIAN))];
    assert_eq!(before[&p6("::/128")], martian);
    for refused in ["::/0", "::5/0", "2001:db8::1/0"] {
        let error = addresses.add(world, a, p6(refused)).expect_err(refused);
        assert!([-7, -59].contains(&error.code()), "{refused}: {error}");
        assert_eq!(entries(&fib), before, "{refused}");
    }
    for (address, network, anycast) in [
        ("::5/1", "::/1", None),
        ("::5/64", "::/64", None),
        ("::5/126", "::4/126", Some("::4/128")),
        ("2001:db8::1/64", "2001:db8::/64", Some("2001:db8::/128")),
        ("2001:db8::1/127", "2001:db8::/127", None),
    ] {
        let prefix = p6(address);
        addresses.add(world, a, prefix).expect("added");
        let mut want = before.clone();
        let mut add = |prefix, source, kind| want.insert(prefix, vec![(source, kind)]);
        let own = prefix.addr();
        add(p6(network), Source::Interface, PathKind::Attached { sw_if: a, address: own.into() });
        add(
            Prefix::host(own),
            Source::Interface,
            PathKind::Receive { sw_if: a, address: own.into() },
        );
        if let Some(anycast) = anycast {
            add(p6(anycast), Source::Implicit, PathKind::Fixed(AdjIndex::RECEIVE));
        }
        assert_eq!(entries(&fib), want, "{address}");
        addresses.remove(world, a, prefix).expect("removed");
        assert_eq!(entries(&fib), before, "{address}");
    }
}
