// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use crate::api::*;
use crate::clamp::{find_syn, lower};
use graph::Plugin;
use net::api::InterfaceIndex;
use net::drive::{Rig, peer_mac, port_mac};
use proptest::prelude::*;
use testkit::mutate::Mutator;
use testkit::pkt::{self, Checksum, Packet};
use wire::checksum::Sum;
use wire::{Header, IpHeader};
use wire::{IpProtocol, Ipv4Header, Ipv6Header, TcpFlags};

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &super_path::PLUGIN,
    &PLUGIN,
];

const SYN: TcpFlags = TcpFlags::SYN;
const SYN_ACK: TcpFlags = TcpFlags(TcpFlags::SYN.0 | TcpFlags::ACK.0);

fn mss(value: u16) -> Vec<u8> {
    [&[2, 4][..], &value.to_be_bytes()].concat()
}

/// From port 0's peer to port 1's, as received and as sent.
fn frame(v6: bool, sent: bool) -> Packet {
    let (ether, ttl) = match sent {
        false => (pkt::ether(peer_mac(0), port_mac(0)), 64),
        true => (pkt::ether(port_mac(1), peer_mac(1)), 63),
    };
    match v6 {
        false => ether.ip4("10.0.0.2", "10.0.1.2").ttl(ttl),
        true => ether.ip6("2001:db8:0::2", "2001:db8:1::2").ttl(ttl),
    }
}

fn segment(v6: bool, sent: bool, flags: TcpFlags, options: &[u8]) -> Vec<u8> {
    let tcp = frame(v6, sent).tcp(4000, 80).segment(flags, 77, 0).options(options);
    tcp.payload([0xab; 5]).build()
}

fn rig() -> Rig {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.networks();
    rig
}

/// Options of a segment, and those with which it leaves a clamp of 1000.
fn cases() -> Vec<(Vec<u8>, Vec<u8>)> {
    let of = |before: &[u8], value, after: &[u8]| [before, &mss(value)[..], after].concat();
    vec![
        (of(&[], 1460, &[]), of(&[], 1000, &[])),
        (of(&[], 65535, &[1, 3, 3, 7]), of(&[], 1000, &[1, 3, 3, 7])),
        (of(&[], 1000, &[]), of(&[], 1000, &[])),
        (of(&[], 999, &[]), of(&[], 999, &[])),
        (of(&[], 0, &[]), of(&[], 0, &[])),
        // At an odd offset the bytes of the value lie in two words of the checksum.
        (of(&[1], 1460, &[1, 1, 1]), of(&[1], 1000, &[1, 1, 1])),
        (of(&[3, 3, 7], 0xff00, &[0]), of(&[3, 3, 7], 1000, &[0])),
        // Each of several.
        (of(&mss(2000), 3000, &[]), of(&mss(1000), 1000, &[])),
        (of(&mss(500), 3000, &[]), of(&mss(500), 1000, &[])),
        // Behind the end of the list, behind a malformed option, and malformed itself.
        (of(&[0, 0, 0, 0], 1460, &[]), of(&[0, 0, 0, 0], 1460, &[])),
        (of(&[8, 1, 1, 1], 1460, &[]), of(&[8, 1, 1, 1], 1460, &[])),
        (of(&[8, 0, 1, 1], 1460, &[]), of(&[8, 0, 1, 1], 1460, &[])),
        (vec![2, 3, 255, 1], vec![2, 3, 255, 1]),
        (vec![2, 6, 255, 255, 255, 255, 0, 0], vec![2, 6, 255, 255, 255, 255, 0, 0]),
        (vec![1, 1, 2, 4], vec![1, 1, 2, 4]),
        (of(&[], 1460, &[8, 40, 1, 1]), of(&[], 1000, &[8, 40, 1, 1])),
        (vec![], vec![]),
    ]
}

