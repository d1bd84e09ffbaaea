// SPDX-License-Identifier: Apache-2.0
//! Connections of TCP, with segments of the smallest size.

use crate::side::{PACKETS, SENDERS, Side, routes};
use std::ops::Range;
use testkit::internet::{self, Traffic};
use testkit::pkt;
use wire::{MacAddr, TcpFlags};

/// The server's port.
const PORT: u16 = 80;
/// The first port of clients.
const FIRST_PORT: u16 = 1024;
/// First sequence numbers of client and server.
const FIRST: [u32; 2] = [1000, 5000];
/// The MAC address of the sender of all frames.
const SENDER: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

/// Connections between clients, with [`SENDERS`] addresses, and servers behind the first route.
pub struct Connections<F: Side> {
    servers: Vec<F::Addr>,
}

impl<F: Side> Connections<F> {
    /// Segments of a handshake: from the client, the server, and the client.
    pub const HANDSHAKE: usize = 3;

    /// So many.
    pub fn new(n: usize) -> Self {
        Self { servers: internet::destinations::<F>(&routes::<F>(1), Traffic::Uniform, n, 2) }
    }

    /// The segments of a step of the handshakes of connections.
    pub fn handshake(
        &self,
        step: usize,
        which: Range<usize>,
        mac: MacAddr,
    ) -> impl Iterator<Item = Vec<u8>> {
        let [seq, answer] = FIRST;
        let numbers = match step {
            0 => (TcpFlags::SYN, [seq, 0]),
            1 => (TcpFlags::SYN | TcpFlags::ACK, [answer, seq + 1]),
            _ => (TcpFlags::ACK, [seq + 1, answer + 1]),
        };
        which.map(move |n| self.segment(n, step != 1, mac, numbers, 0))
    }

    fn segment(
        &self,
        n: usize,
        by_client: bool,
        mac: MacAddr,
        (flags, [seq, ack]): (TcpFlags, [u32; 2]),
        len: usize,
    ) -> Vec<u8> {
        let (client, server) = (F::sender(Some(n % SENDERS)).into(), self.servers[n].into());
        let (port, ether) = (FIRST_PORT + (n / SENDERS) as u16, pkt::ether(SENDER, mac));
        let tcp = match by_client {
            true => ether.ip(client, server).tcp(port, PORT),
            false => ether.ip(server, client).tcp(PORT, port),
        };
        tcp.segment(flags, seq, ack).window(u16::MAX).payload_len(len).build()
    }
}

/// Data from the clients of connections, equally often, in frames of 64 bytes with their check
/// sequence if the headers leave room.
pub fn packets_of_connections<F: Side>(n: usize, mac: MacAddr) -> impl Iterator<Item = Vec<u8>> {
    let all = Connections::<F>::new(n);
    let len = if F::IS_V6 { 0 } else { 6 };
    let numbers = (TcpFlags::ACK, FIRST.map(|first| first + 1));
    // Neighbours in a vector are no neighbours in the table.
    (0..PACKETS).map(move |i| all.segment(i * 7919 % n, true, mac, numbers, len))
}
