// SPDX-License-Identifier: Apache-2.0
//! The state of TCP connections, as the flags of their segments tell it.

use crate::timeouts::Timeout;
use wire::{IpProtocol, TcpFlags};

/// The phase of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Phase {
    /// It begins.
    #[default]
    Opening,
    /// SYN and ACK were seen both ways.
    Established,
    /// FIN or RST was seen (RFC 7857 2). SYN and ACK both ways open it again.
    Closing,
}

/// The effect of a packet on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Nothing.
    None,
    /// The connection has another timeout.
    Timeout,
    /// The connection ended and begins again.
    Reopened,
}

const SYN: u8 = TcpFlags::SYN.bits();
const ACK: u8 = TcpFlags::ACK.bits();

/// A connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Connection {
    phase: Phase,
    /// SYN and ACK of each direction, since the phase began; ACK only behind SYN.
    seen: [u8; 2],
}

impl Connection {
    /// One of which SYN and ACK were seen both ways.
    pub const fn established() -> Self {
        Self { phase: Phase::Established, seen: [0; 2] }
    }

    /// The timeout that a session of a protocol has.
    #[inline(always)]
    pub fn timeout(&self, protocol: IpProtocol) -> Timeout {
        match protocol {
            IpProtocol::TCP if self.phase == Phase::Established => Timeout::TcpEstablished,
            IpProtocol::TCP => Timeout::TcpTransitory,
            IpProtocol::ICMP => Timeout::Icmp,
            _ => Timeout::Udp,
        }
    }

    /// Notes the flags of a TCP segment of a direction.
    #[inline(always)]
    pub fn note(&mut self, direction: usize, flags: u8) -> Change {
        let flags = TcpFlags(flags);
        if flags.intersects(TcpFlags::FIN | TcpFlags::RST) {
            let was = self.phase;
            self.phase = Phase::Closing;
            if was != Phase::Closing {
                self.seen = [0; 2];
            }
            return if was == Phase::Established { Change::Timeout } else { Change::None };
        }
        if self.phase == Phase::Established {
            return Change::None;
        }
        self.note_opening(direction, flags)
    }

    fn note_opening(&mut self, direction: usize, flags: TcpFlags) -> Change {
        let seen = &mut self.seen[direction & 1];
        *seen |= flags.bits() & SYN;
        if *seen & SYN != 0 {
            *seen |= flags.bits() & ACK;
        }
        if self.seen != [SYN | ACK; 2] {
            return Change::None;
        }
        let was = std::mem::replace(&mut self.phase, Phase::Established);
        self.seen = [0; 2];
        if was == Phase::Closing {
            return Change::Reopened;
        }
        Change::Timeout
    }
}
