// SPDX-License-Identifier: Apache-2.0
//! Interfaces: the control side.
//!
//! A hardware interface is a software interface of its own; a sub-interface is a software interface
//! on top of another. Each is named by its index, which is reused only after it was deleted.
//! `local0` is number 0 and can't carry packets.

use crate::counters::IfCounters;
use crate::device::{Device, FloodRole};
use crate::event::IfEvent;
use crate::view::{IfFlags, MAX, ViewTable, Views};
use cli::{Error, Matches};
use graph::{InputMode, NodeIndex, Shared, SwIfIndex, ThreadIndex, World};
use msg::retval;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Slots, Turn};
use vlan::VlanTree;
use wire::MacAddr;

mod member;
mod model;
mod rx;
mod set;
mod sub;
mod tx;
mod vlan;

pub use model::{
    BackboneRewrite, IfKind, Implied, Interface, L2Role, Membership, MtuKind, NewInterface,
    OriginalSettings, SubInterface, TagRewrite,
};
pub use rx::RxQueueConfig;
pub use sub::{SentBy, SubOf};
pub use tx::TxConfig;
pub use vlan::{FrameTags, SubFrames, Tags, Vlan, tag_bytes};

type Subscriber = Arc<dyn Fn(&World, IfEvent) + Send + Sync>;
type MakeOutput = fn(&World, &NewOutput<'_>) -> Result<NodeIndex, Error>;

/// Parameters of a new output node.
pub struct NewOutput<'a> {
    /// The node's name.
    pub name: &'a str,
    /// The interface.
    pub sw_if: SwIfIndex,
    /// The next node, which hands packets to the device.
    pub tx: NodeIndex,
    /// Other interfaces have the same next node: they share the output node too.
    pub shared: bool,
    /// Set for a sub-interface.
    pub sub: Option<SubOf>,
}

#[derive(Default)]
struct Inner {
    all: Vec<Option<Interface>>,
    /// Indices of deleted interfaces.
    free: BTreeSet<u32>,
    names: HashMap<String, SwIfIndex>,
    /// The names that interfaces were made with: their nodes keep these names.
    made: HashMap<String, SwIfIndex>,
    /// The sub-interfaces of each interface that has some, by the number behind the dot.
    subs: HashMap<SwIfIndex, BTreeMap<u32, SwIfIndex>>,
    /// Failover subscribers (movers) run before all others.
    subscribers: Vec<Subscriber>,
    /// Number of failover subscribers.
    movers: usize,
    make_output: Option<MakeOutput>,
    /// Receive mode of new receive queues, if it is configured.
    rx_mode: Option<InputMode>,
}

/// All interfaces of an instance.
pub struct Interfaces {
    inner: Mutex<Inner>,
    views: ViewTable,
    /// Sub-interfaces by tags, of each parent.
    vlans: Slots<VlanTree>,
    /// The tags of sent frames, by sub-interface.
    sent: Slots<SentBy>,
    counters: Arc<IfCounters>,
}

struct Local0;
impl Device for Local0 {
    fn driver(&self) -> &'static str {
        "local"
    }
    fn set_admin(&self, _: &World, _: SwIfIndex, up: bool) -> Result<(), Error> {
        if up {
            Err(Error::unsupported("local0 carries no packets and stays down"))
        } else {
            Ok(())
        }
    }
}

impl Shared for Interfaces {
    fn make(world: &World) -> Self {
        let local0 = NewInterface {
            name: "local0".into(),
            kind: IfKind::Local,
            device: Arc::new(Local0),
            mac: MacAddr::ZERO,
            mtu: 0,
            link_up: false,
        };
        let local0 = Interface::new(SwIfIndex(0), local0, (NodeIndex(0), NodeIndex(0)));
        let views = ViewTable::new();
        views.set(SwIfIndex(0), local0.view());
        let counters: Arc<IfCounters> = world.get();
        counters.extend(world, SwIfIndex(0));
        counters.list(world, SwIfIndex(0), "", "local0");
        let names = HashMap::from([("local0".to_string(), SwIfIndex(0))]);
        world.register_live("interface", |w| {
            w.get::<Interfaces>().list().into_iter().map(|i| i.name).collect()
        });
        Self {
            inner: Mutex::new(Inner {
                all: vec![Some(local0)],
                made: names.clone(),
                names,
                ..Inner::default()
            }),
            views,
            vlans: Slots::new(world.qsbr.clone()),
            sent: Slots::new(world.qsbr.clone()),
            counters,
        }
    }
}

fn no_interface(sw_if: SwIfIndex) -> Error {
    Error::not_found(format!("no interface has the index {sw_if}"))
        .retval(retval::INVALID_SW_IF_INDEX)
}

