// SPDX-License-Identifier: Apache-2.0
//! Traffic of the hosts: packets that are verified at the other end, and hostile packets.

use crate::cells::Tag;
use crate::plan::{self, PORTS};
use testkit::Rng;
use testkit::mutate::Mutator;
use testkit::pkt::{self, Packet};
use wire::offload::{Csum, Gso, GsoKind, Offload};
use wire::{IpProtocol, MacAddr};

/// Kinds of packets that arrive and are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Udp4,
    Udp6,
    /// With IPv4 options.
    Options4,
    /// With IPv6 extension headers.
    Extensions6,
    /// Longer than some links take: fragmented by the router, or jumbo.
    Large4,
    Large6,
    /// Fragmented by the sender.
    Fragments4,
    Fragments6,
    /// Super-packets.
    Tcp4,
    Tcp6,
    /// To a group: several outputs, with small MTUs too.
    Group4,
    Group6,
    LargeGroup4,
    /// To the router itself, which answers; also in fragments.
    Echo4,
    Echo6,
    LargeEcho4,
    LargeEcho6,
}

impl Kind {
    pub const ALL: [Kind; 17] = [
        Kind::Udp4,
        Kind::Udp6,
        Kind::Options4,
        Kind::Extensions6,
        Kind::Large4,
        Kind::Large6,
        Kind::Fragments4,
        Kind::Fragments6,
        Kind::Tcp4,
        Kind::Tcp6,
        Kind::Group4,
        Kind::Group6,
        Kind::LargeGroup4,
        Kind::Echo4,
        Kind::Echo6,
        Kind::LargeEcho4,
        Kind::LargeEcho6,
    ];

    /// The router answers it.
    pub fn is_echo(self) -> bool {
        matches!(self, Kind::Echo4 | Kind::Echo6 | Kind::LargeEcho4 | Kind::LargeEcho6)
    }

    fn is_group(self) -> bool {
        matches!(self, Kind::Group4 | Kind::Group6 | Kind::LargeGroup4)
    }
}

/// A packet in one frame or several.
pub struct Good {
    pub frames: Vec<(Offload, Vec<u8>)>,
    /// Bytes of payload.
    pub bytes: usize,
    /// The ports that it comes out of.
    pub outputs: u8,
}

