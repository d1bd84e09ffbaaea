// SPDX-License-Identifier: Apache-2.0
//! Interfaces: the control side.
//!
//! A hardware interface is a software interface of its own; a sub-interface is a software interface on top of another. Each is
//! named by its index, which is reused only after it was deleted. `local0` is number 0 and can't carry packets.

use crate::counters::IfCounters;
use crate::device::Device;
use crate::event::IfEvent;
use crate::view::{MAX, ViewTable, Views};
use cli::Error;
use graph::{InputMode, NodeIndex, Shared, SwIfIndex, ThreadIndex, World};
use msg::retval;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::Turn;
use wire::MacAddr;

mod model;
mod rx;
mod set;

pub use model::{IfKind, Interface, Made, MtuKind, NewInterface, SubInterface};
pub use rx::RxChoice;

type Subscriber = Arc<dyn Fn(&World, IfEvent) + Send + Sync>;
type MakeOutput = fn(&World, &str, SwIfIndex, NodeIndex) -> Result<NodeIndex, Error>;

#[derive(Default)]
struct Inner {
    all: Vec<Option<Interface>>,
    /// Indices of interfaces that have gone.
    free: BTreeSet<u32>,
    names: HashMap<String, SwIfIndex>,
    /// The names that they were made with: their nodes keep these.
    made: HashMap<String, SwIfIndex>,
    /// Those who move packets elsewhere come first.
    subscribers: Vec<Subscriber>,
    /// How many these are.
    movers: usize,
    make_output: Option<MakeOutput>,
    /// How new receive queues are polled, if an operator chose it.
    rx_mode: Option<InputMode>,
}

/// All interfaces of an instance.
pub struct Interfaces {
    inner: Mutex<Inner>,
    views: ViewTable,
    counters: Arc<IfCounters>,
}

struct Local0;
impl Device for Local0 {
    fn driver(&self) -> &'static str {
        "local"
    }
    fn set_admin(&self, _: &World, _: SwIfIndex, up: bool) -> Result<(), Error> {
        if up { Err(Error::unsupported("local0 carries no packets and stays down")) } else { Ok(()) }
    }
}

impl Shared for Interfaces {
    fn make(world: &World) -> Self {
        let local0 = Interface {
            sw_if: SwIfIndex(0),
            name: "local0".into(),
            kind: IfKind::Local,
            device: Arc::new(Local0),
            parent: SwIfIndex(0),
            sub: None,
            admin_up: false,
            link_up: false,
            promiscuous: false,
            mac: MacAddr::ZERO,
            mtu: [0; 5],
            own_mtu: None,
            tag: String::new(),
            output: NodeIndex(0),
            tx: NodeIndex(0),
            fib4: 0,
            fib6: 0,
            link6: 0,
            ip_enabled: [false; 2],
            redirects: [false; 2],
            made: Made { name: "local0".into(), mac: MacAddr::ZERO, mtu: 0 },
            rx: BTreeMap::new(),
        };
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
            counters,
        }
    }
}

fn no_interface(sw_if: SwIfIndex) -> Error {
    Error::not_found(format!("no interface has the index {sw_if}")).retval(retval::INVALID_SW_IF_INDEX)
}

