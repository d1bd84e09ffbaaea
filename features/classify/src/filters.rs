// SPDX-License-Identifier: Apache-2.0
//! Filters of traces and captures: chains of tables, those with the most bits in front.

use crate::control::{DEFAULT_BUCKETS, SessionConfig, TableConfig, no_table};
use crate::key::{Key, VECTOR, read};
use crate::state::{Classifier, Control, FilterOf};
use crate::table::{MAX_CHAIN, walk};
use crate::words::Mask;
use ::trace::Purpose;
use buffer::Buffer;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use net::Interfaces;
use sync::Turn;

/// The slot of a filter of captures.
fn slot(of: Option<SwIfIndex>) -> u32 {
    of.map_or(0, |sw_if| sw_if.0)
}

impl Classifier {
    /// The tables of a filter, in the order in which they are asked.
    pub fn filter(&self, of: FilterOf) -> Vec<u32> {
        let control = self.control();
        control.filters.get(&of).map_or_else(Vec::new, |first| control.chain(*first))
    }

    /// The tables of the chain that begins with one.
    pub fn chain(&self, first: u32) -> Vec<u32> {
        self.control().chain(first)
    }

    /// All filters, with their first tables.
    pub fn filters(&self) -> Vec<(FilterOf, u32)> {
        self.control().filters.iter().map(|(of, first)| (*of, *first)).collect()
    }

    fn publish_filter(&self, of: FilterOf, first: Option<u32>) {
        let (slots, at) = match of {
            FilterOf::Trace => (&self.trace_filter, 0),
            FilterOf::Capture(of) => (&self.capture_filters, slot(of)),
        };
        match first {
            Some(first) => slots.set(at, first),
            None => _ = slots.clear(at),
        }
    }

    fn set_first(&self, control: &mut Control, of: FilterOf, first: Option<u32>) {
        match first {
            Some(first) => _ = control.filters.insert(of, first),
            None => _ = control.filters.remove(&of),
        }
        self.publish_filter(of, first);
    }

    /// Sorts the tables of a chain by the number of bits that they compare, the most first, and
    /// returns the first.
    fn sort(&self, control: &mut Control, mut chain: Vec<u32>) -> Option<u32> {
        let ones = |control: &Control, index: &u32| {
            control.tables.get(index).map_or(0, |s| s.table.mask.ones())
        };
        chain.sort_by_key(|index| std::cmp::Reverse(ones(control, index)));
        let behind = chain.iter().skip(1).copied().map(Some).chain([None]);
        // From the end on: a worker finds a chain that ends.
        let links: Vec<_> = chain.iter().copied().zip(behind).collect();
        for (index, next) in links.into_iter().rev() {
            if let Some(state) = control.tables.get_mut(&index) {
                state.table.next = next;
            }
            self.publish(control, index);
        }
        chain.first().copied()
    }

    /// The table of a filter with this mask.
    ///
    /// # Errors
    /// No such table (−6).
    pub fn find_filter_table(&self, of: FilterOf, mask: &Mask) -> Result<u32> {
        let vectors = mask.bytes.len() / VECTOR;
        let key = Key::of(&mask.bytes);
        let same = |index: &u32| {
            self.table(*index).is_ok_and(|info| {
                info.table.mask == key
                    && info.table.skip == mask.skip
                    && info.table.vectors == vectors
            })
        };
        let found = self.filter(of).into_iter().find(same);
        found.ok_or_else(|| {
            Error::not_found("the filter has no table of this mask").retval(retval::NO_SUCH_ENTRY)
        })
    }