/// IPv4's options: router alert, and a record of the route.
const OPTIONS: [u8; 16] = [148, 4, 0, 0, 7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// A destination options header: PadN of 4.
const PADDING6: [u8; 7] = [0, 1, 4, 0, 0, 0, 0];
/// Segments of super-packets: whole cells, and short enough for every link.
const SEGMENT: u16 = 512;

/// A packet of a kind from a port, or `None` if that port sends none.
pub fn good(kind: Kind, seed: u64, from: usize, number: &mut u32, rng: &mut Rng) -> Option<Good> {
    if kind.is_group() && from != 0 {
        return None;
    }
    let mut to = (from + 1 + rng.below(PORTS - 1)) % PORTS;
    if kind == Kind::Large6 {
        // No router fragments IPv6.
        to = usize::from(from == 0);
    }
    let outputs: u8 = match () {
        () if kind.is_group() => (1 << PORTS) - 2,
        () if kind.is_echo() => 1 << from,
        () => 1 << to,
    };
    let cells = match kind {
        Kind::Large4 | Kind::Large6 | Kind::LargeEcho4 | Kind::LargeEcho6 => 100 + rng.below(450),
        Kind::LargeGroup4 => 60 + rng.below(490),
        Kind::Fragments4 | Kind::Fragments6 => 20 + rng.below(1000),
        Kind::Tcp4 | Kind::Tcp6 => 200 + rng.below(3800),
        _ => 1 + rng.below(70),
    };
    *number = number.wrapping_add(1) & 0xfff_ffff;
    let tag =
        Tag { number: *number, cells: cells as u16, kind: kind as u8, outputs, from: from as u8 };
    let payload = tag.payload(seed);
    let bytes = payload.len();
    let (source4, source6) = (plan::source4(from), plan::source6(from));
    let host = rng.below(250) as u8;
    let (to4, to6) = match kind {
        kind if kind.is_echo() => (plan::router4(from), plan::router6(from)),
        kind if kind.is_group() => {
            ([239, 1, 1, 1], [0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
        }
        _ => (plan::behind4(to, host), plan::behind6(to, host)),
    };
    let mac = match kind {
        Kind::Group4 | Kind::LargeGroup4 => MacAddr([0x01, 0, 0x5e, 1, 1, 1]),
        Kind::Group6 => MacAddr([0x33, 0x33, 0, 0, 0, 1]),
        _ => plan::router_mac(from),
    };
    let ether = || pkt::ether(plan::host_mac(from), mac);
    let ip4 = || ether().ip4(source4, to4).ttl(plan::TTL).id(*number as u16);
    let ip6 = || ether().ip6(source6, to6).ttl(plan::TTL);
    let (a, b) = (1024 + (*number % 512) as u16, 4000 + kind as u16);
    let plain = |packet: Packet| vec![(Offload::NONE, packet.payload(&payload).build())];
    let frames = match kind {
        Kind::Udp4 | Kind::Large4 | Kind::Group4 | Kind::LargeGroup4 => plain(ip4().udp(a, b)),
        Kind::Udp6 | Kind::Large6 | Kind::Group6 => plain(ip6().udp(a, b)),
        Kind::Options4 => plain(ip4().options(OPTIONS).udp(a, b)),
        Kind::Extensions6 => plain(
            ip6().ext(IpProtocol::HOP_BY_HOP, PADDING6).ext(IpProtocol(60), PADDING6).udp(a, b),
        ),
        Kind::Echo4 => plain(ip4().icmp_echo(a, b)),
        Kind::Echo6 => plain(ip6().icmp6_echo(a, b)),
        Kind::Fragments4 => fragments4(&ip4().udp(a, b).payload(&payload).build(), 1400, rng),
        Kind::LargeEcho4 => fragments4(&ip4().icmp_echo(a, b).payload(&payload).build(), 1400, rng),
        Kind::Fragments6 => fragments6(&ip6().udp(a, b).payload(&payload).build(), 1200, rng),
        Kind::LargeEcho6 => {
            fragments6(&ip6().icmp6_echo(a, b).payload(&payload).build(), 1200, rng)
        }
        Kind::Tcp4 => vec![segmented(ip4().df(), GsoKind::TcpV4, 34, &payload, (a, b))],
        Kind::Tcp6 => vec![segmented(ip6(), GsoKind::TcpV6, 54, &payload, (a, b))],
    };
    Some(Good { frames, bytes, outputs })
}

/// A super-packet as a host with offloads hands it over.
fn segmented(
    ip: Packet,
    kind: GsoKind,
    start: u16,
    payload: &[u8],
    (a, b): (u16, u16),
) -> (Offload, Vec<u8>) {
    let frame = ip.tcp(a, b).checksum(pkt::Checksum::Partial).payload(payload).build();
    let gso = Gso { kind, ecn: false, size: SEGMENT, hdr_len: start + 20 };
    let gso = (payload.len() > usize::from(SEGMENT)).then_some(gso);
    (Offload { csum: Csum::Partial { start, offset: 16 }, gso }, frame)
}

/// Cuts an IPv4 packet without options, in any order.
fn fragments4(frame: &[u8], most: usize, rng: &mut Rng) -> Vec<(Offload, Vec<u8>)> {
    let (head, body) = frame.split_at(34);
    let size = (256 + rng.below(most - 256)) & !7;
    let pieces = body.chunks(size).enumerate().map(|(i, piece)| {
        let mut out = [head, piece].concat();
        let more = i * size + piece.len() < body.len();
        let field = (i * size / 8) as u16 | if more { 0x2000 } else { 0 };
        out[16..18].copy_from_slice(&(20 + piece.len() as u16).to_be_bytes());
        out[20..22].copy_from_slice(&field.to_be_bytes());
        wire::Ipv4Header::set_checksum_at(&mut out[14..]);
        (Offload::NONE, out)
    });
    shuffled(pieces.collect(), rng)
}

/// Cuts an IPv6 packet without extension headers, in any order.
fn fragments6(frame: &[u8], most: usize, rng: &mut Rng) -> Vec<(Offload, Vec<u8>)> {
    let (head, body) = frame.split_at(54);
    let size = (256 + rng.below(most - 256)) & !7;
    let id = (rng.next() as u32).to_be_bytes();
    let pieces = body.chunks(size).enumerate().map(|(i, piece)| {
        let more = i * size + piece.len() < body.len();
        let field = ((i * size) as u16 | u16::from(more)).to_be_bytes();
        let fragment = [&[head[20], 0, field[0], field[1]][..], &id].concat();
        let mut out = [head, &fragment, piece].concat();
        out[18..20].copy_from_slice(&(8 + piece.len() as u16).to_be_bytes());
        out[20] = IpProtocol::FRAGMENT.0;
        (Offload::NONE, out)
    });
    shuffled(pieces.collect(), rng)
}

fn shuffled<T>(mut all: Vec<T>, rng: &mut Rng) -> Vec<T> {
    for i in (1..all.len()).rev() {
        all.swap(i, rng.below(i + 1));
    }
    all
}

/// Kinds of packets that mean harm: the router survives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bad {
    /// Good frames with something wrong in the right place.
    Mutated,
    /// Fragments of datagrams that are never completed, jumbo too, and overlapping ones.
    Incomplete,
    /// ARP requests and neighbour solicitations of ever new senders.
    Senders,
    /// Packets to ever new addresses of connected networks.
    Scan,
    /// Super-packets with headers that no driver writes.
    Offloads,
    /// No route, the end of the TTL, martians: what is answered by errors.
    Errors,
}

impl Bad {
    pub const ALL: [Bad; 6] =
        [Bad::Mutated, Bad::Incomplete, Bad::Senders, Bad::Scan, Bad::Offloads, Bad::Errors];
}

/// Generator of the bad frames of one port.
pub struct BadFrames {
    port: usize,
    mutator: Mutator,
    bases: Vec<Vec<u8>>,
}

impl BadFrames {
    pub fn new(seed: u64, port: usize) -> BadFrames {
        let other = (port + 1) % PORTS;
        let ether = || pkt::ether(plan::host_mac(port), plan::router_mac(port));
        let (near4, near6) = (plan::on_link4(port, [9]), plan::on_link6(port, [0, 0, 0, 9]));
        let (far4, far6) = (plan::behind4(other, 9), plan::behind6(other, 9));
        let ip4 = || ether().ip4(near4, far4);
        let ip6 = || ether().ip6(near6, far6);
        let local4 = || ether().ip4(near4, plan::router4(port));
        let local6 = || ether().ip6(near6, plan::router6(port));
        let group =
            || pkt::ether(plan::host_mac(port), [1, 0, 0x5e, 1, 1, 1]).ip4(near4, [239, 1, 1, 1]);
        let bases = vec![
            pkt::arp_request(plan::host_mac(port), near4, plan::router4(port)).pad_to(60).build(),
            ip4().udp(9, 9).payload_len(400).build(),
            ip4().udp(9, 9).payload_len(8000).build(),
            ip4().options(OPTIONS).udp(9, 9).payload_len(30).build(),
            ip4().tcp(9, 9).options([2, 4, 5, 0xb4]).payload_len(100).build(),
            ip4().id(7).fragment(0, true).udp(9, 9).payload_len(1000).build(),
            ip4().id(7).fragment(1008, false).protocol(IpProtocol::UDP).payload_len(400).build(),
            local4().icmp_echo(9, 9).payload_len(56).build(),
            local4().id(8).fragment(0, true).icmp_echo(9, 9).payload_len(800).build(),
            local4().udp(9, 33434).payload_len(20).build(),
            local4().tcp(9, 80).build(),
            group().udp(9, 9).payload_len(1200).build(),
            ip6().udp(9, 9).payload_len(400).build(),
            ip6().ext(IpProtocol::HOP_BY_HOP, PADDING6).udp(9, 9).payload_len(40).build(),
            ip6().fragment6(7, 0, true).udp(9, 9).payload_len(800).build(),
            local6().icmp6_echo(9, 9).payload_len(56).build(),
            local6().fragment6(8, 0, true).icmp6_echo(9, 9).payload_len(800).build(),
            solicitation(port, near6, plan::host_mac(port), plan::router6(port)),
            ether().vlan(7).ip4(near4, far4).udp(9, 9).build(),
            ether().mpls(9).ip4(near4, far4).udp(9, 9).build(),
        ];
        BadFrames { port, mutator: Mutator::new(seed), bases }
    }

    /// A burst of frames of a kind.
    pub fn burst(&mut self, bad: Bad) -> Vec<(Offload, Vec<u8>)> {
        (0..32).map(|_| self.frame(bad)).take(if bad == Bad::Offloads { 2 } else { 32 }).collect()
    }

    fn frame(&mut self, bad: Bad) -> (Offload, Vec<u8>) {
        let port = self.port;
        let ether = || pkt::ether(plan::host_mac(port), plan::router_mac(port));
        let (near4, near6) = (plan::on_link4(port, [9]), plan::on_link6(port, [0, 0, 0, 9]));
        let other = (port + 1) % PORTS;
        let mut frame = Vec::new();
        if bad == Bad::Mutated {
            self.mutator.next_frame(&self.bases, &mut frame);
            return (Offload::NONE, frame);
        }
        let rng = self.mutator.rng();
        let [a, b, c, d, ..] = rng.next().to_be_bytes();
        let host = [a & 0x7f, b, c, d];
        let frame = match bad {
            Bad::Mutated => frame,
            Bad::Incomplete => {
                let to = if a & 1 == 0 { plan::router4(port) } else { plan::behind4(other, 9) };
                let offset = u16::from(b) << 5;
                let len = if c < 32 { 8000 } else { 24 + usize::from(c) };
                match a & 2 {
                    0 => {
                        let ip = ether().ip4(near4, to).id(u16::from(c) & 63 | u16::from(d) << 8);
                        ip.fragment(offset & !7, true)
                            .protocol(IpProtocol::UDP)
                            .payload_len(len & !7)
                    }
                    _ => {
                        let ip = ether().ip6(near6, plan::router6(port));
                        ip.fragment6(u32::from(c) & 63, offset & !7, true).payload_len(len & !7)
                    }
                }
                .build()
            }
            Bad::Senders if a & 1 == 0 => {
                let from = plan::on_link4(port, [b]);
                pkt::arp_request([2, 0xbb, a, b, c, d], from, plan::router4(port))
                    .pad_to(60)
                    .build()
            }
            Bad::Senders => {
                let mac = MacAddr([2, 0xbb, a, b, c, d]);
                solicitation(port, plan::on_link6(port, host), mac, plan::router6(port))
            }
            Bad::Scan if a & 1 == 0 => ether()
                .ip4(near4, plan::on_link4(other, [200 + b % 50]))
                .udp(9, 9)
                .payload_len(20)
                .build(),
            Bad::Scan => ether()
                .ip6(near6, plan::on_link6(other, [0x80 | a, b, c, d]))
                .udp(9, 9)
                .payload_len(20)
                .build(),
            Bad::Offloads => {
                let kind = [GsoKind::TcpV4, GsoKind::TcpV6, GsoKind::UdpL4][usize::from(a) % 3];
                let far4 = plan::behind4(other, 9);
                let packet = match kind {
                    GsoKind::TcpV6 => ether().ip6(near6, plan::behind6(other, 9)).tcp(9, 9),
                    GsoKind::TcpV4 => ether().ip4(near4, far4).tcp(9, 9),
                    GsoKind::UdpL4 => ether().ip4(near4, far4).udp(9, 9),
                };
                let frame = packet.payload_len(usize::from(b) * 40).build();
                let size = [1, 8, 47, 48, 536, 1448, 9000, u16::MAX][usize::from(c) % 8];
                let place = u16::from(d);
                let offset = [16, 6, 0, 500][usize::from(a >> 2) % 4];
                let gso =
                    (a & 128 == 0).then_some(Gso { kind, ecn: b & 1 == 0, size, hdr_len: place });
                return (Offload { csum: Csum::Partial { start: place, offset }, gso }, frame);
            }
            Bad::Errors => match a % 5 {
                0 => ether().ip4(near4, [192, 0, 2, b]).udp(9, 9).payload_len(600).build(),
                1 => ether()
                    .ip4(near4, plan::behind4(other, b))
                    .ttl(1)
                    .udp(9, 9)
                    .payload_len(40)
                    .build(),
                2 => ether().ip6(near6, plan::behind6(3, b)).udp(9, 9).payload_len(3000).build(),
                3 => ether().ip4([127, 0, 0, b], plan::behind4(other, b)).udp(9, 9).build(),
                _ => {
                    ether().ip4(near4, plan::behind4(3, b)).df().udp(9, 9).payload_len(1200).build()
                }
            },
        };
        (Offload::NONE, frame)
    }
}

/// A neighbour solicitation with the sender's link-layer address (RFC 4861 4.3).
fn solicitation(port: usize, from: [u8; 16], mac: MacAddr, target: [u8; 16]) -> Vec<u8> {
    let mut body = target.to_vec();
    body.extend([1, 1]);
    body.extend(mac.0);
    pkt::ether(mac, plan::router_mac(port))
        .ip6(from, target)
        .ttl(255)
        .icmp6(wire::Icmp6Type::NEIGHBOR_SOLICITATION, 0, 0)
        .payload(body)
        .build()
}

/// The answer of a port's host to a question for a neighbour, if it is one of its addresses.
pub fn answer(port: usize, frame: &[u8]) -> Option<Vec<u8>> {
    let packet = frame.get(14..)?;
    let is_mine = |last: u8| (2..200).contains(&last);
    if frame[12..14] == [0x08, 0x06] {
        let target: [u8; 4] = *packet.get(24..28)?.first_chunk()?;
        let (mac, from): (&[u8; 6], &[u8; 4]) =
            (packet.get(8..14)?.first_chunk()?, packet.get(14..18)?.first_chunk()?);
        let mine = target[..3] == [10, 0, port as u8] && is_mine(target[3]);
        return mine.then(|| pkt::arp_reply(plan::host_mac(port), target, *mac, *from).build());
    }
    let target: [u8; 16] = *packet.get(48..64)?.first_chunk()?;
    let from: [u8; 16] = *packet.get(8..24)?.first_chunk()?;
    let mac: [u8; 6] = *frame.get(6..12)?.first_chunk()?;
    let mine =
        target[..8] == plan::router6(port)[..8] && target[8..15] == [0; 7] && is_mine(target[15]);
    let mut body = target.to_vec();
    body.extend([2, 1]);
    body.extend(plan::host_mac(port).0);
    mine.then(|| {
        pkt::ether(plan::host_mac(port), mac)
            .ip6(target, from)
            .ttl(255)
            .icmp6(wire::Icmp6Type::NEIGHBOR_ADVERTISEMENT, 0, 0x6000_0000)
            .payload(body)
            .build()
    })
}
