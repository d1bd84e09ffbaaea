// SPDX-License-Identifier: Apache-2.0
//! A session: a port that the world sees of a user, for any remote host.

use nat::timeouts::Timeout;
use tables::Share;
use wire::{IpProtocol, TcpFlags};

/// The direction of packets of a session: of the user, as its first key.
pub const OUTWARD: usize = 0;
/// Of the world, as its second key.
pub const INWARD: usize = 1;

/// The state of the TCP connections of a session, which may be several to different hosts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Phase {
    /// No connection was answered.
    #[default]
    Opening,
    /// The world has answered one.
    Established,
    /// The last one has ended.
    Closing,
}

/// A session.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Session {
    phase: Phase,
    /// The share of the network of its B4.
    pub share: Share,
    /// Index of its B4.
    pub user: u32,
    /// Index of the B4's session that was made before this one.
    pub older: Option<u32>,
    /// Index of the B4's session that was made after this one.
    pub newer: Option<u32>,
    /// Packets of both directions.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Session {
    /// A new one of a B4.
    pub fn new(user: u32, share: Share) -> Self {
        Self { user, share, ..Self::default() }
    }

    /// The kind of its timeout.
    #[inline(always)]
    pub fn timeout(&self, protocol: IpProtocol) -> Timeout {
        match protocol {
            IpProtocol::TCP if self.phase == Phase::Established => Timeout::TcpEstablished,
            IpProtocol::TCP => Timeout::TcpTransitory,
            IpProtocol::ICMP => Timeout::Icmp,
            _ => Timeout::Udp,
        }
    }

    /// Notes the flags of a TCP segment of a direction. Returns true if the session has another
    /// timeout.
    #[inline(always)]
    pub fn note(&mut self, direction: usize, flags: TcpFlags) -> bool {
        let was = self.phase;
        if flags.intersects(TcpFlags::FIN | TcpFlags::RST) {
            // RFC 7857 2: other connections of the session prolong it by the short time.
            self.phase = Phase::Closing;
        } else if flags.contains(TcpFlags::SYN) {
            let answered = direction == INWARD && flags.contains(TcpFlags::ACK);
            match was {
                Phase::Opening | Phase::Closing if answered => self.phase = Phase::Established,
                Phase::Closing if direction == OUTWARD => self.phase = Phase::Opening,
                _ => {}
            }
        }
        let is_long = |phase| phase == Phase::Established;
        is_long(was) != is_long(self.phase)
    }
}
