// SPDX-License-Identifier: Apache-2.0
//! Hands out the stats segment: each client gets its descriptor, and the connection ends.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{self, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags};

use crate::event::{EventLoop, Interest};
use crate::socket::UnixSocket;

/// Pause in accepting clients when the system gives no descriptor.
const PAUSE: Duration = Duration::from_secs(1);

/// Serves a listening socket (SOCK_SEQPACKET) for as long as the loop lives; `segment` finds the
/// descriptor.
///
/// # Errors
/// Errors of the loop.
pub fn open<C: 'static>(
    socket: UnixSocket,
    events: &mut EventLoop<C>,
    segment: impl Fn(&C) -> Option<BorrowedFd<'_>> + 'static,
) -> io::Result<()> {
    let socket = Rc::new(Listener(socket));
    let (listener, token) = (socket.clone(), Rc::new(Cell::new(None)));
    let own = token.clone();
    let handler = move |context: &mut C, events: &mut EventLoop<C>, _| {
        let Some(segment) = segment(context) else { return };
        let Err(e) = serve(&listener, segment) else { return };
        log::warn!(target: "stats", "no new readers for a second: {}", io::Error::from(e));
        let Some(token) = own.get() else { return };
        if events.set_interest(token, Interest::NONE).is_ok() {
            events.timer(PAUSE, move |_, events| {
                // It fails only for a descriptor that is gone.
                let _ = events.set_interest(token, Interest::READ);
                None
            });
        }
    };
    token.set(Some(events.add(socket, Interest::READ, handler)?));
    Ok(())
}

struct Listener(UnixSocket);

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }
}

/// Serves every waiting client.
fn serve(listener: &Listener, segment: BorrowedFd<'_>) -> Result<(), Errno> {
    loop {
        match net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            // A reader that is gone again doesn't need it.
            Ok(client) => drop(send(client, segment)),
            Err(Errno::AGAIN) => return Ok(()),
            Err(Errno::CONNABORTED | Errno::INTR) => {}
            Err(e) => return Err(e),
        }
    }
}

fn send(client: impl AsFd, segment: BorrowedFd<'_>) -> Result<usize, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let fds = [segment];
    ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    net::sendmsg(client, &[IoSlice::new(&[])], &mut ancillary, SendFlags::NOSIGNAL)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use rustix::net::SocketType;
    use std::sync::Arc;

    #[suite::test]
    fn readers_get_the_segment() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("stats.sock");
        let registry = stats::Registry::new(1);
        registry.scalar("/sys/boottime").set(42);
        let waker = Arc::new(sync::Waker::new().expect("a waker"));
        let mut events = EventLoop::new(waker, || Duration::ZERO).expect("a loop");
        let socket = UnixSocket::listen(&path, SocketType::SEQPACKET, None).expect("listening");
        open(socket, &mut events, |r: &stats::Registry| Some(r.as_fd())).expect("opened");
        let readers = std::thread::spawn(move || {
            // One that goes away at once, then others.
            let fd = net::socket_with(
                net::AddressFamily::UNIX,
                SocketType::SEQPACKET,
                SocketFlags::CLOEXEC,
                None,
            );
            net::connect(fd.expect("a socket"), &net::SocketAddrUnix::new(&path).expect("short"))
                .expect("there");
            let read = |_| stats::Reader::connect(&path)?.get("/sys/boottime");
            (0..50).map(read).collect::<Vec<_>>()
        });
        let mut registry = registry;
        while !readers.is_finished() {
            events.turn(&mut registry, |_, _| Some(Duration::from_millis(10))).expect("a turn");
        }
        for read in readers.join().expect("no panic") {
            assert_eq!(read.expect("read"), Some(stats::Value::Scalar(42)));
        }
    }
}
