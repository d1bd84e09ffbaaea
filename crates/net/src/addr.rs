// SPDX-License-Identifier: Apache-2.0
//! Addresses of interfaces, and the routes that come with them.

mod held;
mod networks;
mod routes;
mod unnumbered;

pub use held::HoldReason;
pub(crate) use held::route;

use crate::fib::{Fib, Net, TableIndex};
use crate::{Column, IfEvent, IfKind, Implied, Interfaces, IpBinding, LinkLocals};
use cli::Error;
use graph::{Deleted, Shared, SwIfIndex, World};
use msg::retval;
use networks::{AddressConflict, Networks};
use routes::Route;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Slots, Turn};
use unnumbered::Borrowers;
use wire::{Address, Prefix};

/// The addresses of one interface, of one protocol.
struct InterfaceAddresses<A> {
    /// In the order of adding; the first is the source address of packets that we send.
    addresses: Vec<Prefix<A>>,
    /// The subset of `addresses` that was learned from routers, not configured.
    learned: Vec<Prefix<A>>,
    /// The subset of `addresses` that must not be used, each with the reason.
    held: Vec<(A, HoldReason)>,
    /// The routes of these addresses that are in the table.
    routes: Vec<Route<A>>,
    /// True if the protocol was enabled explicitly, so that it needs no address.
    enabled: bool,
    /// The interface whose addresses it borrows (unnumbered).
    lender: Option<SwIfIndex>,
}

impl<A> Default for InterfaceAddresses<A> {
    fn default() -> Self {
        Self {
            addresses: Vec::new(),
            learned: Vec::new(),
            held: Vec::new(),
            routes: Vec::new(),
            enabled: false,
            lender: None,
        }
    }
}

/// The addresses of all interfaces, of one protocol.
pub struct Addresses<F: Net> {
    all: Mutex<BTreeMap<SwIfIndex, InterfaceAddresses<F::Addr>>>,
    networks: Mutex<Networks<F::Addr>>,
    lent: Mutex<Borrowers>,
    slots: Slots<Vec<Prefix<F::Addr>>>,
    fib: Arc<Fib<F>>,
    interfaces: Arc<Interfaces>,
    bindings: Arc<Column<IpBinding>>,
}

impl<F: Net> Shared for Addresses<F> {
    fn make(world: &World) -> Self {
        let interfaces: Arc<Interfaces> = world.get();
        if F::IS_V6 {
            // Made before: when the last address goes, link-local addresses give their table back.
            world.get::<LinkLocals>();
        }
        interfaces.subscribe(|world, event| {
            if let IfEvent::Admin(sw_if, _) = event {
                let addresses = world.get::<Self>();
                // Only a full table refuses.
                let _ = addresses.sync_routes(world, sw_if);
                for user in addresses.borrowers(sw_if).into_iter().chain([sw_if]) {
                    addresses.fib.sync_neighbors(world, user);
                }
            }
        });
        Self {
            all: Mutex::default(),
            networks: Mutex::default(),
            lent: Mutex::default(),
            slots: Slots::new(world.qsbr.clone()),
            fib: world.get(),
            interfaces,
            bindings: world.get(),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        let own = self.unnumbered(sw_if).map(|_| sw_if);
        for borrower in self.borrowers(sw_if).into_iter().chain(own) {
            let _ = self.set_unnumbered(world, borrower, None);
        }
        let _ = self.clear(world, sw_if);
        if self.all().get(&sw_if).is_some_and(|here| here.enabled) {
            let _ = self.enable(world, sw_if, false);
        }
        // Tables may have waited for that.
        let _ = self.set_table(world, sw_if, 0);
        if self.interfaces.get(sw_if).is_ok_and(|i| i.original.implied.tables != [0; 2]) {
            let _ = self.interfaces.note_implied(sw_if, Implied::default());
            self.fib.note_left(world);
        }
        self.all().remove(&sw_if);
    }
}

/// Returns true if an interface has this address in name only, as in VPP: `::1` and IPv6 multicast
/// groups. Nothing is sent from it, no route leads to it, and no neighbour is asked for it.
pub fn is_nominal<A: Address>(address: A) -> bool {
    matches!(address.into(), IpAddr::V6(ip) if ip.is_loopback() || ip.is_multicast())
}

impl<F: Net> Addresses<F> {
    fn all(&self) -> MutexGuard<'_, BTreeMap<SwIfIndex, InterfaceAddresses<F::Addr>>> {
        self.all.lock().expect("no panic inside")
    }

