// SPDX-License-Identifier: Apache-2.0
//! Clients and their sub-interfaces.

use cli::{Error, Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World};
use net::{Interfaces, SubFrames, SubInterface};
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard};
use sync::{Slots, Turn};
use tables::{HashIndex, fold};
use wire::MacAddr;

/// A client of a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Client {
    /// The index of the port.
    pub port: SwIfIndex,
    /// Its MAC address.
    pub mac: MacAddr,
}

impl Client {
    #[inline(always)]
    fn hash(self, seed: u64) -> u32 {
        let MacAddr([a, b, c, d, e, f]) = self.mac;
        let mac = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
        let port = u64::from(self.port.0) << 1 | 1;
        fold(mac ^ seed, port.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.rotate_left(32)) as u32
    }
}

/// All clients of all ports.
pub struct Clients {
    /// Sub-interfaces by the hash of their client.
    index: HashIndex,
    /// Clients by the index of their sub-interface.
    clients: Slots<Client>,
    /// Secret: senders of frames can't choose addresses that collide.
    seed: u64,
    all: Mutex<BTreeMap<Client, SwIfIndex>>,
}

impl Shared for Clients {
    fn make(world: &World) -> Self {
        Self {
            index: HashIndex::new(&world.qsbr),
            clients: Slots::new(world.qsbr.clone()),
            seed: RandomState::new().hash_one("p2p-ethernet"),
            all: Mutex::default(),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        // The sub-interfaces of a port that is deleted are deleted first.
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        let client = self.clients.read(sw_if.0, |client| client.copied());
        if let Some(client) = client {
            self.remove(world, client, sw_if);
        }
    }
}

impl Clients {
    fn all(&self) -> MutexGuard<'_, BTreeMap<Client, SwIfIndex>> {
        self.all.lock().expect("no panic inside")
    }

    /// The sub-interface for frames from an address.
    #[inline(always)]
    pub fn find(&self, port: u32, mac: MacAddr, turn: &Turn<'_>) -> Option<u32> {
        let client = Client { port: SwIfIndex(port), mac };
        self.index.find(client.hash(self.seed), turn, |sub| {
            self.clients.get(sub, turn).is_some_and(|there| *there == client).then_some(sub)
        })
    }

    /// All clients with their sub-interfaces, by port and address.
    pub fn list(&self) -> Vec<(Client, SwIfIndex)> {
        self.all().iter().map(|(client, sub)| (*client, *sub)).collect()
    }

    /// The client of a sub-interface.
    pub fn of(&self, sub: SwIfIndex) -> Option<Client> {
        self.clients.read(sub.0, |client| client.copied())
    }

    /// Makes the sub-interface `PORT.ID` of a client. It starts admin down.
    ///
    /// # Errors
    /// A port that isn't there or carries no Ethernet frames, or is a sub-interface (−2); a member
    /// of a bond (−80); an address that isn't one host's (−7) or has a sub-interface on this port
    /// (−68); a number that another sub-interface has (−10).
    pub fn add(&self, world: &World, client: Client, id: u32) -> Result<SwIfIndex> {
        let interfaces = world.get::<Interfaces>();
        let port = interfaces.get(client.port)?;
        if !port.is_ethernet_device() {
            let why = format!("{} is no Ethernet device, and has no clients", port.name);
            return Err(Error::unsupported(why).retval(retval::INVALID_SW_IF_INDEX));
        }
        let mac = client.mac;
        if mac.is_multicast() || mac.is_zero() {
            let why = wire::not_one_station(mac);
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        let known = self.all().get(&client).copied();
        if let Some(sub) = known {
            let why = format!("{} is the sub-interface of {mac} already", interfaces.name(sub));
            return Err(Error::failed(why).retval(retval::SUBIF_ALREADY_EXISTS));
        }
        let sub = SubInterface { id, frames: SubFrames::Peer(mac) };
        let made = interfaces.create_sub(world, client.port, sub);
        let sub = made.map_err(|e| match e.is(retval::VLAN_ALREADY_EXISTS) {
            true => e.retval(retval::INVALID_SW_IF_INDEX_2),
            false => e,
        })?;
        self.clients.set(sub.0, client);
        self.index.insert(client.hash(self.seed), sub.0);
        self.all().insert(client, sub);
        if let Err(error) = enable(world, client.port, true) {
            delete(world, sub)?;
            return Err(error);
        }
        world.note_config_change();
        Ok(sub)
    }

    /// Deletes the sub-interface of a client.
    ///
    /// # Errors
    /// A port that isn't there (−2); an address that has no sub-interface (−123).
    pub fn delete(&self, world: &World, client: Client) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        interfaces.check(client.port)?;
        let sub = self.all().get(&client).copied();
        let Some(sub) = sub else {
            let port = interfaces.name(client.port);
            let why = format!("{port} has no sub-interface for {}", client.mac);
            return Err(Error::not_found(why).retval(retval::SUBIF_DOESNT_EXIST));
        };
        delete(world, sub)
    }

    fn remove(&self, world: &World, client: Client, sub: SwIfIndex) {
        self.index.remove(client.hash(self.seed), sub.0);
        self.clients.clear(sub.0);
        let is_last = {
            let mut all = self.all();
            all.remove(&client);
            let first = Client { mac: MacAddr::ZERO, ..client };
            all.range(first..).next().is_none_or(|(other, _)| other.port != client.port)
        };
        if is_last && let Err(error) = enable(world, client.port, false) {
            log::warn!("frames of {} pass p2p-ethernet-input still: {error}", client.port);
        }
    }
}

fn enable(world: &World, port: SwIfIndex, on: bool) -> Result<()> {
    world.set_feature("device-input", "p2p-ethernet-input", port, on).map_err(Error::failed)
}

fn delete(world: &World, sub: SwIfIndex) -> Result<()> {
    world.get::<Interfaces>().delete(world, sub)
}
