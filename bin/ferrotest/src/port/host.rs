// SPDX-License-Identifier: Apache-2.0
//! Interface of the host as a port, by the rings and queues of the AF_PACKET driver.

use std::io;
use std::iter;
use std::os::fd::AsFd;

use af_packet::{Config, Control, HostInterface, Membership, RxQueue, TxQueue};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use wire::offload::Offload;

use super::{Rx, Taken, Tx};

/// Frames that the receive ring holds: some milliseconds at a million packets per second.
const RING: u32 = 16_384;

/// Longest time that [`Rx::rest`] sleeps.
pub(super) const REST: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000 };

/// Sending side.
pub struct HostTx(TxQueue);

/// Receiving side, with a transmit queue of its own for answers.
pub struct HostRx {
    rx: RxQueue,
    reply: TxQueue,
    /// Memberships end with this.
    _control: Control,
}

/// Opens an interface of the calling thread's network namespace.
///
/// # Errors
/// The kernel's, with the name of the interface.
pub fn open(name: &str) -> io::Result<(HostTx, HostRx)> {
    let config = Config { tx_queues: 2, rx_frames: RING, ..Config::new(name) };
    let HostInterface { mut rx, mut tx, control, .. } = HostInterface::open(&config)?;
    // Frames go to an address that is not the interface's own, so that the kernel takes them
    // for another host's and doesn't process them.
    control.membership(Membership::Promiscuous, true)?;
    let (Some(rx), Some(reply), Some(tx)) = (rx.pop(), tx.pop(), tx.pop()) else {
        return Err(io::Error::other(format!("host interface {name}: no queue")));
    };
    Ok((HostTx(tx), HostRx { rx, reply, _control: control }))
}

impl Tx for HostTx {
    #[inline]
    fn send<'d>(&mut self, _now: u64, frames: impl Iterator<Item = &'d [u8]>) -> Taken {
        let (mut batch, mut count) = (self.0.batch(), 0);
        for frame in frames {
            batch.push(Offload::default(), iter::once(frame));
            count += 1;
        }
        let report = batch.flush();
        // The socket has no room for a frame and all after it; other losses are of one frame.
        let sent = count - report.full as usize;
        Taken { sent, refused: sent - report.sent as usize }
    }
}

impl Rx for HostRx {
    #[inline]
    fn receive(&mut self, _now: u64, max: usize, mut f: impl FnMut(&[u8])) -> usize {
        self.rx.recv(max, |frame| frame.with_bytes(&mut f))
    }

    fn reply(&mut self, frame: &[u8]) {
        // A host whose question gets no answer asks again.
        self.reply.send(iter::once((Offload::default(), iter::once(frame))), |_, _| ());
    }

    fn overruns(&mut self) -> u64 {
        self.rx.stats().take().map_or(0, |count| count.dropped)
    }

    fn rest(&mut self) {
        let mut fds = [PollFd::from_borrowed_fd(self.rx.as_fd(), PollFlags::IN)];
        // An error means that there is nothing to wait for; the next turn reports it.
        if poll(&mut fds, Some(&REST)).is_err() {
            std::thread::yield_now();
        }
    }
}
