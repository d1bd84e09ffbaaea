// SPDX-License-Identifier: Apache-2.0
//! An instance: shared state, the graph's control side, its threads' mailboxes.

use crate::arcs::ArcTable;
use crate::core::{Core, Open};
use crate::dispatch::ErasedNode;
use crate::handoff;
use crate::input::{ErasedInput, InputMode};
use crate::listed::Listed;
use crate::live::LiveNames;
use crate::node::{Make, Ways};
use crate::process::Processes;
use crate::registry::{NodeInfo, Reason, Registry};
use crate::runtime::{InputSlot, Message, NodeSlot, Runtime};
use crate::threads::Gauges;
use crate::{ArcIndex, Clock, Input, Node, NodeIndex, Plugin, SwIfIndex, ThreadIndex, ThreadInfo, counters};
use buffer::{Owned, Pool};
use simd::Level;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Mailbox, Qsbr, Snapshot, Waker};

/// State of a feature that its nodes and its control verbs share: made when first asked for.
pub trait Shared: Send + Sync + Sized + 'static {
    /// Makes it. May ask the instance for others, but not in a circle.
    fn make(world: &World) -> Self;
}

/// What an instance is made of.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// Threads that run the graph: the main one and the workers.
    pub threads: usize,
    /// Buffers at most.
    pub buffers: usize,
    /// The highest instruction-set level to use; what the processor hasn't got isn't used.
    pub level: Level,
    /// The counters of nodes stand in the stats directory.
    pub node_counters: bool,
}

impl Default for WorldConfig {
    fn default() -> Self {
        Self { threads: 1, buffers: 65_536, level: Level::detect(), node_counters: true }
    }
}

struct ThreadDoor {
    mailbox: Arc<Mailbox<Message>>,
    waker: Arc<Waker>,
    gauges: Arc<Gauges>,
}

/// An instance of the packet processor.
pub struct World {
    /// Reclaims what workers may still read.
    pub qsbr: Arc<Qsbr>,
    /// All packet buffers.
    pub pool: &'static Pool,
    /// All counters.
    pub stats: stats::Registry,
    /// The clock of all timers.
    pub clock: Arc<Clock>,
    /// The tasks of the control thread.
    pub processes: Processes,
    /// The binary API: messages, clients, events.
    pub api: msg::Hub<World>,
    registry: Mutex<Registry>,
    arcs: Arc<Snapshot<ArcTable>>,
    reasons: Arc<Snapshot<Vec<&'static Reason>>>,
    states: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    doors: Vec<ThreadDoor>,
    level: AtomicU8,
    plugins: &'static [&'static Plugin],
    pub(crate) live: Mutex<HashMap<&'static str, LiveNames>>,
    pub(crate) listed: Mutex<Listed>,
}

/// Messages that a thread's mailbox holds. Control waits when it is full.
const MAILBOX: usize = 4096;

