// SPDX-License-Identifier: Apache-2.0
//! An instance: shared state, the graph's control side, its threads' mailboxes.

mod features;
mod plugins;
mod reasons;

use crate::arcs::ArcTable;
use crate::core::Core;
use crate::dispatch::ErasedNode;
use crate::dot::Picture;
use crate::handoff;
use crate::input::InputMode;
use crate::live::LiveNames;
use crate::longest_call::LongestCall;
use crate::node::{Factory, NodeType};
use crate::process::Processes;
use crate::registry::{Kind, NodeEntry, NodeInfo, Registry};
use crate::running::ConfigState;
use crate::runtime::Runtime;
use crate::shared::States;
use crate::slot::Message;
use crate::slot::{InputSlot, NodeSlot};
use crate::thread_handle::ThreadHandle;
use crate::threads::Gauges;
use crate::watchdog::Watchdog;
use crate::{Clock, Node, NodeIndex, Phase, Plugin, SwIfIndex, ThreadIndex, ThreadInfo, counters};
use buffer::{Owned, Pool};
use cli::Error;
use simd::Level;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Qsbr, Queue, Slots, Waker};

/// Parameters of an instance.
#[derive(Clone)]
pub struct WorldConfig {
    /// Threads that run the graph: the main one and the workers.
    pub threads: usize,
    /// Buffers at most.
    pub buffers: usize,
    /// The highest instruction-set level to use; what the processor hasn't got isn't used.
    pub level: Level,
    /// The counters of nodes stand in the stats directory.
    pub node_counters: bool,
    /// The plugins' sections of startup.conf.
    pub startup: startup::Values,
    /// VPP's behaviour where Ferrovia has another by choice (docs/differences.md).
    pub compat_vpp: bool,
    /// Directory of the instance's sockets.
    pub runtime_dir: PathBuf,
    /// Plugins of the program that are switched off. Others may ask for their state.
    pub off: &'static [&'static Plugin],
    /// Where the threads' pseudorandom numbers begin. Two instances of one seed that do the same
    /// draw the same numbers.
    pub seed: u64,
}

impl Default for WorldConfig {
    fn default() -> Self {
        Self {
            threads: 1,
            buffers: 65_536,
            level: Level::detect(),
            node_counters: true,
            startup: startup::Values::default(),
            compat_vpp: false,
            runtime_dir: std::env::temp_dir(),
            off: &[],
            seed: 0x9e37_79b9_7f4a_7c15,
        }
    }
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
    pub(crate) states: States,
    startup: startup::Values,
    compat_vpp: bool,
    runtime_dir: PathBuf,
    pub(crate) config: ConfigState,
    handles: Vec<ThreadHandle>,
    level: AtomicU8,
    plugins: &'static [&'static Plugin],
    pub(crate) feature_watchers: Mutex<Vec<features::FeatureWatcher>>,
    /// Phases of the configuration, in their order.
    pub(crate) phases: Vec<Phase>,
    pub(crate) live: Mutex<HashMap<&'static str, LiveNames>>,
    pub(crate) watchdog: Watchdog,
}

/// Packets of control's own that may wait for a thread; further ones are dropped. What waits there
/// holds buffers.
const INJECTED: usize = 1024;

