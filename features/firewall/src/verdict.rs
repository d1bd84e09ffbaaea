// SPDX-License-Identifier: Apache-2.0
//! Verdicts on packets, and their reasons.

use crate::packet::Malformed;
use crate::tcp::Invalid;
use graph::ThreadIndex;

/// The way of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// The interfaces by which it came, and by which it leaves.
    pub interfaces: [u32; 2],
    /// The router's own packet.
    pub is_own: bool,
    /// It is for the router.
    pub is_for_us: bool,
}

/// The reason why a packet is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A rule, with its number, or the default of a policy.
    Rule(Option<u32>),
    /// There is no policy for its zones.
    NoPolicy,
    /// Its headers.
    Malformed(Malformed),
    /// It doesn't belong to its connection.
    Tcp(Invalid),
    /// It begins no flow, and belongs to none.
    NoSession,
    /// It is an ICMP error about a packet of no session.
    IcmpError,
    /// There is no room for another session.
    Full,
    /// The host that sends it has as many sessions as it may have.
    Source,
    /// The zone that it comes from has as many sessions as it may have.
    Zone,
    /// The rule that accepts it has accepted as many in this second as it may.
    Rate(Option<u32>),
}

impl Reason {
    /// Its words in traces and logs.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Rule(_) => "policy",
            Self::NoPolicy => "no policy",
            Self::Malformed(Malformed::Header) => "malformed",
            Self::Malformed(Malformed::Fragment) => "fragment of unknown packet",
            Self::Tcp(Invalid::Flags) => "invalid TCP flags",
            Self::Tcp(Invalid::Window) => "TCP segment out of window",
            Self::Tcp(Invalid::Acknowledgment) => "invalid TCP acknowledgment",
            Self::Tcp(Invalid::Reset) => "TCP reset out of window",
            Self::Tcp(Invalid::Handshake) => "TCP segment before handshake",
            Self::NoSession => "no session",
            Self::IcmpError => "ICMP error about no session",
            Self::Full => "session table full",
            Self::Source => "limit of source",
            Self::Zone => "limit of zone",
            Self::Rate(_) => "rate of rule",
        }
    }
}

/// The outcome for a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It isn't checked.
    Unchecked,
    /// It belongs to a session, or is an ICMP error about one.
    Session,
    /// A rule lets it pass, and it has made a session.
    New(Option<u32>),
    /// A rule lets it pass without a session.
    Permit(Option<u32>),
    /// The packet is dropped, for this reason.
    Drop(Reason),
    /// A rule drops it, and its sender is told.
    Reject(Option<u32>),
    /// This thread owns its flow.
    Elsewhere(ThreadIndex),
}

impl Verdict {
    /// Its words in traces.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Unchecked => "not checked",
            Self::Session => "pass, session",
            Self::New(_) => "pass, new session",
            Self::Permit(_) => "pass",
            Self::Drop(reason) => reason.words(),
            Self::Reject(_) => "reject",
            Self::Elsewhere(_) => "handed off",
        }
    }

    /// The number of the rule that has decided.
    pub fn rule(&self) -> Option<u32> {
        match self {
            Self::New(rule) | Self::Permit(rule) | Self::Reject(rule) => *rule,
            Self::Drop(Reason::Rule(rule) | Reason::Rate(rule)) => *rule,
            Self::Unchecked | Self::Session | Self::Drop(_) | Self::Elsewhere(_) => None,
        }
    }
}
