// SPDX-License-Identifier: Apache-2.0
//! Metrics for Prometheus: `/metrics` in OpenMetrics 1.0 over HTTP.
//!
//! A thread of its own reads the stats segment as any other reader does, so a scrape touches
//! neither the control thread nor one that carries packets. It makes the text anew at most every
//! [`http::FRESH`]; scrapers that come meanwhile share it.
//!
//! - [`metrics`]: the list of metrics, most of them declared by plugins.
//! - [`http`]: connections and their limits.

mod encode;
pub mod http;
pub mod metrics;
#[cfg(feature = "tests")]
mod tests;

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustix::net::SocketType;
use stats::Reader;
use sync::Waker;

use crate::connection_slots::Peer;
use crate::socket::{self, Refused, UnixSocket};
use startup::value::Listen;

/// A listening socket for scrapers.
#[derive(Debug)]
pub enum Listener {
    /// A Unix socket.
    Unix(UnixSocket),
    /// A TCP port.
    Tcp(TcpListener),
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Unix(socket) => socket.as_fd(),
            Listener::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Listener {
    /// Returns the user or host at the other end of a connection.
    pub fn peer(&self, fd: impl AsFd) -> Peer {
        match self {
            Listener::Unix(_) => Peer::of_unix(fd),
            Listener::Tcp(_) => Peer::of_tcp(fd),
        }
    }
}

/// Listens for scrapers; `gid` is the group that may use a Unix socket.
///
/// # Errors
/// The address that can't be used, and the reason.
pub fn listen(at: &Listen, gid: Option<u32>) -> Result<Listener, Refused> {
    match at {
        Listen::Unix(path) => UnixSocket::listen(path, SocketType::STREAM, gid).map(Listener::Unix),
        Listen::Tcp(host, port) => socket::listen_tcp(host, *port).map(|listener| {
            if let Some(address) = socket::open_to_network(&listener) {
                log::warn!(target: "prometheus", "{address} is open to the network: whoever can connect may read all counters");
            }
            Listener::Tcp(listener)
        }),
    }
}

/// The thread that serves metrics. It ends when this value is dropped.
#[derive(Debug)]
pub struct Exporter {
    stop: Arc<StopSignal>,
    thread: Option<JoinHandle<()>>,
}

/// The flag that ends the thread, and the waker that makes the thread check it.
#[derive(Debug)]
struct StopSignal {
    end: AtomicBool,
    waker: Arc<Waker>,
}

impl Exporter {
    /// Serves the segment behind `segment`.
    ///
    /// # Errors
    /// Errors of the mapping, the waker or the thread.
    pub fn start(listeners: Vec<Listener>, segment: BorrowedFd<'_>) -> io::Result<Exporter> {
        let reader = Reader::new(segment)?;
        let stop =
            Arc::new(StopSignal { end: AtomicBool::new(false), waker: Arc::new(Waker::new()?) });
        let own = Arc::clone(&stop);
        let text = move || encode::text(&reader);
        let work = move || {
            let ended = || own.end.load(Ordering::Acquire);
            if let Err(e) = http::serve(listeners, Arc::clone(&own.waker), ended, text) {
                log::error!(target: "prometheus", "metrics are no longer served: {e}");
            }
        };
        let thread = std::thread::Builder::new().name("ferrovia_prom".into()).spawn(work)?;
        Ok(Exporter { stop, thread: Some(thread) })
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.stop.end.store(true, Ordering::Release);
        self.stop.waker.wake();
        if let Some(thread) = self.thread.take() {
            // The thread has logged its error.
            let _ = thread.join();
        }
    }
}
