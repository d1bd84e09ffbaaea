// SPDX-License-Identifier: Apache-2.0
//! The verbs of tables and addresses that [`net::Fib`] and [`Addresses`] don't have themselves.

use cli::{Error, Result};
use graph::{Shared, SwIfIndex, World};
use msg::retval;
use net::{Addresses, Interfaces, LinkLocals, Net};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard};
use wire::{Family, Ip4, Ip6, Prefix};

/// Sets or removes the interface whose addresses an unnumbered interface uses. If one version
/// refuses, neither is changed.
///
/// # Errors
/// As [`Addresses::set_unnumbered`].
pub fn set_unnumbered(world: &World, sw_if: SwIfIndex, lender: Option<SwIfIndex>) -> Result<()> {
    let (four, six) = (world.get::<Addresses<Ip4>>(), world.get::<Addresses<Ip6>>());
    let before = four.unnumbered(sw_if);
    four.set_unnumbered(world, sw_if, lender)?;
    // The lender may be in another table of IPv6.
    six.set_unnumbered(world, sw_if, lender).inspect_err(|_| {
        let _ = four.set_unnumbered(world, sw_if, before);
    })
}

type Own<F> = (SwIfIndex, Prefix<<F as Family>::Addr>);

/// The marked addresses: a restarted client adds all its addresses again, and the ones left marked
/// are removed.
pub struct Sweep<F: Net>(Mutex<BTreeSet<Own<F>>>);

impl<F: Net> Shared for Sweep<F> {
    fn make(_: &World) -> Self {
        Self(Mutex::default())
    }
}

impl<F: Net> Sweep<F> {
    fn marked(&self) -> MutexGuard<'_, BTreeSet<Own<F>>> {
        self.0.lock().expect("no panic inside")
    }

    /// Takes the marked addresses that `which` selects.
    fn take(&self, which: impl Fn(&Own<F>) -> bool) -> Vec<Own<F>> {
        self.marked().extract_if(.., |own| which(own)).collect()
    }
}

/// Marks all addresses: [`replace_addresses_end`] removes the ones that aren't added again until
/// then.
pub fn replace_addresses_begin<F: Net>(world: &World) {
    let addresses = world.get::<Addresses<F>>();
    let of = |sw_if| addresses.own(sw_if).into_iter().map(move |address| (sw_if, address));
    let all = world.get::<Interfaces>().list().into_iter().flat_map(|i| of(i.sw_if)).collect();
    *world.get::<Sweep<F>>().marked() = all;
}

/// Removes the addresses that are still marked.
pub fn replace_addresses_end<F: Net>(world: &World) {
    remove_marked::<F>(world, |_| true);
}

/// Removes the marked addresses that `which` selects; returns true if there were any.
fn remove_marked<F: Net>(world: &World, which: impl Fn(&Own<F>) -> bool) -> bool {
    let gone = world.get::<Sweep<F>>().take(which);
    for (sw_if, address) in &gone {
        // An address or interface that is gone already is no error.
        let _ = world.get::<Addresses<F>>().remove(world, *sw_if, *address);
    }
    !gone.is_empty()
}

/// Gives an interface an address; one that is marked stays. A link-local one takes the place of the
/// one that it has.
///
/// # Errors
/// As [`Addresses::add`]; a link-local address with less than 128 bits (−59).
pub fn add_address<F: Net>(world: &World, sw_if: SwIfIndex, new: Prefix<F::Addr>) -> Result<()> {
    let addresses = world.get::<Addresses<F>>();
    if let Some(link) = link_local::<F>(new)? {
        return set_link_local(world, sw_if, link);
    }
    if world.get::<Sweep<F>>().marked().remove(&(sw_if, new)) && addresses.own(sw_if).contains(&new)
    {
        return Ok(());
    }
    let added = addresses.add(world, sw_if, new);
    // Marked addresses may be about to move, and mustn't cause a conflict.
    let in_the_way = |old: &Prefix<F::Addr>| old.covers(&new) || new.covers(old);
    match added {
        Err(e)
            if (e.is(retval::ADDRESS_IN_USE) || e.is(retval::DUPLICATE_IF_ADDRESS))
                && remove_marked::<F>(world, |(_, old)| in_the_way(old)) =>
        {
            addresses.add(world, sw_if, new)
        }
        added => added,
    }
}

/// Takes an address from an interface.
///
/// # Errors
/// As [`Addresses::remove`]; the link-local address, which an interface with IPv6 has as long as it
/// has IPv6 (−61).
pub fn remove_address<F: Net>(world: &World, sw_if: SwIfIndex, old: Prefix<F::Addr>) -> Result<()> {
    if let Some(link) = link_local::<F>(old)?
        && world.get::<LinkLocals>().address(sw_if) == Some(link)
    {
        let why = format!("{link} stays while IPv6 is enabled: set another one in its place");
        return Err(Error::failed(why).retval(retval::ADDRESS_NOT_DELETABLE));
    }
    world.get::<Addresses<F>>().remove(world, sw_if, old)
}

/// The address, if it is a link-local one of IPv6: these have no network of their own.
fn link_local<F: Net>(prefix: Prefix<F::Addr>) -> Result<Option<Ipv6Addr>> {
    let IpAddr::V6(link) = prefix.addr().into() else { return Ok(None) };
    if !link.is_unicast_link_local() {
        return Ok(None);
    }
    if prefix.len() != F::BITS {
        let why = format!("{prefix}: a link-local address is given with 128 bits");
        return Err(Error::parse(why).retval(retval::ADDRESS_LENGTH_MISMATCH));
    }
    Ok(Some(link))
}

/// Sets the link-local address of an interface, and enables IPv6 on it.
///
/// # Errors
/// As [`LinkLocals::set`].
pub fn set_link_local(world: &World, sw_if: SwIfIndex, address: Ipv6Addr) -> Result<()> {
    let links = world.get::<LinkLocals>();
    links.set(world, sw_if, Some(address))?;
    if links.address(sw_if).is_none() {
        world.get::<Addresses<Ip6>>().enable(world, sw_if, true)?;
    }
    Ok(())
}
