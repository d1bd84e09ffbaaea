// SPDX-License-Identifier: Apache-2.0
//! Link-local addresses of interfaces (RFC 4291 2.5.6). They are valid on their link only, so each
//! link has a table for them: routes of the other tables lead there
//! ([`AdjIndex::LINK_LOCAL`](crate::AdjIndex::LINK_LOCAL)).

use crate::addr::{HoldReason, route};
use crate::fib::{Fib, Path, PathKind, Source, TableIndex};
use crate::{Column, IfEvent, IfKind, Interface, Interfaces, IpBinding};
use cli::Error;
use graph::{Deleted, Shared, SwIfIndex, World};
use msg::retval;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Slots, Turn};
use wire::{Ip6, Ip6Prefix, MacAddr, Prefix};

/// The link-local address of one interface.
#[derive(Clone, Copy)]
struct LinkLocal {
    address: Ipv6Addr,
    /// The table of the link, while IPv6 is enabled.
    table: Option<TableIndex>,
    /// True if it is configured: it doesn't follow the MAC address.
    is_set: bool,
    /// Set if the address must not be used, with the reason.
    hold: Option<HoldReason>,
}

/// The link-local addresses of all interfaces with IPv6.
pub struct LinkLocals {
    all: Mutex<BTreeMap<SwIfIndex, LinkLocal>>,
    slots: Slots<Ipv6Addr>,
    fib: Arc<Fib<Ip6>>,
    interfaces: Arc<Interfaces>,
}

impl Shared for LinkLocals {
    fn make(world: &World) -> Self {
        let interfaces: Arc<Interfaces> = world.get();
        interfaces.subscribe(|world, event| {
            if let IfEvent::Mac(sw_if) = event {
                world.get::<Self>().on_mac(world, sw_if);
            }
        });
        Self {
            all: Mutex::default(),
            slots: Slots::new(world.qsbr.clone()),
            fib: world.get(),
            interfaces,
        }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.all().remove(sw_if);
        }
    }
}

/// The prefix of all link-local addresses.
fn prefix() -> Ip6Prefix {
    Prefix::new(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10).expect("10 bits of 128")
}

/// The address with a modified EUI-64 identifier (RFC 4291 appendix A) in fe80::/64.
fn of_mac(MacAddr([a, b, c, d, e, f]): MacAddr) -> Ipv6Addr {
    let id = u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, f]);
    Ipv6Addr::from_bits(0xfe80 << 112 | u128::from(id))
}

/// The address of an interface without MAC address: its identifier is a hash of the name that the
/// interface was made with, stable over restarts and new names (RFC 7217's aim).
fn of_name(name: &str) -> Ipv6Addr {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    Ipv6Addr::from_bits(0xfe80 << 112 | u128::from(hash & !(2 << 56)))
}

fn usual(interface: &Interface) -> Ipv6Addr {
    match interface.kind {
        IfKind::Ethernet => of_mac(interface.mac),
        _ => of_name(&interface.original.name),
    }
}

