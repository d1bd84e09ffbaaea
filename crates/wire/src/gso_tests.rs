// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::{
    Ethernet, IpHeader, MacAddr,
    l4::{self, Verdict},
};
use proptest::{collection::vec, prelude::*};

#[derive(Clone, Debug)]
struct Case {
    v6: bool,
    tcp: bool,
    ip_options: usize,
    tcp_options: usize,
    flags: TcpFlags,
    urgent: u16,
    seq: u32,
    id: u16,
    payload: Vec<u8>,
    size: u16,
    padding: usize,
}

impl Case {
    /// The segment with `payload`, written without looking at the code under test.
    fn packet(&self, payload: &[u8], id: u16, seq: u32, flags: TcpFlags, urgent: u16) -> Vec<u8> {
        let l4 = if self.tcp {
            let tcp = TcpHeader {
                src_port: U16::new(1000),
                dst_port: U16::new(80),
                seq: crate::U32::new(seq),
                ack: crate::U32::new(77),
                data_offset: ((20 + self.tcp_options) * 4) as u8,
                flags,
                window: U16::new(500),
                checksum: U16::ZERO,
                urgent: U16::new(urgent),
            };
            [tcp.as_bytes(), &vec![1; self.tcp_options], payload].concat()
        } else {
            [UdpHeader::new(1000, 53, payload.len() as u16).as_bytes(), payload].concat()
        };
        let protocol = if self.tcp { IpProtocol::TCP } else { IpProtocol::UDP };
        let mut packet = if self.v6 {
            let (a, b) = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
            let len = (self.ip_options + l4.len()) as u16;
            let first = if self.ip_options > 0 { IpProtocol::DEST_OPTIONS } else { protocol };
            let mut ext = vec![0; self.ip_options];
            if let [next, units, ..] = &mut ext[..] {
                (*next, *units) = (protocol.0, (self.ip_options / 8 - 1) as u8);
            }
            [Ipv6Header::new(a, b, first, len).as_bytes(), &ext, &l4].concat()
        } else {
            let len = (self.ip_options + l4.len()) as u16;
            let mut ip = Ipv4Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol, len);
            ip.version_ihl += (self.ip_options / 4) as u8;
            ip.id = U16::new(id);
            let mut packet = [ip.as_bytes(), &vec![1; self.ip_options], &l4].concat();
            Ipv4Header::set_checksum_at(&mut packet);
            packet
        };
        l4::finish(&mut packet).unwrap();
        packet
    }

    fn link(&self, packet: &[u8]) -> Vec<u8> {
        let ethertype = if self.v6 { crate::EtherType::IP6 } else { crate::EtherType::IP4 };
        let ethernet = Ethernet::new(MacAddr::local(1), MacAddr::local(2), ethertype);
        [ethernet.as_bytes(), packet].concat()
    }

    fn expected(&self) -> Vec<Vec<u8>> {
        let chunks: Vec<&[u8]> = self.payload.chunks(self.size.into()).collect();
        let mut segments = Vec::new();
        for (i, chunk) in chunks.iter().enumerate() {
            let syn = i > 0 && self.tcp && self.flags.0 & 2 != 0;
            let before = i * usize::from(self.size) + usize::from(syn);
            let mut flags = self.flags.0;
            if i + 1 < chunks.len() {
                flags &= !0x09;
            }
            let mut urgent = self.urgent;
            if i > 0 {
                flags &= !0x82;
                urgent = self.urgent.saturating_sub(before.min(65535) as u16);
                if urgent == 0 || flags & 0x20 == 0 {
                    flags &= !0x20;
                    urgent = 0;
                }
            }
            let (id, seq) = (self.id.wrapping_add(i as u16), self.seq.wrapping_add(before as u32));
            segments.push(self.link(&self.packet(chunk, id, seq, TcpFlags(flags), urgent)));
        }
        segments
    }
}

prop_compose! {
    fn case()(
        v6: bool, tcp: bool, ip_options in 0usize..5, tcp_options in 0usize..10, flags: u8, urgent: u16, seq: u32,
        id: u16, payload in vec(any::<u8>(), 1..9000), size in prop_oneof![200u16..1500, any::<u16>()], padding in 0usize..3,
    ) -> Case {
        let ip_options = ip_options * 8;
        let size = size.clamp(60, 60000);
        let flags = TcpFlags(flags);
        Case { v6, tcp, ip_options, tcp_options: tcp_options * 4, flags, urgent, seq, id, payload, size, padding }
    }
}

fn collect(frame: &[u8], size: u16) -> Result<Vec<Vec<u8>>, GsoError> {
    let mut segments = Vec::new();
    let count = segment(frame, 14, size, |head, payload| segments.push([head, payload].concat()))?;
    assert_eq!(count, segments.len());
    Ok(segments)
}

