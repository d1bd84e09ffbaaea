// SPDX-License-Identifier: Apache-2.0
//! Ranges of groups: a group of a source-specific range is listened to only from named sources (RFC
//! 4604).

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use wire::{Ip4Prefix, Prefix};

/// The semantics of a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RangeKind {
    /// Any source.
    Asm,
    /// Named sources only.
    Ssm,
}

/// The ranges: the longest one around a group decides. A group outside of all has any source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ranges(BTreeMap<(Ipv4Addr, u8), RangeKind>);

/// The range that IANA assigned (RFC 5771 9).
pub fn assigned() -> Ip4Prefix {
    Prefix::new(Ipv4Addr::new(232, 0, 0, 0), 8).unwrap_or(Prefix::DEFAULT)
}

impl Default for Ranges {
    fn default() -> Self {
        let assigned = assigned();
        Self(BTreeMap::from([((assigned.addr(), assigned.len()), RangeKind::Ssm)]))
    }
}

impl Ranges {
    /// Maximum number of ranges.
    pub const MOST: usize = 256;

    /// Sets the semantics of a range. False if there is no room.
    pub fn set(&mut self, range: Ip4Prefix, kind: RangeKind) -> bool {
        let range = range.network();
        let key = (range.addr(), range.len());
        self.0.remove(&key);
        if self.kind_within(range) == kind {
            return true;
        }
        if self.0.len() >= Self::MOST {
            return false;
        }
        self.0.insert(key, kind);
        true
    }

    /// The semantics of the longest range around this one.
    fn kind_within(&self, range: Ip4Prefix) -> RangeKind {
        let around = self.0.iter().filter(|((addr, len), _)| {
            *len <= range.len()
                && Prefix::new(*addr, *len).is_some_and(|p| p.contains(range.addr()))
        });
        around.max_by_key(|((_, len), _)| *len).map_or(RangeKind::Asm, |(_, kind)| *kind)
    }

    /// Returns true for a group of a source-specific range.
    pub fn is_ssm(&self, group: Ipv4Addr) -> bool {
        self.kind_within(Prefix::host(group)) == RangeKind::Ssm
    }

    /// All ranges.
    pub fn list(&self) -> Vec<(Ip4Prefix, RangeKind)> {
        let range = |((addr, len), kind): (&(Ipv4Addr, u8), &RangeKind)| {
            Some((Prefix::new(*addr, *len)?, *kind))
        };
        self.0.iter().filter_map(range).collect()
    }
}
