// SPDX-License-Identifier: Apache-2.0
//! A running instance inside a network namespace, and a wire between two interfaces: for tests of
//! drivers with real peers.

use buffer::{Buffer, Pool};
use graph::{
    Build, Configured, Cx, Feature, Next, Node, NodeDef, NodeIndex, Plugin, SwIfIndex, ThreadIndex,
    ThreadPlan, Threads, World, WorldConfig,
};
use net::Interfaces;
use netlink::Namespace;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Sends what comes in by an interface out by another one: the feature `rig-wire` of the arc
/// `device-input`.
pub static WIRE: Plugin = Plugin {
    name: "rig-wire",
    about: "A wire between two interfaces",
    nodes: &[NodeDef::configured::<Wire>()],
    features: &[Feature { arc: "device-input", node: "rig-wire", before: &[], after: &[] }],
    ..Plugin::EMPTY
};

struct Wire;

#[derive(Next, Clone, Copy)]
enum To {
    #[dynamic]
    Node(NodeIndex),
}

impl Build for Wire {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

/// The node that packets go to.
impl Configured for Wire {
    type Config = NodeIndex;
}

impl Node for Wire {
    const NAME: &'static str = "rig-wire";
    type Next = To;
    type Trace = ();
    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        To::Node(cx.feature_config::<Self>(b))
    }
}

type Order = Box<dyn FnOnce(&World) + Send>;

/// An instance whose threads run. Ends with this value.
pub struct Rig {
    /// The instance.
    pub world: Arc<World>,
    pool: &'static Pool,
    threads: Option<Arc<Threads>>,
    control: Option<JoinHandle<()>>,
    orders: mpsc::Sender<Order>,
    ends: Arc<AtomicBool>,
}

