// SPDX-License-Identifier: Apache-2.0
//! Addresses that are made of delegated prefixes.

use super::addresses::{check_group, set_address};
use super::client::Clients6;
use super::ports::Consumer;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use net::{Addresses, Interfaces};
use wire::{Ip6, Ip6Prefix};

/// Addresses of delegated prefixes at most.
const MOST_CONSUMERS: usize = 4096;

impl Clients6 {
    /// Gives an interface an address that is made of a delegated prefix, or one that is used as it
    /// is; or takes it away.
    ///
    /// # Errors
    /// An interface that isn't there (−2); a group without a name (−7); an address that is there
    /// already (−81), or isn't (−6); too many of them (−162); an address in use (−127).
    pub fn set_consumer(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        group: Option<&str>,
        address: Ip6Prefix,
        on: bool,
    ) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        group.map_or(Ok(()), check_group)?;
        let group = group.map(str::to_string);
        let new = Consumer { sw_if, group, address, applied: None };
        let is_same =
            |c: &Consumer| (c.sw_if, &c.group, c.address) == (new.sw_if, &new.group, new.address);
        let at = self.state().consumers.iter().position(is_same);
        match (at, on) {
            (Some(_), true) => {
                let why = format!("the address {address} is there already");
                return Err(Error::failed(why).retval(retval::VALUE_EXIST));
            }
            (None, false) => {
                let why = format!("there is no such address {address}");
                return Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY));
            }
            (Some(at), false) => {
                let gone = self.state().consumers.remove(at);
                gone.applied.map(|address| set_address(world, sw_if, address, false));
            }
            (None, true) if self.state().consumers.len() == MOST_CONSUMERS => {
                let why = format!("there are {MOST_CONSUMERS} such addresses, more can't be");
                return Err(Error::limit(why).retval(retval::LIMIT_EXCEEDED));
            }
            (None, true) => {
                if new.group.is_none() {
                    world.get::<Addresses<Ip6>>().add_learned(world, sw_if, address)?;
                }
                let applied = new.group.is_none().then_some(address);
                self.state().consumers.push(Consumer { applied, ..new });
            }
        }
        self.sync_consumers(world);
        world.note_config_change();
        Ok(())
    }

    /// Makes the addresses of delegated prefixes what the prefixes are now.
    pub(super) fn sync_consumers(&self, world: &World) {
        let changes: Vec<(Consumer, Option<Ip6Prefix>)> = {
            let state = self.state();
            let grouped = state.consumers.iter().filter(|consumer| consumer.group.is_some());
            let wanted = |consumer: &Consumer| {
                let prefixes = state.prefixes(consumer.group.as_deref().unwrap_or_default());
                let possible = prefixes.iter().filter_map(|(_, p)| consumer.address_by(*p));
                let possible: Vec<_> = possible.collect();
                // An address stays as long as its prefix does.
                let kept = consumer.applied.filter(|address| possible.contains(address));
                kept.or(possible.first().copied())
            };
            let changes = grouped.map(|consumer| (consumer.clone(), wanted(consumer)));
            changes.filter(|(consumer, wanted)| consumer.applied != *wanted).collect()
        };
        for (old, wanted) in changes {
            old.applied.map(|address| set_address(world, old.sw_if, address, false));
            let wanted = wanted.filter(|address| set_address(world, old.sw_if, *address, true));
            if let Some(consumer) = self.state().consumers.iter_mut().find(|c| **c == old) {
                consumer.applied = wanted;
            }
        }
    }
}