impl World {
    /// Makes an instance of these plugins, and its threads' graphs: number 0 is the main thread's.
    ///
    /// # Errors
    /// Buffers that can't be had; a name that two plugins give to a node; an arc or phases whose
    /// order is a cycle; fields that the packet's metadata has no room for; an error of a
    /// plugin's start.
    pub fn new(
        config: &WorldConfig,
        plugins: &'static [&'static Plugin],
    ) -> Result<(Arc<World>, Vec<Runtime>), String> {
        let threads = config.threads.max(1);
        let pool = Pool::new(config.buffers)
            .map_err(|e| format!("{} packet buffers: {e}", config.buffers))?;
        let qsbr = Qsbr::new();
        let waker = || Waker::new().map(Arc::new).map_err(|e| format!("eventfd: {e}"));
        let control = Waker::watching().map(Arc::new).map_err(|e| format!("epoll: {e}"))?;
        let handles = (0..threads)
            .map(|_| {
                let waker = waker()?;
                let mailbox = Arc::new(Queue::new(waker.clone()));
                Ok(ThreadHandle { mailbox, waker, gauges: Arc::new(Gauges::new()) })
            })
            .collect::<Result<Vec<_>, String>>()?;
        let arcs = Arc::new(ArcTable::new().map_err(|e| format!("feature arcs: {e}"))?);
        let reasons = Arc::new(Slots::new(qsbr.clone()));
        let world = Arc::new(World {
            qsbr,
            pool,
            stats: counters::registry(threads, plugins.iter().chain(config.off)),
            clock: Arc::default(),
            processes: Processes::new(control),
            api: msg::Hub::new(plugins.iter().flat_map(|p| p.api))
                .map_err(|e| format!("binary API: {e}"))?,
            registry: Mutex::new(Registry::new(arcs.clone(), reasons.clone())),
            states: States::default(),
            startup: config.startup.clone(),
            compat_vpp: config.compat_vpp,
            runtime_dir: config.runtime_dir.clone(),
            config: ConfigState::default(),
            handles,
            level: AtomicU8::new(config.level.min(Level::detect()) as u8),
            plugins,
            feature_watchers: Mutex::default(),
            phases: Phase::in_order(plugins)?,
            live: Mutex::default(),
            watchdog: Watchdog::new(threads),
        });
        if !config.node_counters {
            world.stats.hide("/sys/node/");
        }
        world.stats.names(counters::NAMES);
        world.stats.simple(counters::SUSPENDS);
        world.stats.simple(counters::REFUSED);
        (0..threads).for_each(|to| world.stats.simple(counters::REFUSED).start(to));
        for name in [counters::HANDED, counters::CONGESTION] {
            (0..threads).for_each(|to| world.stats.simple(name).start(to));
        }
        let wakers: Vec<_> = world.handles.iter().map(|d| d.waker.clone()).collect();
        let mut runtimes = handoff::rings(&wakers, &world.stats, pool)
            .into_iter()
            .zip(&world.handles)
            .enumerate()
            .map(|(thread, (handoffs, handle))| {
                let core = Core::new(
                    ThreadIndex(thread as u16),
                    pool,
                    &world.stats,
                    handoffs,
                    world.clock.clone(),
                    reasons.clone(),
                    config.seed,
                );
                Runtime::new(
                    core,
                    world.qsbr.register(),
                    arcs.clone(),
                    handle.mailbox.clone(),
                    handle.gauges.clone(),
                )
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(|e| format!("epoll: {e}"))?;
        world.start(&mut runtimes, config.off)?;
        Ok((world, runtimes))
    }

    /// True if this instance behaves as VPP does wherever Ferrovia has another behaviour by choice:
    /// section `compat` of startup.conf. It doesn't change after the start.
    pub fn compat_vpp(&self) -> bool {
        self.compat_vpp
    }

    /// The directory in which sockets with relative names lie.
    pub fn runtime_dir(&self) -> &Path {
        &self.runtime_dir
    }

    /// The startup.conf sections of this type.
    pub fn startup<T: startup::Startup>(&self) -> T {
        self.startup.get()
    }

    pub(crate) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().expect("no panic inside")
    }

    /// Gives the threads a place for packets to nodes that are named but not there: they are freed
    /// there.
    fn place_missing(&self) {
        let mut missing: Vec<NodeIndex> = {
            let mut registry = self.registry();
            let fresh = std::mem::take(&mut registry.unplaced);
            let is_missing =
                |index: &NodeIndex| registry.get(*index).is_some_and(|n| n.kind == Kind::Named);
            fresh.into_iter().filter(is_missing).collect()
        };
        missing.sort_unstable();
        for index in missing {
            for thread in 0..self.handles.len() {
                self.post(ThreadIndex(thread as u16), Message::AddMissing(index));
            }
        }
    }

    /// Makes the node for every thread and sends it there. It is there before any packet that
    /// control lets go to it.
    fn install(&self, index: NodeIndex, make: &Factory) {
        self.list_counters();
        let level =
            self.registry().get(index).and_then(|entry| entry.level).unwrap_or(self.level());
        for thread in 0..self.handles.len() {
            let id = ThreadIndex(thread as u16);
            let rt = self.registry().resolve(index);
            let message = match make {
                Factory::Node(make) => {
                    let node: ErasedNode = make(self, id);
                    let Some(run) = node.variant(level).or_else(|| node.variant(Level::V1)) else {
                        continue;
                    };
                    Message::AddNode(Box::new(NodeSlot {
                        rt,
                        node,
                        run,
                        longest: LongestCall::default(),
                    }))
                }
                Factory::Input(make) => {
                    let (input, mode) = (make(self, id), InputMode::Disabled);
                    Message::AddInput(Box::new(InputSlot {
                        rt,
                        input,
                        mode,
                        longest: LongestCall::default(),
                    }))
                }
            };
            self.post(id, message);
        }
        self.place_missing();
    }

    /// Sends a thread something, in order. Never waits: a thread that is busy or stuck takes it
    /// when it can.
    pub(crate) fn post(&self, thread: ThreadIndex, message: Message) {
        self.handles[thread.at()].mailbox.post(message);
    }

    /// Number of threads that run the graph.
    pub fn threads(&self) -> usize {
        self.handles.len()
    }

    /// The waker of a thread, which sleeps on its descriptor.
    pub fn waker(&self, thread: ThreadIndex) -> Arc<Waker> {
        self.handles[thread.at()].waker.clone()
    }

    /// One line for each thread that runs the graph.
    pub fn thread_list(&self) -> Vec<ThreadInfo> {
        let info = |(i, handle): (usize, &ThreadHandle)| {
            let mut info = handle.gauges.info(i);
            self.watchdog.fill(i, handle, &mut info);
            info
        };
        self.handles.iter().enumerate().map(info).collect()
    }

    /// The instruction-set level of the nodes that have none of their own.
    pub fn level(&self) -> Level {
        Level::ALL[self.level.load(Ordering::Relaxed) as usize]
    }

    /// Sets the instruction-set level of one node, or of all nodes without their own; without a
    /// level, a node follows the others again. Threads follow at their next turn. Returns the
    /// level that was set before.
    ///
    /// # Errors
    /// A level that this processor hasn't got; a node without variants, as inputs and nodes that
    /// aren't [`HOT`](crate::Node::HOT).
    pub fn set_variant(
        &self,
        node: Option<NodeIndex>,
        own: Option<Level>,
    ) -> Result<Option<Level>, String> {
        let level = own.unwrap_or(self.level());
        if !level.is_supported() {
            return Err(format!(
                "this processor has no {level}; its highest level is {}",
                Level::detect()
            ));
        }
        let mut registry = self.registry();
        let (nodes, before): (Vec<NodeIndex>, _) = match node {
            None => {
                let before = Level::ALL[self.level.swap(level as u8, Ordering::Relaxed) as usize];
                let follow = |n: &NodeEntry| n.has_variants() && n.level.is_none();
                let nodes = registry.iter().filter(|(_, n)| follow(n)).map(|(index, _)| index);
                (nodes.collect(), Some(before))
            }
            Some(node) => {
                let entry = registry.get_mut(node).ok_or("there is no such node")?;
                if !entry.has_variants() {
                    return Err(format!(
                        "{} has no variants: one loop for all processors",
                        entry.name
                    ));
                }
                (vec![node], std::mem::replace(&mut entry.level, own))
            }
        };
        drop(registry);
        self.on_threads(move |rt| {
            for node in &nodes {
                // False for a node that was deleted meanwhile.
                let _ = rt.set_variant(*node, level);
            }
        });
        Ok(before)
    }

    /// Runs something on a thread, at its next turn.
    pub fn on_thread(&self, thread: ThreadIndex, call: impl FnOnce(&mut Runtime) + Send + 'static) {
        self.post(thread, Message::Call(Box::new(call)));
    }

    /// Runs something on every thread, at its next turn.
    pub fn on_threads(&self, call: impl Fn(&mut Runtime) + Send + Sync + 'static) {
        let call = Arc::new(call);
        for thread in 0..self.handles.len() {
            let call = call.clone();
            self.on_thread(ThreadIndex(thread as u16), move |rt| call(rt));
        }
    }

    /// Sends a packet to a node, on the main thread. While that takes nothing, packets beyond a
    /// number are dropped and counted: each that waits holds a buffer.
    pub fn inject(&self, node: NodeIndex, buffer: Owned) {
        let injected = &self.handles[0].gauges.injected;
        if injected.fetch_add(1, Ordering::Relaxed) >= INJECTED {
            injected.fetch_sub(1, Ordering::Relaxed);
            self.stats.simple(counters::REFUSED).control().add(0, 1);
            return drop(buffer);
        }
        self.post(ThreadIndex(0), Message::Inject(node, buffer));
    }

    /// Names threads that take nothing of what control sends them; control's loop calls it by
    /// [`Processes::run`]. Gives when to look again, if anything waits.
    pub(crate) fn watch_threads(&self) -> Option<u64> {
        self.watchdog.look(&self.handles, self.clock.now())
    }

    /// Asks every thread to end after its turn.
    pub fn stop(&self) {
        for thread in 0..self.handles.len() {
            self.post(ThreadIndex(thread as u16), Message::Stop);
        }
    }

    /// The index of a node, whether its body is there yet or not.
    pub fn node(&self, name: &str) -> Option<NodeIndex> {
        self.registry().find(name)
    }

    /// The name of a node.
    pub fn node_name(&self, index: NodeIndex) -> Arc<str> {
        self.registry().get(index).map_or_else(|| "unknown".into(), |n| n.name.clone())
    }

    /// Adds a node at run time, such as an interface's output. A node of this name that exists gets
    /// the new body.
    ///
    /// # Errors
    /// More nodes, or more counted edges, than there is room for.
    pub fn add_node<N: Node>(
        &self,
        name: &str,
        make: impl Fn(&World, ThreadIndex) -> N + Send + Sync + 'static,
    ) -> Result<NodeIndex, Error> {
        let make =
            Factory::Node(Box::new(move |world, thread| ErasedNode::new(make(world, thread))));
        self.reap();
        let index = self.registry().add(name, make.kind(), NodeType::of::<N>())?;
        self.install(index, &make);
        Ok(index)
    }

    /// Removes a node that was added at run time, with its counters and their names. No edge may
    /// lead to it any more; packets that were sent to it before are dropped and counted. Its
    /// index goes to another node once every thread has dropped its reference.
    pub fn remove_node(&self, index: NodeIndex) {
        let Some((name, removed)) = self.registry().remove(index) else { return };
        self.unlist_counters(index, &name, &removed.errors);
        for thread in 0..self.handles.len() {
            self.post(ThreadIndex(thread as u16), Message::RemoveNode(index, removed.clone()));
        }
        drop(removed);
        self.reap();
    }

    /// Frees what threads have given back.
    pub(crate) fn reap(&self) {
        let bodies = self.registry().reap();
        drop(bodies);
    }

    /// Takes all features from an interface that goes: the next interface with its index has none.
    pub fn forget_features(&self, sw_if: SwIfIndex) {
        self.registry().arcs.forget(sw_if);
    }

    /// Notes that `from` chooses `to` at run time (an ethertype, a protocol, an interface), and
    /// gives the index of `to`.
    ///
    /// # Errors
    /// The name that isn't a node's.
    pub fn link(&self, from: &str, to: &str) -> Result<NodeIndex, String> {
        let mut registry = self.registry();
        let find =
            |name: &str| registry.find(name).ok_or_else(|| format!("no node is named {name}"));
        let (from, to) = (find(from)?, find(to)?);
        registry.link(from, to);
        Ok(to)
    }

    /// Every node, in the order of the indices.
    pub fn nodes(&self) -> Vec<NodeInfo> {
        self.registry().list(self.level())
    }

    /// The indices of the input nodes, or of all others. Unlike [`Self::nodes`] it costs little,
    /// also with two nodes for each of many interfaces.
    pub fn nodes_by_input(&self, input: bool) -> Vec<NodeIndex> {
        self.registry().by_input(input)
    }

    /// A node, if there is one of this index.
    pub fn node_info(&self, index: NodeIndex) -> Option<NodeInfo> {
        self.registry().one(index, self.level())
    }

    /// The indices that nodes have: for walks in slices, which call [`Self::node_info`] when a
    /// node's turn comes.
    pub fn node_indices(&self) -> impl Iterator<Item = NodeIndex> + use<> {
        (0..self.registry().used().0).map(|i| NodeIndex(i as u32))
    }

    /// The names of all nodes, by index; of a node that has gone, its last one: records name nodes
    /// by index.
    pub fn node_names(&self) -> Vec<Arc<str>> {
        self.registry().names()
    }

    /// The graph as a Graphviz picture: an arrow for each edge, families of nodes in frames. A node
    /// that stands on several arcs would tie them together, so it is left out.
    pub fn dot(&self) -> String {
        let (mut picture, mut text) = (self.picture(), String::new());
        while picture.step(self, &mut text) {}
        text
    }

    /// As [`Self::dot`], made line by line with [`Picture::step`].
    pub fn picture(&self) -> Picture {
        let (mut on, mut hidden) = (BTreeSet::new(), BTreeSet::new());
        for node in self.arc_list().iter().flat_map(|(_, features)| features) {
            if !on.insert(*node) {
                hidden.insert(*node);
            }
        }
        Picture::new(hidden, self.node_indices())
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("threads", &self.handles.len()).finish_non_exhaustive()
    }
}
