// SPDX-License-Identifier: Apache-2.0
//! The addresses that `arp-proxy` answers for.

use cli::Error;
use graph::{Deleted, Shared, World};
use msg::retval;
use net::DeletedTable;
use std::net::Ipv4Addr;
use sync::{Snapshot, Turn};
use wire::Ip4;

/// Addresses `start ..= end`, asked for on interfaces of a table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Range {
    /// The table's index.
    pub table: u32,
    /// The first.
    pub start: Ipv4Addr,
    /// The last.
    pub end: Ipv4Addr,
}

/// All ranges, in order.
pub struct Ranges(Snapshot<Vec<Range>>);

impl Shared for Ranges {
    fn make(world: &World) -> Self {
        Self(Snapshot::new(world.qsbr.clone(), Vec::new()))
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        let Some(table) = deleted.of::<DeletedTable<Ip4>>() else { return };
        if self.list().iter().any(|r| r.table == table.index.0) {
            self.0.update(|old| old.iter().filter(|r| r.table != table.index.0).copied().collect());
        }
    }
}

impl Ranges {
    /// Returns true if a proxy ARP range covers the address.
    #[inline(always)]
    pub fn has(&self, table: u32, ip: Ipv4Addr, turn: &Turn<'_>) -> bool {
        self.0.get(turn).iter().any(|r| r.table == table && r.start <= ip && ip <= r.end)
    }

    /// Adds a range.
    ///
    /// # Errors
    /// A range that ends before it starts (−7); a range that is there already (−81).
    pub fn add(&self, new: Range) -> Result<(), Error> {
        if new.end < new.start {
            return Err(Error::parse(format!(
                "the range ends before it starts: {} is below {}",
                new.end, new.start
            ))
            .retval(retval::INVALID_VALUE));
        }
        if self.list().contains(&new) {
            return Err(Error::failed("this range is there already").retval(retval::VALUE_EXIST));
        }
        self.0.update(|old| {
            let mut all = old.clone();
            all.push(new);
            all.sort_unstable();
            all
        });
        Ok(())
    }

    /// Removes a range.
    ///
    /// # Errors
    /// One that isn't there (−6).
    pub fn remove(&self, gone: Range) -> Result<(), Error> {
        if !self.list().contains(&gone) {
            return Err(Error::not_found("there is no such range; see `show arp proxy'")
                .retval(retval::NO_SUCH_ENTRY));
        }
        self.0.update(|old| old.iter().filter(|r| **r != gone).copied().collect());
        Ok(())
    }

    /// All ranges, in order.
    pub fn list(&self) -> Vec<Range> {
        self.0.read(Vec::clone)
    }
}
