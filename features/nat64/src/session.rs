// SPDX-License-Identifier: Apache-2.0
//! A session: packets between a user and a host of the world, by a binding of the user.

use nat::timeouts::Timeout;
use tables::{SessionHandle, Share};
use wire::{IpProtocol, TcpFlags};

/// The direction of packets of a session: of the user, as its first key.
pub const OUTWARD: usize = 0;
/// Of the world, as its second key.
pub const INWARD: usize = 1;

/// The state of a TCP connection (RFC 6146 3.5.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Phase {
    /// The user has sent a SYN.
    #[default]
    UserOpens,
    /// The world has sent a SYN.
    WorldOpens,
    /// Both have.
    Established,
    /// The user has sent a FIN.
    UserCloses,
    /// The world has sent a FIN.
    WorldCloses,
    /// Both have.
    Closed,
    /// One of them has sent a RST.
    Reset,
}

impl Phase {
    /// The phase of a connection whose first segment comes in this direction.
    pub fn opened_by(direction: usize) -> Self {
        if direction == OUTWARD { Self::UserOpens } else { Self::WorldOpens }
    }

    /// The phase after a segment (RFC 6146 3.5.2.2).
    #[inline(always)]
    #[must_use]
    pub fn after(self, direction: usize, flags: TcpFlags) -> Self {
        let of_user = direction == OUTWARD;
        let has = |flag| flags.contains(flag);
        match self {
            Self::UserOpens if !of_user && has(TcpFlags::SYN) => Self::Established,
            Self::WorldOpens if of_user && has(TcpFlags::SYN) => Self::Established,
            Self::Established | Self::UserCloses | Self::WorldCloses if has(TcpFlags::RST) => {
                Self::Reset
            }
            Self::Established if has(TcpFlags::FIN) => {
                if of_user {
                    Self::UserCloses
                } else {
                    Self::WorldCloses
                }
            }
            Self::UserCloses if !of_user && has(TcpFlags::FIN) => Self::Closed,
            Self::WorldCloses if of_user && has(TcpFlags::FIN) => Self::Closed,
            Self::Reset if !has(TcpFlags::RST) => Self::Established,
            same => same,
        }
    }

    /// The timeout that it has.
    pub fn timeout(self) -> Timeout {
        match self {
            Self::Established | Self::UserCloses | Self::WorldCloses => Timeout::TcpEstablished,
            Self::UserOpens | Self::WorldOpens | Self::Closed | Self::Reset => {
                Timeout::TcpTransitory
            }
        }
    }

    /// True if packets don't prolong it: the connection has ended.
    #[inline(always)]
    pub fn is_over(self) -> bool {
        matches!(self, Self::Closed | Self::Reset)
    }

    /// Its name in what is shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserOpens => "v6-init",
            Self::WorldOpens => "v4-init",
            Self::Established => "established",
            Self::UserCloses => "v6-fin",
            Self::WorldCloses => "v4-fin",
            Self::Closed => "closed",
            Self::Reset => "transitory",
        }
    }
}

/// A session. Its keys are the translation: the first names the user, the second the end that the
/// world sees of it.
#[derive(Clone, Copy, Default, Debug)]
pub struct Session {
    /// The binding.
    pub binding: Option<SessionHandle>,
    /// Of TCP.
    pub phase: Phase,
    /// The share of the user that it counts in.
    pub share: Share,
    /// Packets of both directions.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The timeout of a session.
#[inline(always)]
pub fn timeout_of(protocol: IpProtocol, phase: Phase) -> Timeout {
    match protocol {
        IpProtocol::TCP => phase.timeout(),
        IpProtocol::ICMP => Timeout::Icmp,
        _ => Timeout::Udp,
    }
}

/// A binding: a user's end, and the end that the world sees of it (RFC 6146 2, "BIB").
#[derive(Clone, Copy, Default, Debug)]
pub struct Binding {
    /// An operator has set it: it stays without sessions.
    pub fixed: bool,
    /// The share of the user that it counts in, of each kind of protocol.
    pub share: Share,
    /// Sessions that it has.
    pub sessions: u32,
}

/// The kinds of protocols that have ports of their own.
pub const KINDS: usize = 4;

/// The kind of a protocol: TCP, UDP, ICMP or any other.
#[inline(always)]
pub fn kind(protocol: IpProtocol) -> usize {
    match protocol {
        IpProtocol::TCP => 0,
        IpProtocol::UDP => 1,
        IpProtocol::ICMP => 2,
        _ => 3,
    }
}