impl LinkLocals {
    fn all(&self) -> MutexGuard<'_, BTreeMap<SwIfIndex, LinkLocal>> {
        self.all.lock().expect("no panic inside")
    }

    fn here(&self, sw_if: SwIfIndex) -> Option<LinkLocal> {
        self.all().get(&sw_if).copied()
    }

    /// The link-local address that an interface with IPv6 sends from, for workers.
    #[inline(always)]
    pub fn of(&self, sw_if: u32, turn: &Turn<'_>) -> Option<Ipv6Addr> {
        self.slots.get(sw_if, turn).copied()
    }

    /// The link-local address of an interface with IPv6.
    pub fn address(&self, sw_if: SwIfIndex) -> Option<Ipv6Addr> {
        self.here(sw_if).filter(|here| here.table.is_some()).map(|here| here.address)
    }

    /// As [`Self::address`], if the address may be used.
    pub fn usable(&self, sw_if: SwIfIndex) -> Option<Ipv6Addr> {
        self.address(sw_if).filter(|_| self.here(sw_if).is_some_and(|here| here.hold.is_none()))
    }

    /// Holds back the link-local address of an interface, or ends that (`None`).
    pub fn hold_back(&self, world: &World, sw_if: SwIfIndex, hold: Option<HoldReason>) {
        let Some(here) = self.here(sw_if).filter(|here| here.hold != hold) else { return };
        let Some(table) = here.table else { return };
        self.all().insert(sw_if, LinkLocal { hold, ..here });
        if hold.is_none() {
            self.slots.set(sw_if.0, here.address);
        } else {
            self.slots.clear(sw_if.0);
        }
        route((&self.fib, world), (table, sw_if, here.address), hold);
    }

    /// The table where link-local addresses of an interface's link are looked up. A packet sent to
    /// such an address carries it ([`buffer::Flags::TABLE`]).
    pub fn table(&self, sw_if: SwIfIndex) -> Option<TableIndex> {
        self.here(sw_if)?.table
    }

    /// The configured address, if there is one.
    pub fn is_set(&self, sw_if: SwIfIndex) -> Option<Ipv6Addr> {
        self.here(sw_if).filter(|here| here.is_set).map(|here| here.address)
    }

    /// Sets the link-local address of an interface; without one, it follows from the MAC address
    /// again.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or carries nothing; no link-local address (−7).
    pub fn set(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        address: Option<Ipv6Addr>,
    ) -> Result<(), Error> {
        self.put(world, sw_if, (address, address.is_some()))
    }

    /// As [`Self::set`], for an address that comes from elsewhere than the configuration, and isn't
    /// saved with it.
    ///
    /// # Errors
    /// As there.
    pub fn learn(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        address: Option<Ipv6Addr>,
    ) -> Result<(), Error> {
        self.put(world, sw_if, (address, false))
    }

    fn put(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        (address, is_set): (Option<Ipv6Addr>, bool),
    ) -> Result<(), Error> {
        let interface = self.interfaces.get(sw_if)?;
        if interface.kind == IfKind::Local {
            let why = format!("{} has no addresses", interface.name);
            return Err(Error::unsupported(why).retval(retval::UNSUPPORTED));
        }
        if let Some(wrong) =
            address.filter(|a| !a.is_unicast_link_local() || a.octets()[8..] == [0; 8])
        {
            let why = format!("{wrong} is no link-local address of a host");
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        let table = self.table(sw_if);
        let new = LinkLocal {
            address: address.unwrap_or_else(|| usual(&interface)),
            table,
            is_set,
            hold: None,
        };
        self.replace(world, sw_if, new)
    }

    fn replace(&self, world: &World, sw_if: SwIfIndex, new: LinkLocal) -> Result<(), Error> {
        let old = self.all().insert(sw_if, new);
        let Some(table) = new.table else { return Ok(()) };
        if let Some(old) = old.filter(|old| old.address != new.address) {
            // The route being gone already is the wanted result.
            let _ =
                self.fib.remove(world, table, Prefix::host(old.address), Source::Interface, &[]);
        }
        self.routes(world, sw_if, table, new.address)?;
        self.slots.set(sw_if.0, new.address);
        self.interfaces.notify(world, IfEvent::Address(sw_if, true));
        Ok(())
    }

    fn routes(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        table: TableIndex,
        address: Ipv6Addr,
    ) -> Result<(), Error> {
        let link = PathKind::Attached { sw_if, address: address.into() };
        let ours = PathKind::Receive { sw_if, address: address.into() };
        for (prefix, kind) in [(prefix(), link), (Prefix::host(address), ours)] {
            self.fib.set(world, table, prefix, Source::Interface, &[Path::new(kind)])?;
        }
        Ok(())
    }

    fn on_mac(&self, world: &World, sw_if: SwIfIndex) {
        let Some(here) = self.here(sw_if).filter(|here| !here.is_set) else { return };
        let Ok(interface) = self.interfaces.get(sw_if) else { return };
        if usual(&interface) != here.address {
            // Only a full table refuses.
            let _ = self.replace(
                world,
                sw_if,
                LinkLocal { address: usual(&interface), hold: None, ..here },
            );
        }
    }

    /// Follows IPv6 being enabled or disabled on an interface: when disabled, its link-local
    /// address is removed, configured or not.
    pub(crate) fn enable(&self, world: &World, sw_if: SwIfIndex, on: bool) -> Result<(), Error> {
        let interface = self.interfaces.get(sw_if)?;
        let here = self.here(sw_if);
        let table = here.and_then(|here| here.table);
        if interface.kind == IfKind::Local || on == table.is_some() {
            return Ok(());
        }
        if let Some(table) = table {
            world.get::<Column<IpBinding>>().set_link_table(world, sw_if, None)?;
            self.slots.clear(sw_if.0);
            // A configured address is removed too: setting it again would enable IPv6.
            self.all().remove(&sw_if);
            return self.fib.unmake_table(world, table);
        }
        let table = self.fib.add_link_table(world, sw_if)?;
        let (address, is_set) =
            here.map_or_else(|| (usual(&interface), false), |here| (here.address, here.is_set));
        self.all().insert(sw_if, LinkLocal { address, table: Some(table), is_set, hold: None });
        self.routes(world, sw_if, table, address)?;
        world.get::<Column<IpBinding>>().set_link_table(world, sw_if, Some(table))?;
        self.slots.set(sw_if.0, address);
        Ok(())
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn identifiers() {
        let mac = MacAddr([0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde]);
        assert_eq!(of_mac(mac).to_string(), "fe80::3656:78ff:fe9a:bcde");
        assert!(of_name("tun0").is_unicast_link_local() && of_name("tun0") != of_name("tun1"));
        assert_eq!(of_name("tun7").octets()[8] & 2, 0, "no universal identifier");
    }
}
