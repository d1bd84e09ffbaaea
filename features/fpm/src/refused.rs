// SPDX-License-Identifier: Apache-2.0
//! Messages that aren't taken over, by reason.

use linux_nl::convert::Ignored;

/// Reason why a message isn't taken over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Refused {
    /// The kernel's own: connected networks, local addresses, groups.
    Own,
    /// No next hop is on a mirrored interface, and none has a gateway that means anything without
    /// its interface. A gateway in no connected network is no reason: the route is set and stays
    /// unresolved until there is one.
    Interface,
    /// The next-hop object isn't there.
    Object,
    /// Too many next-hop objects, or too large ones.
    Objects,
    /// More next hops or members of a group than a route may have here.
    Hops,
    /// Packets would be encapsulated.
    Encapsulated,
    /// Routes for packets from some sources only.
    Sources,
    /// Label-switched paths.
    Labels,
    /// MAC addresses of routers (EVPN).
    Macs,
    /// Attributes that are cut off or of another length than theirs.
    Malformed,
    /// Messages of another type or family.
    Other,
    /// More routes than `max-routes`.
    Routes,
    /// The table doesn't take it, or there are too many tables.
    Table,
}

impl Refused {
    /// All, in the order in which `show fpm` lists them.
    pub const ALL: [Self; 13] = [
        Self::Own,
        Self::Interface,
        Self::Object,
        Self::Objects,
        Self::Hops,
        Self::Encapsulated,
        Self::Sources,
        Self::Labels,
        Self::Macs,
        Self::Malformed,
        Self::Other,
        Self::Routes,
        Self::Table,
    ];

    /// Its name in JSON and in the metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Interface => "interface",
            Self::Object => "no_object",
            Self::Objects => "too_many_objects",
            Self::Hops => "too_many_hops",
            Self::Encapsulated => "encapsulated",
            Self::Sources => "sources",
            Self::Labels => "labels",
            Self::Macs => "macs",
            Self::Malformed => "malformed",
            Self::Other => "other",
            Self::Routes => "too_many_routes",
            Self::Table => "table",
        }
    }

    /// Its text in `show fpm`.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Own => "kernel's own routes",
            Self::Interface => "routes over other links",
            Self::Object => "routes by unknown object",
            Self::Objects => "too many objects",
            Self::Hops => "too many next hops",
            Self::Encapsulated => "with encapsulation",
            Self::Sources => "routes for some sources",
            Self::Labels => "label-switched paths",
            Self::Macs => "MACs of routers (EVPN)",
            Self::Malformed => "malformed messages",
            Self::Other => "other messages",
            Self::Routes => "above max-routes",
            Self::Table => "refused by the table",
        }
    }
}

impl From<Ignored> for Refused {
    fn from(ignored: Ignored) -> Self {
        match ignored {
            Ignored::Own => Self::Own,
            Ignored::Elsewhere => Self::Interface,
            Ignored::TooMany => Self::Hops,
            Ignored::Encapsulated => Self::Encapsulated,
            Ignored::NextHopObject => Self::Object,
            Ignored::OfSources => Self::Sources,
            Ignored::Refused => Self::Table,
        }
    }
}
