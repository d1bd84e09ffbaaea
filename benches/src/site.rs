// SPDX-License-Identifier: Apache-2.0
//! A router with its table, which several scenarios send packets through.

use crate::alloc;
use crate::connections::{Connections, packets_of_connections};
use crate::scenario::{Family, Scenario, Table};
use crate::side::{FEW, INPUTS, PACKETS, SENDERS, Side, routes};
use crate::{switch, tunnels};
use cli::Tree;
use graph::{Runtime, SwIfIndex, ThreadIndex, World, WorldConfig};
use net::{
    Fib, IfCounters, Interfaces, Neighbor, Neighbors, Path, PathKind, Routes, Source, TableIndex,
};
use simd::Level;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use testkit::Rng;
use testkit::internet::{self, HOPS, Internet, Traffic};
use wire::{EtherType, Ip4, Ip6, MacAddr, Prefix};

/// Buffers of an instance.
const BUFFERS: usize = 8192;
/// The MAC address of the hosts in front of inputs.
pub const GATEWAY_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
/// The first VLAN of sub-interfaces.
const VLAN: u16 = 100;

pub struct Site {
    pub table: Table,
    pub world: Arc<World>,
    rt: Runtime,
    /// Names of the nodes, by index.
    pub names: Vec<String>,
    inputs: Vec<SwIfIndex>,
    pub outputs: Vec<SwIfIndex>,
    /// Time and memory for adding the routes.
    pub load: Load,
}

/// Time and memory for filling a table.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub routes: usize,
    pub time: Duration,
    /// Memory of the process, control's structures included.
    pub bytes: u64,
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

impl Site {
    /// A router of one thread whose table is filled.
    pub fn new(table: Table, level: Option<Level>) -> Result<Self, String> {
        let config = WorldConfig {
            level: level.unwrap_or_else(Level::detect),
            buffers: BUFFERS,
            ..WorldConfig::default()
        };
        let (world, mut runtimes) = World::new(&config, daemon::plugins::ALL)?;
        // As the daemon does at its start.
        world.pool.commit(BUFFERS).map_err(|e| format!("memory for the buffers: {e}"))?;
        let rt = runtimes.pop().ok_or("the instance has no thread")?;
        let names = world.node_names().iter().map(|name| name.to_string()).collect();
        let load = Load { routes: 0, time: Duration::ZERO, bytes: 0 };
        let mut site =
            Self { table, world, rt, names, inputs: Vec::new(), outputs: Vec::new(), load };
        match table.family {
            Family::Ip4 => site.set_up::<Ip4>()?,
            Family::Ip6 => site.set_up::<Ip6>()?,
            Family::Ethernet => {
                site.set_up_ports(&[])?;
                switch::set_up(&mut site)?;
            }
            Family::Tunnels(kind) => {
                site.set_up_ports(&[])?;
                tunnels::set_up(&mut site, kind)?;
            }
        }
        // Interfaces bring nodes of their own.
        site.names = site.world.node_names().iter().map(|name| name.to_string()).collect();
        Ok(site)
    }

    pub fn level(&self) -> Level {
        self.world.level()
    }

    pub fn command(&mut self, line: &str) -> Result<(), String> {
        let tree = Tree::new(self.world.plugins().iter().flat_map(|p| p.cli))
            .map_err(|e| e.to_string())?;
        tree.execute(&self.world, line).map_err(|e| format!("`{line}': {e}"))?;
        self.settle();
        Ok(())
    }

    /// Runs a few turns of the graph and of control, which complete a command's effects.
    fn settle(&mut self) {
        for _ in 0..4 {
            self.rt.turn(true);
            self.world.processes.run(&self.world);
            self.world.qsbr.collect();
        }
    }

    /// Lets a second pass.
    pub fn second(&mut self) {
        self.world.clock.adjust(1_000_000_000);
        self.settle();
    }

    fn vlans(&self) -> Range<u16> {
        VLAN..VLAN + self.table.vlans
    }