impl Rig {
    /// Starts an instance with so many workers; its control thread is in the namespace.
    ///
    /// # Panics
    /// If that can't be done.
    pub fn new(namespace: &str, plugins: &'static [&'static Plugin], workers: usize) -> Self {
        // Files of instances that run at the same time are kept apart.
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ferrovia-rig-{}-{number}", std::process::id());
        let runtime_dir = std::env::temp_dir().join(name);
        let config = WorldConfig {
            threads: 1 + workers,
            buffers: 16_384,
            runtime_dir,
            ..WorldConfig::default()
        };
        let (world, runtimes) = World::new(&config, plugins).unwrap_or_else(|e| panic!("{e}"));
        let pool = world.pool;
        let threads =
            Threads::start(runtimes, &ThreadPlan::default()).unwrap_or_else(|e| panic!("{e}"));
        let (orders, receiver) = mpsc::channel::<Order>();
        let ends = Arc::new(AtomicBool::new(false));
        let namespace = Namespace::open(namespace).unwrap_or_else(|e| panic!("{e}"));
        let (shared, told) = (world.clone(), ends.clone());
        let control = std::thread::spawn(move || {
            let result = namespace.run(move || {
                control(&shared, &receiver, &told);
                Ok(())
            });
            result.unwrap_or_else(|e| panic!("{e}"));
        });
        Self { world, pool, threads: Some(threads), control: Some(control), orders, ends }
    }

    /// Runs something on the control thread.
    ///
    /// # Panics
    /// If it does.
    pub fn control<T: Send + 'static>(&self, f: impl FnOnce(&World) -> T + Send + 'static) -> T {
        let (answer, wait) = mpsc::channel();
        let order = Box::new(move |world: &World| {
            // Its end is waited for below.
            let _ = answer.send(f(world));
        });
        assert!(self.orders.send(order).is_ok(), "the control thread has ended");
        self.world.processes.waker().wake();
        wait.recv().unwrap_or_else(|_| panic!("the control thread panicked"))
    }

    /// Waits until each thread has had a turn: it acts on what control has changed so far.
    ///
    /// # Panics
    /// If a thread has none within some seconds.
    pub fn settle(&self) {
        let turns = self.control(|world| world.query(|_| ())).wait();
        assert!(turns.iter().all(Option::is_some), "a thread doesn't run");
    }

    /// Runs a command.
    ///
    /// # Errors
    /// The command's.
    ///
    /// # Panics
    /// If it takes more than 10 s.
    pub fn cli(&self, line: &str) -> Result<String, cli::Error> {
        let line = line.to_string();
        self.control(move |world| run(world, &line))
    }

    /// Runs commands, one a line, that have to succeed; gives the answer to the last.
    ///
    /// # Panics
    /// If one fails.
    pub fn script(&self, lines: &str) -> String {
        let mut answer = String::new();
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            answer = self.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
        answer
    }

    /// Connects two interfaces, in both directions. Needs [`WIRE`].
    ///
    /// # Panics
    /// If one isn't there.
    pub fn wire(&self, a: &str, b: &str) {
        connect(&self.world, a, b);
    }

    /// Waits for a condition, at most 10 s.
    ///
    /// # Panics
    /// If it doesn't come true.
    pub fn until(&self, what: &str, mut condition: impl FnMut(&World) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !condition(&self.world) {
            assert!(Instant::now() < deadline, "waited in vain: {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Packets dropped for a reason, by node and the reason's name.
    pub fn drops(&self) -> Vec<(String, &'static str, u64)> {
        let errors = self.world.stats.simple(graph::counters::ERRORS);
        let reasons = self.world.reasons();
        let counted =
            reasons.iter().enumerate().filter(|(_, r)| r.drop).map(|(i, r)| (r, errors.sum(i)));
        counted.filter(|(_, n)| *n > 0).map(|(r, n)| (r.node.to_string(), r.reason, n)).collect()
    }

    /// Takes all interfaces away but `local0`, ends the threads, and checks that every buffer is
    /// back.
    ///
    /// # Panics
    /// If buffers have leaked.
    pub fn finish(mut self) {
        self.control(|world| {
            let interfaces: Arc<Interfaces> = world.get();
            let gone: Vec<SwIfIndex> =
                interfaces.list().iter().map(|i| i.sw_if).filter(|i| i.0 != 0).collect();
            gone.into_iter().for_each(|sw_if| {
                interfaces.delete(world, sw_if).unwrap_or_else(|e| panic!("{e}"))
            });
        });
        let pool = self.pool;
        self.stop();
        drop(self);
        assert_eq!(pool.release(), Ok(()), "buffers have leaked");
    }

    fn stop(&mut self) {
        self.ends.store(true, Ordering::Release);
        self.world.processes.waker().wake();
        if let Some(control) = self.control.take() {
            let ended = control.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the control thread panicked");
        }
        if let Some(threads) = self.threads.take() {
            drop(threads.stop(&self.world));
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.stop();
        // It is made for the first file.
        let _ = std::fs::remove_dir_all(self.world.runtime_dir());
    }
}

/// Connects two interfaces of an instance, in both directions. Needs [`WIRE`].
///
/// # Panics
/// If one isn't there.
pub fn connect(world: &World, a: &str, b: &str) {
    let interfaces: Arc<Interfaces> = world.get();
    let [a, b] = [a, b].map(|name| {
        let found = interfaces.find(name).and_then(|sw_if| interfaces.get(sw_if));
        found.unwrap_or_else(|e| panic!("{e}"))
    });
    for (from, to) in [(&a, &b), (&b, &a)] {
        let set = world.configure_feature::<Wire>("device-input", from.sw_if, Some(to.output));
        set.unwrap_or_else(|e| panic!("{e}"));
    }
}

/// The control thread's loop.
fn control(world: &World, orders: &mpsc::Receiver<Order>, ends: &AtomicBool) {
    let waker = world.processes.waker().clone();
    while !ends.load(Ordering::Acquire) {
        waker.prepare_sleep();
        orders.try_iter().for_each(|order| order(world));
        let due = world
            .processes
            .run(world)
            .map_or(u64::MAX, |due| due.saturating_sub(world.clock.now()));
        if !ends.load(Ordering::Acquire) {
            let due = Duration::from_nanos(due.min(1_000_000_000));
            let limit =
                Timespec { tv_sec: due.as_secs() as i64, tv_nsec: due.subsec_nanos().into() };
            // An interrupted wait is a short one.
            let _ = poll(&mut [PollFd::new(&waker, PollFlags::IN)], Some(&limit));
        }
        waker.awake();
    }
}

fn run(world: &World, line: &str) -> Result<String, cli::Error> {
    let tree = cli::Tree::new(world.plugins().iter().flat_map(|p| p.cli))?;
    let (mut runner, mut said) = (cli::Runner::default(), Vec::new());
    runner.line(&tree, world, line, false, &mut said);
    let patience = Instant::now() + Duration::from_secs(10);
    loop {
        let now = Duration::from_nanos(world.clock.now());
        if let Some(result) = runner.poll(&tree, world, now, &mut said) {
            let texts = said.into_iter().map(|s| match s {
                cli::OutputPiece::Answer(text) | cli::OutputPiece::Chunk(text) => text,
            });
            return result.map(|()| texts.collect());
        }
        assert!(Instant::now() < patience, "`{line}' doesn't end");
        let _ = world.processes.run(world);
        std::thread::sleep(Duration::from_millis(1));
    }
}
