// SPDX-License-Identifier: Apache-2.0
//! A router with one worker, and packets that come whether it is ready or not.

use crate::tables::{address, hop, packet};
use cli::{OutputPiece, Runner, Tree};
use graph::{
    Runtime, SwIfIndex, ThreadIndex, ThreadPlan, Threads, World, WorldConfig, usable_cores,
};
use net::{Adjacencies, IfCounters, Interfaces};
use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use wire::MacAddr;

pub struct Options {
    pub smoke: bool,
    pub ip6: bool,
    pub core: Option<usize>,
    pub priority: Option<u8>,
    pub queue: u64,
}

/// Interfaces `pg0`, where packets come in, and `pg1` …
pub struct Rig {
    pub world: Arc<World>,
    pub ip6: bool,
    tree: Tree<World>,
    threads: Arc<Threads>,
    ports: Vec<SwIfIndex>,
    queue: u64,
}

/// Packets in flight.
pub struct Flow {
    pub stream: Arc<pg::Stream>,
    /// Number of packets that each port had sent before.
    before: Vec<u64>,
}

/// Packet counts of a flow: taken, missed, sent.
#[derive(Clone, Debug)]
pub struct Count {
    /// Packets taken from the queue.
    pub sent: u64,
    /// Packets that arrived while the queue was full.
    pub missed: u64,
    /// Packets sent, by port.
    pub out: Vec<u64>,
}

impl Count {
    /// Packets that arrived but weren't sent.
    pub fn lost(&self) -> u64 {
        self.missed + self.sent - self.out.iter().sum::<u64>()
    }
}

/// The name of the one stream.
const STREAM: &str = "traffic";

impl Rig {
    /// Makes a router with this number of output interfaces, and of neighbours on each.
    pub fn new(options: &Options, outputs: usize, hops: u16) -> Result<Self, String> {
        let config = WorldConfig { threads: 2, buffers: 65_536, ..WorldConfig::default() };
        let (world, runtimes) = World::new(&config, daemon::plugins::ALL)?;
        let tree =
            Tree::new(world.plugins().iter().flat_map(|p| p.cli)).map_err(|e| e.to_string())?;
        let core = options.core.or_else(|| usable_cores().last().copied());
        let plan = ThreadPlan { worker_cores: vec![core], ..ThreadPlan::default() };
        let threads = Threads::start(runtimes, &plan)?;
        let Options { ip6, queue, .. } = *options;
        let mut rig = Self { world, ip6, tree, threads, ports: Vec::new(), queue };
        rig.wait(Duration::from_millis(50));
        if let Some(priority) = options.priority {
            rig.prefer(priority)?;
        }
        for port in 0..=outputs {
            rig.run(&format!("create packet-generator interface pg{port}"))?;
            rig.run(&format!("set interface state pg{port} up"))?;
            rig.run(&format!("set interface ip address pg{port} {}", address(ip6, port)))?;
            if ip6 {
                rig.run(&format!("ip6 nd pg{port} ra-suppress"))?;
            }
            let found = rig.world.get::<Interfaces>().find(&format!("pg{port}"));
            rig.ports.push(found.map_err(|e| e.to_string())?);
        }
        for port in 1..=outputs {
            rig.neighbors(port, hops)?;
        }
        rig.wait(Duration::from_millis(100));
        Ok(rig)
    }

