// SPDX-License-Identifier: Apache-2.0
//! What is known of a neighbour, and what happens to it.

use graph::SwIfIndex;
use std::net::IpAddr;
use wire::MacAddr;

/// Where an entry stands (RFC 4861 7.3.2, for ARP too).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NeighborState {
    /// Confirmed, or set by hand.
    Reachable,
    /// Heard of, but not in answer to us: asked, if packets are sent to it, 5 s after its station became doubtful
    /// (RFC 4861 7.3.3). One that is new has just spoken to us, so its question waits as long as for one that is confirmed.
    Stale,
    /// Asked this often whether it is still there, and not answered yet.
    Probing(u8),
    /// Asked without an answer. It has never answered, so it is kept; it isn't asked again until it sends something or is too old.
    Quiet,
}

/// An entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbor {
    /// The interface that it is behind.
    pub sw_if: SwIfIndex,
    /// Its address.
    pub ip: IpAddr,
    /// Its station's address.
    pub mac: MacAddr,
    /// Set by hand for good: neither learned over nor aged.
    pub is_static: bool,
    /// Has no host route of its own.
    pub no_fib_entry: bool,
    /// Has said that it is a router (IPv6).
    pub router: bool,
    /// It has answered a question of ours. Only then is it removed when it stops to answer.
    pub answers: bool,
    /// Where it stands.
    pub state: NeighborState,
    /// When it was last confirmed, on the instance's clock, in nanoseconds.
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

    /// As operators read it: S static, D dynamic, N without host route.
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
    /// Entries at most.
    pub limit: u32,
    /// Seconds without confirmation after which a dynamic entry is removed if no packet was ever sent to it (RFC 4861 7.3.3),
    /// else asked, and removed if it doesn't answer; 0 never.
    pub age: u32,
    /// A full table gives up an entry for every new one; otherwise only for a neighbour that answers our own question, one
    /// that is set by hand, and one on an interface that holds less than others.
    pub recycle: bool,
    /// Seconds without confirmation after which a dynamic entry that packets are sent to is asked, and removed if it doesn't answer
    /// although it has answered before; 0 never.
    pub confirm: u32,
    /// Seconds between two questions to a next hop of routes that hasn't answered; its paths are left out meanwhile. With 0
    /// routes don't mind whether their next hops answer.
    pub retry: u32,
}

impl Default for NeighborConfig {
    fn default() -> Self {
        Self { limit: 50_000, age: 1200, recycle: false, confirm: 30, retry: 5 }
    }
}

/// How a protocol came to know where an address is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Evidence {
    /// The neighbour asks us: it will want an answer, so it is added.
    Request,
    /// The neighbour answers: added only if it was asked.
    Reply,
    /// The neighbour tells everybody: updates what is known; added only if `create`, or if it was asked for.
    Announcement {
        /// Whether an unknown neighbour is added.
        create: bool,
    },
    /// The neighbour told it in passing: it is added, but packets to it have to be answered (RFC 4861 7.2.3, 6.2.6, 6.3.4).
    Hint {
        /// Whether it is a router, if that was told too.
        router: Option<bool>,
    },
    /// A neighbour advertisement (RFC 4861 7.2.5): added only if it was asked for.
    Advertisement {
        /// It answers us.
        solicited: bool,
        /// It counts more than what is known.
        replace: bool,
        /// The neighbour is a router.
        router: bool,
    },
}

impl Evidence {
    /// Why an unknown neighbour that nobody has asked for isn't added.
    pub(super) fn refusal(self) -> Option<Refusal> {
        match self {
            Self::Reply | Self::Advertisement { .. } => Some(Refusal::Unsolicited),
            Self::Announcement { create: false } => Some(Refusal::Unknown),
            Self::Request | Self::Announcement { create: true } | Self::Hint { .. } => None,
        }
    }

    /// Whether it answers a question, if one was asked.
    pub(super) fn is_answer(self) -> bool {
        matches!(self, Self::Reply | Self::Advertisement { solicited: true, .. })
    }

    /// What an entry becomes when `mac` is told for it at the time `now`; `known` says that it isn't new.
    pub(super) fn applied(self, old: Neighbor, known: bool, mac: MacAddr, now: u64) -> Neighbor {
        let other = !known || old.mac != mac;
        match self {
            Self::Request | Self::Reply | Self::Announcement { .. } => {
                Neighbor { mac, updated: now, state: NeighborState::Reachable, ..old }
            }
            Self::Hint { router } => {
                let n = Neighbor { router: router.unwrap_or(old.router), ..old };
                if other { Neighbor { mac, updated: now, state: NeighborState::Stale, ..n } } else { n }
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

/// Why something was not learned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// An answer to no question.
    Unsolicited,
    /// An announcement of somebody unknown.
    Unknown,
    /// The entry was set by hand.
    Static,
    /// Another station is known, and what was told doesn't count more.
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

/// What became of something seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Learned {
    /// A new entry; `gone` made room for it.
    Added {
        /// The entry that was recycled.
        gone: Option<Neighbor>,
    },
    /// The address is at another station now.
    Moved {
        /// Where it was.
        from: MacAddr,
    },
    /// Known already: its age starts again.
    Confirmed {
        /// Somebody had asked for it.
        asked: bool,
    },
    /// Not taken.
    Refused(Refusal),
}

/// Why an entry is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gone {
    /// Removed by an operator, or with its interface or address.
    Removed,
    /// Made room for another.
    Recycled,
    /// Didn't answer.
    Unanswered,
    /// Nothing was sent to it for as long as entries are kept.
    Aged,
}

/// Told to subscribers after the change, on the control thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NeighborEvent {
    /// A new entry, or one that has changed.
    Set {
        /// As it is now.
        new: Neighbor,
        /// As it was.
        old: Option<Neighbor>,
    },
    /// An entry is no longer there.
    Gone {
        /// As it was.
        gone: Neighbor,
        /// Why.
        why: Gone,
    },
}
