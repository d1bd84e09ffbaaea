// SPDX-License-Identifier: Apache-2.0
//! Packets of sessions: their headers (RFC 5881 4, 5), and their start in the graph.

use crate::echo_packet::EchoPacket;
use crate::engine::{Engine, Entry};
use crate::home::{Home, NODE, SessionKey};
use crate::packet::{CONTROL_PORT, ECHO_PORT, MAX_LEN, MULTIHOP_PORT};
use buffer::{Buffer, Flags};
use graph::{Cx, Next, NodeIndex, PerThread, ThreadIndex, World};
use ip::Onward;
use net::TableIndex;
use std::net::IpAddr;
use std::sync::Arc;
use wire::{Header, Ip4, Ip6, IpProtocol, Ipv4Header, Ipv6Header, UdpHeader, l4};
use zerocopy::IntoBytes;

/// Bytes of headers in front of a packet at most.
const HEADERS: usize = size_of::<Ipv6Header>() + UdpHeader::LEN;
/// TTL and hop limit: a peer of one hop discards packets that a router has forwarded (RFC 5881
/// 5).
pub const TTL: u8 = 255;

/// The parts of a node by which it sends packets of sessions.
pub struct Sender {
    /// State that control shares.
    pub home: Arc<Home>,
    /// The sessions.
    pub engines: Arc<PerThread<Engine>>,
    onward: (Onward<Ip4>, Onward<Ip6>),
    lookup: [Option<NodeIndex>; 2],
    process: Option<NodeIndex>,
}

/// The ends of a datagram.
struct Ends {
    source: (IpAddr, u16),
    destination: (IpAddr, u16),
    tos: u8,
}

/// Writes a datagram; returns its length. The addresses are of one version.
fn datagram(ends: &Ends, payload: &[u8], to: &mut [u8; HEADERS + MAX_LEN]) -> usize {
    let udp = UdpHeader::new(ends.source.1, ends.destination.1, payload.len() as u16);
    let len = (UdpHeader::LEN + payload.len()) as u16;
    let put = |to: &mut [u8], at: usize, bytes: &[u8]| {
        to[at..at + bytes.len()].copy_from_slice(bytes);
        at + bytes.len()
    };
    let at = match (ends.source.0, ends.destination.0) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let mut header = Ipv4Header {
                ttl: TTL,
                tos: ends.tos,
                ..Ipv4Header::new(source, destination, IpProtocol::UDP, len)
            };
            header.set_checksum();
            put(to, 0, header.as_bytes())
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let mut header = Ipv6Header {
                hop_limit: TTL,
                ..Ipv6Header::new(source, destination, IpProtocol::UDP, len)
            };
            header.set_traffic_class(ends.tos);
            put(to, 0, header.as_bytes())
        }
        // Control makes no such session.
        _ => return 0,
    };
    let at = put(to, at, udp.as_bytes());
    let end = put(to, at, payload);
    // The headers are whole, so that there is a checksum.
    let _ = l4::finish(&mut to[..end]);
    end
}

impl Sender {
    /// For a node of a thread.
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self {
            home: world.get(),
            engines: world.get(),
            onward: (Onward::new(world, thread), Onward::new(world, thread)),
            lookup: [world.node("ip4-lookup"), world.node("ip6-lookup")],
            process: world.node(NODE),
        }
    }

    /// Sends a control packet of a session; with `answer`, it answers a poll.
    pub fn control<N: Next + From<NodeIndex>, const TRACED: bool>(
        &self,
        engine: &mut Engine,
        index: u32,
        answer: bool,
        cx: &mut Cx<'_, TRACED>,
    ) {
        let tos = engine.tos;
        let Some((packet, entry)) = engine.control(index, answer) else { return };
        let mut bytes = [0; MAX_LEN];
        let len = packet.write(&mut bytes);
        if let Some(auth) = entry.session.auth {
            auth.sign(&mut bytes);
        }
        let SessionKey { local, peer, .. } = entry.key;
        let port = if entry.key.is_multihop() { MULTIHOP_PORT } else { CONTROL_PORT };
        let ends = Ends { source: (local, entry.port()), destination: (peer, port), tos };
        if let Some(sent) = self.send::<N, TRACED>(entry, &ends, &bytes[..len], cx) {
            engine.tx.add(index as usize, 1, sent as u64);
        }
    }

    /// Sends an echo packet of a session, which the peer forwards back to us.
    pub fn echo<N: Next + From<NodeIndex>, const TRACED: bool>(
        &self,
        engine: &Engine,
        index: u32,
        expires: u64,
        cx: &mut Cx<'_, TRACED>,
    ) {
        let Some(entry) = engine.get(index) else { return };
        let Some(source) = engine.echo_source(&entry.key) else { return };
        let disc = entry.session.disc;
        let echo = EchoPacket { disc, expires, checksum: self.home.checksum(disc, expires) };
        let ends = Ends {
            source: (source, entry.port()),
            destination: (entry.key.local, ECHO_PORT),
            tos: engine.tos,
        };
        if let Some(sent) = self.send::<N, TRACED>(entry, &ends, &echo.bytes(), cx) {
            engine.tx_echo.add(index as usize, 1, sent as u64);
        }
    }

    /// Returns the bytes that were sent; `None` without a buffer.
    fn send<N: Next + From<NodeIndex>, const TRACED: bool>(
        &self,
        entry: &Entry,
        ends: &Ends,
        payload: &[u8],
        cx: &mut Cx<'_, TRACED>,
    ) -> Option<usize> {
        let mut b = cx.alloc_own()?;
        let mut bytes = [0; HEADERS + MAX_LEN];
        let len = datagram(ends, payload, &mut bytes);
        if !b.set_data(&bytes[..len]) {
            cx.free(b);
            return None;
        }
        b.flags.insert(Flags::LOCAL);
        (b.rx_if, b.tx_if) = (0, u32::MAX);
        match self.next(entry, &mut b, cx) {
            Some(node) => {
                cx.emit(N::from(node), b);
                Some(len)
            }
            None => {
                cx.free(b);
                None
            }
        }
    }

    /// The next node of a packet: that of the peer's adjacency, or the lookup.
    fn next<const TRACED: bool>(
        &self,
        entry: &Entry,
        b: &mut Buffer,
        cx: &Cx<'_, TRACED>,
    ) -> Option<NodeIndex> {
        let v6 = entry.key.peer.is_ipv6();
        match entry.adj {
            None => self.lookup[usize::from(v6)],
            Some(adj) if v6 => self.onward.1.go(b, adj, TableIndex::DEFAULT, cx.turn),
            Some(adj) => self.onward.0.go(b, adj, TableIndex::DEFAULT, cx.turn),
        }
    }

    /// Has the process called when the next session has something to do.
    pub fn arm<const TRACED: bool>(&self, engine: &Engine, cx: &mut Cx<'_, TRACED>) {
        if let Some(process) = self.process {
            cx.tick_at(process, engine.due());
        }
    }
}
