// SPDX-License-Identifier: Apache-2.0
//! Further MAC addresses of interfaces: frames for them are received like frames for the
//! interface's own address. Operators add them, and virtual routers do.

use super::{IfKind, Interface, Interfaces};
use cli::Error;
use graph::{Deleted, Shared, SwIfIndex, World};
use msg::retval;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Slots, Turn};
use wire::MacAddr;

/// Maximum number of further MAC addresses that one user adds to one interface: the operator can't
/// use up those of virtual routers, each of which is a user of one address.
const MOST: usize = 512;
/// The name under which a device without a filter for further addresses is promiscuous.
const TAKER: &str = "further MAC addresses";

/// The user of a further MAC address: an address stays as long as it has one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MacUser {
    /// The feature.
    pub feature: &'static str,
    /// A number that the feature chooses.
    pub id: u32,
}

impl MacUser {
    /// The operator, whose addresses are part of the configuration.
    pub const OPERATOR: Self = Self { feature: "operator", id: 0 };
}

/// The further addresses of an interface.
struct Entry {
    /// The device of the interface: its parent or itself.
    device: SwIfIndex,
    /// The users of each address.
    users: BTreeMap<MacAddr, BTreeSet<MacUser>>,
}

#[derive(Default)]
struct Inner {
    entries: BTreeMap<SwIfIndex, Entry>,
    /// The addresses of each device, and true for an address in the device's own filter.
    filters: BTreeMap<SwIfIndex, BTreeMap<MacAddr, bool>>,
}

impl Inner {
    fn is_wanted(&self, device: SwIfIndex, mac: MacAddr) -> bool {
        self.entries.values().any(|e| e.device == device && e.users.contains_key(&mac))
    }
}

/// The further MAC addresses of all interfaces.
pub struct FurtherMacs {
    inner: Mutex<Inner>,
    interfaces: Arc<Interfaces>,
    /// Sorted, for workers.
    slots: Slots<Box<[MacAddr]>>,
}

impl Shared for FurtherMacs {
    fn make(world: &World) -> Self {
        Self {
            inner: Mutex::default(),
            interfaces: world.get(),
            slots: Slots::new(world.qsbr.clone()),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(sw_if) = deleted.of::<SwIfIndex>() else { return };
        let entry = self.inner().entries.remove(sw_if);
        self.slots.clear(sw_if.0);
        if let Some(Entry { device, users }) = entry
            && device != *sw_if
        {
            users.keys().for_each(|mac| self.release(world, device, *mac));
        }
        self.inner().filters.remove(sw_if);
    }
}

impl FurtherMacs {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// Returns true if an interface receives frames for this address beside those for its own.
    #[inline(always)]
    pub fn has(&self, sw_if: u32, mac: MacAddr, turn: &Turn<'_>) -> bool {
        self.slots.get(sw_if, turn).is_some_and(|all| all.binary_search(&mac).is_ok())
    }

    /// The further addresses of an interface.
    pub fn list(&self, sw_if: SwIfIndex) -> Vec<MacAddr> {
        self.inner()
            .entries
            .get(&sw_if)
            .map_or_else(Vec::new, |e| e.users.keys().copied().collect())
    }

    /// The further addresses of an interface that this user added.
    pub fn of_user(&self, sw_if: SwIfIndex, user: MacUser) -> Vec<MacAddr> {
        let inner = self.inner();
        let users = inner.entries.get(&sw_if).into_iter().flat_map(|entry| &entry.users);
        users.filter(|(_, users)| users.contains(&user)).map(|(mac, _)| *mac).collect()
    }

    /// Lets an interface receive frames for a further address. Its device gets the address in its
    /// filter, or becomes promiscuous if it has none. No change if the user has added it before.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or carries no Ethernet frames (−7); an address that
    /// isn't one of a station (−7); more than 512 addresses of a user (−162); the device's error.
    pub fn add(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        mac: MacAddr,
        user: MacUser,
    ) -> Result<(), Error> {
        let interface = self.interfaces.get(sw_if)?;
        check(&interface, mac)?;
        let device = interface.parent;
        let own = self.of_user(sw_if, user);
        if own.contains(&mac) {
            return Ok(());
        }
        if own.len() >= MOST {
            let text = format!("{} has {MOST} further MAC addresses already", interface.name);
            return Err(Error::limit(text).retval(retval::LIMIT_EXCEEDED));
        }
        let is_known =
            self.inner().filters.get(&device).is_some_and(|macs| macs.contains_key(&mac));
        if !is_known {
            let is_filtered =
                self.interfaces.get(device)?.device.set_further_mac(world, mac, true)?;
            if !is_filtered {
                self.interfaces.set_taken(world, device, TAKER, true)?;
            }
            self.inner().filters.entry(device).or_default().insert(mac, is_filtered);
        }
        let mut inner = self.inner();
        let new = || Entry { device, users: BTreeMap::new() };
        let entry = inner.entries.entry(sw_if).or_insert_with(new);
        entry.users.entry(mac).or_default().insert(user);
        self.publish(sw_if, entry);
        Ok(())
    }

