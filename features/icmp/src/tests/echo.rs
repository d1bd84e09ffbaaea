// SPDX-License-Identifier: Apache-2.0
use super::*;
use buffer::{Flags, Offload};
use net::{AdjIndex, IpMeta};
use testkit::pkt;
use testkit::pkt::Packet;

fn send(
    bench: &mut Bench,
    sw_if: SwIfIndex,
    packet: &[u8],
    prepare: impl Fn(&mut Buffer),
) -> Outcome {
    one(bench.node("ip4-icmp-echo-request", &[packet.to_vec()], |b| {
        b.rx_if = sw_if.0;
        prepare(b);
    }))
}

fn request(src: &str, dst: &str) -> Packet {
    pkt::ip4(src, dst).ttl(17).id(0x1234).tos(0x2b).icmp_echo(7, 9).payload_len(1201)
}

#[suite::test]
fn a_request_becomes_its_reply() {
    let (mut bench, sw_if, _) = bench();
    for payload in [0, 56, 1201, 9000] {
        let packet =
            pkt::ip4("10.0.0.9", "203.0.113.1").ttl(17).id(0x1234).tos(0x2b).df().icmp_echo(7, 9);
        let packet = packet.payload_len(payload).build();
        for n in [1, 20] {
            let out = bench
                .node("ip4-icmp-echo-request", &vec![packet.clone(); n], |b| b.rx_if = sw_if.0);
            assert_eq!(out.len(), n);
            for o in out {
                assert_eq!((o.node.as_str(), o.rx_if), ("ip4-lookup", sw_if.0));
                let (ip, icmp, data) = verified(&o.bytes);
                assert_eq!(
                    (ip.src, ip.dst),
                    ([203, 0, 113, 1], [10, 0, 0, 9]),
                    "the address that was asked answers"
                );
                assert_eq!(
                    (ip.ttl, ip.tos, ip.id.get(), ip.dont_fragment()),
                    (64, 0x28, 0x1234, true)
                );
                assert_eq!((icmp.kind, icmp.code, icmp.id.get(), icmp.seq.get()), (0, 0, 7, 9));
                assert_eq!(data, &packet[28..]);
            }
        }
    }
    assert_eq!(bench.count("ip4-icmp-echo-request", "echo_replies_sent"), 4 * 21);
}

#[suite::test]
fn a_reply_of_zeros_has_a_checksum_of_ones() {
    let (mut bench, sw_if, _) = bench();
    let packet = pkt::ip4("10.0.0.9", "203.0.113.1").icmp_echo(0, 0).build();
    let out = send(&mut bench, sw_if, &packet, |_| {});
    let (_, icmp, _) = verified(&out.bytes);
    assert_eq!((icmp.kind, icmp.checksum.get()), (0, 0xffff));
}

#[suite::test]
fn what_went_to_several_hosts_is_answered_on_request_only() {
    let (mut bench, sw_if, bare) = bench();
    let groups = ["255.255.255.255", "10.0.0.255", "10.0.0.0", "224.0.0.1"];
    let hosts = ["10.0.0.9", "10.0.0.9", "10.0.0.9", "198.51.100.9"];
    for (dst, src) in groups.into_iter().zip(hosts) {
        let out = send(&mut bench, sw_if, &request(src, dst).build(), |b| {
            b.flags.insert(Flags::L2_MULTICAST)
        });
        assert_eq!(
            out.reason,
            Some("echo request to several hosts ignored (RFC 1122 3.2.2.6)"),
            "{dst}"
        );
    }
    for dst in ["10.0.0.1", "224.0.0.1"] {
        let packet = request("10.0.0.9", dst).build();
        send(&mut bench, sw_if, &packet, |b| b.flags.insert(Flags::L2_BROADCAST));
    }
    assert_eq!(bench.count("ip4-icmp-echo-request", "broadcast"), 6);
    // A host of the link that asks a group is answered, by an address of the interface.
    let packet = request("10.0.0.9", "224.0.0.5").build();
    let out = send(&mut bench, sw_if, &packet, |b| b.flags.insert(Flags::L2_MULTICAST));
    let (ip, icmp, rest) = verified(&out.bytes);
    assert_eq!((ip.src, ip.dst, icmp.kind), ([10, 0, 0, 1], [10, 0, 0, 9], 0));
    assert_eq!(rest, &packet[28..]);
    run(&mut bench, "set ip icmp echo-broadcast enable");
    for dst in groups {
        let packet = request("192.0.2.3", dst).build();
        let out = send(&mut bench, sw_if, &packet, |b| b.flags.insert(Flags::L2_BROADCAST));
        let (ip, ..) = verified(&out.bytes);
        assert_eq!(
            (ip.src, ip.dst),
            ([192, 0, 2, 1], [192, 0, 2, 3]),
            "{dst}: an address of the interface answers"
        );
    }
    let out = send(&mut bench, bare, &request("10.0.0.9", "224.0.0.1").build(), |_| {});
    assert_eq!(out.reason, Some("interface has no address to answer from"));
}

