// SPDX-License-Identifier: Apache-2.0
//! The tunnels of a kind: the control thread's, and the part that workers read.

use crate::groups::{Groups, Joined};
use crate::header::Template;
use crate::key::bits;
use crate::model::{Ends, Spec};
use crate::{Flags, Key};
use cli::{Error, Result, retval};
use graph::{Deleted, NodeIndex, Shared, SwIfIndex, World};
use net::{
    AdjIndex, Adjacencies, Device, FloodRole, IfEvent, IfKind, Interfaces, Link, NewInterface, TableIndex,
    Tracked,
};
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use sync::{Slots, Turn};
use tables::HashIndex;
use teib::{Endpoint, Teib, TeibEvent};

/// Numbers of ends that are no interface's begin here.
const FIRST_PEER: u32 = 1 << 20;

/// One end of a tunnel as workers read it.
#[derive(Clone, Debug)]
pub struct End {
    /// What received packets have.
    pub key: Key,
    /// The interface.
    pub sw_if: u32,
    /// The number in its name.
    pub instance: u32,
    /// What is copied.
    pub flags: Flags,
    /// Its packets are Ethernet frames.
    pub frames: bool,
    /// The outer packets are of IPv6.
    pub outer_v6: bool,
    /// The address here, as in [`Key`].
    pub local: u128,
    /// [`Spec::next`].
    pub next: Option<NodeIndex>,
    /// The route to the other end. None for an interface whose packets name their ends themselves.
    pub route: Option<Route>,
    /// The number of the next outer packet, where they are numbered.
    pub sequence: Option<Arc<AtomicU32>>,
    /// The headers in front.
    pub template: Template,
}

/// The way of outer packets.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The adjacency that they take.
    pub adj: AdjIndex,
    /// Index of the table that they are routed in.
    pub table: TableIndex,
    to: Destination,
}

/// Where they go.
#[derive(Clone, Copy, Debug)]
enum Destination {
    /// To the other end, by the route to it.
    End(Tracked),
    /// To a group.
    Group(Joined),
}

impl Route {
    fn to(world: &World, remote: IpAddr, table: u32) -> Result<Self> {
        let followed = Tracked::new(world, table, remote)?;
        Ok(Self { adj: followed.adj, table: followed.table, to: Destination::End(followed) })
    }

    fn to_group(world: &World, by: SwIfIndex, ends: &Ends) -> Result<Self> {
        let table = ends.table_index(world)?;
        let adjacencies = world.get::<Adjacencies>();
        let adj = adjacencies.multicast(world, by, Link::of(ends.remote))?;
        let joined = world.get::<Groups>().join(world, by, ends);
        let joined = joined.inspect_err(|_| adjacencies.release(adj))?;
        Ok(Self { adj, table, to: Destination::Group(joined) })
    }

    fn release(self, world: &World) {
        match self.to {
            Destination::End(followed) => followed.release(world),
            Destination::Group(joined) => {
                world.get::<Groups>().leave(world, joined);
                world.get::<Adjacencies>().release(self.adj);
            }
        }
    }

    fn is_resolved(self, world: &World) -> bool {
        match self.to {
            Destination::End(followed) => followed.is_resolved(world),
            Destination::Group(joined) => {
                world.get::<Interfaces>().get(joined.sw_if).is_ok_and(|i| i.admin_up && i.link_up)
            }
        }
    }
}

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

struct Inner<S> {
    tunnels: BTreeMap<SwIfIndex, Tunnel<S>>,
    instances: BTreeSet<u32>,
    /// All instances below are in use.
    first: u32,
    /// The next numbers of outer packets between two ends, in a table.
    sequences: HashMap<Key, Weak<AtomicU32>>,
    /// Ends by key.
    keys: HashMap<Key, u32>,
    /// The peers of interfaces with several ends: the number of the end and the adjacency, by overlay address.
    peers: BTreeMap<(SwIfIndex, IpAddr), (u32, AdjIndex)>,
    /// How many peers are at an end.
    ends: HashMap<u32, u32>,
    free_ends: Vec<u32>,
    next_end: u32,
}