    /// Takes a user off a further address of an interface; without users the address is removed.
    ///
    /// # Errors
    /// An address that the user hasn't added (−6).
    pub fn remove(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        mac: MacAddr,
        user: MacUser,
    ) -> Result<(), Error> {
        let device = {
            let mut inner = self.inner();
            let entry = inner.entries.get_mut(&sw_if);
            let users = entry.and_then(|entry| {
                let device = entry.device;
                entry.users.get_mut(&mac).map(|users| (users, device))
            });
            let Some((users, device)) = users.filter(|(users, _)| users.contains(&user)) else {
                let text = format!("the interface has no further MAC address {mac}");
                return Err(Error::not_found(text).retval(retval::NO_SUCH_ENTRY));
            };
            users.remove(&user);
            if !users.is_empty() {
                return Ok(());
            }
            if let Some(entry) = inner.entries.get_mut(&sw_if) {
                entry.users.remove(&mac);
                self.publish(sw_if, entry);
            }
            device
        };
        self.release(world, device, mac);
        Ok(())
    }

    fn publish(&self, sw_if: SwIfIndex, entry: &Entry) {
        if entry.users.is_empty() {
            self.slots.clear(sw_if.0);
        } else {
            self.slots.set(sw_if.0, entry.users.keys().copied().collect());
        }
    }

    /// Takes an address out of a device's filter, or ends the device's promiscuous mode, unless
    /// another interface of the device needs it.
    fn release(&self, world: &World, device: SwIfIndex, mac: MacAddr) {
        let (was_filtered, others) = {
            let mut inner = self.inner();
            if inner.is_wanted(device, mac) {
                return;
            }
            let Some(filter) = inner.filters.get_mut(&device) else { return };
            let Some(was_filtered) = filter.remove(&mac) else { return };
            (was_filtered, filter.values().any(|is_filtered| !is_filtered))
        };
        let Ok(interface) = self.interfaces.get(device) else { return };
        // Frames of a device that refuses are dropped by their address later on.
        _ = match was_filtered {
            true => interface.device.set_further_mac(world, mac, false).map(drop),
            false if others => Ok(()),
            false => self.interfaces.set_taken(world, device, TAKER, false),
        };
    }
}

fn check(interface: &Interface, mac: MacAddr) -> Result<(), Error> {
    let wrong = |text: String| Err(Error::unsupported(text).retval(retval::INVALID_VALUE));
    if interface.kind != IfKind::Ethernet {
        return wrong(format!("{} carries no Ethernet frames", interface.name));
    }
    if !mac.is_unicast() || mac.is_zero() {
        return wrong(format!("{mac} is not the address of one station"));
    }
    Ok(())
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use graph::drive::Bench;

    #[suite::test]
    fn a_user_does_not_use_up_the_addresses_of_others() {
        let bench = Bench::new(crate::tests::STATEFUL);
        let sw_if = crate::tests::add(&bench, "a").expect("added");
        let further: Arc<FurtherMacs> = bench.world.get();
        let mac = |n: usize| MacAddr([2, 0, 0, 0, (n >> 8) as u8, n as u8]);
        let add = |n, user| further.add(&bench.world, sw_if, mac(n), user);
        for n in 0..MOST {
            add(n, MacUser::OPERATOR).expect("there is room");
        }
        assert_eq!(add(MOST, MacUser::OPERATOR).expect_err("it is full").code(), -162);
        add(0, MacUser::OPERATOR).expect("it is there already");
        let other = MacUser { feature: "test", id: 1 };
        add(MOST, other).expect("another user's");
        assert_eq!(further.list(sw_if), Vec::from_iter((0..=MOST).map(mac)));
        assert_eq!(further.of_user(sw_if, other), [mac(MOST)]);
    }
}
