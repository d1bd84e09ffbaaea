// SPDX-License-Identifier: Apache-2.0
//! A table of up to 4,096 rules.

use super::field::{Addresses, Ports, Protocols, TcpFlags};
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
        let [mut sources, mut destinations] = [[0; BLOCK]; 2];
        self.addresses::<I>(&self.source, packets, |p| p.source, &mut sources[..n], turn);
        self.addresses::<I>(
            &self.destination,
            packets,
            |p| p.destination,
            &mut destinations[..n],
            turn,
        );
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

    /// The classes of addresses, looked up together.
    #[inline(always)]
    fn addresses<I: Isa>(
        &self,
        field: &Option<Addresses<F>>,
        packets: &[Tuple<F::Addr>],
        addr: impl Fn(&Tuple<F::Addr>) -> F::Addr,
        classes: &mut [u32],
        turn: &Turn<'_>,
    ) {
        let Some(field) = field else { return };
        let mut keys = [F::key(F::Addr::ZERO); BLOCK];
        for (key, packet) in keys.iter_mut().zip(packets) {
            *key = F::key(addr(packet));
        }
        field.classes::<I>(&keys[..classes.len()], classes, turn);
    }

    /// Position of the first rule that matches a packet whose addresses have these classes.
    #[inline(always)]
    fn first(&self, packet: &Tuple<F::Addr>, (source, destination): (u32, u32)) -> u32 {
        let upper = packet.upper;
        let mut rows = Row::default();
        rows.add(self.source.as_ref().map(|field| field.rows.row(source)));
        rows.add(self.destination.as_ref().map(|field| field.rows.row(destination)));
        let of = |field: &Protocols| field.class(upper.part as usize, upper.protocol);
        rows.add(self.protocols.as_ref().map(|field| field.rows.row(of(field))));
        if upper.part == Part::Whole {
            let of = |field: &Ports| field.class(upper.source);
            rows.add(self.source_ports.as_ref().map(|field| field.rows.row(of(field))));
            let of = |field: &Ports| field.class(upper.destination);
            rows.add(self.destination_ports.as_ref().map(|field| field.rows.row(of(field))));
            let of = |field: &TcpFlags| field.class(upper.protocol, upper.flags);
            rows.add(self.flags.as_ref().map(|field| field.rows.row(of(field))));
        }
        let number = rows.lowest();
        self.positions.get(number).copied().unwrap_or(NONE)
    }
}

/// The rows of a packet's classes.
#[derive(Default)]
struct Row<'t> {
    rows: [&'t [u64]; FIELDS],
    n: usize,
}

impl<'t> Row<'t> {
    #[inline(always)]
    fn add(&mut self, row: Option<&'t [u64]>) {
        if let Some(row) = row {
            self.rows[self.n % FIELDS] = row;
            self.n += 1;
        }
    }

    /// A word of all rows, ANDed.
    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        let rows = self.rows.iter().take(self.n);
        rows.fold(u64::MAX, |all, row| all & row.get(at).copied().unwrap_or_default())
    }

    /// The lowest bit that all rows have, as a rule's number; `usize::MAX` if there is none.
    #[inline(always)]
    fn lowest(&self) -> usize {
        if self.n == 0 {
            // No field decides anything: the first rule is for all packets.
            return 0;
        }
        let mut summary = self.word(0);
        while summary != 0 {
            let at = summary.trailing_zeros() as usize;
            let bits = self.word(at + 1);
            if bits != 0 {
                return at * u64::BITS as usize + bits.trailing_zeros() as usize;
            }
            summary &= summary - 1;
        }
        usize::MAX
    }
}
