// SPDX-License-Identifier: Apache-2.0
//! The tunnels of a kind: the control thread's state, and the part that workers read.

mod device;

use crate::end::{End, template};
use crate::follow::OuterPaths;
use crate::model::{Spec, TunnelEndpoints};
use crate::peers::Peers;
use crate::route::Route;
use crate::{Key, outer};
use cli::{Error, Result, retval};
use device::TunnelDevice;
use graph::{Deleted, NodeIndex, Shared, SwIfIndex, World};
use net::{IfEvent, Interfaces, L2Role, NewInterface, Outlook, TableIndex};
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Slots, Turn};
use tables::HashIndex;

/// A tunnel as control knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tunnel<S> {
    /// The interface.
    pub sw_if: SwIfIndex,
    /// The number in its name.
    pub instance: u32,
    /// Its configuration.
    pub spec: S,
}

/// The number of the next outer packet, which all tunnels between two ends share.
#[derive(Default)]
struct Sequence {
    next: Arc<AtomicU32>,
    tunnels: usize,
}

pub(crate) struct Inner<S> {
    tunnels: BTreeMap<SwIfIndex, Tunnel<S>>,
    instances: BTreeSet<u32>,
    /// All instances below are in use.
    first: u32,
    /// By the ends, in a table.
    sequences: HashMap<Key, Sequence>,
    /// Tunnels to groups, by the interface that their outer packets leave by.
    by_group_interface: BTreeSet<(SwIfIndex, SwIfIndex)>,
    pub peers: Peers,
}

/// All tunnels of a kind.
pub struct Tunnels<S: Spec> {
    /// Interfaces' ends by the index of the interface, then those of peers.
    pub(crate) ends: Slots<End>,
    /// Ends by key.
    index: HashIndex,
    /// Secret: senders of packets can't choose keys that collide.
    seed: u64,
    inner: Mutex<Inner<S>>,
}

impl<S: Spec> Shared for Tunnels<S> {
    fn make(world: &World) -> Self {
        world.get::<Interfaces>().subscribe(|world, event| match event {
            IfEvent::Added(sw_if) => world.get::<Self>().note_sub_interface(world, sw_if),
            IfEvent::Changed(sw_if, column) if column.is::<L2Role>() => {
                world.get::<Self>().note_layer2(world, sw_if);
            }
            _ => {}
        });
        let inner = Inner {
            tunnels: BTreeMap::new(),
            instances: BTreeSet::new(),
            first: 0,
            sequences: HashMap::new(),
            by_group_interface: BTreeSet::new(),
            peers: Peers::default(),
        };
        Self {
            ends: Slots::new(world.qsbr.clone()),
            index: HashIndex::new(&world.qsbr),
            seed: RandomState::new().hash_one(S::PREFIX),
            inner: Mutex::new(inner),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        self.forget_interface(world, sw_if);
        // Tunnels to groups go with the interface that they send by.
        let range = (sw_if, SwIfIndex(0))..=(sw_if, SwIfIndex(u32::MAX));
        let by: Vec<_> =
            self.inner().by_group_interface.range(range).map(|(_, tunnel)| *tunnel).collect();
        for tunnel in by {
            if let Err(error) = self.delete(world, tunnel) {
                log::warn!("a tunnel to a group stays: {error}");
            }
        }
    }
}

fn none<S: Spec>() -> Error {
    Error::not_found(format!("there is no such {} tunnel", S::PREFIX)).retval(retval::NO_SUCH_ENTRY)
}

impl<S: Spec> Tunnels<S> {
    pub(crate) fn inner(&self) -> MutexGuard<'_, Inner<S>> {
        self.inner.lock().expect("no panic inside")
    }

