// SPDX-License-Identifier: Apache-2.0
//! The IP side of an interface.

use super::{Column, Interface, Property};
use crate::event::IfEvent;
use crate::fib::{Net, TableIndex};
use crate::view::{IfFlags, IfView};
use cli::Error;
use graph::{SwIfIndex, World};
use std::net::IpAddr;
use wire::Address;

/// The protocols that are enabled on an interface, and the tables that its packets are routed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IpBinding {
    /// True if IPv4 is enabled, and true if IPv6 is.
    enabled: [bool; 2],
    /// The tables of IPv4 and IPv6.
    tables: [TableIndex; 2],
    /// The table of its link-local addresses.
    link: Option<TableIndex>,
}

impl Property for IpBinding {
    fn show(&self, _: &Interface, _: IfFlags, view: &mut IfView) {
        let [ip4, ip6] = self.enabled;
        view.flags.set(IfFlags::IP4, ip4);
        view.flags.set(IfFlags::IP6, ip6);
        [view.fib4, view.fib6] = self.tables.map(|table| table.0);
        view.link6 = self.link.map_or(0, |table| table.0);
    }
}

impl IpBinding {
    /// That of an interface; for one that isn't there, nothing is enabled.
    pub fn of(world: &World, sw_if: SwIfIndex) -> Self {
        world.get::<Column<Self>>().get(sw_if)
    }

    /// Returns true if the protocol is enabled.
    pub fn is_enabled<F: Net>(&self) -> bool {
        self.enabled[usize::from(F::IS_V6)]
    }

    /// The table of a protocol.
    pub fn table<F: Net>(&self) -> TableIndex {
        self.tables[usize::from(F::IS_V6)]
    }

    /// The table in which an address on this interface is routed. Link-local addresses of IPv6 are
    /// routed in the link's own table; `None` if it has none because IPv6 is disabled.
    pub fn table_of(&self, address: IpAddr) -> Option<TableIndex> {
        match address {
            IpAddr::V4(_) => Some(self.tables[0]),
            IpAddr::V6(address) if address.link_local() => self.link,
            IpAddr::V6(_) => Some(self.tables[1]),
        }
    }
}

impl Column<IpBinding> {
    /// Records whether a protocol is enabled.
    ///
    /// # Errors
    /// An interface that isn't there.
    pub(crate) fn set_enabled<F: Net>(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        on: bool,
    ) -> Result<(), Error> {
        if self.get(sw_if).is_enabled::<F>() == on {
            return Ok(());
        }
        self.update(world, sw_if, |ip| ip.enabled[usize::from(F::IS_V6)] = on)?;
        self.interfaces.notify(world, IfEvent::Ip(sw_if, F::IS_V6, on));
        Ok(())
    }

    /// Moves an interface to a table.
    ///
    /// # Errors
    /// An interface that isn't there.
    pub(crate) fn set_table<F: Net>(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        table: TableIndex,
    ) -> Result<(), Error> {
        self.update(world, sw_if, |ip| ip.tables[usize::from(F::IS_V6)] = table)?;
        self.interfaces.notify(world, IfEvent::Table(sw_if, F::IS_V6));
        Ok(())
    }

    /// Records the table of an interface's link-local addresses.
    ///
    /// # Errors
    /// An interface that isn't there.
    pub(crate) fn set_link_table(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        table: Option<TableIndex>,
    ) -> Result<(), Error> {
        self.update(world, sw_if, |ip| ip.link = table)
    }
}
