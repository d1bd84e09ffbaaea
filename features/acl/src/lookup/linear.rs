// SPDX-License-Identifier: Apache-2.0
//! Rules one after the other: the definition that compiled lists are held against, and the way for
//! a single lookup by control.

use crate::packet::{Part, Tuple};
use crate::rule::{Match, Rule, Upper};
use wire::Address;

/// Position of the first rule that matches a packet.
pub fn first_match<F: Match>(
    rules: &[Rule],
    packet: &Tuple<F::Addr>,
    fragments: bool,
) -> Option<usize> {
    rules.iter().position(|rule| matches::<F>(rule, packet, fragments))
}

fn matches<F: Match>(rule: &Rule, packet: &Tuple<F::Addr>, fragments: bool) -> bool {
    let Some((source, destination)) = rule.networks::<F>() else { return false };
    source.contains(packet.source)
        && destination.contains(packet.destination)
        && matches_upper(&rule.upper, packet, fragments)
}

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
