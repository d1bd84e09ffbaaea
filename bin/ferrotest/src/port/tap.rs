// SPDX-License-Identifier: Apache-2.0
//! Tap as a port, by the queue of the tap driver: the other end is an interface of the device. Each
//! frame takes a system call, in which the kernel receives it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::iter;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use tap::{Config, Host, RxQueue, Tap, TxQueue};
use wire::offload::Offload;

use super::host::REST;
use super::{Rx, Taken, Tx};

/// Frames that the kernel holds before it drops.
const QUEUE: u32 = 16_384;

/// Sending side.
pub struct TapTx(TxQueue);

/// Receiving side, which sends answers by the same queue.
pub struct TapRx {
    rx: RxQueue,
    reply: TxQueue,
    /// The kernel's counters of the tap's namespace.
    counters: File,
    name: String,
    /// Frames that the kernel had dropped so far.
    dropped: u64,
    _host: Host,
}

/// Creates a tap whose interface is in the calling thread's network namespace.
///
/// # Errors
/// The kernel's, with the name of the interface.
pub fn open(name: &str) -> io::Result<(TapTx, TapRx)> {
    let config = Config {
        csum_offload: false,
        gso: false,
        host_queue_len: Some(QUEUE),
        ..Config::new(name)
    };
    let Tap { mut rx, mut tx, host, .. } = Tap::open(&config)?;
    // One queue: the kernel would spread packets over several, and out of their order.
    let (Some(rx), Some(tx)) = (rx.pop(), tx.pop()) else {
        return Err(io::Error::other(format!("tap {name}: no queue")));
    };
    // The file shows the namespace of the thread that opened it.
    let counters = File::open("/proc/thread-self/net/dev")?;
    let (tap, name) = (TapTx(tx.clone()), name.into());
    Ok((tap, TapRx { rx, reply: tx, counters, name, dropped: 0, _host: host }))
}

/// Frames that an interface had no room for when it sent them, in the kernel's table of
/// interfaces: the fourth number of those about sending, which follow eight about receiving.
fn dropped(table: &str, name: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.split_once(':'));
    let (_, numbers) = lines.find(|(interface, _)| interface.trim() == name)?;
    numbers.split_whitespace().nth(8 + 3)?.parse().ok()
}

impl Tx for TapTx {
    #[inline]
    fn send<'d>(&mut self, _now: u64, frames: impl Iterator<Item = &'d [u8]>) -> Taken {
        let (mut batch, mut count) = (self.0.batch(), 0);
        for frame in frames {
            batch.push(Offload::default(), iter::once(frame));
            count += 1;
        }
        let sent = batch.flush().sent as usize;
        // A frame that found no room is lost, like those that the kernel refused.
        Taken { sent: count, refused: count - sent }
    }
}

impl Rx for TapRx {
    #[inline]
    fn receive(&mut self, _now: u64, max: usize, mut f: impl FnMut(&[u8])) -> usize {
        self.rx.recv(max, |frame| f(frame.data))
    }

    fn reply(&mut self, frame: &[u8]) {
        let mut batch = self.reply.batch();
        batch.push(Offload::default(), iter::once(frame));
        // A host whose question gets no answer asks again.
        batch.flush();
    }

    fn overruns(&mut self) -> u64 {
        let mut table = String::new();
        let read = self.counters.rewind().and_then(|()| self.counters.read_to_string(&mut table));
        let now = read.ok().and_then(|_| dropped(&table, &self.name)).unwrap_or(self.dropped);
        now.saturating_sub(std::mem::replace(&mut self.dropped, now))
    }

    fn rest(&mut self) {
        let mut fds = [PollFd::from_borrowed_fd(self.rx.as_fd(), PollFlags::IN)];
        // An error means that there is nothing to wait for; the next turn reports it.
        if poll(&mut fds, Some(&REST)).is_err() {
            std::thread::yield_now();
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn drops_are_read_from_the_kernels_table() {
        let table = "Inter-|   Receive  |  Transmit\n face |bytes packets |bytes packets\n\
                       lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
                     left:21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36\n";
        assert_eq!((dropped(table, "left"), dropped(table, "lo")), (Some(32), Some(12)));
        assert_eq!((dropped(table, "right"), dropped("", "lo")), (None, None));
    }
}
