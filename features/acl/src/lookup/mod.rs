// SPDX-License-Identifier: Apache-2.0
//! Lists of rules, compiled so that a lookup takes nearly the same time whatever the number of
//! rules.
//!
//! The first rule that matches decides. Each field of a packet (addresses, protocol, ports, flags)
//! is looked up on its own: values for which the same rules match are one class, and a class has a
//! row of bits, one for each rule. The rows of a packet's classes ANDed have the bits of the rules
//! that match it, and the lowest bit is the first rule. A first word in each row has a bit for each
//! further word that isn't zero, so most words are never read. Up to 64 rules have one word, and no
//! classes of addresses (`small`). More rules than `RULES` would have too many bits; they are
//! found by hashes (`tuples`).

mod bits;
mod field;
mod linear;
mod small;
#[cfg(feature = "tests")]
mod tests;
mod tuples;

pub use linear::first_match;

use crate::packet::Tuple;
use crate::rule::{Match, Rule};
use bits::Table;
use cli::{Error, Result};
use net::Net;
use simd::Isa;
use small::{SMALL, Small};
use std::sync::Arc;
use sync::Turn;
use tables::Forest;
use tuples::Tuples;

/// Packets that are looked up together at most.
pub const BLOCK: usize = 64;
/// No rule.
pub const NONE: u32 = u32::MAX;
/// Rules of one table at most.
const RULES: usize = 4096;
/// Bytes that a list takes at most.
const MEMORY: usize = 1 << 30;

/// A rule of one protocol, with its position in the list.
#[derive(Clone)]
pub struct Numbered<'a> {
    position: u32,
    rule: &'a Rule,
}

/// The rules of a list that are for packets of one protocol.
pub struct RuleSet<F: Net> {
    compiled: Compiled<F>,
    memory: usize,
}

/// Rules by their number.
enum Compiled<F: Net> {
    Bits(Bits<F>),
    Tuples(Box<Tuples<F>>),
}

/// Rules as bits of rows.
enum Bits<F: Net> {
    Small(Box<Small<F>>),
    /// [`RULES`] each; several only of rules that can't be found by hashes.
    Tables(Vec<Table<F>>),
}

impl<F: Net + Match> RuleSet<F> {
    /// Compiles the rules of a list that are for this protocol. With `fragments`, a rule with a
    /// protocol is for later fragments too, by addresses and protocol alone.
    ///
    /// # Errors
    /// A list that would take too much memory.
    pub fn new(rules: &[Rule], fragments: bool, forest: &Arc<Forest>) -> Result<Self> {
        let of_protocol: Vec<_> = (0..)
            .zip(rules)
            .filter(|(_, rule)| rule.networks::<F>().is_some())
            .map(|(position, rule)| Numbered { position, rule })
            .collect();
        if of_protocol.len() > RULES {
            let tuples = Box::new(Tuples::new(&of_protocol, fragments, forest)?);
            return Ok(Self { memory: tuples.memory(), compiled: Compiled::Tuples(tuples) });
        }
        let (bits, memory) = Bits::new(&of_protocol, fragments, forest)?;
        Ok(Self { compiled: Compiled::Bits(bits), memory })
    }

    /// Bytes that the compiled rules take, but for those of the prefixes.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Position of the first rule that matches a packet and that `accept` takes: for rules with
    /// conditions of their user's beside those of [`Rule`].
    #[inline(never)]
    pub fn first_that(
        &self,
        packet: &Tuple<F::Addr>,
        turn: &Turn<'_>,
        mut accept: impl FnMut(u32) -> bool,
    ) -> Option<u32> {
        match &self.compiled {
            Compiled::Bits(bits) => bits.first_that(packet, turn, &mut accept),
            Compiled::Tuples(tuples) => tuples.first_that(packet, turn, &mut accept),
        }
    }

    /// Looks packets up, [`BLOCK`] at most: `found` gets the position of the first rule that
    /// matches, or [`NONE`].
    #[inline(always)]
    pub fn find<I: Isa>(&self, packets: &[Tuple<F::Addr>], found: &mut [u32], turn: &Turn<'_>) {
        match &self.compiled {
            Compiled::Tuples(tuples) => tuples.find::<I>(packets, found, turn),
            Compiled::Bits(bits) => bits.find::<I>(packets, found, turn),
        }
    }
}

impl<F: Net + Match> Bits<F> {
    /// Compiles rules; returns their memory in bytes too.
    fn new(rules: &[Numbered<'_>], fragments: bool, forest: &Arc<Forest>) -> Result<(Self, usize)> {
        if rules.len() <= SMALL {
            let small = Box::new(Small::new(rules, fragments));
            let memory = size_of_val(&*small);
            return Ok((Self::Small(small), memory));
        }
        let (mut tables, mut memory) = (Vec::new(), 0);
        for part in rules.chunks(RULES) {
            let table = Table::new(part, fragments, forest)?;
            memory += table.memory();
            memory_limit(memory, rules.len())?;
            tables.push(table);
        }
        Ok((Self::Tables(tables), memory))
    }

    /// As [`RuleSet::first_that`].
    fn first_that(
        &self,
        packet: &Tuple<F::Addr>,
        turn: &Turn<'_>,
        accept: &mut dyn FnMut(u32) -> bool,
    ) -> Option<u32> {
        match self {
            Self::Small(small) => small.first_that(packet, accept),
            Self::Tables(tables) => {
                tables.iter().find_map(|table| table.first_that(packet, turn, accept))
            }
        }
    }

    /// As [`RuleSet::find`].
    #[inline(always)]
    fn find<I: Isa>(&self, packets: &[Tuple<F::Addr>], found: &mut [u32], turn: &Turn<'_>) {
        let tables = match self {
            Self::Small(small) => return small.find(packets, found),
            Self::Tables(tables) => tables,
        };
        found.fill(NONE);
        for table in tables {
            if table.find::<I>(packets, found, turn) {
                break;
            }
        }
    }
}

fn memory_limit(memory: usize, rules: usize) -> Result<()> {
    if memory <= MEMORY {
        return Ok(());
    }
    Err(Error::limit(format!(
        "the list would take more than {} MiB for {rules} rules: \
         expected fewer rules, or fewer different networks and ports",
        MEMORY >> 20,
    )))
}
