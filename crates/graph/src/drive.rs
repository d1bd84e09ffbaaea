// SPDX-License-Identifier: Apache-2.0
//! Driving one node, or the whole graph, by hand: for the tests of features.
//!
//! ```no_run
//! # fn f(plugins: &'static [&'static graph::Plugin], frame: Vec<u8>) {
//! let mut bench = graph::drive::Bench::new(plugins);
//! let out = bench.node("ip4-input", &[frame], |b| b.rx_if = 1);
//! assert_eq!(out[0].node, "ip4-lookup");
//! # }
//! ```

use crate::{ChainStep, Cx, NodeIndex, Plugin, Runtime, SwIfIndex, World, WorldConfig};
use buffer::{Buffer, Flags, Owned, Pool};
use std::sync::Arc;
use sync::Qsbr;

/// An instance with one thread, whose turns the test makes.
pub struct Bench {
    /// The instance.
    pub world: Arc<World>,
    /// Its only thread's graph.
    pub rt: Runtime,
    /// Declared last: dropped when everything has given its buffers back.
    _leaks: LeakCheck,
}

struct LeakCheck {
    pool: &'static Pool,
    domain: Arc<Qsbr>,
}

impl Drop for LeakCheck {
    fn drop(&mut self) {
        // Retired values may hold references to the domain that frees them: without this neither
        // would be freed.
        while self.domain.collect() > 0 {}
        let released = self.pool.release();
        if !std::thread::panicking() {
            assert_eq!(released, Ok(()), "buffers have leaked");
        }
    }
}

/// The outcome of one packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The node that it was sent to.
    pub node: String,
    /// The reason's text, if it was dropped or punted.
    pub reason: Option<&'static str>,
    /// The whole packet's bytes.
    pub bytes: Vec<u8>,
    /// Its interfaces in and out.
    pub rx_if: u32,
    /// See `rx_if`.
    pub tx_if: u32,
}

