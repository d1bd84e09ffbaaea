// SPDX-License-Identifier: Apache-2.0
//! A server of syslog that the host reaches, by a socket of the kernel (RFC 5426).

use crate::message::{HOST, Message};
use cli::{Error, Result};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the longest message (RFC 5426 3.2: receivers should take 2,048).
const MOST: usize = 2048;

/// A server, or none.
#[derive(Default)]
pub struct Server {
    socket: Mutex<Option<(SocketAddr, UdpSocket)>>,
    /// Messages that were sent.
    pub sent: AtomicU64,
    /// Messages that the socket didn't take.
    pub unsent: AtomicU64,
}

impl Server {
    /// The address of the server.
    pub fn get(&self) -> Option<SocketAddr> {
        self.socket.lock().expect("no panic inside").as_ref().map(|(server, _)| *server)
    }

    /// Sends messages to a server, or to none.
    ///
    /// # Errors
    /// No socket.
    pub fn set(&self, server: Option<SocketAddr>) -> Result<()> {
        let open = |server: SocketAddr| -> std::io::Result<(SocketAddr, UdpSocket)> {
            let any: SocketAddr = match server {
                SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
                SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
            };
            let socket = UdpSocket::bind(any)?;
            socket.set_nonblocking(true)?;
            Ok((server, socket))
        };
        let opened = server.map(open).transpose();
        let opened = opened.map_err(|e| Error::failed(format!("no socket for messages: {e}")))?;
        *self.socket.lock().expect("no panic inside") = opened;
        Ok(())
    }

    /// Sends a message that `make` makes, if there is a server.
    pub fn send(&self, make: impl FnOnce() -> Message) {
        let socket = self.socket.lock().expect("no panic inside");
        let Some((server, socket)) = &*socket else { return };
        match socket.send_to(make().encode(&HOST, MOST).line.as_bytes(), server) {
            Ok(_) => self.sent.fetch_add(1, Ordering::Relaxed),
            Err(_) => self.unsent.fetch_add(1, Ordering::Relaxed),
        };
    }
}
