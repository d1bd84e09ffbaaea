// SPDX-License-Identifier: Apache-2.0
//! Neighbour entries, their configuration and their events.

use graph::{SwIfIndex, World};
use std::net::IpAddr;
use wire::MacAddr;

/// The state of an entry (RFC 4861 7.3.2, for ARP too).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NeighborState {
    /// Confirmed, or configured.
    Reachable,
    /// Learned, but not from an answer to us: probed, if packets are sent to it, 5 s after its MAC
    /// address became doubtful (RFC 4861 7.3.3). A new one has just sent to us, so it is probed
    /// as late as a confirmed one.
    Stale,
    /// Probed this many times, and not answered yet.
    Probing(u8),
    /// Probed without an answer. It has never answered, so it is kept; it isn't probed again until
    /// it is learned again or is too old.
    Quiet,
}

/// A neighbour entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbor {
    /// The interface of its link.
    pub sw_if: SwIfIndex,
    /// Its IP address.
    pub ip: IpAddr,
    /// Its MAC address.
    pub mac: MacAddr,
    /// True for a static entry: neither changed by learning nor aged.
    pub is_static: bool,
    /// True if it has no host route of its own.
    pub no_fib_entry: bool,
    /// True if it has reported itself as a router (IPv6).
    pub router: bool,
    /// True if it has answered a solicitation of ours. Only then is it removed when it stops
    /// answering.
    pub answers: bool,
    /// Its state.
    pub state: NeighborState,
    /// The time of its last confirmation, on the instance's clock, in nanoseconds.
    pub updated: u64,
}

impl Neighbor {
    /// A dynamic entry with a host route. Its time is set when it is added.
    pub fn new(sw_if: SwIfIndex, ip: IpAddr, mac: MacAddr) -> Self {
        let state = NeighborState::Reachable;
        Self {
            sw_if,
            ip,
            mac,
            is_static: false,
            no_fib_entry: false,
            router: false,
            answers: false,
            state,
            updated: 0,
        }
    }

    /// The flags that `show` prints: S static, D dynamic, N without host route.
    pub fn flags(&self) -> String {
        let mut flags = String::from(if self.is_static { "S" } else { "D" });
        if self.no_fib_entry {
            flags.push('N');
        }
        flags
    }
}

/// Limits and times of a family's entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NeighborConfig {
    /// Maximum number of entries.
    pub limit: u32,
    /// Seconds without confirmation after which a dynamic entry is removed if no packet was ever
    /// sent to it (RFC 4861 7.3.3), else probed, and removed if it doesn't answer; 0 for
    /// never.
    pub age: u32,
    /// True if a full table recycles an entry for every new one; otherwise it does only for a
    /// neighbour that answers our own solicitation, for a configured one, and for one on an
    /// interface with fewer entries than others.
    pub recycle: bool,
    /// Seconds without confirmation after which a dynamic entry that packets are sent to is
    /// probed, and removed if it doesn't answer although it has answered before; 0 for never.
    pub confirm: u32,
    /// Seconds between two probes of a next hop of routes that hasn't answered; its paths are left
    /// out meanwhile. With 0, routes keep using next hops that don't answer.
    pub retry: u32,
}

impl Default for NeighborConfig {
    fn default() -> Self {
        Self { limit: 50_000, age: 1200, recycle: false, confirm: 30, retry: 5 }
    }
}

impl NeighborConfig {
    /// The configuration that an instance starts with. VPP's neighbours don't age, and routes keep
    /// using next hops that don't answer.
    pub fn initial(world: &World) -> Self {
        let ours = Self::default();
        if world.compat_vpp() { Self { age: 0, confirm: 0, retry: 0, ..ours } } else { ours }
    }
}

/// The kind of message that a protocol learned a neighbour from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Evidence {
    /// A request to us: an answer will be sent to the neighbour, so it is added.
    Request,
    /// An answer: the neighbour is added only if it was solicited.
    Reply,
    /// An announcement to all: updates an entry; an unknown neighbour is added only if `create`, or
    /// if it was solicited.
    Announcement {
        /// True if an unknown neighbour is added.
        create: bool,
    },
    /// A source link-layer address option in another message: the neighbour is added as stale (RFC
    /// 4861 7.2.3, 6.2.6, 6.3.4).
    Hint {
        /// True if it is a router, false if it is not; `None` if the message doesn't tell.
        router: Option<bool>,
    },
    /// A neighbour advertisement (RFC 4861 7.2.5): the neighbour is added only if it was solicited.
    Advertisement {
        /// The solicited flag: it answers our solicitation.
        solicited: bool,
        /// The override flag: it replaces the known MAC address.
        replace: bool,
        /// The router flag.
        router: bool,
    },
}