/// All tunnels of a kind.
pub struct Tunnels<S: Spec> {
    /// Interfaces' ends by the index of the interface, then those of peers.
    ends: Slots<End>,
    index: HashIndex,
    seed: u64,
    inner: Mutex<Inner<S>>,
}

struct TunnelDevice<S> {
    flood_role: FloodRole,
    kind: PhantomData<fn() -> S>,
}

impl<S: Spec> Device for TunnelDevice<S> {
    fn driver(&self) -> &'static str {
        S::DRIVER
    }

    fn flood_role(&self) -> FloodRole {
        self.flood_role
    }
}

impl<S: Spec> Shared for Tunnels<S> {
    fn make(world: &World) -> Self {
        world.get::<Interfaces>().subscribe(|world, event| {
            if let IfEvent::Added(sw_if) = event {
                world.get::<Self>().note_sub_interface(world, sw_if);
            }
        });
        let inner = Inner {
            tunnels: BTreeMap::new(),
            instances: BTreeSet::new(),
            first: 0,
            sequences: HashMap::new(),
            keys: HashMap::new(),
            peers: BTreeMap::new(),
            ends: HashMap::new(),
            free_ends: Vec::new(),
            next_end: FIRST_PEER,
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
        let over: Vec<_> =
            self.list().into_iter().filter(|t| t.spec.group_interface() == Some(sw_if)).collect();
        for tunnel in over {
            if let Err(error) = self.delete(world, tunnel.sw_if) {
                log::warn!("a tunnel to a group stays: {error}");
            }
        }
    }
}

fn none<S: Spec>() -> Error {
    Error::not_found(format!("there is no such {} tunnel", S::PREFIX)).retval(retval::NO_SUCH_ENTRY)
}

impl<S: Spec> Tunnels<S> {
    fn inner(&self) -> MutexGuard<'_, Inner<S>> {
        self.inner.lock().expect("no panic inside")
    }

