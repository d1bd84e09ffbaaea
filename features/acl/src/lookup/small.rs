// SPDX-License-Identifier: Apache-2.0
//! Up to 64 rules: a set of rules is one word. A prefix is compared byte by byte, each byte by a
//! table of the rules that it lets match.

use super::field::{Ports, Set};
use super::{NONE, Numbered};
use crate::packet::{Part, Tuple};
use crate::rule::{Ends, Match, Upper};
use net::Net;
use wire::{Address, IpProtocol, Prefix};

/// Rules at most.
pub const SMALL: usize = u64::BITS as usize;
/// Values of a byte.
const BYTE: usize = 256;

/// Sets of rules by the value of a byte.
type ByValue = [u64; BYTE];

/// Rules of one protocol.
pub struct Small<F: Net> {
    /// By the part of the upper layer that is there, and its protocol.
    protocols: [ByValue; 3],
    source: Vec<(usize, ByValue)>,
    destination: Vec<(usize, ByValue)>,
    source_ports: Option<Ports>,
    destination_ports: Option<Ports>,
    flags: Option<ByValue>,
    /// Position in the list by number here.
    positions: Vec<u32>,
    protocol: std::marker::PhantomData<F>,
}

impl<F: Net + Match> Small<F> {
    /// Compiles at most [`SMALL`] rules.
    pub fn new(rules: &[Numbered<'_>], fragments: bool) -> Self {
        let upper = |is_in: &dyn Fn(&Upper) -> bool| Set::of(rules, is_in).word();
        let by_value = |is_in: &dyn Fn(u8, &Upper) -> bool| -> ByValue {
            std::array::from_fn(|value| upper(&|rule| is_in(value as u8, rule)))
        };
        let whole = by_value(&|number, rule| rule.protocol == 0 || rule.protocol == number);
        let any = by_value(&|_, rule| rule.protocol == 0);
        let has_flags = rules.iter().any(|numbered| numbered.rule.upper.has_flags());
        let flags =
            by_value(&|flags, rule| !rule.has_flags() || flags & rule.flags_mask == rule.flags);
        Self {
            protocols: [whole, if fragments { whole } else { any }, any],
            source: bytes::<F>(rules, |(source, _)| source),
            destination: bytes::<F>(rules, |(_, destination)| destination),
            source_ports: Ports::new(rules, |upper| upper.source),
            destination_ports: Ports::new(rules, |upper| upper.destination),
            flags: has_flags.then_some(flags),
            positions: rules.iter().map(|rule| rule.position).collect(),
            protocol: std::marker::PhantomData,
        }
    }

    /// Looks packets up: `found` gets the position of the first rule that matches, or [`NONE`].
    #[inline(always)]
    pub fn find(&self, packets: &[Tuple<F::Addr>], found: &mut [u32]) {
        for (packet, found) in packets.iter().zip(found) {
            let rules = self.matching(packet);
            // There are 64 positions at most, so 64, for none, has none.
            let first = self.positions.get(rules.trailing_zeros() as usize);
            *found = first.copied().unwrap_or(NONE);
        }
    }

    /// Position of the first rule that matches a packet and that `accept` takes.
    pub fn first_that(
        &self,
        packet: &Tuple<F::Addr>,
        accept: &mut dyn FnMut(u32) -> bool,
    ) -> Option<u32> {
        let mut rules = self.matching(packet);
        while let Some(position) = self.positions.get(rules.trailing_zeros() as usize) {
            if accept(*position) {
                return Some(*position);
            }
            rules &= rules - 1;
        }
        None
    }

    /// The rules that match a packet.
    #[inline(always)]
    fn matching(&self, packet: &Tuple<F::Addr>) -> u64 {
        let upper = packet.upper;
        let mut rules = self.protocols[upper.part as usize % 3][usize::from(upper.protocol)];
        let (source, destination) = (packet.source.to_octets(), packet.destination.to_octets());
        for (octets, tables) in
            [(source.as_ref(), &self.source), (destination.as_ref(), &self.destination)]
        {
            for (at, by_value) in tables {
                let octet = octets.get(*at).copied().unwrap_or_default();
                rules &= by_value[usize::from(octet)];
            }
        }
        if upper.part == Part::Whole {
            if let Some(ports) = &self.source_ports {
                rules &= ports.rows.word(ports.class(upper.source));
            }
            if let Some(ports) = &self.destination_ports {
                rules &= ports.rows.word(ports.class(upper.destination));
            }
            if let Some(flags) = &self.flags
                && upper.protocol == IpProtocol::TCP.0
            {
                rules &= flags[usize::from(upper.flags)];
            }
        }
        rules
    }
}

/// The tables of the bytes that some rule's network names, by their position in the address.
fn bytes<F: Net + Match>(
    rules: &[Numbered<'_>],
    network: impl Fn(Ends<F::Addr>) -> Prefix<F::Addr>,
) -> Vec<(usize, ByValue)> {
    let networks: Vec<_> = rules
        .iter()
        .map(|numbered| numbered.rule.networks::<F>().map(&network).unwrap_or(Prefix::DEFAULT))
        .collect();
    let len = networks.iter().map(Prefix::len).max().unwrap_or(0);
    let table = |at: usize| {
        let mut by_value = [0; BYTE];
        for (rule, network) in networks.iter().enumerate() {
            let of = |addr: F::Addr| addr.to_octets().as_ref().get(at).copied().unwrap_or_default();
            let (octet, mask) = (of(network.addr()), of(network.mask()));
            for (value, rules) in (0..=u8::MAX).zip(&mut by_value) {
                *rules |= u64::from(value & mask == octet & mask) << rule;
            }
        }
        (at, by_value)
    };
    (0..usize::from(len).div_ceil(8)).map(table).collect()
}
