// SPDX-License-Identifier: Apache-2.0
//! Memif as a port, by the queues of the memif driver: shared memory with the device, without the
//! kernel.
//!
//! The port listens, so that a device which is restarted connects again by itself. Its socket has
//! an abstract name in the lab's namespace, and is gone with the process, however that ends.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use memif::{Listener, Memif, RxQueue, TxQueue};
use rustix::event::{PollFd, PollFlags, poll};

use super::host::REST;
use super::{Rx, Taken, Tx};

/// Descriptors of each ring, as a power of two: some milliseconds at a million packets per second.
const LOG2: u8 = 12;

/// Descriptors of each ring, for the device that makes them.
pub const RING: u32 = 1 << LOG2;

/// Bytes of each buffer; the longest frame fits.
pub const BUFFER: u16 = 2048;

/// Number of the interface on its socket.
pub const ID: u32 = 0;

/// Time that a device has for the handshake.
const PATIENCE: Duration = Duration::from_secs(5);

/// The connection with the device, for the threads of the port.
#[derive(Default)]
struct Link {
    /// Times that the connection has come or gone.
    changes: AtomicU64,
    queues: Mutex<Queues>,
}

/// Queues of the connection, while there is one.
#[derive(Default)]
struct Queues {
    rx: Option<RxQueue>,
    tx: Option<TxQueue>,
}

impl Link {
    fn set(&self, queues: Queues) {
        *self.queues.lock().unwrap_or_else(PoisonError::into_inner) = queues;
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Lets `f` take the queues if they have changed since `seen`. True if they have.
    #[inline]
    fn follow(&self, seen: &mut u64, f: impl FnOnce(&mut Queues)) -> bool {
        let changes = self.changes.load(Ordering::Acquire);
        let is_new = *seen != changes;
        if is_new {
            f(&mut self.queues.lock().unwrap_or_else(PoisonError::into_inner));
            *seen = changes;
        }
        is_new
    }
}

/// Sending side.
pub struct MemifTx {
    queue: Option<TxQueue>,
    link: Arc<Link>,
    seen: u64,
}

/// Receiving side, which sends answers by the same ring as the other side.
pub struct MemifRx {
    queue: Option<RxQueue>,
    reply: MemifTx,
    link: Arc<Link>,
    seen: u64,
    _server: Option<Server>,
}

/// The thread that takes the device's connections.
struct Server {
    thread: Option<JoinHandle<()>>,
    /// The thread ends when this end is closed.
    stop: Option<UnixStream>,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic has been printed.
            let _ = thread.join();
        }
    }
}

/// Name of the socket of one side.
pub fn socket(name: &str) -> String {
    format!("abstract:ferrotest-{name}")
}

/// Listens for the device's interface in the calling thread's network namespace.
///
/// # Errors
/// Another program listens there, or the system's.
pub fn open(name: &str) -> io::Result<(MemifTx, MemifRx)> {
    let socket = socket(name);
    let listener = Listener::bind(&socket, ID, name)
        .map_err(|error| io::Error::new(error.kind(), format!("memif socket {socket}: {error}")))?;
    let (stop, ended) = UnixStream::pair()?;
    let link = Arc::<Link>::default();
    let thread = thread::Builder::new().name(format!("memif {name}")).spawn({
        let link = link.clone();
        move || serve(&listener, &link, &ended)
    })?;
    let server = Server { thread: Some(thread), stop: Some(stop) };
    Ok(ends(link, Some(server)))
}

/// Two ports that are connected to each other.
///
/// # Errors
/// The system's.
pub fn pair() -> io::Result<[(MemifTx, MemifRx); 2]> {
    Ok(memif::pair(LOG2, BUFFER)?.map(|end| {
        let link = Arc::<Link>::default();
        link.set(queues(end).0);
        ends(link, None)
    }))
}

fn ends(link: Arc<Link>, server: Option<Server>) -> (MemifTx, MemifRx) {
    let tx = || MemifTx { queue: None, link: link.clone(), seen: 0 };
    let (tx, reply) = (tx(), tx());
    (tx, MemifRx { queue: None, reply, link, seen: 0, _server: server })
}

fn queues(Memif { mut rx, mut tx, connection }: Memif) -> (Queues, memif::Connection) {
    // A device with more queues would need packets spread over them; it is asked for one.
    rx.truncate(1);
    (Queues { rx: rx.pop(), tx: tx.drain(..).next() }, connection)
}