    /// The end that a packet is sent to: that of its interface.
    #[inline(always)]
    pub fn end<'t>(&'t self, number: u32, turn: &'t Turn<'_>) -> Option<&'t End> {
        self.ends.get(number, turn)
    }

    /// The end that a received packet comes from.
    #[inline(always)]
    pub fn lookup<'t>(&'t self, key: &Key, turn: &'t Turn<'_>) -> Option<&'t End> {
        self.index.find(key.hash(self.seed), turn, |number| {
            self.ends.get(number, turn).filter(|end| end.key == *key)
        })
    }

    /// The key of a tunnel with this configuration.
    fn key(&self, world: &World, spec: &S) -> Result<Key> {
        let ends = spec.ends();
        Ok(spec.key(&ends, ends.table_index(world)?.0))
    }

    /// Makes a tunnel's interface. `above` is an interface that its configuration names.
    ///
    /// # Errors
    /// A table that isn't there (−3); a tunnel with the same ends ([`Spec::EXISTS`]); a number that is taken (−147).
    pub fn create(
        &self,
        world: &World,
        instance: Option<u32>,
        spec: S,
        above: Option<SwIfIndex>,
    ) -> Result<SwIfIndex> {
        let key = self.key(world, &spec)?;
        let encap = spec.encap();
        let tx = world.node(encap).ok_or_else(|| Error::unsupported(format!("there is no node {encap}")))?;
        let instance = {
            let mut inner = self.inner();
            if let Some(number) = inner.keys.get(&key) {
                let name = world.get::<Interfaces>().name(SwIfIndex(*number));
                return Err(Error::failed(format!("{name} has these ends")).retval(S::EXISTS));
            }
            while inner.instances.contains(&inner.first) {
                inner.first += 1;
            }
            let instance = instance.unwrap_or(inner.first);
            if inner.instances.contains(&instance) {
                let why = format!("there is a {}{instance} already", S::PREFIX);
                return Err(Error::failed(why).retval(retval::INSTANCE_IN_USE));
            }
            instance
        };
        let new = NewInterface {
            name: format!("{}{instance}", S::PREFIX),
            kind: spec.carries(),
            device: Arc::new(TunnelDevice::<S> { flood_role: spec.flood_role(), kind: PhantomData }),
            mac: spec.mac(instance),
            mtu: spec.mtu(),
            link_up: true,
        };
        let ends = spec.ends();
        let multipoint = spec.is_multipoint();
        let interfaces = world.get::<Interfaces>();
        let route = match spec.group_interface() {
            Some(by) => Some(Route::to_group(world, by, &ends)?),
            None if multipoint => None,
            None => Some(Route::to(world, ends.remote, ends.table)?),
        };
        let made = interfaces.create_sharing(world, new, above, tx);
        let sw_if = made.inspect_err(|_| _ = route.map(|route| route.release(world)))?;
        let sequence = spec.has_sequence().then(|| self.sequence(&ends, key.table));
        let end = end(world, (sw_if, instance), &spec, &ends, key, route);
        self.ends.set(sw_if.0, End { sequence, ..end });
        {
            let mut inner = self.inner();
            inner.instances.insert(instance);
            inner.keys.insert(key, sw_if.0);
            inner.tunnels.insert(sw_if, Tunnel { sw_if, instance, spec });
        }
        if !multipoint {
            self.index.insert(key.hash(self.seed), sw_if.0);
        }
        if S::STARTS_UP {
            interfaces.set_admin(world, sw_if, true)?;
        }
        Ok(sw_if)
    }

    /// The next number of outer packets between two ends.
    fn sequence(&self, ends: &Ends, table: u32) -> Arc<AtomicU32> {
        let mut inner = self.inner();
        inner.sequences.retain(|_, sequence| sequence.strong_count() > 0);
        let key = Key::of(ends.local, ends.remote, table);
        if let Some(sequence) = inner.sequences.get(&key).and_then(Weak::upgrade) {
            return sequence;
        }
        let sequence = Arc::default();
        inner.sequences.insert(key, Arc::downgrade(&sequence));
        sequence
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

    /// The tunnel with the ends of this configuration.
    ///
    /// # Errors
    /// There is none (−6).
    pub fn find(&self, world: &World, spec: &S) -> Result<SwIfIndex> {
        let key = self.key(world, spec)?;
        self.inner().keys.get(&key).map(|number| SwIfIndex(*number)).ok_or_else(none::<S>)
    }

    /// One tunnel.
    pub fn get(&self, sw_if: SwIfIndex) -> Option<Tunnel<S>> {
        self.inner().tunnels.get(&sw_if).cloned()
    }

    /// All tunnels, by interface.
    pub fn list(&self) -> Vec<Tunnel<S>> {
        self.inner().tunnels.values().cloned().collect()
    }

    /// The interfaces of all tunnels.
    pub fn interfaces(&self) -> Vec<SwIfIndex> {
        self.inner().tunnels.keys().copied().collect()
    }

    /// Whether outer packets to the other end can be sent.
    pub fn is_resolved(&self, world: &World, sw_if: SwIfIndex) -> bool {
        self.route(sw_if).is_some_and(|route| route.is_resolved(world))
    }

    /// The way of outer packets of a tunnel with one other end.
    pub fn route(&self, sw_if: SwIfIndex) -> Option<Route> {
        self.ends.read(sw_if.0, |end| end.and_then(|end| end.route))
    }

    /// Follows the entries of `create teib`: each is another end of a tunnel that has several. Called once, at the start.
    pub fn follow_peers(world: &World) {
        world.get::<Teib>().subscribe(|world, event| {
            let tunnels = world.get::<Self>();
            if event.added {
                return tunnels.add_peer(world, event);
            }
            tunnels.remove_peer(world, event.sw_if, event.peer);
            Ok(())
        });
    }

    /// Adds an end: packets to the peer name it in four bytes in front.
    fn add_peer(&self, world: &World, TeibEvent { sw_if, peer, to, .. }: TeibEvent) -> Result<()> {
        let Some(tunnel) = self.get(sw_if).filter(|tunnel| tunnel.spec.is_multipoint()) else {
            return Ok(());
        };
        let Endpoint { nexthop, table } = to;
        let ends = Ends { remote: nexthop, table, ..tunnel.spec.ends() };
        ends.check(retval::INVALID_PROTOCOL)?;
        let own_table = tunnel.spec.ends().table_index(world)?.0;
        let key = tunnel.spec.key(&ends, own_table);
        let adjacencies = world.get::<Adjacencies>();
        let number = {
            let mut inner = self.inner();
            let number = match inner.keys.get(&key).copied() {
                // Another peer is there too.
                Some(number) if inner.ends.contains_key(&number) => number,
                Some(_) => return Err(Error::failed("another tunnel has these ends").retval(S::EXISTS)),
                None => inner.free_ends.pop().unwrap_or_else(|| {
                    inner.next_end += 1;
                    inner.next_end - 1
                }),
            };
            *inner.ends.entry(number).or_default() += 1;
            number
        };
        if self.ends.read(number, |end| end.is_none()) {
            let route = Route::to(world, nexthop, table).inspect_err(|_| self.let_go(world, number))?;
            self.ends
                .set(number, end(world, (sw_if, tunnel.instance), &tunnel.spec, &ends, key, Some(route)));
            self.inner().keys.insert(key, number);
            self.index.insert(key.hash(self.seed), number);
        }
        let adj = adjacencies.neighbor(world, sw_if, peer).inspect_err(|_| self.let_go(world, number))?;
        adjacencies.complete(world, sw_if, peer, &number.to_be_bytes());
        self.inner().peers.insert((sw_if, peer), (number, adj));
        Ok(())
    }

    fn remove_peer(&self, world: &World, sw_if: SwIfIndex, peer: IpAddr) {
        let known = self.inner().peers.remove(&(sw_if, peer));
        if let Some((number, adj)) = known {
            let adjacencies = world.get::<Adjacencies>();
            adjacencies.incomplete(world, sw_if, peer);
            adjacencies.release(adj);
            self.let_go(world, number);
        }
    }

    /// One peer less is at an end.
    fn let_go(&self, world: &World, number: u32) {
        {
            let mut inner = self.inner();
            let Some(peers) = inner.ends.get_mut(&number) else { return };
            *peers -= 1;
            if *peers > 0 {
                return;
            }
            inner.ends.remove(&number);
        }
        self.remove_end(world, number);
        self.inner().free_ends.push(number);
    }

    /// What is sent by a sub-interface goes the way of its parent.
    fn note_sub_interface(&self, world: &World, sw_if: SwIfIndex) {
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        if interface.sub.is_some()
            && self.inner().tunnels.contains_key(&interface.parent)
            && let Some(end) = self.ends.read(interface.parent.0, |end| end.cloned())
        {
            self.ends.set(sw_if.0, end);
        }
    }

    fn forget_interface(&self, world: &World, sw_if: SwIfIndex) {
        let Some(tunnel) = self.inner().tunnels.remove(&sw_if) else {
            // It may be a sub-interface.
            self.ends.clear(sw_if.0);
            return;
        };
        let peers: Vec<_> = {
            let mut inner = self.inner();
            inner.instances.remove(&tunnel.instance);
            inner.first = inner.first.min(tunnel.instance);
            inner.peers.keys().filter(|(of, _)| *of == sw_if).map(|(_, peer)| *peer).collect()
        };
        peers.into_iter().for_each(|peer| self.remove_peer(world, sw_if, peer));
        self.remove_end(world, sw_if.0);
    }

    fn remove_end(&self, world: &World, number: u32) {
        let Some(end) = self.ends.read(number, |end| end.cloned()) else { return };
        self.index.remove(end.key.hash(self.seed), number);
        self.inner().keys.remove(&end.key);
        self.ends.clear(number);
        if let Some(route) = end.route {
            route.release(world);
        }
    }
}

fn end<S: Spec>(
    world: &World,
    (sw_if, instance): (SwIfIndex, u32),
    spec: &S,
    ends: &Ends,
    key: Key,
    route: Option<Route>,
) -> End {
    let header = || Template::new(ends, &spec.marks(), spec.protocol(), spec.hop_limits(), &spec.header());
    End {
        key,
        sw_if: sw_if.0,
        instance,
        flags: spec.marks().flags,
        frames: spec.carries() == IfKind::Ethernet,
        outer_v6: spec.ends().local.is_ipv6(),
        local: bits(ends.local),
        next: spec.next(world),
        sequence: None,
        template: route.map_or(Template::NONE, |_| header()),
        route,
    }
}