#[suite::test]
fn the_mss_of_a_syn_is_lowered() {
    for (v6, name, node) in [
        (false, "p0 ip4 rx ip4-mss", "tcp-mss-clamping-ip4-in"),
        (false, "p1 ip4 tx ip4-mss", "tcp-mss-clamping-ip4-out"),
        (true, "p0 ip6 rx ip6-mss", "tcp-mss-clamping-ip6-in"),
        (true, "p1 ip6 tx ip6-mss", "tcp-mss-clamping-ip6-out"),
    ] {
        let mut rig = rig();
        rig.cli(&format!("set interface tcp-mss-clamp {name} 1000"));
        let mut clamped = 0;
        for state in ["on", "off"] {
            rig.cli(&format!("set super-path {state}"));
            for (before, after) in cases() {
                for flags in [SYN, SYN_ACK] {
                    let got = rig.pass_all(0, &[segment(v6, false, flags, &before)]);
                    assert_eq!(got, [(1, segment(v6, true, flags, &after))], "{node} {before:?}");
                    clamped += u64::from(before != after);
                    assert_eq!(rig.count(node, "clamped"), clamped, "{node} {before:?}");
                }
                // Data segments and resets keep theirs.
                for flags in [TcpFlags::ACK, TcpFlags::RST | SYN, TcpFlags::default()] {
                    let got = rig.pass_all(0, &[segment(v6, false, flags, &before)]);
                    assert_eq!(got, [(1, segment(v6, true, flags, &before))], "{node} {before:?}");
                }
            }
        }
        assert_eq!(rig.count(node, "clamped"), clamped);
    }
}

/// The directions and protocols are apart.
#[suite::test]
fn only_what_was_set_is_clamped() {
    let (before, after) = (mss(1460), mss(1000));
    for set in ["p1 ip4 rx ip4-mss 1000", "p0 ip4 tx ip4-mss 1000", "p0 ip6 enable ip6-mss 1000"] {
        let mut rig = rig();
        rig.cli(&format!("set interface tcp-mss-clamp {set}"));
        let got = rig.pass_all(0, &[segment(false, false, SYN, &before)]);
        assert_eq!(got, [(1, segment(false, true, SYN, &before))], "{set}");
    }
    // The lower one of two.
    let mut rig = rig();
    rig.cli("set interface tcp-mss-clamp p0 ip4 enable ip4-mss 1200");
    rig.cli("set interface tcp-mss-clamp p1 ip4 enable ip4-mss 1000");
    let got = rig.pass_all(0, &[segment(false, false, SYN, &before)]);
    assert_eq!(got, [(1, segment(false, true, SYN, &after))]);
    rig.cli("set interface tcp-mss-clamp p1 ip4 disable");
    let got = rig.pass_all(0, &[segment(false, false, SYN, &before)]);
    assert_eq!(got, [(1, segment(false, true, SYN, &mss(1200)))]);
    // UDP with bytes that would be a SYN.
    let udp = |sent| frame(false, sent).udp(2, 3).payload([2; 40]).build();
    assert_eq!(rig.pass_all(0, &[udp(false)]), [(1, udp(true))]);
}