    /// Adds packets to those that a filter accepts. `matched` are bytes from where packets begin.
    ///
    /// # Errors
    /// An interface that isn't there (−2); a filter of [`MAX_CHAIN`] tables (−162); as
    /// [`Self::add_table`] and [`Self::add_session`].
    pub fn add_filter(
        &self,
        world: &World,
        of: FilterOf,
        mask: &Mask,
        matched: &[u8],
    ) -> Result<()> {
        if let FilterOf::Capture(Some(sw_if)) = of {
            world.get::<Interfaces>().check(sw_if)?;
        }
        let table = match self.find_filter_table(of, mask) {
            Ok(table) => table,
            Err(_) => {
                if self.filter(of).len() >= MAX_CHAIN {
                    let why = format!("a filter has at most {MAX_CHAIN} tables");
                    return Err(Error::limit(why).retval(retval::LIMIT_EXCEEDED));
                }
                let config = TableConfig {
                    mask: mask.bytes.clone(),
                    skip: mask.skip,
                    buckets: DEFAULT_BUCKETS,
                    next: None,
                    miss: u32::MAX,
                    offset: None,
                };
                let table = self.make_table(world, &config, None, true)?;
                let chain = self.filter(of).into_iter().chain([table]).collect();
                let mut control = self.control();
                let first = self.sort(&mut control, chain);
                self.set_first(&mut control, of, first);
                table
            }
        };
        let session =
            SessionConfig { next: u32::MAX, opaque: 0, advance: 0, action: Default::default() };
        self.add_session(world, table, matched, session)
    }

    /// Ends a filter and deletes its tables.
    ///
    /// # Errors
    /// No such filter (−6); a table that something else uses (−155).
    pub fn delete_filter(&self, world: &World, of: FilterOf) -> Result<()> {
        let first = {
            let mut control = self.control();
            let none = || Error::not_found("there is no such filter").retval(retval::NO_SUCH_ENTRY);
            let first = *control.filters.get(&of).ok_or_else(none)?;
            self.set_first(&mut control, of, None);
            first
        };
        self.delete_table(world, first, true).inspect_err(|_| {
            self.set_first(&mut self.control(), of, Some(first));
        })
    }

    /// Makes a table the first of a filter, or ends the filter: its tables stay. With `sort`,
    /// tables with the most bits are asked first. Returns the table that is the first then.
    ///
    /// # Errors
    /// An interface (−2) or a table (−65) that isn't there.
    pub fn set_filter(
        &self,
        world: &World,
        of: FilterOf,
        table: Option<u32>,
        sort: bool,
    ) -> Result<Option<u32>> {
        if let FilterOf::Capture(Some(sw_if)) = of {
            world.get::<Interfaces>().check(sw_if)?;
        }
        let mut control = self.control();
        let Some(mut first) = table else {
            self.set_first(&mut control, of, None);
            return Ok(None);
        };
        if !control.tables.contains_key(&first) {
            return Err(no_table(first));
        }
        if sort {
            let chain = control.chain(first);
            first = self.sort(&mut control, chain).unwrap_or(first);
        }
        self.set_first(&mut control, of, Some(first));
        Ok(Some(first))
    }

    /// Forgets the filter of captures of an interface. Its tables stay if something else uses them.
    pub(crate) fn forget_filter_of(&self, world: &World, sw_if: SwIfIndex) {
        let of = FilterOf::Capture(Some(sw_if));
        let Some(first) = self.control().filters.remove(&of) else { return };
        self.publish_filter(of, None);
        let made_for_it = self.table(first).is_ok_and(|info| info.of_filter);
        if made_for_it && let Err(e) = self.delete_table(world, first, true) {
            log::warn!("tables of the filter of a deleted interface stay: {e}");
        }
    }
}

impl ::trace::Classifier for Classifier {
    fn accepts(&self, purpose: Purpose, packet: &Buffer, turn: &Turn<'_>) -> bool {
        let first = match purpose {
            Purpose::Trace => self.trace_filter.get(0, turn),
            Purpose::Capture(of) => {
                let own = of.and_then(|sw_if| self.capture_filters.get(sw_if.0, turn));
                own.or_else(|| self.capture_filters.get(0, turn))
            }
        };
        let Some(first) = first else { return false };
        // Packets that are only looked at are no hits.
        let verdict =
            walk(&self.tables, *first, turn, |table| read(packet, table.skipped(), table.vectors));
        verdict.is_some_and(|verdict| verdict.session.is_some())
    }
}