impl Bench {
    /// An instance of these plugins with 4,096 buffers.
    ///
    /// # Panics
    /// If it can't be made.
    pub fn new(plugins: &'static [&'static Plugin]) -> Self {
        Self::configured(&WorldConfig::default(), plugins)
    }

    /// The same with another configuration, of which threads and buffers don't count.
    ///
    /// # Panics
    /// If it can't be made.
    pub fn configured(config: &WorldConfig, plugins: &'static [&'static Plugin]) -> Self {
        let config = WorldConfig { buffers: 4096, threads: 1, ..config.clone() };
        let (world, mut runtimes) = World::new(&config, plugins)
            .unwrap_or_else(|e| panic!("the instance can't be made: {e}"));
        let rt = runtimes.pop().expect("one thread");
        let _leaks = LeakCheck { pool: world.pool, domain: world.qsbr.clone() };
        Self { world, rt, _leaks }
    }

    /// The index of a node.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn index(&self, node: &str) -> NodeIndex {
        self.world.node(node).unwrap_or_else(|| panic!("no node is named {node}"))
    }

    /// A buffer with these bytes.
    ///
    /// # Panics
    /// If the pool is empty, or the packet is longer than 64 KiB.
    pub fn buffer(&mut self, bytes: &[u8]) -> Owned {
        let mut b = self.rt.cache().alloc().expect("a free buffer");
        // Another bench of this process may have used it.
        b.rx_if = 0;
        assert!(b.append_bytes(bytes, self.rt.cache()), "the packet is too long");
        b
    }

    /// Runs one node over these packets, prepared by `prepare`, and returns where each went.
    /// Packets that it freed or keeps are not in the answer; what it emitted besides is. In the
    /// order of the nodes they went to.
    pub fn node(
        &mut self,
        node: &str,
        packets: &[Vec<u8>],
        prepare: impl Fn(&mut Buffer),
    ) -> Vec<Outcome> {
        let index = self.index(node);
        self.rt.receive();
        for bytes in packets {
            let mut b = self.buffer(bytes);
            prepare(&mut b);
            self.rt.inject(index, b);
        }
        self.rt.run_node(index);
        self.collect()
    }

    /// As [`Self::node`], for packets that came in by `sw_if` and start the arc there: runs the
    /// first feature.
    ///
    /// # Panics
    /// If there is no such arc, or no feature of it is enabled on the interface.
    pub fn feature(&mut self, arc: &str, sw_if: SwIfIndex, packets: &[Vec<u8>]) -> Vec<Outcome> {
        let index = self.world.arc(arc).unwrap_or_else(|| panic!("no feature arc is named {arc}"));
        self.rt.receive();
        let mut first = None;
        for bytes in packets {
            let mut b = self.buffer(bytes);
            b.rx_if = sw_if.0;
            first = self.rt.start_arc(index, sw_if, &mut b);
            let node =
                first.unwrap_or_else(|| panic!("no feature of {arc} is enabled on {sw_if:?}"));
            self.rt.inject(node, b);
        }
        first.into_iter().for_each(|node| self.rt.run_node(node));
        self.collect()
    }

    /// Calls `run` with the first feature that packets of an interface pass on an arc, as its node
    /// would be called: for tests of stages.
    ///
    /// # Panics
    /// If there is no such arc, or no feature of it is enabled on the interface.
    pub fn at_first_feature<R>(
        &mut self,
        arc: &str,
        sw_if: SwIfIndex,
        run: impl FnOnce(ChainStep<'_>, &Cx<'_, false>) -> R,
    ) -> R {
        let index = self.world.arc(arc).unwrap_or_else(|| panic!("no feature arc is named {arc}"));
        let done = self.rt.at_first_feature(index, sw_if, run);
        done.unwrap_or_else(|| panic!("no feature of {arc} is enabled on {sw_if:?}"))
    }

    /// Lets a frame come in by an interface as drivers do: it starts the arc `device-input`, and
    /// goes to `ethernet-input` if no feature is enabled there. It waits for the next turn.
    pub fn arrive(&mut self, sw_if: SwIfIndex, frame: &[u8]) {
        self.arrive_as(sw_if, frame, |_| {});
    }

    /// As [`Self::arrive`], with metadata that a driver sets.
    pub fn arrive_as(&mut self, sw_if: SwIfIndex, frame: &[u8], prepare: impl FnOnce(&mut Buffer)) {
        let arc = self.world.arc("device-input");
        let mut b = self.buffer(frame);
        b.rx_if = sw_if.0;
        prepare(&mut b);
        let first = arc.and_then(|arc| self.rt.start_arc(arc, sw_if, &mut b));
        let node = first.unwrap_or_else(|| self.index("ethernet-input"));
        self.rt.inject(node, b);
    }

    /// Takes what waits for any node.
    pub fn collect(&mut self) -> Vec<Outcome> {
        let reasons = self.world.reasons();
        let mut out = Vec::new();
        for info in self.world.nodes() {
            for b in self.rt.waiting(info.index) {
                let reason = (b.error() != 0).then(|| reasons[b.error() as usize].text);
                let bytes = b.segments().flatten().copied().collect();
                out.push(Outcome {
                    node: info.name.to_string(),
                    reason,
                    bytes,
                    rx_if: b.rx_if,
                    tx_if: b.tx_if,
                });
                self.rt.cache().free(b);
            }
        }
        out
    }

    /// Sends a packet to a node and runs the graph until nothing waits.
    pub fn send(&mut self, node: &str, bytes: &[u8], prepare: impl FnOnce(&mut Buffer)) {
        let index = self.index(node);
        self.rt.receive();
        let mut b = self.buffer(bytes);
        prepare(&mut b);
        self.rt.inject(index, b);
        self.settle();
    }

    /// Runs the graph and the control processes until nothing waits. Processes whose time has come
    /// take some turns, as for work in slices; one that is due in each turn doesn't keep this
    /// from ending.
    pub fn settle(&mut self) {
        const TURNS: usize = 1000;
        const TIMERS: usize = 32;
        let mut timers = 0;
        for _ in 0..TURNS {
            self.rt.turn(true);
            let due = self.world.processes.run(&self.world);
            self.world.qsbr.collect();
            if self.rt.has_work() || due == Some(0) {
                continue;
            }
            timers += 1;
            if timers > TIMERS || due.is_none_or(|due| due > self.world.clock.now()) {
                return;
            }
        }
        panic!("the graph doesn't settle: a packet goes in a circle");
    }

    /// A client of the binary API.
    pub fn api(&self) -> msg::Loopback<'_, World> {
        msg::Loopback::new(&self.world, &self.world.api)
    }

    /// Runs a command of the instance's plugins, and the graph as long as the command takes. `-j`
    /// gives JSON.
    ///
    /// # Errors
    /// The command's.
    ///
    /// # Panics
    /// If the commands don't fit together, or this one doesn't end.
    pub fn cli(&mut self, line: &str) -> Result<String, cli::Error> {
        let commands = self.world.plugins().iter().flat_map(|p| p.cli);
        let tree = cli::Tree::new(commands).unwrap_or_else(|e| panic!("{e}"));
        let (mut runner, mut said) = (cli::Runner::default(), Vec::new());
        runner.line(&tree, &self.world, line, false, &mut said);
        let patience = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while std::time::Instant::now() < patience {
            let now = std::time::Duration::from_nanos(self.world.clock.now());
            if let Some(result) = runner.poll(&tree, &self.world, now, &mut said) {
                let texts = said.into_iter().map(|s| match s {
                    cli::OutputPiece::Answer(text) | cli::OutputPiece::Chunk(text) => text,
                });
                return result.map(|()| texts.collect());
            }
            self.rt.turn(true);
            let _ = self.world.processes.run(&self.world);
        }
        panic!("`{line}' doesn't end");
    }

    /// Number of times that a reason was counted: `("ip4-input", "ip4_checksum")`-like names as in
    /// the stats segment.
    pub fn count(&self, node: &str, reason: &str) -> u64 {
        let errors = self.world.stats.simple(crate::counters::ERRORS);
        let reasons = self.world.reasons();
        let of = |r: &crate::Reason| &*r.node == node && r.reason == reason;
        let mut found = reasons.iter().enumerate().filter(|(_, r)| of(r)).peekable();
        assert!(found.peek().is_some(), "{node} has no reason {reason}");
        found.map(|(i, _)| errors.sum(i)).sum()
    }

    /// The sum over all reasons that lose packets.
    pub fn drops(&self) -> u64 {
        let errors = self.world.stats.simple(crate::counters::ERRORS);
        self.world
            .reasons()
            .iter()
            .enumerate()
            .filter(|(_, r)| r.drop)
            .map(|(i, _)| errors.sum(i))
            .sum()
    }

    /// Number of buffers that aren't in the pool: 0 once all packets have left or were dropped.
    pub fn buffers_out(&mut self) -> usize {
        let stats = self.world.pool.stats();
        stats.carved - stats.depot - stats.loose - self.rt.cache().free_count()
    }

    /// Traces the next `n` packets that are injected by hand: sets the flag that an input would.
    pub fn trace(b: &mut Buffer, id: u32) {
        b.flags.insert(Flags::TRACED);
        b.trace = id;
    }
}