impl Interfaces {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// What workers read, in a turn of theirs.
    #[inline(always)]
    pub fn views<'t>(&'t self, _turn: &'t Turn<'_>) -> Views<'t> {
        self.views.all()
    }

    /// Says how an interface's output node is made. The feature that owns these nodes calls it once, at the start.
    pub fn set_make_output(&self, make: fn(&World, &str, SwIfIndex, NodeIndex) -> Result<NodeIndex, Error>) {
        self.inner().make_output = Some(make);
    }

    /// Calls `f` after every change, on the control thread.
    pub fn subscribe(&self, f: impl Fn(&World, IfEvent) + Send + Sync + 'static) {
        self.inner().subscribers.push(Arc::new(f));
    }

    /// As [`Self::subscribe`], for who moves packets elsewhere: hears before everybody else that a link has failed, whoever
    /// was made first.
    pub(crate) fn subscribe_mover(&self, f: impl Fn(&World, IfEvent) + Send + Sync + 'static) {
        let mut inner = self.inner();
        let at = inner.movers;
        inner.subscribers.insert(at, Arc::new(f));
        inner.movers += 1;
    }

    fn publish(&self, inner: &Inner, sw_if: SwIfIndex) {
        let interface = inner.all.get(sw_if.at()).and_then(Option::as_ref);
        self.views.set(sw_if, interface.map(Interface::view).unwrap_or_default());
    }

    /// Tells subscribers.
    pub(crate) fn tell(&self, world: &World, event: IfEvent) {
        if !matches!(event, IfEvent::Link(..)) {
            world.note_config_change();
        }
        let all = self.inner().subscribers.clone();
        for subscriber in all {
            subscriber(world, event);
        }
    }

    /// Adds a hardware interface: `tx` makes its transmit node (`NAME-tx`) for each thread. It starts admin down.
    ///
    /// # Errors
    /// A name that is taken; more interfaces, or more of their nodes, than there is room for.
    pub fn create<N: graph::Node>(
        &self,
        world: &World,
        new: NewInterface,
        tx: impl Fn(&World, ThreadIndex, SwIfIndex) -> N + Send + Sync + 'static,
    ) -> Result<SwIfIndex, Error> {
        let sw_if = {
            let mut inner = self.inner();
            if inner.names.contains_key(&new.name) {
                return Err(Error::failed(format!("there is an interface {} already", new.name))
                    .retval(retval::IF_ALREADY_EXISTS));
            }
            // Its nodes keep the name that it was made with.
            if let Some(other) = inner.made.get(&new.name) {
                let other = inner.all.get(other.at()).and_then(Option::as_ref).map_or("another", |i| &i.name);
                let error = format!("{other} was made as {}, and its nodes are called so", new.name);
                return Err(Error::failed(error).retval(retval::IF_ALREADY_EXISTS));
            }
            let free = inner.free.pop_first().unwrap_or(inner.all.len() as u32);
            if free as usize >= MAX {
                return Err(Error::limit(format!("too many interfaces, {} at most", MAX - 1))
                    .retval(retval::LIMIT_EXCEEDED));
            }
            let sw_if = SwIfIndex(free);
            inner.names.insert(new.name.clone(), sw_if);
            inner.made.insert(new.name.clone(), sw_if);
            if inner.all.len() <= sw_if.at() {
                inner.all.resize(sw_if.at() + 1, None);
            }
            sw_if
        };
        self.counters.extend(world, sw_if);
        let make = move |world: &World, thread: ThreadIndex| tx(world, thread, sw_if);
        let (tx, output) = self.add_nodes(world, &new.name, sw_if, make).inspect_err(|_| {
            let mut inner = self.inner();
            inner.names.remove(&new.name);
            inner.made.remove(&new.name);
            inner.free.insert(sw_if.0);
        })?;
        let made = Made { name: new.name.clone(), mac: new.mac, mtu: new.mtu };
        let interface = Interface {
            sw_if,
            name: new.name.clone(),
            kind: new.kind,
            device: new.device,
            parent: sw_if,
            sub: None,
            admin_up: false,
            link_up: new.link_up,
            promiscuous: false,
            mac: new.mac,
            mtu: [new.mtu, 0, 0, 0, 0],
            own_mtu: None,
            tag: String::new(),
            output,
            tx,
            fib4: 0,
            fib6: 0,
            link6: 0,
            ip_enabled: [false; 2],
            redirects: [false; 2],
            made,
            rx: BTreeMap::new(),
        };
        {
            let mut inner = self.inner();
            inner.all[sw_if.at()] = Some(interface);
            self.publish(&inner, sw_if);
        }
        self.counters.list(world, sw_if, "", &new.name);
        self.tell(world, IfEvent::Added(sw_if));
        Ok(sw_if)
    }

    /// Transmit and output node of a new interface.
    fn add_nodes<N: graph::Node>(
        &self,
        world: &World,
        name: &str,
        sw_if: SwIfIndex,
        tx: impl Fn(&World, ThreadIndex) -> N + Send + Sync + 'static,
    ) -> Result<(NodeIndex, NodeIndex), Error> {
        let tx = world.add_node(&format!("{name}-tx"), tx)?;
        let make_output = self.inner().make_output;
        let Some(make) = make_output else { return Ok((tx, tx)) };
        let output = make(world, &format!("{name}-output"), sw_if, tx);
        Ok((tx, output.inspect_err(|_| world.remove_node(tx))?))
    }

    /// Takes an interface away: down first, then all state ([`World::forget`]) and its driver let go of it.
    ///
    /// # Errors
    /// One that isn't there; `local0`.
    pub fn delete(&self, world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        if sw_if.0 == 0 {
            return Err(Error::unsupported("local0 can't be deleted"));
        }
        self.set_admin(world, sw_if, false)?;
        self.tell(world, IfEvent::Deleting(sw_if));
        world.forget(&sw_if);
        interface.device.delete(world);
        {
            let mut inner = self.inner();
            inner.names.remove(&interface.name);
            inner.made.remove(&interface.made.name);
            inner.all[sw_if.at()] = None;
            self.publish(&inner, sw_if);
        }
        world.forget_features(sw_if);
        self.counters.end(world, sw_if, &interface.name);
        // Nothing leads there any more; threads give them back, and other interfaces get them.
        world.remove_node(interface.output);
        world.remove_node(interface.tx);
        self.inner().free.insert(sw_if.0);
        world.note_config_change();
        Ok(())
    }

    /// Whether an interface is there.
    ///
    /// # Errors
    /// That it isn't (−2).
    pub fn check(&self, sw_if: SwIfIndex) -> Result<(), Error> {
        match self.inner().all.get(sw_if.at()) {
            Some(Some(_)) => Ok(()),
            _ => Err(no_interface(sw_if)),
        }
    }

    /// A copy of what is known of an interface.
    ///
    /// # Errors
    /// One that isn't there (−2).
    pub fn get(&self, sw_if: SwIfIndex) -> Result<Interface, Error> {
        let found = self.inner().all.get(sw_if.at()).cloned().flatten();
        found.ok_or_else(|| no_interface(sw_if))
    }

    /// Whether packets can be sent by it.
    pub(crate) fn is_up(&self, sw_if: SwIfIndex) -> bool {
        let inner = self.inner();
        inner.all.get(sw_if.at()).and_then(Option::as_ref).is_some_and(|i| i.admin_up && i.link_up)
    }

    /// What is in its frames.
    pub(crate) fn kind(&self, sw_if: SwIfIndex) -> Result<IfKind, Error> {
        let kind = self.inner().all.get(sw_if.at()).and_then(Option::as_ref).map(|i| i.kind);
        kind.ok_or_else(|| no_interface(sw_if))
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

    /// The indices that interfaces have, and may have had: for walks in slices, which call [`Self::get`] when an interface's
    /// turn comes.
    pub fn indices(&self) -> impl Iterator<Item = SwIfIndex> + use<> {
        (0..self.max() as u32).map(SwIfIndex)
    }

    /// The names of all interfaces, with their indices.
    pub fn names(&self) -> Vec<(String, SwIfIndex)> {
        let inner = self.inner();
        inner.all.iter().flatten().map(|interface| (interface.name.clone(), interface.sw_if)).collect()
    }

    /// What interfaces were called when they were made, and are called now, of those that got another name.
    pub fn renamed(&self) -> Vec<(String, String)> {
        let inner = self.inner();
        let renamed = inner.all.iter().flatten().filter(|i| i.name != i.made.name);
        renamed.map(|i| (i.made.name.clone(), i.name.clone())).collect()
    }

    /// Indices that were ever used, for the length of counter vectors.
    pub fn max(&self) -> usize {
        self.inner().all.len()
    }
}