impl Evidence {
    /// The reason why an unknown neighbour that wasn't solicited is not added; `None` if it is.
    pub(super) fn refusal(self) -> Option<Refusal> {
        match self {
            Self::Reply | Self::Advertisement { .. } => Some(Refusal::Unsolicited),
            Self::Announcement { create: false } => Some(Refusal::Unknown),
            Self::Request | Self::Announcement { create: true } | Self::Hint { .. } => None,
        }
    }

    /// Returns true if it answers a solicitation, if one was sent.
    pub(super) fn is_answer(self) -> bool {
        matches!(self, Self::Reply | Self::Advertisement { solicited: true, .. })
    }

    /// The new value of an entry after this evidence of `mac` at the time `now`; `known` is false
    /// for a new entry.
    pub(super) fn applied(self, old: Neighbor, known: bool, mac: MacAddr, now: u64) -> Neighbor {
        let other = !known || old.mac != mac;
        match self {
            Self::Request | Self::Reply | Self::Announcement { .. } => {
                Neighbor { mac, updated: now, state: NeighborState::Reachable, ..old }
            }
            Self::Hint { router } => {
                let n = Neighbor { router: router.unwrap_or(old.router), ..old };
                if other {
                    Neighbor { mac, updated: now, state: NeighborState::Stale, ..n }
                } else {
                    n
                }
            }
            Self::Advertisement { replace: false, .. } if known && other => match old.state {
                NeighborState::Reachable => Neighbor { state: NeighborState::Stale, ..old },
                _ => old,
            },
            Self::Advertisement { solicited, router, .. } => {
                let n = Neighbor { mac, router, ..old };
                match (solicited, other) {
                    (true, _) => Neighbor { state: NeighborState::Reachable, updated: now, ..n },
                    (false, true) => Neighbor { state: NeighborState::Stale, updated: now, ..n },
                    (false, false) => n,
                }
            }
        }
    }
}

/// The reason why a message was not learned from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// An answer without a solicitation.
    Unsolicited,
    /// An announcement of an unknown neighbour.
    Unknown,
    /// The entry is static.
    Static,
    /// Another MAC address is known, and the advertisement doesn't override it.
    Kept,
    /// The table is full.
    Full,
    /// The interface has gone down meanwhile.
    Down,
}

impl Refusal {
    /// One word, for counters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unsolicited => "unsolicited",
            Self::Unknown => "unknown",
            Self::Static => "static",
            Self::Kept => "kept",
            Self::Full => "full",
            Self::Down => "down",
        }
    }
}

/// The result of [`Neighbors::learn`](super::Neighbors::learn).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LearnResult {
    /// A new entry was added; `gone` was removed for it.
    Added {
        /// The entry that was recycled.
        gone: Option<Neighbor>,
    },
    /// The entry has another MAC address now.
    Moved {
        /// Its previous MAC address.
        from: MacAddr,
    },
    /// The entry is known already, with this MAC address.
    Confirmed {
        /// True if it was solicited.
        asked: bool,
    },
    /// Not learned.
    Refused(Refusal),
}

/// The reason why an entry was removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemovalReason {
    /// Removed by an operator, or with its interface or address.
    Removed,
    /// Recycled for another entry.
    Recycled,
    /// Didn't answer.
    Unanswered,
    /// No packet was ever sent to it, and it is older than the maximum age.
    Aged,
}

/// A change of an entry, reported to subscribers afterwards, on the control thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NeighborEvent {
    /// An entry was added or has changed.
    Set {
        /// The present value.
        new: Neighbor,
        /// The previous value; `None` for an added entry.
        old: Option<Neighbor>,
    },
    /// An entry was removed.
    Gone {
        /// The removed entry.
        gone: Neighbor,
        /// The reason.
        why: RemovalReason,
    },
}

/// Interface and address of an entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Key {
    pub sw_if: SwIfIndex,
    pub ip: IpAddr,
}

impl Neighbor {
    pub(super) fn key(&self) -> Key {
        Key { sw_if: self.sw_if, ip: self.ip }
    }
}
