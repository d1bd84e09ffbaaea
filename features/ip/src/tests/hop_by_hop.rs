// SPDX-License-Identifier: Apache-2.0
//! Extension headers of IPv6, in transit and at the destination.

use super::*;
use net::IpMeta;

fn to(
    bench: &mut Bench,
    node: &str,
    packet: Vec<u8>,
) -> (String, Option<&'static str>, (u8, u8, u32)) {
    let index = bench.index(node);
    bench.rt.receive();
    let mut b = bench.buffer(&packet);
    b.rx_if = T1.0;
    bench.rt.inject(index, b);
    bench.rt.run_node(index);
    let reasons = bench.world.reasons();
    for info in bench.world.nodes() {
        if let Some(b) = bench.rt.waiting(info.index).into_iter().next() {
            let is_error = &*info.name == "ip6-icmp-error";
            let meta = if is_error { b.scratch::<IpMeta>() } else { IpMeta::error(0, 0, 0) };
            let says = (meta.icmp_type(), meta.icmp_code(), meta.icmp_rest);
            let reason = (b.error() != 0).then(|| reasons[b.error() as usize].text);
            bench.rt.cache().free(b);
            return (info.name.to_string(), reason, says);
        }
    }
    panic!("the packet is gone")
}

/// A header with one option of this kind and two bytes of data, next UDP.
fn option(kind: u8) -> [u8; 8] {
    [17, 0, kind, 2, 0, 0, 1, 0]
}

#[suite::test]
fn every_router_looks_at_hop_by_hop_options() {
    let mut bench = router6();
    let packet = |to: &str, headers: &[u8]| behind(udp6(to).build(), 0, headers);
    let went = |bench: &mut Bench, packet| to(bench, "ip6-hop-by-hop", packet);
    assert_eq!(
        bench.node("ip6-input", &[packet("3000::1", &option(5))], |b| b.rx_if = T1.0)[0].node,
        "ip6-hop-by-hop"
    );
    for kind in [1, 5, 0x1e, 0x3e] {
        assert_eq!(went(&mut bench, packet("3000::1", &option(kind))).0, "ip6-lookup", "{kind}");
    }
    assert_eq!(went(&mut bench, packet("ff05::1", &option(5))).0, "ip6-mfib-forward-lookup");
    let dropped = went(&mut bench, packet("3000::1", &option(0x5e)));
    assert_eq!((dropped.0.as_str(), dropped.1.is_some()), ("ip6-drop", true));
    for (kind, group, says) in [
        (0x9e, false, Some((4, 2, 42))),
        (0x9e, true, Some((4, 2, 42))),
        (0xde, false, Some((4, 2, 42))),
        (0xde, true, None),
    ] {
        let out =
            went(&mut bench, packet(if group { "ff05::1" } else { "3000::1" }, &option(kind)));
        match says {
            Some(says) => assert_eq!((out.0.as_str(), out.2), ("ip6-icmp-error", says)),
            None => assert_eq!(out.0, "ip6-drop"),
        }
    }
    let out = went(&mut bench, packet("3000::1", &[17, 0, 5, 9, 0, 0, 1, 0]));
    assert_eq!(
        (out.0.as_str(), out.2),
        ("ip6-icmp-error", (4, 0, 43)),
        "an option that is too long"
    );
    assert_eq!(went(&mut bench, packet("3000::1", &[17, 200, 1, 4, 0, 0, 0, 0])).0, "ip6-drop");
    // A report of multicast listeners is for the routers of its link, whatever group it goes to.
    let mut report = behind(
        pkt::ip6("fe80::9", "ff1e::7").icmp6_echo(1, 2).payload_len(16).build(),
        0,
        &option(5),
    );
    report[40] = 58;
    assert_eq!(went(&mut bench, report).0, "ip6-local");
    // An arc of the interface is passed behind the options.
    bench.world.get::<Addresses<Ip6>>().clear(&bench.world, T1).expect("cleared");
    assert_eq!(went(&mut bench, packet("3000::1", &option(5))).0, "ip6-not-enabled");
}

#[suite::test]
fn the_destination_looks_at_all_headers() {
    let mut bench = router6();
    let packet = |first, headers: &[u8]| behind(udp6("2001:db8:1::1").build(), first, headers);
    let went = |bench: &mut Bench, packet| to(bench, "ip6-local", packet);
    assert_eq!(went(&mut bench, udp6("2001:db8:1::1").build()).0, "ip6-udp-lookup");
    assert_eq!(went(&mut bench, packet(60, &option(1))).0, "ip6-udp-lookup");
    assert_eq!(
        went(
            &mut bench,
            packet(43, &option(0)[..3].iter().chain(&[0; 5]).copied().collect::<Vec<_>>())
        )
        .0,
        "ip6-udp-lookup"
    );
    assert_eq!(
        went(&mut bench, packet(44, &[17, 0, 0, 0, 0, 0, 0, 1])).0,
        "ip6-udp-lookup",
        "a whole fragment"
    );
    assert_eq!(went(&mut bench, packet(43, &[17, 0, 0, 1, 0, 0, 0, 0])).2, (4, 0, 42));
    assert_eq!(went(&mut bench, packet(60, &option(0x9e))).2, (4, 2, 42));
    assert_eq!(
        went(&mut bench, packet(60, &[200, 0, 1, 4, 0, 0, 0, 0])).2,
        (4, 1, 40),
        "unknown next header"
    );
    assert_eq!(went(&mut bench, packet(47, &[])).2, (4, 1, 6));
    for (first, headers) in
        [(60, option(0x5e)), (44, [17, 0, 0, 1, 0, 0, 0, 1]), (60, [59, 0, 1, 4, 0, 0, 0, 0])]
    {
        let out = went(&mut bench, packet(first, &headers));
        assert!(out.0 == "ip6-drop" && out.1.is_some(), "{out:?}");
    }
    let mut wrong = udp6("2001:db8:1::1").build();
    wrong[50] ^= 1;
    assert_eq!(went(&mut bench, wrong.clone()).1, Some("bad udp checksum"));
    wrong[46..48].fill(0);
    assert_eq!(
        went(&mut bench, wrong.clone()).1,
        Some("bad udp checksum"),
        "IPv6 has none without"
    );
    // But for tunnels (RFC 6935 5).
    let port = u16::from_be_bytes([wrong[42], wrong[43]]);
    crate::register_udp_port::<Ip6>(&bench.world, port, "error-drop").expect("free");
    assert_eq!(went(&mut bench, wrong.clone()).1, Some("bad udp checksum"));
    crate::accept_no_checksum::<Ip6>(&bench.world, port);
    assert_eq!(went(&mut bench, wrong.clone()).0, "ip6-udp-lookup");
    crate::unregister_udp_port::<Ip6>(&bench.world, port);
    assert_eq!(went(&mut bench, wrong).1, Some("bad udp checksum"));
    let out = to(&mut bench, "ip6-udp-lookup", packet(60, &option(1)));
    assert_eq!((out.0.as_str(), out.2), ("ip6-icmp-error", (1, 4, 0)));
    let spoofed = pkt::ip6("2001:db8:2::1", "2001:db8:1::1").udp(1, 2).build();
    assert_eq!(went(&mut bench, spoofed).1, Some("ip6 spoofed local-address packet drops"));
    let nowhere = pkt::ip6("4000::1", "2001:db8:1::1").udp(1, 2).build();
    assert_eq!(went(&mut bench, nowhere).1, Some("ip6 source lookup miss"));
}
