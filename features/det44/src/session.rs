// SPDX-License-Identifier: Apache-2.0
//! A session, with the state of its TCP connection.

use nat::timeouts::Timeout;
use wire::{IpProtocol, TcpFlags};

/// The direction of packets of a session: of the user, as its first key.
pub const OUTWARD: usize = 0;
/// To the user, as its second key.
pub const INWARD: usize = 1;

/// The state of a session, with VPP's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(u8)]
pub enum State {
    /// TCP whose beginning wasn't seen.
    #[default]
    Unknown = 0,
    /// UDP.
    Udp = 1,
    /// A connection begins.
    SynSent = 2,
    /// It was accepted.
    Established = 3,
    /// The user has ended its side.
    FinWait = 4,
    /// The other end has ended its side.
    CloseWait = 5,
    /// The other end has ended its side too.
    Closing = 6,
    /// The user has ended its side too.
    LastAck = 7,
    /// It was reset.
    Closed = 8,
    /// ICMP queries.
    Icmp = 9,
}

impl State {
    /// The name that is shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Udp => "udp-active",
            Self::SynSent => "tcp-syn-sent",
            Self::Established => "tcp-established",
            Self::FinWait => "tcp-fin-wait",
            Self::CloseWait => "tcp-close-wait",
            Self::Closing => "tcp-closing",
            Self::LastAck => "tcp-last-ack",
            Self::Closed => "tcp-closed",
            Self::Icmp => "icmp-active",
        }
    }

    /// The timeout in this state.
    #[inline(always)]
    pub fn timeout(self) -> Timeout {
        match self {
            Self::Udp => Timeout::Udp,
            Self::Icmp => Timeout::Icmp,
            Self::Established => Timeout::TcpEstablished,
            _ => Timeout::TcpTransitory,
        }
    }
}

/// The effect of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// None.
    None,
    /// The session has another timeout.
    Timeout,
    /// The connection has ended: so does the session.
    Ended,
}

/// A session.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Session {
    /// See [`State`].
    pub state: State,
    /// A packet to the user was seen since the connection began.
    answered: bool,
    /// Number of its map.
    pub map: u32,
    /// Index of its user.
    pub user: u32,
    /// The user's session that was made before it, and after it.
    pub older: Option<u32>,
    /// See there.
    pub newer: Option<u32>,
}

impl Session {
    /// A new one of a protocol, a map and a user.
    pub fn new(protocol: IpProtocol, map: u32, user: u32) -> Self {
        let state = match protocol {
            IpProtocol::TCP => State::Unknown,
            IpProtocol::ICMP => State::Icmp,
            _ => State::Udp,
        };
        Self { state, map, user, ..Self::default() }
    }

    /// Notes the flags of a TCP segment of a direction.
    #[inline(always)]
    pub fn note(&mut self, direction: usize, flags: TcpFlags) -> Change {
        let before = self.state;
        let is_ack = flags.contains(TcpFlags::ACK);
        let is_fin = flags.contains(TcpFlags::FIN);
        let inward = direction == INWARD;
        if flags.contains(TcpFlags::RST) {
            self.state = State::Closed;
        } else if flags.contains(TcpFlags::SYN) {
            // A SYN of the user begins a connection, also where one was.
            if !inward && !is_ack {
                (self.state, self.answered) = (State::SynSent, false);
            }
            self.answered |= inward;
        } else {
            self.answered |= inward;
            let last = is_ack && !is_fin;
            self.state =
                match (self.state, inward) {
                    (State::Unknown | State::SynSent, false) if is_ack && self.answered => {
                        if is_fin { State::FinWait } else { State::Established }
                    }
                    (State::Established, false) if is_fin => State::FinWait,
                    (State::Established, true) if is_fin => State::CloseWait,
                    (State::FinWait, true) if is_fin => State::Closing,
                    (State::CloseWait, false) if is_fin => State::LastAck,
                    // RFC 9293 3.6: both sides have ended, and the last FIN is acknowledged.
                    (State::Closing, false) if last => return Change::Ended,
                    (State::LastAck, true) if last => return Change::Ended,
                    (state, _) => state,
                };
        }
        if self.state.timeout() == before.timeout() { Change::None } else { Change::Timeout }
    }
}
