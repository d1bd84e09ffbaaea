// SPDX-License-Identifier: Apache-2.0
//! Telling a host of a better first hop.

use super::*;
use net::fib::{Fib, Path, PathKind, Source, TableIndex};
use wire::Header;
use wire::nd::{NdOption, NdOptions, Redirect};

const ROUTER: &str = "fe80::a";
const ROUTER_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xa]);

fn packet(dst: &str) -> Vec<u8> {
    testkit::pkt::ether(PEER, OWN).ip6(HIM, dst).udp(1, 2).payload_len(21).build()
}

/// A rig that sends 2001:db8:77::/48 back to the link by another router, and knows all neighbours.
fn routing() -> Rig {
    let mut r = rig();
    let world = r.bench.world.clone();
    r.run("set ip6 icmp redirect t0 enable");
    for (who, mac) in
        [(ROUTER, ROUTER_MAC), (HIM, PEER), ("2001:db8::b", MacAddr([2, 0, 0, 0, 0, 0xb]))]
    {
        r.neighbors.set(&world, Neighbor::new(r.t0, ip(who).into(), mac)).expect("set");
    }
    let path = Path::new(PathKind::Neighbor { sw_if: r.t0, nexthop: ip(ROUTER).into() });
    let prefix = "2001:db8:77::/48".parse().expect("a prefix");
    world.get::<Fib<Ip6>>().set(&world, TableIndex(0), prefix, Source::Api, &[path]).expect("set");
    r.bench.settle();
    r.bench.world.clock.adjust(SECOND);
    r.bench.settle();
    r.sent();
    r
}

#[suite::test]
fn a_host_is_told_of_the_router_or_of_the_neighbour_itself() {
    let mut r = routing();
    for (dst, target, mac) in [
        ("2001:db8:77::1", ROUTER, ROUTER_MAC),
        ("2001:db8::b", "2001:db8::b", MacAddr([2, 0, 0, 0, 0, 0xb])),
    ] {
        let frame = packet(dst);
        r.receive(&frame);
        let sent = r.sent();
        assert_eq!(sent.len(), 2, "the packet itself goes on: {sent:02x?}");
        assert!(sent.iter().any(|f| f[..6] == mac.0 && f[20] == 17 && f[21] == 63));
        let told = sent.iter().find(|f| f[20] == 58).expect("a redirect");
        assert_eq!(
            (&told[..6], told[21], &told[22..38]),
            (&PEER.0[..], 255, &ip(US_LOCAL).octets()[..])
        );
        assert_eq!(wire::l4::verify(&told[14..]), Ok(wire::l4::Verdict::Valid));
        let (fixed, options) = Redirect::split(&told[54..]).expect("a redirect");
        assert_eq!(
            (fixed.kind, Ipv6Addr::from(fixed.target), Ipv6Addr::from(fixed.destination)),
            (137, ip(target), ip(dst))
        );
        let options: Vec<NdOption<'_>> =
            NdOptions::new(options).map(|o| o.expect("well-formed").into()).collect();
        let quoted = &frame[14..];
        let whole = quoted.len() & !7;
        let NdOption::Redirected(bytes) = options[1] else { panic!("{options:?}") };
        assert_eq!((options[0], bytes), (NdOption::TargetLink(mac), &quoted[..whole]));
        r.pass(1);
    }
    // Not all the time.
    r.sent();
    (0..5).for_each(|_| r.receive(&packet("2001:db8:77::1")));
    assert_eq!(r.sent_of(Icmp6Type::REDIRECT).len(), 1);
    r.pass(1);
    r.run("set ip6 icmp redirect t0 disable");
    r.receive(&packet("2001:db8:77::1"));
    assert_eq!(r.sent().len(), 1, "the packet alone");
}