proptest! {
    #[suite::test]
    fn same_as_a_host_without_offload(case in case()) {
        let mut packet = case.packet(&case.payload, case.id, case.seq, case.flags, case.urgent);
        // what a host with offload hands over: the checksum is partial
        l4::set_partial(&mut packet).unwrap();
        let mut frame = case.link(&packet);
        frame.resize(frame.len() + case.padding, 0xee);
        let segments = collect(&frame, case.size).unwrap();
        prop_assert_eq!(&segments, &case.expected());
        for segment in &segments {
            prop_assert_eq!(l4::verify(&segment[14..]), Ok(Verdict::Valid));
            prop_assert!(case.v6 || Ipv4Header::checksum_ok_at(&segment[14..]));
        }
    }

    #[suite::test]
    fn any_bytes(mut bytes in vec(any::<u8>(), 0..300), version in prop_oneof![Just(0x45u8), Just(0x60)], protocol in prop_oneof![Just(6u8), Just(17)], l3 in 0usize..20, size: u16) {
        if let Some(packet) = bytes.get_mut(l3..) && packet.len() > 9 {
            let len = packet.len() as u16;
            packet[0] = version;
            if version == 0x45 {
                packet[2..4].copy_from_slice(&len.to_be_bytes());
                packet[6] = 0;
                packet[7] = 0;
                packet[9] = protocol;
            } else {
                packet[4..6].copy_from_slice(&len.saturating_sub(40).to_be_bytes());
                packet[6] = protocol;
            }
        }
        let mut total = 0;
        if segment(&bytes, l3, size, |_, payload| total += payload.len()).is_ok() {
            prop_assert!(total <= bytes.len());
        }
    }
}

fn plain(tcp: bool, flags: TcpFlags) -> Case {
    Case {
        v6: false,
        tcp,
        ip_options: 0,
        tcp_options: 0,
        flags,
        urgent: 0,
        seq: 0,
        id: 0,
        payload: vec![1; 100],
        size: 50,
        padding: 0,
    }
}

#[suite::test]
fn a_syn_has_a_sequence_number_of_its_own() {
    let case = plain(true, TcpFlags::SYN);
    let frame = case.link(&case.packet(&case.payload, case.id, case.seq, case.flags, 0));
    let segments = collect(&frame, 50).unwrap();
    let tcp = |segment: &[u8]| {
        let tcp = TcpHeader::view_at(segment, 34).unwrap();
        (tcp.seq.get(), tcp.flags)
    };
    assert_eq!(tcp(&segments[0]), (case.seq, TcpFlags::SYN));
    assert_eq!(tcp(&segments[1]), (case.seq + 51, TcpFlags::default()));
}

#[suite::test]
fn urgent_data_that_ends_with_a_segment() {
    let case = Case { urgent: 50, ..plain(true, TcpFlags::ACK | TcpFlags::URG) };
    let packet = case.packet(&case.payload, case.id, case.seq, case.flags, case.urgent);
    let segments = collect(&case.link(&packet), 50).unwrap();
    assert_eq!(segments, case.expected());
    let flags = |segment: &[u8]| TcpHeader::view_at(segment, 34).unwrap().flags;
    assert_eq!((flags(&segments[0]), flags(&segments[1])), (case.flags, TcpFlags::ACK));
}

#[suite::test]
fn a_udp_checksum_is_never_zero() {
    let mut case = plain(false, TcpFlags::default());
    case.payload[48..50].fill(0);
    let first = case.packet(&case.payload[..50], 0, 0, case.flags, 0);
    // the checksum so far, put into the payload, makes the sum all ones
    case.payload[48..50].copy_from_slice(&first[26..28]);
    let packet = case.packet(&case.payload, 0, 0, case.flags, 0);
    let segments = collect(&case.link(&packet), 50).unwrap();
    assert_eq!(segments[0][40..42], [0xff, 0xff]);
    assert_eq!(l4::verify(&segments[0][14..]), Ok(Verdict::Valid));
}

#[suite::test]
fn refuses() {
    let mut case = plain(true, TcpFlags::ACK);
    let build = |case: &Case| case.link(&case.packet(&case.payload, 0, 0, case.flags, 0));
    let frame = build(&case);
    assert_eq!(collect(&frame, 0), Err(GsoError::Size));
    assert_eq!(collect(&frame[..100], 50), Err(GsoError::Truncated));
    assert_eq!(Plan::new(&frame[..53], 14, frame.len(), 50).map(|_| ()), Err(GsoError::Truncated));
    let plan = Plan::new(&frame[..54], 14, frame.len(), 30).unwrap();
    assert_eq!((plan.count(), plan.payload(3), plan.payload(4)), (4, 144..154, 154..154));
    assert_eq!(plan.write_headers(4, Sum::ZERO, &mut [0; 256]), None);
    assert_eq!(plan.write_headers(0, Sum::ZERO, &mut [0; 53]), None);
    let mut fragment = frame.clone();
    fragment[20] = 0x20;
    assert_eq!(collect(&fragment, 50), Err(GsoError::Fragment));
    let mut icmp = frame.clone();
    icmp[23] = 1;
    assert_eq!(collect(&icmp, 50), Err(GsoError::Protocol(IpProtocol::ICMP)));
    // a pure ACK is one segment
    case.payload.clear();
    assert_eq!(collect(&build(&case), 50), Ok(vec![build(&case)]));
    assert_eq!(Ipv4Header::view_at(&frame, 14).unwrap().packet_len(), 140);
}
