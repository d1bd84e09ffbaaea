// SPDX-License-Identifier: Apache-2.0
//! Interfaces: the control side.
//!
//! A hardware interface is a software interface of its own; a sub-interface is a software interface
//! on top of another. Each is named by its index, which is reused only after it was deleted.
//! `local0` is number 0 and can't carry packets.

use crate::counters::IfCounters;
use crate::device::Device;
use crate::event::IfEvent;
use crate::view::{IfFlags, IfView, MAX, ViewTable, Views};
use cli::Error;
use column::AnyColumn;
use graph::{Deleted, InputMode, NodeIndex, Shared, SwIfIndex, ThreadIndex, World};
use msg::retval;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Slots, Turn};
use vlan::VlanTree;
use wire::MacAddr;

mod all_frames;
mod column;
mod find;
mod further_macs;
mod gso;
mod ip;
mod l2;
mod mirror;
mod model;
mod mtu;
mod note;
mod owner;
mod rx;
mod set;
mod sub;
mod vlan;

pub use all_frames::{FrameTakers, Promiscuous};
pub use column::{Column, Property};
pub use further_macs::{FurtherMacs, MacUser};
pub use gso::Gso;
pub use ip::IpBinding;
pub use l2::{BackboneRewrite, L2Role, TagRewrite};
pub use mirror::MirrorRole;
pub use model::{IfKind, Implied, Interface, NewInterface, OriginalSettings, SubInterface};
pub use mtu::{MtuKind, Mtus};
pub use note::Note;
pub use owner::{OwnUse, Owner};
pub use sub::{SentBy, SubOf};
pub use vlan::{FrameTags, SubFrames, Tags, VLAN_IDS, Vlan, tag_bytes};

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
    columns: Vec<Arc<dyn AnyColumn>>,
    /// Number of flags of the view that columns have taken.
    flags: u32,
    owners: Vec<Owner>,
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

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        deleted.of::<SwIfIndex>().into_iter().for_each(|sw_if| self.clear_columns(*sw_if));
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
        let mut view = IfView::default();
        if let Some(interface) = interface {
            view = interface.view();
            inner.columns.iter().for_each(|column| column.show(interface, &mut view));
        }
        view.flags.set(IfFlags::HAS_SUBS, inner.subs.contains_key(&sw_if));
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
}
