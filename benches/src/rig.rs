// SPDX-License-Identifier: Apache-2.0
//! A scenario's instance, and the measuring of one block.

use crate::alloc;
use crate::scenario::Scenario;
use cli::Tree;
use graph::{Runtime, World, WorldConfig};
use net::{IfCounters, Interfaces};
use simd::Level;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub struct Rig {
    scenario: Scenario,
    world: Arc<World>,
    rt: Runtime,
    tree: Tree<World>,
    names: Vec<String>,
    stream: Option<Arc<pg::Stream>>,
    /// Clocks per packet of each block, by node.
    pub blocks: Vec<BTreeMap<String, f64>>,
    packets: u64,
    allocations: u64,
}

impl Rig {
    pub fn new(scenario: Scenario, level: Option<Level>, smoke: bool) -> Result<Self, String> {
        let config = WorldConfig {
            level: level.unwrap_or_else(Level::detect),
            buffers: 8192,
            ..WorldConfig::default()
        };
        let (world, mut runtimes) = World::new(&config, daemon::plugins::ALL)?;
        let rt = runtimes.pop().ok_or("the instance has no thread")?;
        let tree = Tree::new(world.plugins().iter().flat_map(|p| p.cli)).map_err(|e| e.to_string())?;
        // Small vectors cost more a packet: fewer of them make a block.
        let packets = if smoke { 2048 } else { (scenario.vector as u64 * 4096).clamp(65_536, 524_288) };
        let mut rig = Self {
            scenario,
            world,
            rt,
            tree,
            names: Vec::new(),
            stream: None,
            blocks: Vec::new(),
            packets,
            allocations: 0,
        };
        rig.set_up()?;
        Ok(rig)
    }

    pub fn name(&self) -> &str {
        &self.scenario.name
    }

    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    pub fn level(&self) -> Level {
        self.world.level()
    }

    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Allocations on this thread during all measured blocks.
    pub fn allocations(&self) -> u64 {
        self.allocations
    }

    fn command(&mut self, line: &str) -> Result<(), String> {
        self.tree.execute(&self.world, line).map_err(|e| format!("{}: `{line}': {e}", self.scenario.name))?;
        self.settle();
        Ok(())
    }

    /// Lets what a command asked for happen.
    fn settle(&mut self) {
        for _ in 0..4 {
            self.rt.turn(true);
            self.world.processes.run(&self.world);
            self.world.qsbr.collect();
        }
    }

    fn set_up(&mut self) -> Result<(), String> {
        for line in [
            "create packet-generator interface pg0",
            "create packet-generator interface pg1",
            "set interface state pg0 up",
            "set interface state pg1 up",
        ] {
            self.command(line)?;
        }
        for line in self.scenario.setup.clone() {
            self.command(&line)?;
        }
        let interfaces = self.world.get::<Interfaces>();
        let pg0 = interfaces.find("pg0").and_then(|i| interfaces.get(i)).map_err(|e| e.to_string())?;
        let data = self.scenario.data.replace("MAC", &pg0.mac.to_string());
        let (packets, vector) = (self.packets, self.scenario.vector);
        self.command(&format!("packet-generator new {{ name s limit {packets} maxframe {vector} interface pg0 size 60-60 data {{ {data} }} }}"))?;
        self.stream = self.world.get::<pg::Generator>().streams().pop();
        self.names = self.world.nodes().iter().map(|n| n.name.to_string()).collect();
        Ok(())
    }

    /// Everything once, unmeasured: caches, frames, tables. Every packet has to arrive.
    pub fn warm_up(&mut self) -> Result<(), String> {
        self.run()?;
        self.run()?;
        self.allocations = 0;
        Ok(())
    }

    fn run(&mut self) -> Result<(), String> {
        let counters = self.world.get::<IfCounters>();
        let sw_if = self.world.get::<Interfaces>().find("pg1").map_err(|e| e.to_string())?;
        let before = counters.tx.sum(sw_if.at()).0;
        self.world.get::<pg::Generator>().enable(&self.world, Some("s")).map_err(|e| e.to_string())?;
        // Control's message is taken by the first turn; what follows is the packet path alone.
        self.rt.turn(true);
        let stream = self.stream.clone().ok_or("the stream is missing")?;
        while stream.enabled.load(Ordering::Relaxed) {
            let before = alloc::count();
            for _ in 0..64 {
                self.rt.turn(true);
            }
            self.allocations += alloc::count() - before;
        }
        self.settle();
        let arrived = counters.tx.sum(sw_if.at()).0 - before;
        if arrived != self.packets {
            return Err(format!("{}: {arrived} of {} packets arrived", self.scenario.name, self.packets));
        }
        Ok(())
    }

    fn clocks(&self) -> Vec<u64> {
        let clocks = self.world.stats.simple("/sys/node/clocks");
        (0..self.names.len()).map(|i| clocks.of_thread(0, i)).collect()
    }

    /// One block: clocks per packet of every node that ran.
    pub fn block(&mut self) -> Result<(), String> {
        let before = self.clocks();
        self.run()?;
        let after = self.clocks();
        let per_packet = |i: usize| (after[i] - before[i]) as f64 / self.packets as f64;
        let all = (0..self.names.len()).map(|i| (self.names[i].clone(), per_packet(i)));
        self.blocks.push(all.filter(|(_, clocks)| *clocks > 0.0).collect());
        Ok(())
    }
}