    fn networks(&self) -> MutexGuard<'_, Networks<F::Addr>> {
        self.networks.lock().expect("no panic inside")
    }

    /// The addresses that an interface sends from, with their prefix lengths, for workers; the
    /// first is the usual source.
    #[inline(always)]
    pub fn of<'t>(&'t self, sw_if: u32, turn: &'t Turn<'_>) -> &'t [Prefix<F::Addr>] {
        self.slots.get(sw_if, turn).map_or(&[], |a| a)
    }

    /// The addresses of an interface, its own and then borrowed ones, for control; also addresses
    /// that are held back.
    pub fn list(&self, sw_if: SwIfIndex) -> Vec<Prefix<F::Addr>> {
        let lent = self.unnumbered(sw_if).map_or_else(Vec::new, |lender| self.own(lender));
        self.own(sw_if).into_iter().chain(lent).collect()
    }

    /// The addresses that an interface was given.
    pub fn own(&self, sw_if: SwIfIndex) -> Vec<Prefix<F::Addr>> {
        self.all().get(&sw_if).map_or_else(Vec::new, |h| h.addresses.clone())
    }

    /// Returns true if the protocol was enabled explicitly on an interface, by [`Self::enable`].
    pub fn is_enabled(&self, sw_if: SwIfIndex) -> bool {
        self.all().get(&sw_if).is_some_and(|h| h.enabled)
    }

    /// The interface that has this address, in a table.
    pub fn owner(&self, table: TableIndex, addr: F::Addr) -> Option<SwIfIndex> {
        self.networks().owner(table, addr).map(|(_, sw_if)| sw_if)
    }

    /// The table that an interface is in.
    ///
    /// # Errors
    /// An interface that isn't there.
    pub fn table_of(&self, sw_if: SwIfIndex) -> Result<TableIndex, Error> {
        self.interfaces.check(sw_if)?;
        Ok(self.bindings.get(sw_if).table::<F>())
    }

    /// Gives an interface an address, any but the zero address. While the interface is up, its
    /// network is connected by it, and packets to the address are delivered locally.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or carries nothing (−126); the zero address (−7); a
    /// network of all addresses (−59); an address in use, or whose network overlaps with
    /// another's in the same table (−105, of IPv6 −127).
    #[inline(never)]
    pub fn add(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        prefix: Prefix<F::Addr>,
    ) -> Result<(), Error> {
        let interface = self.interfaces.get(sw_if)?;
        if interface.kind == IfKind::Local {
            let why = format!("{} has no addresses", interface.name);
            return Err(Error::unsupported(why).retval(retval::UNSUPPORTED));
        }
        self.interfaces.check_addressing(sw_if)?;
        if prefix.addr() == F::Addr::ZERO {
            let why = format!("{prefix}: not an address of a host");
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        if prefix.len() == 0 {
            let why = format!("{prefix}: a network of all addresses");
            return Err(Error::parse(why).retval(retval::ADDRESS_LENGTH_MISMATCH));
        }
        if self.is_learned(sw_if, prefix) {
            // From now on it stays.
            self.all().entry(sw_if).or_default().learned.retain(|p| *p != prefix);
            return Ok(());
        }
        let table = self.table_of(sw_if)?;
        self.check_free(sw_if, table, prefix)?;
        self.all().entry(sw_if).or_default().addresses.push(prefix);
        self.networks().insert(table, prefix, sw_if);
        self.publish(sw_if);
        self.sync_routes(world, sw_if)?;
        self.changed(world, sw_if)
    }

    /// Gives an interface an address learned from routers: it is not part of the configuration.
    ///
    /// # Errors
    /// Those of [`Self::add`].
    pub fn add_learned(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        prefix: Prefix<F::Addr>,
    ) -> Result<(), Error> {
        self.add(world, sw_if, prefix)?;
        self.all().entry(sw_if).or_default().learned.push(prefix);
        Ok(())
    }

    /// Returns true if the address was learned from routers.
    pub fn is_learned(&self, sw_if: SwIfIndex, prefix: Prefix<F::Addr>) -> bool {
        self.all().get(&sw_if).is_some_and(|h| h.learned.contains(&prefix))
    }

    /// Takes an address from an interface.
    ///
    /// # Errors
    /// One that isn't there (−60).
    #[inline(never)]
    pub fn remove(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        prefix: Prefix<F::Addr>,
    ) -> Result<(), Error> {
        let table = self.table_of(sw_if)?;
        {
            let mut all = self.all();
            let here = all.get_mut(&sw_if);
            let here = here
                .and_then(|here| Some((here.addresses.iter().position(|p| *p == prefix)?, here)));
            let Some((at, here)) = here else {
                let name = self.interfaces.name(sw_if);
                return Err(Error::not_found(format!("{name} has no address {prefix}"))
                    .retval(retval::ADDRESS_NOT_FOUND_FOR_INTERFACE));
            };
            here.addresses.remove(at);
            here.learned.retain(|p| *p != prefix);
            here.held.retain(|(address, _)| *address != prefix.addr());
        }
        self.networks().remove(table, prefix, sw_if);
        self.publish(sw_if);
        self.sync_routes(world, sw_if)?;
        self.changed(world, sw_if)
    }

    /// Takes all addresses from an interface.
    ///
    /// # Errors
    /// An interface that isn't there.
    pub fn clear(&self, world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
        self.own(sw_if).into_iter().try_for_each(|prefix| self.remove(world, sw_if, prefix))
    }

    /// Enables the protocol on an interface without an address, or ends that (`on` false).
    ///
    /// # Errors
    /// An interface that isn't there.
    pub fn enable(&self, world: &World, sw_if: SwIfIndex, on: bool) -> Result<(), Error> {
        self.interfaces.check_addressing(sw_if)?;
        self.all().entry(sw_if).or_default().enabled = on;
        self.changed(world, sw_if)
    }

    /// Moves an interface to the table of this id.
    ///
    /// # Errors
    /// No such interface (−2) or table (−3); an interface that has addresses (−114).
    #[inline(never)]
    pub fn set_table(&self, world: &World, sw_if: SwIfIndex, id: u32) -> Result<(), Error> {
        let table = self.fib.find_table(id)?;
        let interface = self.interfaces.get(sw_if)?;
        if self.table_of(sw_if)? == table {
            return Ok(());
        }
        if let Some(address) = self.own(sw_if).first() {
            let why = format!("{} has the address {address}: remove it first", interface.name);
            return Err(Error::failed(why).retval(retval::ADDRESS_FOUND_FOR_INTERFACE));
        }
        self.bindings.set_table::<F>(world, sw_if, table)?;
        self.fib.note_left(world);
        Ok(())
    }

    fn check_free(
        &self,
        sw_if: SwIfIndex,
        table: TableIndex,
        new: Prefix<F::Addr>,
    ) -> Result<(), Error> {
        // The addresses of an interface don't change their table: it moves to another one without
        // addresses only.
        let Some(taken) = self.networks().taken(table, new, sw_if) else { return Ok(()) };
        let why = match taken {
            AddressConflict::Same(old, other) => {
                format!("{} has the address {old} already", self.interfaces.name(other))
            }
            AddressConflict::Overlap(old, other) => {
                format!("{new} overlaps with {old} of {}", self.interfaces.name(other))
            }
        };
        let code = if F::IS_V6 { retval::DUPLICATE_IF_ADDRESS } else { retval::ADDRESS_IN_USE };
        Err(Error::failed(why).retval(code))
    }

    fn publish(&self, sw_if: SwIfIndex) {
        for user in std::iter::once(sw_if).chain(self.borrowers(sw_if)) {
            self.slots.set(user.0, self.usable(user));
        }
    }

    fn changed(&self, world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
        let on = self
            .all()
            .get(&sw_if)
            .is_some_and(|h| h.enabled || !h.addresses.is_empty() || h.lender.is_some());
        if F::IS_V6 {
            world.get::<LinkLocals>().enable(world, sw_if, on)?;
        }
        self.bindings.set_enabled::<F>(world, sw_if, on)?;
        for user in std::iter::once(sw_if).chain(self.borrowers(sw_if)) {
            self.fib.sync_neighbors(world, user);
            self.interfaces.notify(world, IfEvent::Address(user, F::IS_V6));
        }
        Ok(())
    }
}
