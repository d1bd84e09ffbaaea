// SPDX-License-Identifier: Apache-2.0
//! Ports of the tester.

pub mod capture;
pub mod host;
pub mod interface;
pub mod memif;
pub mod nat;
pub mod ring;
pub mod stage;
pub mod tap;

/// Outcome of one call for its frames.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Taken {
    /// Frames that the port took, from the first on. The others were not sent.
    pub sent: usize,
    /// Frames among them that the port dropped itself.
    pub refused: usize,
}

/// Sending side of a port.
pub trait Tx {
    /// Sends frames as far as the port takes them; never waits.
    fn send<'d>(&mut self, now: u64, frames: impl Iterator<Item = &'d [u8]>) -> Taken;

    /// Time at which a full port may take the next frame.
    fn ready_at(&self, now: u64) -> u64 {
        now
    }
}

/// Receiving side of a port.
pub trait Rx {
    /// Hands over at most `max` frames that have arrived; returns their number. Never waits.
    fn receive(&mut self, now: u64, max: usize, f: impl FnMut(&[u8])) -> usize;

    /// Sends a frame back, such as an answer to an ARP request.
    fn reply(&mut self, _frame: &[u8]) {}

    /// Number of frames that the port had no room for, since the last call.
    fn overruns(&mut self) -> u64 {
        0
    }

    /// Waits for a frame, for a fraction of a millisecond at most.
    fn rest(&mut self) {
        std::thread::yield_now();
    }
}

impl<T: Tx> Tx for &mut T {
    #[inline(always)]
    fn send<'d>(&mut self, now: u64, frames: impl Iterator<Item = &'d [u8]>) -> Taken {
        (**self).send(now, frames)
    }

    fn ready_at(&self, now: u64) -> u64 {
        (**self).ready_at(now)
    }
}

impl<R: Rx> Rx for &mut R {
    #[inline(always)]
    fn receive(&mut self, now: u64, max: usize, f: impl FnMut(&[u8])) -> usize {
        (**self).receive(now, max, f)
    }

    fn reply(&mut self, frame: &[u8]) {
        (**self).reply(frame);
    }

    fn overruns(&mut self) -> u64 {
        (**self).overruns()
    }

    fn rest(&mut self) {
        (**self).rest();
    }
}