    /// Returns the end that a packet is sent to: that of its interface.
    #[inline(always)]
    pub fn end<'t>(&'t self, number: u32, turn: &'t Turn<'_>) -> Option<&'t End> {
        self.ends.get(number, turn)
    }

    /// Prefetches the memory of [`Self::end`].
    #[inline(always)]
    pub(crate) fn prefetch_end(&self, number: u32, turn: &Turn<'_>) {
        if let Some(end) = self.ends.get(number, turn) {
            // Its cache lines: nothing is read yet.
            simd::prefetch_read(end);
            simd::prefetch_read(&end.route);
            simd::prefetch_read(&end.template);
        }
    }

    /// Returns the end that a received packet comes from, with its number. A multipoint interface
    /// is none: its peers are.
    #[inline(always)]
    pub fn lookup<'t>(&'t self, key: &Key, turn: &'t Turn<'_>) -> Option<(u32, &'t End)> {
        self.index.find(key.hash(self.seed), turn, |number| {
            self.end_of(key, number, turn).map(|end| (number, end))
        })
    }

    /// Returns the end of this number if a packet with this key comes from it.
    #[inline(always)]
    pub fn end_of<'t>(&'t self, key: &Key, number: u32, turn: &'t Turn<'_>) -> Option<&'t End> {
        self.ends.get(number, turn).filter(|end| end.key == *key && end.route.is_some())
    }

    /// Returns the number of the end with this key: of an interface, or of a peer.
    pub(crate) fn number_of(&self, key: &Key) -> Option<u32> {
        self.index.read(key.hash(self.seed), |number| {
            self.ends.read(number, |end| end.is_some_and(|end| end.key == *key).then_some(number))
        })
    }

    /// Makes an end known to workers.
    pub(crate) fn set_end(&self, number: u32, end: End) {
        let hash = end.key.hash(self.seed);
        self.ends.set(number, end);
        self.index.insert(hash, number);
    }

    pub(crate) fn remove_end(&self, world: &World, number: u32) {
        let Some(end) = self.ends.read(number, |end| end.cloned()) else { return };
        self.index.remove(end.key.hash(self.seed), number);
        self.ends.clear(number);
        if let Some(route) = end.route {
            route.release(world);
        }
    }

    /// Makes a tunnel's interface. `above` is an interface that its configuration names. The table
    /// of outer packets stays as long as the tunnel.
    ///
    /// # Errors
    /// A local address that is none of one host (−57); a table that isn't there (−3); a tunnel with
    /// the same ends ([`Spec::EXISTS`]); a number that is taken (−147).
    pub fn create(
        &self,
        world: &World,
        instance: Option<u32>,
        spec: S,
        above: Option<SwIfIndex>,
    ) -> Result<SwIfIndex> {
        let ends = spec.ends();
        ends.check_local()?;
        let table = ends.hold_table(world)?;
        let made = self.create_in(world, table, instance, spec, above);
        made.inspect_err(|_| ends.release_table(world, table))
    }

    fn create_in(
        &self,
        world: &World,
        table: TableIndex,
        instance: Option<u32>,
        spec: S,
        above: Option<SwIfIndex>,
    ) -> Result<SwIfIndex> {
        let ends = spec.ends();
        let key = spec.key(&ends, table.0);
        let encap = spec.encap();
        let tx = world
            .node(encap)
            .ok_or_else(|| Error::unsupported(format!("there is no node {encap}")))?;
        if let Some(number) = self.number_of(&key) {
            let owner = self.ends.read(number, |end| end.map_or(number, |end| end.sw_if));
            let name = world.get::<Interfaces>().name(SwIfIndex(owner));
            return Err(Error::failed(format!("{name} has these ends")).retval(S::EXISTS));
        }
        let instance = self.take_instance(instance)?;
        let made = self.create_as(world, instance, spec, key, above, (table, tx));
        made.inspect_err(|_| self.release_instance(instance))
    }

    fn create_as(
        &self,
        world: &World,
        instance: u32,
        spec: S,
        key: Key,
        above: Option<SwIfIndex>,
        (table, tx): (TableIndex, NodeIndex),
    ) -> Result<SwIfIndex> {
        let (ends, implied) = (spec.ends(), spec.implied());
        outer::check(world, &spec)?;
        let new = NewInterface {
            name: format!("{}{instance}", S::PREFIX),
            kind: spec.carries(),
            device: Arc::new(TunnelDevice::of(&spec)),
            mac: spec.mac(instance),
            mtu: spec.mtu(),
            link_up: true,
        };
        let interfaces = world.get::<Interfaces>();
        let route = match spec.ends().group_interface {
            Some(by) => Some(Route::to_group(world, by, &ends)?),
            None if spec.is_multipoint() => None,
            None => Some(Route::to(world, ends.remote, ends.table)?),
        };
        let made = interfaces.create_sharing(world, new, above, tx);
        let sw_if = made.inspect_err(|_| _ = route.map(|route| route.release(world)))?;
        let mut end = End::new(world, (sw_if, instance), &spec, &ends, key, route);
        let outer = route.and_then(|route| outer::path(&spec, &end, &route));
        {
            let mut inner = self.inner();
            end.sequence = spec.has_sequence().then(|| inner.take_sequence(&ends, table));
            inner.by_group_interface.extend(spec.ends().group_interface.map(|by| (by, sw_if)));
            inner.tunnels.insert(sw_if, Tunnel { sw_if, instance, spec });
        }
        self.set_end(sw_if.0, end);
        if let Some(outer) = outer {
            world.get::<OuterPaths>().follower()?.add(world, sw_if, outer);
        }
        net::imply(world, sw_if, implied)?;
        Ok(sw_if)
    }

    /// Takes a number for a new interface of the kind: the wanted one, or the lowest that is free.
    ///
    /// # Errors
    /// A number that is taken (−147).
    pub fn take_instance(&self, wanted: Option<u32>) -> Result<u32> {
        let mut inner = self.inner();
        let instance = inner.free_instance::<S>(wanted)?;
        inner.instances.insert(instance);
        Ok(instance)
    }

    /// Gives back a number that [`Self::take_instance`] gave.
    pub fn release_instance(&self, instance: u32) {
        let mut inner = self.inner();
        inner.instances.remove(&instance);
        inner.first = inner.first.min(instance);
    }

    /// Changes the headers that a tunnel sends; the key of what it receives stays.
    ///
    /// # Errors
    /// An interface that is no tunnel of this kind (−6).
    pub fn change(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        change: impl FnOnce(&mut S),
    ) -> Result<()> {
        let spec = {
            let mut inner = self.inner();
            let tunnel = inner.tunnels.get_mut(&sw_if).ok_or_else(none::<S>)?;
            change(&mut tunnel.spec);
            tunnel.spec.clone()
        };
        let template = template(&spec, &spec.ends());
        let subs = world.get::<Interfaces>().subs(sw_if);
        for number in subs.into_iter().chain([sw_if]) {
            let end = self.ends.read(number.0, |end| end.cloned());
            if let Some(end) = end {
                self.ends.set(number.0, End { template, ..end });
            }
        }
        outer::changed(world, sw_if, &spec);
        world.note_config_change();
        Ok(())
    }

    /// Deletes a tunnel and its interface.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or is no tunnel of this kind (−6).
    pub fn delete(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        interfaces.check(sw_if)?;
        if !self.inner().tunnels.contains_key(&sw_if) {
            return Err(none::<S>());
        }
        interfaces.delete(world, sw_if)
    }

    /// Returns the tunnel with the ends of this configuration.
    ///
    /// # Errors
    /// There is none (−6).
    pub fn find(&self, world: &World, spec: &S) -> Result<SwIfIndex> {
        let ends = spec.ends();
        let key = spec.key(&ends, ends.table_index(world)?.0);
        let number = self.number_of(&key).map(SwIfIndex);
        number.filter(|sw_if| self.inner().tunnels.contains_key(sw_if)).ok_or_else(none::<S>)
    }

    /// Returns one tunnel.
    pub fn get(&self, sw_if: SwIfIndex) -> Option<Tunnel<S>> {
        self.inner().tunnels.get(&sw_if).cloned()
    }

    /// Returns all tunnels, by interface.
    pub fn list(&self) -> Vec<Tunnel<S>> {
        self.inner().tunnels.values().cloned().collect()
    }

    /// Returns one tunnel, if it is there, or all.
    pub fn chosen(&self, only: Option<SwIfIndex>) -> Vec<Tunnel<S>> {
        match only {
            Some(sw_if) => self.get(sw_if).into_iter().collect(),
            None => self.list(),
        }
    }

    /// Returns the interfaces of all tunnels.
    pub fn interfaces(&self) -> Vec<SwIfIndex> {
        self.inner().tunnels.keys().copied().collect()
    }

    /// Returns the state of the route to the other end, for people.
    pub fn outlook(&self, world: &World, sw_if: SwIfIndex) -> Outlook {
        self.route(sw_if).map_or_else(Outlook::default, |route| route.outlook(world))
    }

    /// Returns the path of outer packets of a tunnel with one other end.
    pub fn route(&self, sw_if: SwIfIndex) -> Option<Route> {
        self.ends.read(sw_if.0, |end| end.and_then(|end| end.route))
    }

    fn forget_interface(&self, world: &World, sw_if: SwIfIndex) {
        let Some(Tunnel { instance, spec, .. }) = self.inner().tunnels.remove(&sw_if) else {
            // It may be a sub-interface.
            self.ends.clear(sw_if.0);
            return;
        };
        let ends = spec.ends();
        let Some(table) = self.ends.read(sw_if.0, |end| end.map(|end| TableIndex(end.key.table)))
        else {
            return;
        };
        {
            let mut inner = self.inner();
            if let Some(by) = spec.ends().group_interface {
                inner.by_group_interface.remove(&(by, sw_if));
            }
            if spec.has_sequence() {
                inner.release_sequence(&ends, table);
            }
        }
        self.release_instance(instance);
        self.remove_peers(world, sw_if);
        self.remove_end(world, sw_if.0);
        ends.release_table(world, table);
    }
}

impl<S> Inner<S> {
    /// Returns the number of a new tunnel: the wanted one, or the lowest that is free.
    fn free_instance<K: Spec>(&mut self, wanted: Option<u32>) -> Result<u32> {
        while self.instances.contains(&self.first) {
            self.first += 1;
        }
        let instance = wanted.unwrap_or(self.first);
        if self.instances.contains(&instance) {
            let why = format!("there is a {}{instance} already", K::PREFIX);
            return Err(Error::failed(why).retval(retval::INSTANCE_IN_USE));
        }
        Ok(instance)
    }

    fn take_sequence(&mut self, ends: &TunnelEndpoints, table: TableIndex) -> Arc<AtomicU32> {
        let sequence = self.sequences.entry(Key::of(ends.local, ends.remote, table.0)).or_default();
        sequence.tunnels += 1;
        sequence.next.clone()
    }

    fn release_sequence(&mut self, ends: &TunnelEndpoints, table: TableIndex) {
        let key = Key::of(ends.local, ends.remote, table.0);
        if let Some(sequence) = self.sequences.get_mut(&key) {
            sequence.tunnels -= 1;
            if sequence.tunnels == 0 {
                self.sequences.remove(&key);
            }
        }
    }
}