#[suite::test]
fn some_requests_get_no_reply() {
    let (mut bench, sw_if, _) = bench();
    for src in ["0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255", "10.0.0.255"] {
        let out = send(&mut bench, sw_if, &request(src, "10.0.0.1").build(), |_| {});
        assert_eq!(out.reason, Some("echo request from what is no single host"), "{src}");
    }
    for kind in [131, 137] {
        let packet = pkt::ip4("10.0.0.9", "10.0.0.1")
            .options([kind, 7, 4, 1, 2, 3, 4, 0])
            .icmp_echo(1, 1)
            .build();
        assert_eq!(
            send(&mut bench, sw_if, &packet, |_| {}).reason,
            Some("echo request with a source route")
        );
    }
    let options = pkt::ip4("10.0.0.9", "10.0.0.1")
        .options([148, 4, 0, 0])
        .icmp_echo(1, 1)
        .payload_len(9)
        .build();
    let out = send(&mut bench, sw_if, &options, |_| {});
    assert!(out.node == "ip4-lookup" && Ipv4Header::checksum_ok_at(&out.bytes));
    assert!(Sum::of(&out.bytes[24..]).is_valid() && out.bytes[20..24] == [148, 4, 0, 0]);
    run(&mut bench, "set ip icmp echo disable");
    let out = send(&mut bench, sw_if, &request("10.0.0.9", "10.0.0.1").build(), |_| {});
    assert_eq!(out.reason, Some("echo requests are not answered"));
    run(&mut bench, "set ip icmp echo enable");
    let out = send(&mut bench, sw_if, &request("10.0.0.9", "10.0.0.1").build()[..27], |_| {});
    assert_eq!(out.reason, Some("payload length too small for type"));
}

#[suite::test]
fn a_partial_checksum_stays_one() {
    let (mut bench, sw_if, _) = bench();
    let mut packet = request("10.0.0.9", "10.0.0.1").build();
    packet[22..24].fill(0);
    let out = send(&mut bench, sw_if, &packet, |b| {
        b.flags.insert(Flags::CSUM_PARTIAL);
        b.offload = Offload { csum_start: 20, csum_offset: 2, ..Offload::default() };
    });
    assert_eq!(out.bytes[20..24], [0, 0, 0, 0]);
    // The device completes the checksum.
    let mut sent = out.bytes;
    let checksum = Sum::of(&sent[20..]).finish();
    sent[22..24].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(verified(&sent).1.kind, 0);
}

#[suite::test]
fn our_own_request_is_answered_in_its_table() {
    let (mut bench, ..) = bench();
    let packet = request("10.0.0.1", "10.0.0.1").build();
    let out = one(bench.node("ip4-icmp-echo-request", &[packet], |b| {
        (b.rx_if, b.flags) = (0, Flags::LOCAL);
        b.set_scratch(IpMeta::of(AdjIndex(1), 7));
    }));
    assert_eq!((out.node.as_str(), out.tx_if), ("ip4-lookup", 7));
}

#[suite::test]
fn settings_are_shown() {
    let (mut bench, ..) = bench();
    run(&mut bench, "set ip icmp error-rate 50");
    run(&mut bench, "set ip icmp echo-broadcast enable");
    let json: serde_json::Value =
        serde_json::from_str(&run(&mut bench, "show ip icmp -j")).expect("JSON");
    let want = serde_json::json!({"error_rate": 50, "error_burst": 100, "echo": true, "echo_broadcast": true, "redirects": []});
    assert_eq!(json, want);
    assert_eq!(
        run(&mut bench, "show ip icmp"),
        "error-rate 50 burst 100 (for each kind and thread)\necho enabled\necho-broadcast enabled\nredirect disabled\n"
    );
    for line in ["set ip icmp echo", "set ip icmp error-rate", "set ip icmp error-rate 1000001"] {
        assert!(bench.cli(line).is_err(), "{line} was taken");
    }
}