    /// Ports that are up, or sub-interfaces of them, with these addresses.
    fn set_up_ports(&mut self, addresses: &[(usize, String)]) -> Result<(), String> {
        let outputs = self.table.outputs;
        for i in 1..=outputs + INPUTS {
            self.command(&format!("create packet-generator interface pg{i}"))?;
            self.command(&format!("set interface state pg{i} up"))?;
            for vlan in self.vlans() {
                self.command(&format!("create sub-interfaces pg{i} {vlan}"))?;
                self.command(&format!("set interface state pg{i}.{vlan} up"))?;
                self.command(&format!(
                    "enable {} interface pg{i}.{vlan}",
                    self.table.family.name()
                ))?;
            }
        }
        let tagged = self.table.vlans > 0;
        let port = |i: &usize| if tagged { format!("pg{i}.{VLAN}") } else { format!("pg{i}") };
        for (i, address) in addresses {
            self.command(&format!("set interface ip address {} {address}", port(i)))?;
        }
        let interfaces = self.world.get::<Interfaces>();
        let find = |i: usize| interfaces.find(&port(&i)).map_err(|e| e.to_string());
        self.outputs = (1..=outputs).map(find).collect::<Result<_, _>>()?;
        let device = |i: usize| interfaces.find(&format!("pg{i}")).map_err(|e| e.to_string());
        self.inputs = (outputs + 1..=outputs + INPUTS).map(device).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn set_up<F: Side>(&mut self) -> Result<(), String> {
        let outputs = self.table.outputs;
        self.set_up_ports(&F::addresses(outputs))?;
        if self.table.urpf {
            let (input, family) = (outputs + 1, self.table.family.name());
            self.command(&format!("ip route add {} via pg{input}", F::SENDERS))?;
            self.command(&format!("set urpf {family} rx strict pg{input}"))?;
        }
        if self.table.rules > 0 {
            let input = outputs + 1;
            let rules = rules::<F>(self.table.rules, self.table.reflect);
            self.command(&format!("set acl-plugin acl {rules}"))?;
            self.command(&format!("set acl-plugin interface pg{input} input acl 0"))?;
        }
        let hops = if self.table.routes <= FEW { 1 } else { HOPS };
        let neighbors = self.world.get::<Neighbors>();
        for (at, sw_if) in self.outputs.iter().enumerate() {
            for number in 0..hops {
                let ip: IpAddr = F::hop(at + 1, number).into();
                let mac = MacAddr::local(u64::from(number) + 1);
                let new = Neighbor { is_static: true, ..Neighbor::new(*sw_if, ip, mac) };
                neighbors.set(&self.world, new).map_err(|e| e.to_string())?;
            }
        }
        self.settle();
        let (fib, routes) = (self.world.get::<Fib<F>>(), routes::<F>(self.table.routes));
        let (start, before) = (Instant::now(), resident());
        for route in &routes {
            let at = usize::from(route.hop) % outputs;
            let path = |i: usize| {
                let nexthop = F::hop(at + 1, (route.hop + i as u16) % hops).into();
                Path::new(PathKind::Neighbor { sw_if: self.outputs[at], nexthop })
            };
            let paths: Vec<_> = (0..self.table.paths).map(path).collect();
            fib.set(&self.world, TableIndex::DEFAULT, route.prefix, Source::Api, &paths)
                .map_err(|e| e.to_string())?;
        }
        self.load = Load {
            routes: routes.len(),
            time: start.elapsed(),
            bytes: resident().saturating_sub(before),
        };
        self.settle();
        if self.table.connections > 0 {
            self.set_up_firewall::<F>()?;
        }
        Ok(())
    }

    /// Puts the ports into zones of the firewall, and opens the connections.
    fn set_up_firewall<F: Side>(&mut self) -> Result<(), String> {
        let (input, gateway) = (self.table.outputs + 1, F::GATEWAY);
        for line in [
            "firewall zone inside",
            "firewall zone outside",
            "firewall policy from inside to outside default accept",
            "firewall limit sessions 4000000",
            "firewall limit half-open 4000000",
            "set interface firewall zone pg1 outside",
            &format!("set interface firewall zone pg{input} inside"),
            &format!("set ip neighbor pg{input} {gateway} {GATEWAY_MAC} static"),
            &format!("ip route add {} via {gateway} pg{input}", F::SENDERS),
        ] {
            self.command(line)?;
        }
        let all = Connections::<F>::new(self.table.connections);
        let sides = [self.inputs[0], self.outputs[0]];
        for first in (0..self.table.connections).step_by(PACKETS) {
            let part = first..self.table.connections.min(first + PACKETS);
            for step in 0..Connections::<F>::HANDSHAKE {
                let from = sides[step % 2];
                let packets = all.handshake(step, part.clone(), self.mac(from)?).collect();
                let (name, count) = (format!("handshake-{first}-{step}"), part.len() as u64);
                let stream = self.add_stream(&name, from, packets, 256, count)?;
                self.run_streams(&[stream])?;
                self.command(&format!("packet-generator delete {name}"))?;
            }
        }
        Ok(())
    }

    /// The MAC address of an interface.
    fn mac(&self, sw_if: SwIfIndex) -> Result<MacAddr, String> {
        let interface = self.world.get::<Interfaces>().get(sw_if);
        interface.map(|interface| interface.mac).map_err(|e| e.to_string())
    }

    /// The streams of a scenario, one for each of its inputs, ready to be run.
    pub fn streams(
        &mut self,
        scenario: &Scenario,
        limit: u64,
    ) -> Result<Vec<Arc<pg::Stream>>, String> {
        let inputs = self.inputs[..scenario.inputs].to_vec();
        inputs
            .into_iter()
            .map(|input| self.stream(scenario, input, limit / scenario.inputs as u64))
            .collect()
    }

    fn stream(
        &mut self,
        scenario: &Scenario,
        input: SwIfIndex,
        limit: u64,
    ) -> Result<Arc<pg::Stream>, String> {
        let mac = self.mac(input)?;
        let packets = match self.table.family {
            Family::Ip4 => packets::<Ip4>(self.table, scenario.traffic, mac),
            Family::Ip6 => packets::<Ip6>(self.table, scenario.traffic, mac),
            Family::Ethernet => switch::frames(self.table).into_iter().collect(),
            Family::Tunnels(kind) => tunnels::packets(self.table, kind, mac).into_iter().collect(),
        };
        self.add_stream(
            &format!("{} by {input}", scenario.name),
            input,
            packets,
            scenario.vector,
            limit,
        )
    }

    /// A stream of packets that come in by an interface.
    pub fn add_stream(
        &mut self,
        name: &str,
        input: SwIfIndex,
        packets: pg::Packets,
        vector: usize,
        limit: u64,
    ) -> Result<Arc<pg::Stream>, String> {
        let generator = self.world.get::<pg::Generator>();
        let spec = pg::StreamSpec {
            name: name.into(),
            limit,
            rate: 0.0,
            queue: 0,
            max_frame: vector,
            size: (0, 0),
            interface: input,
            node: self.world.node("ethernet-input").ok_or("ethernet-input is missing")?,
            from_device: true,
            ip: false,
            marks: pg::StreamOffloads::default(),
            tx: None,
            thread: ThreadIndex(0),
            source: pg::Source::Packets(Arc::new(packets)),
            words: String::new(),
        };
        Ok(generator.add_stream(spec))
    }

    /// Sends the packets of streams. Every one has to arrive. Gives the allocations while they were
    /// forwarded.
    pub fn run(&mut self, scenario: &Scenario, streams: &[Arc<pg::Stream>]) -> Result<u64, String> {
        Routes::set_counting(&self.world, scenario.counters);
        self.command(if scenario.super_path { "set super-path on" } else { "set super-path off" })?;
        let counters = self.world.get::<IfCounters>();
        let sent =
            |outputs: &[SwIfIndex]| outputs.iter().map(|i| counters.tx.sum(i.at()).0).sum::<u64>();
        let before = sent(&self.outputs);
        let allocations = self.run_streams(streams)?;
        let arrived = sent(&self.outputs) - before;
        // An IPv6 router sends packets of its own now and then.
        let limit: u64 = streams.iter().map(|stream| stream.spec.limit).sum();
        if (0..8).contains(&(arrived as i64 - limit as i64)) {
            Ok(allocations)
        } else {
            let errors = self.world.stats.simple(graph::counters::ERRORS);
            let reasons =
                self.world.reasons().into_iter().enumerate().filter(|(_, reason)| reason.drop);
            let drops = reasons.filter(|(i, _)| errors.sum(*i) != 0);
            let drops: Vec<_> = drops
                .map(|(i, reason)| format!("{} {}: {}", reason.node, reason.text, errors.sum(i)))
                .collect();
            Err(format!(
                "{}: {arrived} of {limit} packets arrived; {}",
                scenario.name,
                drops.join("; ")
            ))
        }
    }

    /// Sends the packets of streams. Gives the allocations while they were forwarded.
    pub fn run_streams(&mut self, streams: &[Arc<pg::Stream>]) -> Result<u64, String> {
        let generator = self.world.get::<pg::Generator>();
        for stream in streams {
            generator.enable(&self.world, Some(&stream.spec.name)).map_err(|e| e.to_string())?;
        }
        // Control's message is taken by the first turn; what follows is the packet path alone.
        self.rt.turn(true);
        let mut allocations = 0;
        while streams.iter().any(|stream| stream.enabled.load(Ordering::Relaxed)) {
            let before = alloc::count();
            for _ in 0..64 {
                self.rt.turn(true);
            }
            allocations += alloc::count() - before;
        }
        self.settle();
        Ok(allocations)
    }

    /// Clocks that each node took so far.
    pub fn clocks(&self) -> Vec<u64> {
        let clocks = self.world.stats.simple("/sys/node/clocks");
        (0..self.names.len()).map(|i| clocks.of_thread(0, i)).collect()
    }
}

/// Rules of an ACL: all but the last one deny, and match none of the packets, by their ports alone.
fn rules<F: Side>(n: usize, reflect: bool) -> String {
    let mut rng = Rng::new(4);
    let (from, to) = (F::bits(F::sender(Some(0))), F::bits(F::space()[1].addr()));
    let mut network = |near: u128| {
        let len = F::BITS / 8 * 3 + 1 + rng.below(usize::from(F::BITS / 4)) as u8;
        let bits = near ^ (rng.next() as u128 & 0xf_ffff) << (128 - u32::from(F::BITS));
        Prefix::new(<F as Internet>::addr(bits), len).map(|prefix| prefix.network())
    };
    let mut all: Vec<String> = (1..n)
        .filter_map(|i| {
            let (source, destination) = (network(from)?, network(to)?);
            let (protocol, port) = (if i % 2 == 0 { 6 } else { 17 }, 1 + i % 1023);
            Some(format!("deny src {source} dst {destination} proto {protocol} dport {port}"))
        })
        .collect();
    let (verdict, any) =
        (if reflect { "permit+reflect" } else { "permit" }, Prefix::<F::Addr>::DEFAULT);
    all.push(format!("{verdict} src {any} dst {any}"));
    all.join(", ")
}

fn packets<F: Side>(table: Table, traffic: Traffic, mac: MacAddr) -> pg::Packets {
    if table.connections > 0 {
        return packets_of_connections::<F>(table.connections, mac).collect();
    }
    let routes = routes::<F>(table.routes);
    let count = if traffic == Traffic::OneFlow { 1 } else { PACKETS };
    let all = internet::destinations::<F>(&routes, traffic, count, 2);
    let many = table.urpf || table.rules > 0;
    let sender = |i: usize| F::sender(many.then_some(i % SENDERS));
    let packet = |(i, to)| {
        let mut packet = F::packet(sender(i), to, mac);
        if table.vlans > 0 {
            let vlan = VLAN + i as u16 % table.vlans;
            packet.splice(12..12, [EtherType::VLAN.0, vlan].into_iter().flat_map(u16::to_be_bytes));
        }
        packet
    };
    all.into_iter().enumerate().map(packet).collect()
}
