// SPDX-License-Identifier: Apache-2.0
//! A table of up to 4,096 rules.

use super::field::{Addresses, Ports, Protocols, Rows, TcpFlags};
use super::{BLOCK, NONE, Numbered};
use crate::packet::{Part, Tuple};
use crate::rule::Match;
use cli::Result;
use net::Net;
use simd::Isa;
use std::sync::Arc;
use sync::Turn;
use tables::Forest;
use wire::Address;

/// Fields that rules are held against.
const FIELDS: usize = 6;

/// Rules of one protocol. A field is left out if its value decides nothing.
pub struct Table<F: Net> {
    source: Option<Addresses<F>>,
    destination: Option<Addresses<F>>,
    protocols: Option<Protocols>,
    source_ports: Option<Ports>,
    destination_ports: Option<Ports>,
    flags: Option<TcpFlags>,
    /// The row of a field that is left out.
    any: Rows,
    /// Position in the list by number here.
    positions: Vec<u32>,
}

impl<F: Net + Match> Table<F> {
    /// Compiles rules.
    ///
    /// # Errors
    /// No address space for their networks.
    pub fn new(rules: &[Numbered<'_>], fragments: bool, forest: &Arc<Forest>) -> Result<Self> {
        Ok(Self {
            source: Addresses::new(rules, |(source, _)| source, forest)?,
            destination: Addresses::new(rules, |(_, destination)| destination, forest)?,
            protocols: Protocols::new(rules, fragments),
            source_ports: Ports::new(rules, |upper| upper.source),
            destination_ports: Ports::new(rules, |upper| upper.destination),
            flags: TcpFlags::new(rules),
            any: Rows::all(rules.len()),
            positions: rules.iter().map(|rule| rule.position).collect(),
        })
    }

    /// Bytes of the rows and classes.
    pub fn memory(&self) -> usize {
        let addresses = [&self.source, &self.destination].into_iter().flatten();
        let ports = [&self.source_ports, &self.destination_ports].into_iter().flatten();
        addresses.map(|field| field.rows.memory()).sum::<usize>()
            + ports.map(Ports::memory).sum::<usize>()
            + self.protocols.as_ref().map_or(0, |field| field.rows.memory())
            + self.flags.as_ref().map_or(0, |field| field.rows.memory())
    }

    /// Looks up packets for which no rule was found yet. Returns true if there is a rule for each
    /// packet now.
    #[inline(always)]
    pub fn find<I: Isa>(
        &self,
        packets: &[Tuple<F::Addr>],
        found: &mut [u32],
        turn: &Turn<'_>,
    ) -> bool {
        let n = packets.len().min(BLOCK).min(found.len());
        let (packets, found) = (&packets[..n], &mut found[..n]);
        // A loop, since the lookup is a lot of code.
        let mut classes = [[0; BLOCK]; 2];
        for (is_source, classes) in [true, false].into_iter().zip(&mut classes) {
            let Some(field) = (if is_source { &self.source } else { &self.destination }) else {
                continue;
            };
            let mut keys = [F::key(F::Addr::ZERO); BLOCK];
            for (key, packet) in keys.iter_mut().zip(packets) {
                *key = F::key(if is_source { packet.source } else { packet.destination });
            }
            field.classes::<I>(&keys[..n], &mut classes[..n], turn);
        }
        let [sources, destinations] = classes;
        let mut all = true;
        let classes = sources.iter().zip(&destinations);
        for ((packet, found), (source, destination)) in packets.iter().zip(found).zip(classes) {
            if *found == NONE {
                *found = self.first(packet, (*source, *destination));
            }
            all &= *found != NONE;
        }
        all
    }

    /// Position of the first rule that matches a packet and that `accept` takes.
    pub fn first_that(
        &self,
        packet: &Tuple<F::Addr>,
        turn: &Turn<'_>,
        accept: &mut dyn FnMut(u32) -> bool,
    ) -> Option<u32> {
        let class = |field: &Option<Addresses<F>>, addr| {
            let mut class = [0];
            if let Some(field) = field {
                field.classes::<simd::V1>(&[F::key(addr)], &mut class, turn);
            }
            class[0]
        };
        let classes =
            (class(&self.source, packet.source), class(&self.destination, packet.destination));
        let rows = self.rows(packet, classes);
        let mut summary = all_have(&rows, 0);
        while summary != 0 {
            let at = summary.trailing_zeros() as usize;
            let mut bits = all_have(&rows, at + 1);
            while bits != 0 {
                let number = at * u64::BITS as usize + bits.trailing_zeros() as usize;
                let position = self.positions.get(number).copied();
                if let Some(position) = position.filter(|position| accept(*position)) {
                    return Some(position);
                }
                bits &= bits - 1;
            }
            summary &= summary - 1;
        }
        None
    }

    /// Position of the first rule that matches a packet whose addresses have these classes.
    #[inline(always)]
    fn first(&self, packet: &Tuple<F::Addr>, classes: (u32, u32)) -> u32 {
        let number = lowest(self.rows(packet, classes));
        self.positions.get(number).copied().unwrap_or(NONE)
    }

    /// The rows of a packet whose addresses have these classes.
    #[inline(always)]
    fn rows<'t>(
        &'t self,
        packet: &Tuple<F::Addr>,
        (source, destination): (u32, u32),
    ) -> [&'t [u64]; FIELDS] {
        let (upper, any) = (packet.upper, self.any.row(0));
        let is_whole = upper.part == Part::Whole;
        let addresses = |field: &'t Option<Addresses<F>>, class| {
            field.as_ref().map_or(any, |field| field.rows.row(class))
        };
        let ports = |field: &'t Option<Ports>, number| {
            let field = field.as_ref().filter(|_| is_whole);
            field.map_or(any, |field| field.rows.row(field.class(number)))
        };
        let protocol =
            |field: &'t Protocols| field.rows.row(field.class(upper.part as usize, upper.protocol));
        let flags = self.flags.as_ref().filter(|_| is_whole);
        [
            addresses(&self.source, source),
            addresses(&self.destination, destination),
            self.protocols.as_ref().map_or(any, protocol),
            ports(&self.source_ports, upper.source),
            ports(&self.destination_ports, upper.destination),
            flags.map_or(any, |field| field.rows.row(field.class(upper.protocol, upper.flags))),
        ]
    }
}

/// The bits of a word that all rows have.
#[inline(always)]
fn all_have(
    [source, destination, protocol, source_port, destination_port, flags]: &[&[u64]; FIELDS],
    at: usize,
) -> u64 {
    let get = |row: &[u64]| row.get(at).copied().unwrap_or_default();
    get(source)
        & get(destination)
        & get(protocol)
        & get(source_port)
        & get(destination_port)
        & get(flags)
}

/// The lowest bit that all rows have, as a rule's number; `usize::MAX` if there is none. All rows
/// have the same length.
#[inline(always)]
fn lowest(rows: [&[u64]; FIELDS]) -> usize {
    let mut summary = all_have(&rows, 0);
    while summary != 0 {
        let at = summary.trailing_zeros() as usize;
        let bits = all_have(&rows, at + 1);
        if bits != 0 {
            return at * u64::BITS as usize + bits.trailing_zeros() as usize;
        }
        summary &= summary - 1;
    }
    usize::MAX
}
