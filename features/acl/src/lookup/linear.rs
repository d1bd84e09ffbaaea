// SPDX-License-Identifier: Apache-2.0
//! Rules one after the other: the definition that compiled lists are held against, and the way for
//! a single lookup by control.

use crate::packet::{Part, Tuple};
use crate::rule::{Ends, Match, Rule, Upper};
use wire::Address;

/// Position of the first rule that matches a packet.
pub fn first_match<F: Match>(
    rules: &[Rule],
    packet: &Tuple<F::Addr>,
    fragments: bool,
) -> Option<usize> {
    let is_match = |rule: &Rule| {
        let ends = rule.networks::<F>();
        ends.is_some_and(|ends| matches(&ends, &rule.upper, packet, fragments))
    };
    rules.iter().position(is_match)
}

/// True if a packet matches a rule.
#[inline(always)]
pub fn matches<A: Address>(
    (source, destination): &Ends<A>,
    upper: &Upper,
    packet: &Tuple<A>,
    fragments: bool,
) -> bool {
    source.contains(packet.source)
        && destination.contains(packet.destination)
        && matches_upper(upper, packet, fragments)
}

#[inline(always)]
fn matches_upper<A: Address>(rule: &Upper, packet: &Tuple<A>, fragments: bool) -> bool {
    let upper = packet.upper;
    if rule.protocol == 0 {
        return true;
    }
    if rule.protocol != upper.protocol {
        return false;
    }
    match upper.part {
        Part::LaterFragment => fragments,
        Part::Cut => false,
        Part::Whole => {
            rule.source.has(upper.source)
                && rule.destination.has(upper.destination)
                && (!rule.has_flags() || upper.flags & rule.flags_mask == rule.flags)
        }
    }
}