    /// Time for which the worker was runnable while another task had its core: the machine's fault,
    /// not the router's.
    pub fn kept_away(&self) -> Duration {
        let tid = self.world.thread_list()[1].tid;
        let text =
            std::fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).unwrap_or_default();
        Duration::from_nanos(
            text.split(' ').nth(1).and_then(|n| n.trim().parse().ok()).unwrap_or(0),
        )
    }

    /// Gives the worker real-time priority on its core.
    fn prefer(&self, priority: u8) -> Result<(), String> {
        let tid = self.world.thread_list()[1].tid;
        let words = ["-f", "-p", &priority.to_string(), &tid.to_string()];
        let done = Command::new("chrt").args(words).status().map_err(|e| format!("chrt: {e}"))?;
        if done.success() { Ok(()) } else { Err("chrt: the worker got no priority".into()) }
    }

    /// The first neighbours of `pgN`, known for ever.
    pub fn neighbors(&self, port: usize, n: u16) -> Result<(), String> {
        let (first, mac) = (hop(self.ip6, port, 0), MacAddr::local(1));
        self.run(&format!("set ip neighbor pg{port} {first} {mac} static count {n}")).map(drop)
    }

    pub fn port(&self, at: usize) -> SwIfIndex {
        self.ports[at]
    }

    /// One turn of the control loop.
    pub fn turn(&self) {
        self.world.processes.run(&self.world);
        self.world.qsbr.collect();
    }

    /// Runs turns for this time.
    pub fn wait(&self, time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time {
            self.turn();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Runs a command to its end, as the control loop does. Gives the time of its longest turn.
    pub fn run(&self, line: &str) -> Result<Duration, String> {
        let (mut runner, mut said, mut longest) =
            (Runner::default(), Vec::<OutputPiece>::new(), Duration::ZERO);
        let mut start = Instant::now();
        runner.line(&self.tree, &self.world, line, false, &mut said);
        loop {
            let now = Duration::from_nanos(self.world.clock.now());
            let done = runner.poll(&self.tree, &self.world, now, &mut said);
            self.turn();
            longest = longest.max(start.elapsed());
            start = Instant::now();
            if let Some(done) = done {
                return done.map(|()| longest).map_err(|e| format!("`{line}': {e}"));
            }
        }
    }

    /// Routes from a text, as `ip route add file` takes them; the time that took, and of its
    /// longest turn.
    pub fn load(&self, lines: &str) -> Result<(Duration, Duration), String> {
        let file = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
        std::fs::write(file.path(), lines).map_err(|e| e.to_string())?;
        let start = Instant::now();
        let longest = self.run(&format!("ip route add file {}", file.path().display()))?;
        Ok((start.elapsed(), longest))
    }

    /// Number of packets that a port has sent so far.
    pub fn sent(&self, port: usize) -> u64 {
        self.world.get::<IfCounters>().tx.sum(self.ports[port].at()).0
    }

    /// Number of adjacency writes so far.
    pub fn stores(&self) -> u64 {
        self.world.get::<Adjacencies>().stores()
    }

    /// One packet to each address, as they come in by `pg0`.
    pub fn packets(&self, to: &[IpAddr]) -> Result<Arc<pg::Packets>, String> {
        let mac = self.world.get::<Interfaces>().get(self.ports[0]).map_err(|e| e.to_string())?.mac;
        let all = to.iter().enumerate().map(|(i, to)| packet(*to, i as u16 % 32_768, mac));
        Ok(Arc::new(all.collect()))
    }

    /// Starts a flow at this many packets a second; at 0 as fast as the worker takes them.
    pub fn start(&self, packets: &Arc<pg::Packets>, rate: f64) -> Result<Flow, String> {
        self.start_some(packets, rate, 0)
    }

    /// Like [`Self::start`], with this number of packets in all; 0 for no end.
    pub fn start_some(
        &self,
        packets: &Arc<pg::Packets>,
        rate: f64,
        limit: u64,
    ) -> Result<Flow, String> {
        let generator = self.world.get::<pg::Generator>();
        let spec = pg::StreamSpec {
            name: STREAM.into(),
            limit,
            rate,
            queue: self.queue,
            max_frame: 256,
            size: (0, 0),
            interface: self.ports[0],
            node: self.world.node("ethernet-input").ok_or("ethernet-input is missing")?,
            from_device: true,
            ip: false,
            marks: pg::StreamOffloads::default(),
            tx: None,
            thread: ThreadIndex(1),
            source: pg::Source::Packets(packets.clone()),
            words: String::new(),
        };
        let stream = generator.add_stream(spec);
        let before = (1..self.ports.len()).map(|port| self.sent(port)).collect();
        generator.enable(&self.world, Some(STREAM)).map_err(|e| e.to_string())?;
        Ok(Flow { stream, before })
    }

    /// No more packets; waits until the last ones have left.
    pub fn stop(&self, flow: &Flow) -> Result<Count, String> {
        let generator = self.world.get::<pg::Generator>();
        generator.disable(Some(STREAM)).map_err(|e| e.to_string())?;
        let mut last = self.count(flow);
        loop {
            self.wait(Duration::from_millis(20));
            let now = self.count(flow);
            if (now.sent, &now.out) == (last.sent, &last.out) {
                generator.delete(Some(STREAM)).map_err(|e| e.to_string())?;
                return Ok(now);
            }
            last = now;
        }
    }

    /// Counts of the flow so far. A packet in no counter is in flight.
    pub fn count(&self, flow: &Flow) -> Count {
        let out =
            flow.before.iter().enumerate().map(|(i, before)| self.sent(i + 1) - before).collect();
        let (sent, missed) = (&flow.stream.sent, &flow.stream.lost);
        Count { sent: sent.load(Ordering::Relaxed), missed: missed.load(Ordering::Relaxed), out }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let runtimes: Vec<Runtime> = self.threads.stop(&self.world);
        drop(runtimes);
        if let Err(leaked) = self.world.pool.release() {
            eprintln!("buffers have leaked: {leaked:?}");
        }
    }
}