#[suite::test]
fn tcp_is_found_behind_options_and_extension_headers() {
    let mut rig = rig();
    rig.cli("set interface tcp-mss-clamp p0 ip4 rx ip4-mss 1000 ip6 rx ip6-mss 1000");
    let tcp = |packet: Packet, value| {
        packet.tcp(4000, 80).segment(SYN, 77, 0).options(mss(value)).build()
    };
    let ip4 = |sent| frame(false, sent).options([1, 1, 1, 0]);
    assert_eq!(rig.pass_all(0, &[tcp(ip4(false), 1460)]), [(1, tcp(ip4(true), 1000))]);
    let ext = |sent| {
        let options = frame(true, sent).ext(IpProtocol::DEST_OPTIONS, [0, 1, 4, 0, 0, 0, 0]);
        options.ext(IpProtocol::DEST_OPTIONS, [1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    };
    assert_eq!(rig.pass_all(0, &[tcp(ext(false), 1460)]), [(1, tcp(ext(true), 1000))]);
    let first = |sent| frame(true, sent).fragment6(9, 0, true);
    assert_eq!(rig.pass_all(0, &[tcp(first(false), 1460)]), [(1, tcp(first(true), 1000))]);
    // A later fragment has no TCP header, whatever its bytes look like.
    let later = |sent| frame(true, sent).fragment6(9, 64, false);
    assert_eq!(rig.pass_all(0, &[tcp(later(false), 1460)]), [(1, tcp(later(true), 1460))]);
}

/// A checksum that its host left to the device is finished from the bytes as they are then.
#[suite::test]
fn a_partial_checksum_stays() {
    let tcp = |value, how| {
        let tcp = pkt::ip4("10.0.0.2", "10.0.1.2").tcp(4000, 80).segment(SYN, 77, 0);
        tcp.options(mss(value)).checksum(how).build()
    };
    let mut packet = tcp(1460, Checksum::Partial);
    assert_eq!(lower(&mut packet[20..], 1000, true), Some(1460));
    assert_eq!(packet, tcp(1000, Checksum::Partial));
    let mut wrong = tcp(1460, Checksum::Wrong);
    assert_eq!(lower(&mut wrong[20..], 1000, false), Some(1460));
    let valid = Ipv4Header::view(&wrong).unwrap().pseudo_sum(IpProtocol::TCP, 24);
    assert!(!valid.with(&wrong[20..]).is_valid(), "an error isn't hidden");
}

/// As an end of the connection reads options: the values of all MSS options.
fn read(options: &[u8]) -> Vec<usize> {
    let (mut at, mut found) = (0, Vec::new());
    while at < options.len() && options[at] != 0 {
        if options[at] == 1 {
            at += 1;
            continue;
        }
        let Some(&len) = options.get(at + 1) else { break };
        if len < 2 || at + usize::from(len) > options.len() {
            break;
        }
        if options[at] == 2 && len == 4 {
            found.push(at + 2);
        }
        at += usize::from(len);
    }
    found
}

fn options() -> impl Strategy<Value = Vec<u8>> {
    let one = prop_oneof![
        4 => any::<u16>().prop_map(mss),
        2 => Just(vec![1]),
        1 => Just(vec![3, 3, 7]),
        1 => Just(vec![4, 2]),
        1 => Just(vec![0]),
        1 => proptest::collection::vec(any::<u8>(), 1..4),
    ];
    proptest::collection::vec(one, 0..8).prop_map(|all| {
        let mut bytes = all.concat();
        bytes.resize(bytes.len().min(40).next_multiple_of(4), 0);
        bytes
    })
}

proptest! {
    #[suite::test]
    fn options_are_as_an_end_reads_them(options in options(), max: u16, v6: bool, odd: bool) {
        let packet = |options: &[u8]| {
            let ip = if v6 { pkt::ip6("2001:db8::1", "2001:db8::2") } else { pkt::ip4("10.0.0.1", "10.0.0.2") };
            let tcp = ip.tcp(1, 2).segment(SYN, 7, 8).options(options);
            tcp.payload_len(usize::from(odd)).build()
        };
        let mut want = options.clone();
        for at in read(&options) {
            let value = u16::from_be_bytes([want[at], want[at + 1]]).min(max);
            want[at..at + 2].copy_from_slice(&value.to_be_bytes());
        }
        let mut got = packet(&options);
        let (at, end) = find_syn(&got).expect("a SYN");
        prop_assert_eq!(end, got.len());
        let replaced = lower(&mut got[at..end], max, false);
        prop_assert_eq!(replaced.is_some(), want != options);
        let expected = packet(&want);
        // Either form of zero is a right checksum.
        let sum = |packet: &[u8]| {
            let len = packet.len() - at;
            let pseudo = match v6 {
                true => Ipv6Header::view(packet).unwrap().pseudo_sum(IpProtocol::TCP, len as u32),
                false => Ipv4Header::view(packet).unwrap().pseudo_sum(IpProtocol::TCP, len as u32),
            };
            (pseudo + Sum::of(&packet[at..])).is_valid()
        };
        prop_assert!(sum(&got));
        let without = |packet: &[u8]| [&packet[..at + 16], &packet[at + 18..]].concat();
        prop_assert_eq!(without(&got), without(&expected));
    }
}

/// Whatever the headers say, only values of the MSS and checksums change, and no packet is lost.
#[suite::test]
fn mutated_packets_pass() {
    let mut mutator = Mutator::new(20);
    let mut rig = rig();
    rig.cli("set interface tcp-mss-clamp p0 ip4 enable ip4-mss 1000 ip6 enable ip6-mss 1000");
    for n in 0..4000 {
        let v6 = n % 2 == 1;
        let ip = match (v6, n % 3) {
            (false, _) => pkt::ip4("10.0.0.2", "10.0.1.2").options([1, 1, 1, 0]),
            (true, 0) => pkt::ip6("2001:db8:0::2", "2001:db8:1::2"),
            (true, _) => pkt::ip6("2001:db8:0::2", "2001:db8:1::2")
                .ext(IpProtocol::DEST_OPTIONS, [0, 1, 4, 0, 0, 0, 0]),
        };
        let options = [&[1][..], &mss(1460), &[3, 3, 7, 0]].concat();
        let mut packet = ip.tcp(1, 2).segment(SYN, 7, 8).options(options).payload_len(8).build();
        let (clean, arc) = (packet.clone(), if v6 { "ip6-unicast" } else { "ip4-unicast" });
        let _ = mutator.mutate(&mut packet);
        let out = rig.bench.feature(arc, rig.ports[0], std::slice::from_ref(&packet));
        assert_eq!((out.len(), out[0].reason), (1, None), "{packet:02x?}");
        let changed = out[0].bytes.iter().zip(&packet).filter(|(a, b)| a != b).count();
        assert!(out[0].bytes.len() == packet.len() && changed <= 16, "{clean:02x?} {packet:02x?}");
    }
}

#[suite::test]
fn commands_show_and_refuse() {
    let mut rig = rig();
    assert_eq!(rig.cli("show interface tcp-mss-clamp"), "");
    assert_eq!(rig.cli("show interface tcp-mss-clamp p0"), "p0: ip4: disabled ip6: disabled\n");
    rig.cli("set interface tcp-mss-clamp p0 ip4 rx ip4-mss 1424");
    rig.cli("set int tcp-mss-clamp p1 ip4 enable ip4-mss 1400 ip6 tx ip6-mss 1380");
    let shown = "p0: ip4: 1424 [RX] ip6: disabled\np1: ip4: 1400 [RX TX] ip6: 1380 [TX]\n";
    assert_eq!(rig.cli("show interface tcp-mss-clamp"), shown);
    let json = r#"{"interface":"p0","ip4":{"mss":1424,"rx":true,"tx":false},"ip6":null}"#;
    let text = rig.cli("show interface tcp-mss-clamp p0 -j").replace([' ', '\n'], "");
    assert_eq!(text, format!("[{json}]"));
    for (line, want) in [
        ("set interface tcp-mss-clamp p9 ip4 rx ip4-mss 5", "p9"),
        ("set interface tcp-mss-clamp p0 ip6 rx", "1 to 65535"),
        ("set interface tcp-mss-clamp p0 ip4 rx ip4-mss 0", "1 to 65535"),
        ("set interface tcp-mss-clamp p0 ip4 rx ip4-mss 65536", "65536"),
        ("set interface tcp-mss-clamp p0", "ip4-mss"),
        ("set interface tcp-mss-clamp p0 ip4 both", "both"),
    ] {
        let (_, error) = rig.refused(line);
        assert!(error.contains(want), "{line}: {error}");
    }
    assert_eq!(rig.cli("show interface tcp-mss-clamp"), shown, "what is refused changes nothing");
    rig.cli("set interface tcp-mss-clamp p1 ip6 disable ip4-mss 1300");
    assert!(rig.cli("show interface tcp-mss-clamp").contains("ip4: 1300 [RX TX] ip6: disabled"));
    rig.delete_port(1);
    assert_eq!(rig.cli("show interface tcp-mss-clamp"), "p0: ip4: 1424 [RX] ip6: disabled\n");
}

#[suite::test]
fn messages_set_and_stream() {
    let rig = rig();
    let [a, b] = [0, 1].map(|i: usize| InterfaceIndex::from(rig.ports[i]));
    let set = |sw_if_index, ipv4_mss, dir4, ipv6_mss, dir6| MssClampEnableDisable {
        sw_if_index,
        ipv4_mss,
        ipv6_mss,
        ipv4_direction: MssClampDir(dir4),
        ipv6_direction: MssClampDir(dir6),
    };
    let mut client = rig.bench.api();
    for (request, want) in [
        (set(InterfaceIndex(99), 1400, 1, 0, 0), Err(-2)),
        (set(a, 0, 1, 0, 0), Err(-7)),
        (set(a, 1400, 0, 0, 2), Err(-7)),
        (set(a, 1400, 3, 1380, 1), Ok(())),
        (set(b, 1300, 1, 0, 0), Ok(())),
        (set(b, 0, 0, 1200, 2), Ok(())),
    ] {
        assert_eq!(client.call(request), want);
    }
    let details = |sw_if_index, ipv4_mss, dir4, ipv6_mss, dir6| MssClampDetails {
        sw_if_index,
        ipv4_mss,
        ipv6_mss,
        ipv4_direction: MssClampDir(dir4),
        ipv6_direction: MssClampDir(dir6),
    };
    let (first, second) = (details(a, 1400, 3, 1380, 1), details(b, 0, 0, 1200, 2));
    let mut get = |sw_if_index| {
        let end = client.call(MssClampGet { cursor: u32::MAX, sw_if_index })?;
        Ok((client.details::<MssClampGet>(), end.cursor))
    };
    assert_eq!(get(InterfaceIndex::NONE), Ok((vec![first, second], u32::MAX)));
    assert_eq!(get(b), Ok((vec![details(b, 0, 0, 1200, 2)], u32::MAX)));
    assert_eq!(get(InterfaceIndex(99)), Err(-2));
    let mut client = rig.bench.api();
    assert_eq!(client.call(set(b, 0, 0, 0, 0)), Ok(()));
    assert_eq!(client.dump(MssClampGet { cursor: u32::MAX, sw_if_index: b }), []);
}
