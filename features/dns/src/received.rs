// SPDX-License-Identifier: Apache-2.0
//! Messages that workers received, on their way to control.

use buffer::{Buffer, Flags};
use graph::SwIfIndex;
use net::{Net, TableIndex};
use std::net::{IpAddr, SocketAddr};
use wire::dns::MAX_UDP;
use wire::{Header, IpHeader, UdpHeader};

/// A copy of a message of at most [`MAX_UDP`] bytes.
#[derive(Clone, Copy)]
pub struct Bytes {
    len: u16,
    bytes: [u8; MAX_UDP],
}

impl Bytes {
    /// Takes a copy; `None` if the message is too long, or its packet has several buffers.
    #[inline(always)]
    pub fn of(b: &Buffer) -> Option<Self> {
        if b.is_chained() || b.flags.contains(Flags::GSO) {
            return None;
        }
        let mut bytes = [0; MAX_UDP];
        bytes.get_mut(..b.data().len())?.copy_from_slice(b.data());
        Some(Self { len: b.data().len() as u16, bytes })
    }

    /// The message.
    pub fn message(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// A client's query.
#[derive(Clone, Copy)]
pub struct Query {
    /// The client.
    pub client: SocketAddr,
    /// The address of ours that it asks.
    pub own: IpAddr,
    /// The interface by which the query came, and its table.
    pub sw_if: SwIfIndex,
    pub table: TableIndex,
    /// The message.
    pub bytes: Bytes,
}

/// A server's response.
#[derive(Clone, Copy)]
pub struct Response {
    /// The server.
    pub server: IpAddr,
    /// Our address and port.
    pub own: SocketAddr,
    /// The message.
    pub bytes: Bytes,
}

/// Addresses and ports of a datagram.
#[derive(Clone, Copy)]
pub struct Ends {
    pub from: SocketAddr,
    pub to: SocketAddr,
    /// IP options or extension headers stand in front of the datagram.
    pub has_options: bool,
}

/// Reads the headers in front of a packet that begins with the payload of its datagram.
#[inline(always)]
pub fn ends<F: Net>(b: &mut Buffer) -> Option<Ends> {
    let back = b.l3_len();
    if back < F::HEADER_LEN + UdpHeader::LEN || !b.rewind(back) {
        return None;
    }
    let ip = F::Header::view(b.data()).map(|ip| (ip.src().into(), ip.dst().into()));
    let udp = UdpHeader::view_at(b.data(), back - UdpHeader::LEN);
    let ports = udp.map(|udp| (udp.src_port.get(), udp.dst_port.get()));
    let pulled = b.pull(back);
    debug_assert!(pulled, "these bytes are there");
    let ((from, to), (from_port, to_port)) = (ip?, ports?);
    let has_options = back != F::HEADER_LEN + UdpHeader::LEN;
    let (from, to) = (SocketAddr::new(from, from_port), SocketAddr::new(to, to_port));
    Some(Ends { from, to, has_options })
}