/// Takes one connection after the other, until the port is closed.
fn serve(listener: &Listener, link: &Link, ended: &UnixStream) {
    while wait(listener.as_fd(), ended) {
        match listener.accept(PATIENCE) {
            Ok(Some(memif)) => {
                let (queues, connection) = queues(memif);
                link.set(queues);
                while !connection.is_over() {
                    if !wait(connection.as_fd(), ended) {
                        return;
                    }
                }
                link.set(Queues::default());
            }
            Ok(None) => {}
            Err(error) => {
                eprintln!("ferrotest: memif: {error}");
                // The cause may be there for a while, such as a lack of descriptors.
                thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

/// Waits for a descriptor. False if the port is closed.
fn wait(fd: BorrowedFd<'_>, ended: &UnixStream) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
    // After a signal the caller finds nothing, and waits again.
    let _ = poll(&mut fds, None);
    fds[1].revents().is_empty()
}

impl Tx for MemifTx {
    #[inline]
    fn send<'d>(&mut self, _now: u64, frames: impl Iterator<Item = &'d [u8]>) -> Taken {
        let Self { queue, link, seen } = self;
        link.follow(seen, |queues| queue.clone_from(&queues.tx));
        let mut sent = 0;
        let frames = frames.inspect(|_| sent += 1);
        // The ring is the device's receive queue: frames that find it full were sent, and the
        // device has lost them. So are those that are sent while the device is away.
        let refused = match queue {
            Some(queue) => queue.send(frames).refused,
            None => {
                frames.for_each(drop);
                0
            }
        };
        Taken { sent, refused }
    }
}

impl Rx for MemifRx {
    #[inline]
    fn receive(&mut self, _now: u64, max: usize, mut f: impl FnMut(&[u8])) -> usize {
        let Self { queue, link, seen, .. } = self;
        let mut receive =
            |queue: &mut Option<RxQueue>| queue.as_mut().map_or(0, |queue| queue.recv(max, &mut f));
        match receive(queue) {
            // Packets of a connection that has ended came first.
            0 if link.follow(seen, |queues| *queue = queues.rx.take()) => receive(queue),
            count => count,
        }
    }

    fn reply(&mut self, frame: &[u8]) {
        // A host whose question gets no answer asks again.
        self.reply.send(0, std::iter::once(frame));
    }

    fn rest(&mut self) {
        match &mut self.queue {
            // An error means that there is nothing to wait for; the next turn reports it.
            Some(queue) => queue.wait(&REST).unwrap_or_else(|_| thread::yield_now()),
            None => thread::sleep(Duration::from_nanos(REST.tv_nsec as u64)),
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn frames(count: u8) -> Vec<Vec<u8>> {
        (0..count).map(|n| vec![n; 60 + usize::from(n)]).collect()
    }

    #[suite::test]
    fn frames_pass_between_two_ports_and_a_full_ring_loses_the_rest() {
        let [(mut tx, mut rx), (mut back, mut other)] = pair().unwrap();
        let (all, mut got) = (frames(200), Vec::new());
        for _ in 0..3 {
            let taken = back.send(0, all.iter().map(Vec::as_slice));
            assert_eq!(taken, Taken { sent: 200, refused: 0 });
            while rx.receive(0, 64, |frame| got.push(frame.to_vec())) > 0 {}
            assert_eq!(std::mem::take(&mut got), all);
        }
        let many = RING as usize + 100;
        let taken = tx.send(0, all.iter().map(Vec::as_slice).cycle().take(many));
        assert_eq!(taken, Taken { sent: many, refused: 0 });
        let mut count = 0;
        let mut check = |frame: &[u8]| {
            assert_eq!(frame, all[count % all.len()]);
            count += 1;
        };
        while other.receive(0, 64, &mut check) > 0 {}
        assert_eq!(count, RING as usize);
        other.reply(&all[7]);
        assert_eq!(rx.receive(0, 64, |frame| assert_eq!(frame, all[7])), 1);
    }

    #[suite::test]
    fn frames_without_a_device_are_lost() {
        let (mut tx, mut rx) = open(&format!("test-{}", std::process::id())).unwrap();
        let all = frames(9);
        let taken = tx.send(0, all.iter().map(Vec::as_slice));
        assert_eq!(taken, Taken { sent: 9, refused: 0 });
        assert_eq!(rx.receive(0, 64, |_| panic!("a frame")), 0);
        rx.rest();
    }
}
