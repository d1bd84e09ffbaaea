// SPDX-License-Identifier: Apache-2.0
//! Interface between tester and device as a port, of one kind or another.

use super::host::{HostRx, HostTx};
use super::memif::{MemifRx, MemifTx};
use super::tap::{TapRx, TapTx};
use super::{Rx, Taken, Tx};

/// Kind of the interfaces between tester and device.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    /// Veth pairs, by AF_PACKET.
    #[default]
    Veth,
    /// Taps.
    Tap,
    /// Shared memory, without the kernel: memif.
    Memif,
}

impl Kind {
    /// Name, as results have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Veth => "veth",
            Self::Tap => "tap",
            Self::Memif => "memif",
        }
    }

    /// Bits per second beyond which nothing is tried: the speed that a veth and a tap report, more
    /// than any core copies in shared memory.
    pub fn link(self) -> f64 {
        match self {
            Self::Veth | Self::Tap => 10e9,
            Self::Memif => 100e9,
        }
    }
}

/// An open port.
pub struct Port {
    /// Sending side.
    pub tx: PortTx,
    /// Receiving side.
    pub rx: PortRx,
}

/// Sending side.
pub enum PortTx {
    /// Of a veth pair.
    Veth(HostTx),
    /// Of a tap.
    Tap(TapTx),
    /// Of shared memory.
    Memif(MemifTx),
}

/// Receiving side.
pub enum PortRx {
    /// Of a veth pair.
    Veth(HostRx),
    /// Of a tap.
    Tap(TapRx),
    /// Of shared memory.
    Memif(MemifRx),
}

impl Port {
    /// Drops what waits in the port.
    pub fn drain(&mut self) {
        while self.rx.receive(0, 1024, |_| ()) > 0 {}
    }
}

impl Tx for PortTx {
    #[inline]
    fn send<'d>(&mut self, now: u64, frames: impl Iterator<Item = &'d [u8]>) -> Taken {
        match self {
            Self::Veth(tx) => tx.send(now, frames),
            Self::Tap(tx) => tx.send(now, frames),
            Self::Memif(tx) => tx.send(now, frames),
        }
    }
}

impl Rx for PortRx {
    #[inline]
    fn receive(&mut self, now: u64, max: usize, f: impl FnMut(&[u8])) -> usize {
        match self {
            Self::Veth(rx) => rx.receive(now, max, f),
            Self::Tap(rx) => rx.receive(now, max, f),
            Self::Memif(rx) => rx.receive(now, max, f),
        }
    }

    fn reply(&mut self, frame: &[u8]) {
        match self {
            Self::Veth(rx) => rx.reply(frame),
            Self::Tap(rx) => rx.reply(frame),
            Self::Memif(rx) => rx.reply(frame),
        }
    }

    fn overruns(&mut self) -> u64 {
        match self {
            Self::Veth(rx) => rx.overruns(),
            Self::Tap(rx) => rx.overruns(),
            Self::Memif(rx) => rx.overruns(),
        }
    }

    fn rest(&mut self) {
        match self {
            Self::Veth(rx) => rx.rest(),
            Self::Tap(rx) => rx.rest(),
            Self::Memif(rx) => rx.rest(),
        }
    }
}