impl Inner {
    /// Undoes [`Interfaces::allot`].
    fn give_back(&mut self, sw_if: SwIfIndex, name: &str, made: &str) {
        self.names.remove(name);
        self.made.remove(made);
        self.free.insert(sw_if.0);
    }
}

impl Interfaces {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// The views of all interfaces that workers read, during one turn.
    #[inline(always)]
    pub fn views<'t>(&'t self, _turn: &'t Turn<'_>) -> Views<'t> {
        self.views.all()
    }

    /// Sets the function that makes an interface's output node. The feature that owns these nodes
    /// calls it once, at the start.
    pub fn set_make_output(&self, make: MakeOutput) {
        self.inner().make_output = Some(make);
    }

    /// Calls `f` after every change, on the control thread.
    pub fn subscribe(&self, f: impl Fn(&World, IfEvent) + Send + Sync + 'static) {
        self.inner().subscribers.push(Arc::new(f));
    }

    /// As [`Self::subscribe`], for failover: these subscribers learn of a failed link before all
    /// others, whatever the order of subscription.
    pub(crate) fn subscribe_mover(&self, f: impl Fn(&World, IfEvent) + Send + Sync + 'static) {
        let mut inner = self.inner();
        let at = inner.movers;
        inner.subscribers.insert(at, Arc::new(f));
        inner.movers += 1;
    }

    fn publish(&self, inner: &Inner, sw_if: SwIfIndex) {
        let interface = inner.all.get(sw_if.at()).and_then(Option::as_ref);
        let mut view = interface.map(Interface::view).unwrap_or_default();
        view.flags.put(IfFlags::HAS_SUBS, inner.subs.contains_key(&sw_if));
        self.views.set(sw_if, view);
    }

    /// Notifies the subscribers.
    pub(crate) fn notify(&self, world: &World, event: IfEvent) {
        if !matches!(event, IfEvent::Link(..) | IfEvent::Moved(_)) {
            world.note_config_change();
        }
        let all = self.inner().subscribers.clone();
        for subscriber in all {
            subscriber(world, event);
        }
    }

    /// Adds a hardware interface: `tx` makes its transmit node (`NAME-tx`) for each thread. It
    /// starts admin down.
    ///
    /// # Errors
    /// A name that is taken; more interfaces, or more of their nodes, than there is room for.
    pub fn create<N: graph::Node>(
        &self,
        world: &World,
        new: NewInterface,
        tx: impl Fn(&World, ThreadIndex, SwIfIndex) -> N + Send + Sync + 'static,
    ) -> Result<SwIfIndex, Error> {
        self.create_above(world, new, None, tx)
    }

    /// As [`Self::create`], with an index above that of another interface, if there is one: the
    /// saved configuration makes interfaces in the order of their indices, and this one needs
    /// the other.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn create_above<N: graph::Node>(
        &self,
        world: &World,
        new: NewInterface,
        above: Option<SwIfIndex>,
        tx: impl Fn(&World, ThreadIndex, SwIfIndex) -> N + Send + Sync + 'static,
    ) -> Result<SwIfIndex, Error> {
        let sw_if = self.allot(world, &new.name, &new.name, above)?;
        let make = move |world: &World, thread: ThreadIndex| tx(world, thread, sw_if);
        let nodes = self.add_nodes(world, &new.name, sw_if, make).inspect_err(|_| {
            self.inner().give_back(sw_if, &new.name, &new.name);
        })?;
        self.put(world, Interface::new(sw_if, new, nodes));
        Ok(sw_if)
    }

    /// As [`Self::create`], for interfaces that share one transmit node and one output node: these
    /// nodes find the interface of a packet in [`buffer::Buffer::tx_if`]. Packets to many such
    /// interfaces stay in one vector. With an index above that of another interface, if there
    /// is one, as in [`Self::create_above`].
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn create_sharing(
        &self,
        world: &World,
        new: NewInterface,
        above: Option<SwIfIndex>,
        tx: NodeIndex,
    ) -> Result<SwIfIndex, Error> {
        let sw_if = self.allot(world, &new.name, &new.name, above)?;
        let output =
            self.add_own_output(world, &new.name, sw_if, (tx, true)).inspect_err(|_| {
                self.inner().give_back(sw_if, &new.name, &new.name);
            })?;
        let interface =
            Interface { shares_nodes: true, ..Interface::new(sw_if, new, (output, tx)) };
        self.put(world, interface);
        Ok(sw_if)
    }

    /// Reserves an index, above the parent's index if there is a parent, and the names of a new
    /// interface.
    fn allot(
        &self,
        world: &World,
        name: &str,
        made: &str,
        parent: Option<SwIfIndex>,
    ) -> Result<SwIfIndex, Error> {
        let sw_if = {
            let mut inner = self.inner();
            if inner.names.contains_key(name) {
                return Err(Error::failed(format!("there is an interface {name} already"))
                    .retval(retval::IF_ALREADY_EXISTS));
            }
            // A saved configuration makes a renamed interface under the name that it was made with.
            if let Some(other) = inner.made.get(made) {
                let other = inner
                    .all
                    .get(other.at())
                    .and_then(Option::as_ref)
                    .map_or("another", |i| &i.name);
                let error = format!("{other} was made as {made}: saved commands name it so");
                return Err(Error::failed(error).retval(retval::IF_ALREADY_EXISTS));
            }
            let least = parent.map_or(0, |parent| parent.0 + 1);
            let free = inner.free.range(least..).next().copied();
            let free = free.unwrap_or(inner.all.len() as u32);
            if free as usize >= MAX {
                return Err(Error::limit(format!("too many interfaces, {} at most", MAX - 1))
                    .retval(retval::LIMIT_EXCEEDED));
            }
            inner.free.remove(&free);
            let sw_if = SwIfIndex(free);
            inner.names.insert(name.to_string(), sw_if);
            inner.made.insert(made.to_string(), sw_if);
            if inner.all.len() <= sw_if.at() {
                inner.all.resize(sw_if.at() + 1, None);
            }
            sw_if
        };
        self.counters.extend(world, sw_if);
        Ok(sw_if)
    }

    /// Publishes a new interface.
    fn put(&self, world: &World, interface: Interface) {
        let (sw_if, name) = (interface.sw_if, interface.name.clone());
        {
            let mut inner = self.inner();
            inner.all[sw_if.at()] = Some(interface);
            self.publish(&inner, sw_if);
        }
        self.counters.list(world, sw_if, "", &name);
        self.notify(world, IfEvent::Added(sw_if));
    }

    /// Output and transmit node of a new interface.
    fn add_nodes<N: graph::Node>(
        &self,
        world: &World,
        name: &str,
        sw_if: SwIfIndex,
        tx: impl Fn(&World, ThreadIndex) -> N + Send + Sync + 'static,
    ) -> Result<(NodeIndex, NodeIndex), Error> {
        let tx = world.add_node(&format!("{name}-tx"), tx)?;
        let output = self
            .add_own_output(world, name, sw_if, (tx, false))
            .inspect_err(|_| world.remove_node(tx))?;
        Ok((output, tx))
    }

    /// Output node of a new interface that isn't a sub-interface.
    fn add_own_output(
        &self,
        world: &World,
        name: &str,
        sw_if: SwIfIndex,
        (tx, shared): (NodeIndex, bool),
    ) -> Result<NodeIndex, Error> {
        let make_output = self.inner().make_output;
        let Some(make) = make_output else { return Ok(tx) };
        make(world, &NewOutput { name: &format!("{name}-output"), sw_if, tx, shared, sub: None })
    }

    /// Deletes an interface: first its sub-interfaces; then it goes down, then all state
    /// ([`World::forget`]) and its driver release it.
    ///
    /// # Errors
    /// One that isn't there; `local0`.
    pub fn delete(&self, world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        if sw_if.0 == 0 {
            return Err(Error::unsupported("local0 can't be deleted"));
        }
        for sub in self.subs(sw_if) {
            self.delete(world, sub)?;
        }
        self.set_admin(world, sw_if, false)?;
        self.release_frames(world, &interface);
        self.notify(world, IfEvent::Deleting(sw_if));
        world.forget(&sw_if);
        interface.device.delete(world);
        {
            let mut inner = self.inner();
            inner.names.remove(&interface.name);
            inner.made.remove(&interface.original.name);
            inner.all[sw_if.at()] = None;
            self.publish(&inner, sw_if);
        }
        world.forget_features(sw_if);
        self.counters.end(world, sw_if, &interface.name);
        // No edge leads to these nodes any more; threads release them, and other interfaces reuse
        // them.
        if !interface.shares_nodes {
            world.remove_node(interface.output);
        }
        if interface.sub.is_none() && !interface.shares_nodes {
            world.remove_node(interface.tx);
        }
        self.inner().free.insert(sw_if.0);
        world.note_config_change();
        Ok(())
    }

    /// Checks that an interface exists.
    ///
    /// # Errors
    /// No such interface (−2).
    pub fn check(&self, sw_if: SwIfIndex) -> Result<(), Error> {
        match self.inner().all.get(sw_if.at()) {
            Some(Some(_)) => Ok(()),
            _ => Err(no_interface(sw_if)),
        }
    }

    /// Returns a copy of an interface's control state.
    ///
    /// # Errors
    /// One that isn't there (−2).
    pub fn get(&self, sw_if: SwIfIndex) -> Result<Interface, Error> {
        let found = self.inner().all.get(sw_if.at()).cloned().flatten();
        found.ok_or_else(|| no_interface(sw_if))
    }

    /// Returns true if packets can be sent by the interface: admin and link state are up.
    pub(crate) fn is_up(&self, sw_if: SwIfIndex) -> bool {
        let inner = self.inner();
        inner.all.get(sw_if.at()).and_then(Option::as_ref).is_some_and(|i| i.admin_up && i.link_up)
    }

    /// The kind of packets that an interface carries.
    pub(crate) fn kind(&self, sw_if: SwIfIndex) -> Result<IfKind, Error> {
        let kind = self.inner().all.get(sw_if.at()).and_then(Option::as_ref).map(|i| i.kind);
        kind.ok_or_else(|| no_interface(sw_if))
    }

    /// The MAC address of an interface's only peer, if it has only one.
    pub(crate) fn peer(&self, sw_if: SwIfIndex) -> Option<MacAddr> {
        self.inner().all.get(sw_if.at()).and_then(Option::as_ref).and_then(Interface::peer)
    }

    /// The name of an interface's driver.
    pub fn driver(&self, sw_if: SwIfIndex) -> Option<&'static str> {
        let inner = self.inner();
        inner.all.get(sw_if.at()).and_then(Option::as_ref).map(|i| i.device.driver())
    }

    /// The role of an interface in floods of its bridge domain.
    pub fn flood_role(&self, sw_if: SwIfIndex) -> FloodRole {
        let inner = self.inner();
        let interface = inner.all.get(sw_if.at()).and_then(Option::as_ref);
        interface.map_or(FloodRole::Port, |i| i.device.flood_role())
    }

    /// The interface of a command that takes a number as `index` or a name as `interface`. A number
    /// isn't checked.
    ///
    /// # Errors
    /// No interface has this name (−2).
    pub fn named_or_numbered(&self, m: &Matches) -> Result<SwIfIndex, Error> {
        match m.opt("index")? {
            Some(index) => Ok(SwIfIndex(index)),
            None => self.find(m.str("interface")).map_err(|e| e.at(m.span("interface"))),
        }
    }

    /// The interface of this name.
    ///
    /// # Errors
    /// One that isn't there (−2), with the nearest name.
    pub fn find(&self, name: &str) -> Result<SwIfIndex, Error> {
        let inner = self.inner();
        inner.names.get(name).copied().ok_or_else(|| {
            Error::not_found(format!("no interface is named `{name}'"))
                .near(name, inner.names.keys())
                .retval(retval::INVALID_SW_IF_INDEX)
        })
    }

    /// The name of an interface, or its number if it is gone.
    pub fn name(&self, sw_if: SwIfIndex) -> String {
        let inner = self.inner();
        let found = inner.all.get(sw_if.at()).and_then(Option::as_ref);
        found.map_or_else(|| format!("sw_if_index {sw_if}"), |i| i.name.clone())
    }

    /// All interfaces, by index.
    pub fn list(&self) -> Vec<Interface> {
        self.inner().all.iter().flatten().cloned().collect()
    }

    /// All indices ever allocated, also unused ones: for walks in slices, which call [`Self::get`]
    /// when an interface's turn comes.
    pub fn indices(&self) -> impl Iterator<Item = SwIfIndex> + use<> {
        (0..self.max() as u32).map(SwIfIndex)
    }

    /// The names of all interfaces, with their indices.
    pub fn names(&self) -> Vec<(String, SwIfIndex)> {
        let inner = self.inner();
        inner
            .all
            .iter()
            .flatten()
            .map(|interface| (interface.name.clone(), interface.sw_if))
            .collect()
    }

    /// The original and the current name of each renamed interface. Sub-interfaces aren't listed:
    /// their names follow their parent's.
    pub fn renamed(&self) -> Vec<(String, String)> {
        let inner = self.inner();
        let renamed =
            inner.all.iter().flatten().filter(|i| i.sub.is_none() && i.name != i.original.name);
        renamed.map(|i| (i.original.name.clone(), i.name.clone())).collect()
    }

    /// Number of indices ever used, for the length of counter vectors.
    pub fn max(&self) -> usize {
        self.inner().all.len()
    }
}