impl World {
    /// Makes an instance of these plugins, and its threads' graphs: number 0 is the main thread's.
    ///
    /// # Errors
    /// Buffers that can't be had; a name that two plugins give to a node; an arc whose order is a circle; what a
    /// plugin's start says.
    pub fn new(
        config: &WorldConfig,
        plugins: &'static [&'static Plugin],
    ) -> Result<(Arc<World>, Vec<Runtime>), String> {
        let threads = config.threads.max(1);
        let pool =
            Pool::new(config.buffers).map_err(|e| format!("{} packet buffers: {e}", config.buffers))?;
        let qsbr = Qsbr::new();
        let waker = || Waker::new().map(Arc::new).map_err(|e| format!("eventfd: {e}"));
        let control = Waker::watching().map(Arc::new).map_err(|e| format!("epoll: {e}"))?;
        let doors = (0..threads)
            .map(|_| {
                let waker = waker()?;
                let mailbox = Arc::new(Mailbox::new(MAILBOX, waker.clone()));
                Ok(ThreadDoor { mailbox, waker, gauges: Arc::new(Gauges::new()) })
            })
            .collect::<Result<Vec<_>, String>>()?;
        let world = Arc::new(World {
            arcs: Arc::new(Snapshot::new(qsbr.clone(), ArcTable::default())),
            reasons: Arc::new(Snapshot::new(qsbr.clone(), Vec::new())),
            qsbr,
            pool,
            stats: stats::Registry::new(threads),
            clock: Arc::default(),
            processes: Processes::new(control),
            api: msg::Hub::new(plugins.iter().flat_map(|p| p.api)).map_err(|e| format!("binary API: {e}"))?,
            registry: Mutex::default(),
            states: Mutex::default(),
            doors,
            level: AtomicU8::new(config.level.min(Level::detect()) as u8),
            plugins,
            live: Mutex::default(),
            listed: Mutex::default(),
        });
        if !config.node_counters {
            world.stats.hide("/sys/node/");
        }
        world.stats.names(counters::NAMES);
        world.stats.simple(counters::SUSPENDS);
        for name in [counters::HANDED, counters::CONGESTION] {
            (0..threads).for_each(|to| world.stats.simple(name).start(to));
        }
        let wakers: Vec<_> = world.doors.iter().map(|d| d.waker.clone()).collect();
        let mut runtimes = handoff::rings(&wakers, &world.stats, pool)
            .into_iter()
            .zip(&world.doors)
            .enumerate()
            .map(|(thread, (handoffs, door))| {
                let core = Core::new(
                    ThreadIndex(thread as u16),
                    pool,
                    &world.stats,
                    handoffs,
                    world.clock.clone(),
                    world.reasons.clone(),
                );
                Runtime::new(
                    core,
                    world.qsbr.register(),
                    world.arcs.clone(),
                    door.mailbox.clone(),
                    door.gauges.clone(),
                )
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(|e| format!("epoll: {e}"))?;
        world.start(&mut runtimes)?;
        Ok((world, runtimes))
    }

    fn start(self: &Arc<Self>, runtimes: &mut [Runtime]) -> Result<(), String> {
        let mut indices = Vec::new();
        for plugin in self.plugins {
            for def in plugin.nodes {
                let mut registry = self.registry();
                let name = def.name();
                if registry.find(name).is_some_and(|i| registry.nodes[i.at()].make.is_some()) {
                    return Err(format!("plugin {}: another plugin has a node {name} already", plugin.name));
                }
                indices.push(registry.add(name, (def.ways)(), (def.make)()));
            }
        }
        let arcs: Vec<_> = self.plugins.iter().flat_map(|p| p.arcs).copied().collect();
        let features: Vec<_> = self.plugins.iter().flat_map(|p| p.features).copied().collect();
        self.registry().add_arcs(&arcs, &features)?;
        self.place_missing();
        for index in indices {
            self.install(index);
            runtimes.iter_mut().for_each(Runtime::receive);
        }
        for plugin in self.plugins {
            (plugin.start)(self).map_err(|e| format!("plugin {}: {e}", plugin.name))?;
            runtimes.iter_mut().for_each(Runtime::receive);
        }
        Ok(())
    }

    pub(crate) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().expect("no panic inside")
    }

    /// Gives the threads a place for packets to nodes that are named but not there: they are freed there.
    fn place_missing(&self) {
        let missing: Vec<NodeIndex> = {
            let mut registry = self.registry();
            let fresh = registry.nodes.iter_mut().enumerate().filter(|(_, n)| !n.placed);
            fresh
                .filter_map(|(i, n)| {
                    n.placed = true;
                    n.make.is_none().then_some(NodeIndex(i as u16))
                })
                .collect()
        };
        for index in missing {
            for thread in 0..self.doors.len() {
                self.post(ThreadIndex(thread as u16), Message::AddMissing(index, Open::new(self.pool)));
            }
        }
    }

    /// Makes the node for every thread and sends it there. It is there before any packet that control lets go to it.
    fn install(&self, index: NodeIndex) {
        self.list_counters();
        let reasons = self.registry().reasons.clone();
        if self.reasons.read(Vec::len) != reasons.len() {
            self.reasons.set(reasons);
        }
        let (mut make, level) = {
            let mut registry = self.registry();
            let entry = &mut registry.nodes[index.at()];
            (entry.make.take(), entry.level.unwrap_or(self.level()))
        };
        for thread in 0..self.doors.len() {
            let id = ThreadIndex(thread as u16);
            let rt = self.registry().resolve(index);
            let open = Open::new(self.pool);
            let message = match &make {
                Some(Make::Node(make)) => {
                    let node: ErasedNode = make(self, id);
                    let Some(run) = node.variant(level).or_else(|| node.variant(Level::V1)) else { continue };
                    Message::AddNode(Box::new(NodeSlot { rt, node, run }), open)
                }
                Some(Make::Input(make)) => Message::AddInput(
                    Box::new(InputSlot { rt, input: make(self, id), mode: InputMode::Disabled }),
                    open,
                ),
                None => return,
            };
            self.post(id, message);
        }
        self.registry().nodes[index.at()].make = make.take();
        self.place_missing();
    }

    fn post(&self, thread: ThreadIndex, message: Message) {
        let door = &self.doors[thread.at()];
        let mut message = message;
        while let Err(back) = door.mailbox.post(message) {
            // The thread takes them at its next turn.
            message = back;
            std::thread::sleep(std::time::Duration::from_micros(50));
        }
        door.waker.wake();
    }

    /// The shared state of this type.
    pub fn get<T: Shared>(&self) -> Arc<T> {
        let key = TypeId::of::<T>();
        let found = self.states.lock().expect("no panic inside").get(&key).cloned();
        let state = found.unwrap_or_else(|| {
            let made: Arc<dyn Any + Send + Sync> = Arc::new(T::make(self));
            self.states.lock().expect("no panic inside").entry(key).or_insert(made).clone()
        });
        state.downcast().expect("stored under its own type")
    }

    /// The plugins of this instance.
    pub fn plugins(&self) -> &'static [&'static Plugin] {
        self.plugins
    }

    /// How many threads run the graph.
    pub fn threads(&self) -> usize {
        self.doors.len()
    }

    /// What wakes a thread; it sleeps on the descriptor.
    pub fn waker(&self, thread: ThreadIndex) -> Arc<Waker> {
        self.doors[thread.at()].waker.clone()
    }

    /// One line for each thread that runs the graph.
    pub fn thread_list(&self) -> Vec<ThreadInfo> {
        self.doors.iter().enumerate().map(|(i, door)| door.gauges.info(i)).collect()
    }

    /// The instruction-set level of the nodes that have none of their own.
    pub fn level(&self) -> Level {
        Level::ALL[self.level.load(Ordering::Relaxed) as usize]
    }

    /// Sets the instruction-set level of one node, or of all that have none of their own. Threads follow at their next
    /// turn.
    ///
    /// # Errors
    /// A level that this processor hasn't got; an input, which has no variants; a node that nobody brings.
    pub fn set_variant(&self, node: Option<NodeIndex>, level: Level) -> Result<(), String> {
        if !level.is_supported() {
            return Err(format!("this processor has no {level}; its highest level is {}", Level::detect()));
        }
        let mut registry = self.registry();
        let nodes: Vec<NodeIndex> = match node {
            None => {
                self.level.store(level as u8, Ordering::Relaxed);
                let all = registry.nodes.iter().enumerate();
                all.filter(|(_, n)| n.level.is_none()).map(|(i, _)| NodeIndex(i as u16)).collect()
            }
            Some(node) => {
                let entry = registry.nodes.get_mut(node.at()).ok_or("there is no such node")?;
                if !matches!(entry.make, Some(Make::Node(_))) {
                    return Err(format!("{} has no variants", entry.name));
                }
                entry.level = Some(level);
                vec![node]
            }
        };
        drop(registry);
        self.on_threads(move |rt| {
            for node in &nodes {
                // False for inputs and for nodes that nobody brings: they have no variants.
                let _ = rt.set_variant(*node, level);
            }
        });
        Ok(())
    }

    /// Runs something on a thread, at its next turn.
    pub fn on_thread(&self, thread: ThreadIndex, call: impl FnOnce(&mut Runtime) + Send + 'static) {
        self.post(thread, Message::Call(Box::new(call)));
    }

    /// Runs something on every thread, at its next turn.
    pub fn on_threads(&self, call: impl Fn(&mut Runtime) + Send + Sync + 'static) {
        let call = Arc::new(call);
        for thread in 0..self.doors.len() {
            let call = call.clone();
            self.on_thread(ThreadIndex(thread as u16), move |rt| call(rt));
        }
    }

    /// Sends a packet to a node, on the main thread.
    pub fn inject(&self, node: NodeIndex, buffer: Owned) {
        self.post(ThreadIndex(0), Message::Inject(node, buffer));
    }

    /// Tells every thread to end after its turn.
    pub fn stop(&self) {
        for thread in 0..self.doors.len() {
            self.post(ThreadIndex(thread as u16), Message::Stop);
        }
    }

    /// The index of a node, whether its body is there yet or not.
    pub fn node(&self, name: &str) -> Option<NodeIndex> {
        self.registry().find(name)
    }

    /// The name of a node.
    pub fn node_name(&self, index: NodeIndex) -> Arc<str> {
        self.registry().nodes.get(index.at()).map_or_else(|| "unknown".into(), |n| n.name.clone())
    }

    /// Adds a node at run time, such as an interface's output. A node of this name that exists gets the new body.
    pub fn add_node<N: Node>(
        &self,
        name: &str,
        make: impl Fn(&World, ThreadIndex) -> N + Send + Sync + 'static,
    ) -> NodeIndex {
        let make = Make::Node(Box::new(move |world, thread| ErasedNode::new(make(world, thread))));
        let index = self.registry().add(name, Ways::of::<N>(), make);
        self.install(index);
        index
    }

    /// Adds an input node at run time.
    pub fn add_input<N: Input>(
        &self,
        name: &str,
        make: impl Fn(&World, ThreadIndex) -> N + Send + Sync + 'static,
    ) -> NodeIndex {
        let make = Make::Input(Box::new(move |world, thread| <dyn ErasedInput>::boxed(make(world, thread))));
        let index = self.registry().add(name, Ways::of_input::<N>(), make);
        self.install(index);
        index
    }

    /// Notes that `from` chooses `to` at run time (an ethertype, a protocol, an interface), and gives the index of `to`.
    ///
    /// # Errors
    /// The name that isn't a node's.
    pub fn link(&self, from: &str, to: &str) -> Result<NodeIndex, String> {
        let mut registry = self.registry();
        let find = |name: &str| registry.find(name).ok_or_else(|| format!("no node is named {name}"));
        let (from, to) = (find(from)?, find(to)?);
        registry.nodes[from.at()].dynamic.insert(to);
        Ok(to)
    }

    /// Every node, in the order of the indices.
    pub fn nodes(&self) -> Vec<NodeInfo> {
        self.registry().list(self.level())
    }

    /// A node, if there is one of this index.
    pub fn node_info(&self, index: NodeIndex) -> Option<NodeInfo> {
        self.registry().one(index, self.level())
    }

    /// The indices that nodes have: for walks in slices, which call [`Self::node_info`] when a node's turn comes.
    pub fn node_indices(&self) -> impl Iterator<Item = NodeIndex> + use<> {
        (0..self.registry().nodes.len()).map(|i| NodeIndex(i as u16))
    }

    /// Every reason that is counted, by error index.
    pub fn reasons(&self) -> Vec<&'static Reason> {
        self.registry().reasons.clone()
    }

    /// The arc of this name.
    pub fn arc(&self, name: &str) -> Option<ArcIndex> {
        self.registry().arcs.find(name)
    }

    /// All arcs with their features in order.
    pub fn arc_list(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        let registry = self.registry();
        registry
            .arcs
            .all
            .iter()
            .map(|a| (a.def.name, a.features.iter().map(|(f, _)| f.node).collect()))
            .collect()
    }

    /// The features of an arc that are enabled on an interface, in order, with their configuration.
    pub fn features_of(&self, arc: ArcIndex, sw_if: SwIfIndex) -> Vec<(&'static str, u32)> {
        self.registry().arcs.enabled(arc, sw_if)
    }

    /// Enables a feature on an interface (`config` is what its node reads there), or disables it (`None`).
    ///
    /// # Errors
    /// An arc or feature that doesn't exist, with those that do.
    pub fn set_feature(
        &self,
        arc: &str,
        feature: &str,
        sw_if: SwIfIndex,
        config: Option<u32>,
    ) -> Result<(), String> {
        let mut registry = self.registry();
        let index = registry.arcs.find(arc).ok_or_else(|| {
            let names: Vec<_> = registry.arcs.all.iter().map(|a| a.def.name).collect();
            format!("no feature arc is named {arc}; there are {}", names.join(", "))
        })?;
        let features = &registry.arcs.all[index.at()].features;
        let at = features.iter().position(|(f, _)| f.node == feature).ok_or_else(|| {
            let names: Vec<_> = features.iter().map(|(f, _)| f.node).collect();
            format!("arc {arc} has no feature {feature}; it has {}", names.join(", "))
        })?;
        let table = registry.arcs.set(index, at, sw_if, config);
        self.arcs.set(table);
        Ok(())
    }

    /// Gives an interface's chains of an arc an end of its own: its transmit node.
    ///
    /// # Errors
    /// An arc that doesn't exist.
    pub fn set_arc_end(&self, arc: &str, sw_if: SwIfIndex, end: NodeIndex) -> Result<(), String> {
        let mut registry = self.registry();
        let index = registry.arcs.find(arc).ok_or_else(|| format!("no feature arc is named {arc}"))?;
        let table = registry.arcs.set_end(index, sw_if, end);
        self.arcs.set(table);
        Ok(())
    }

    /// The graph as a Graphviz picture: an arrow for each edge, families of nodes in frames. A node that stands on several arcs
    /// would tie them together, so it is left out.
    pub fn dot(&self) -> String {
        let arcs = self.arc_list();
        let on = |node: &str| arcs.iter().filter(|(_, features)| features.contains(&node)).count();
        let mut hidden: Vec<_> = arcs.iter().flat_map(|(_, features)| features).copied().collect();
        hidden.retain(|node| on(node) > 1);
        crate::dot::dot(self.nodes(), &hidden)
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("threads", &self.doors.len()).finish_non_exhaustive()
    }
}
