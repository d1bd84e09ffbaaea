// SPDX-License-Identifier: Apache-2.0
//! A device and a transmit node that lead nowhere, for tests and benches beside [`graph::drive`].

use crate::{Device, IfCounters, IfKind, Interfaces, Neighbor, Neighbors, NewInterface};
use buffer::Buffer;
use graph::drive::Bench;
use graph::{Cx, Next, Node, Plugin, Shared, SwIfIndex, World};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use wire::MacAddr;

/// A device without a driver.
pub struct NullDevice;

impl Device for NullDevice {
    fn driver(&self) -> &'static str {
        "test"
    }
}

/// A device that notes whether it receives frames for all MAC addresses.
#[derive(Default)]
pub struct Listening(AtomicBool);

impl Listening {
    /// Returns true if it does.
    pub fn is_promiscuous(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Device for Listening {
    fn driver(&self) -> &'static str {
        NullDevice.driver()
    }

    fn set_promiscuous(&self, _: &World, on: bool) -> Result<(), cli::Error> {
        self.0.store(on, Ordering::Relaxed);
        Ok(())
    }
}

/// An Ethernet interface with an MTU of 1500 bytes and link up, to be created with a transmit node
/// of the test.
pub fn ethernet(name: impl Into<String>, mac: MacAddr) -> NewInterface {
    NewInterface {
        name: name.into(),
        kind: IfKind::Ethernet,
        device: Arc::new(NullDevice),
        mac,
        mtu: 1500,
        link_up: true,
    }
}

/// Interfaces `t0`, `t1`, … that are up, with 10.0.0.1/24, 10.0.1.1/24, … each with a neighbour .2
/// that is known. For an instance with the plugins of interfaces and IP.
pub fn networks(bench: &mut Bench, n: u8) {
    for i in 0..n {
        let new = ethernet(format!("t{i}"), MacAddr([2, 0, 0, 0, 0, i]));
        let sw_if = bench
            .world
            .get::<Interfaces>()
            .create(&bench.world, new, |_, _, _| Tx)
            .expect("created");
        for line in [
            format!("set interface state t{i} up"),
            format!("set interface ip address t{i} 10.0.{i}.1/24"),
        ] {
            bench.cli(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
        let known =
            Neighbor::new(sw_if, Ipv4Addr::new(10, 0, i, 2).into(), MacAddr([2, 0, 0, 0, 1, i]));
        bench.world.get::<Neighbors>().set(&bench.world, known).expect("set");
    }
}

/// A transmit node that frees packets.
pub struct Tx;

/// The only edge.
#[derive(Next, Clone, Copy)]
pub enum TxTo {
    /// Freed.
    #[free]
    Sent,
}

impl Node for Tx {
    const NAME: &'static str = "test-tx";
    type Next = TxTo;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> TxTo {
        TxTo::Sent
    }
}

/// The state of interfaces, tables and neighbours, for tests of plugins without the plugin
/// `interface`.
pub static STATE: Plugin = Plugin {
    name: "net-state",
    state: &[crate::STATE],
    counters: crate::COUNTERS,
    ..Plugin::EMPTY
};

/// Interface and bytes of every frame that interfaces with a [`Recorder`] have sent.
#[derive(Default)]
pub struct Recorded(Mutex<Vec<(u32, Vec<u8>)>>);

impl Shared for Recorded {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Recorded {
    /// Takes the frames sent since the last call.
    pub fn take(&self) -> Vec<(u32, Vec<u8>)> {
        std::mem::take(&mut self.0.lock().expect("no panic"))
    }
}

/// A transmit node that records the frames of an interface.
pub struct Recorder {
    sw_if: u32,
    recorded: Arc<Recorded>,
}

impl Recorder {
    /// For an interface.
    pub fn new(world: &World, sw_if: SwIfIndex) -> Self {
        world.declare::<Recorded>();
        Self { sw_if: sw_if.0, recorded: world.get() }
    }
}

impl Node for Recorder {
    const NAME: &'static str = Tx::NAME;
    type Next = TxTo;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> TxTo {
        let bytes = b.segments().flatten().copied().collect();
        self.recorded.0.lock().expect("no panic").push((self.sw_if, bytes));
        TxTo::Sent
    }
}

/// The MAC address of the neighbours of a port of a [`Rig`]: see [`Rig::networks`].
pub fn peer_mac(i: usize) -> MacAddr {
    MacAddr([2, 0xfe, 0, 0, 1, i as u8])
}

/// The address of the neighbour of a port of a [`Rig`]: see [`Rig::networks`].
pub fn peer(v6: bool, i: usize) -> IpAddr {
    match v6 {
        false => Ipv4Addr::new(10, 0, i as u8, 2).into(),
        true => Ipv6Addr::new(0x2001, 0xdb8, i as u16, 0, 0, 0, 0, 2).into(),
    }
}

/// An instance with ports `p0`, `p1`, … that are up and keep what they send, for tests of plugins.
pub struct Rig {
    /// Runs the instance.
    pub bench: Bench,
    /// The ports, by number.
    pub ports: Vec<SwIfIndex>,
    sent: Arc<Recorded>,
}

/// The MAC address of a port of a [`Rig`].
pub fn port_mac(i: usize) -> MacAddr {
    MacAddr([2, 0xfe, 0, 0, 0, i as u8])
}

impl Rig {
    /// An instance with these plugins, `interface` among them, and as many ports.
    pub fn new(plugins: &'static [&'static Plugin], ports: usize) -> Self {
        Self::of(Bench::new(plugins), ports)
    }

    /// This instance, with as many ports.
    pub fn of(mut bench: Bench, ports: usize) -> Self {
        bench.settle();
        bench.world.declare::<Recorded>();
        let mut rig = Self { ports: Vec::new(), sent: bench.world.get(), bench };
        (0..ports).for_each(|i| rig.add_port(i));
        rig
    }

    /// Adds port `i`; there is none of this number, or it was deleted.
    ///
    /// # Panics
    /// If an interface has its name.
    pub fn add_port(&mut self, i: usize) {
        let world = self.world();
        let new = ethernet(format!("p{i}"), port_mac(i));
        let made =
            world.get::<Interfaces>().create(&world, new, |w, _, sw_if| Recorder::new(w, sw_if));
        let sw_if = made.expect("created");
        match self.ports.get_mut(i) {
            Some(port) => *port = sw_if,
            None => self.ports.push(sw_if),
        }
        self.cli(&format!("set interface state p{i} up"));
    }

    /// Deletes a port.
    ///
    /// # Panics
    /// If there is none.
    pub fn delete_port(&mut self, i: usize) {
        let world = self.world();
        world.get::<Interfaces>().delete(&world, self.ports[i]).expect("deleted");
        self.bench.settle();
    }

    /// The instance.
    pub fn world(&self) -> Arc<World> {
        self.bench.world.clone()
    }

    /// Runs a command to the end of all work that it started, and returns its output.
    ///
    /// # Panics
    /// If the command fails.
    #[track_caller]
    pub fn cli(&mut self, line: &str) -> String {
        let said = self.bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        self.bench.settle();
        said
    }

    /// Runs a command that has to fail; returns its return value and error text.
    ///
    /// # Panics
    /// If the command succeeds.
    #[track_caller]
    pub fn refused(&mut self, line: &str) -> (i32, String) {
        let error = self.bench.cli(line).expect_err(line);
        (error.code(), error.to_string())
    }

    /// Gives port `i` the addresses 10.0.i.1/24 and 2001:db8:i::1/64, and neighbours .2 and ::2
    /// with [`peer_mac`]. For an instance with the plugin of IP.
    ///
    /// # Panics
    /// If the port isn't there.
    pub fn networks(&mut self) {
        for (i, port) in self.ports.clone().into_iter().enumerate() {
            self.cli(&format!("set interface ip address p{i} 10.0.{i}.1/24"));
            self.cli(&format!("set interface ip address p{i} 2001:db8:{i}::1/64"));
            for peer in [peer(false, i), peer(true, i)] {
                let known = Neighbor { is_static: true, ..Neighbor::new(port, peer, peer_mac(i)) };
                let world = self.world();
                world.get::<Neighbors>().set(&world, known).expect("set");
            }
        }
    }

    /// Receives an IP packet on port 0, and returns the IP packets sent, each with the number of
    /// its port.
    pub fn route(&mut self, packet: &[u8]) -> Vec<(usize, Vec<u8>)> {
        let ethertype: [u8; 2] =
            if packet.first().is_some_and(|b| b >> 4 == 6) { [0x86, 0xdd] } else { [8, 0] };
        let frame = [&port_mac(0).0[..], &peer_mac(0).0, &ethertype, packet].concat();
        let sent = self.pass(0, &frame);
        sent.into_iter().map(|(port, frame)| (port, frame[14..].to_vec())).collect()
    }

    /// Receives frames on a port, as from its driver.
    pub fn receive_all(&mut self, port: usize, frames: &[Vec<u8>]) {
        for frame in frames {
            self.bench.arrive(self.ports[port], frame);
        }
        self.bench.settle();
    }

    /// Receives frames on a port; returns the frames sent, each with the number of its port.
    pub fn pass_all(&mut self, port: usize, frames: &[Vec<u8>]) -> Vec<(usize, Vec<u8>)> {
        self.receive_all(port, frames);
        self.sent()
    }

    /// As [`Self::pass_all`], for one frame.
    pub fn pass(&mut self, port: usize, frame: &[u8]) -> Vec<(usize, Vec<u8>)> {
        self.pass_all(port, &[frame.to_vec()])
    }

    /// Receives a frame on a port; true if it has left by another one, alone.
    pub fn passes(&mut self, from: usize, to: usize, frame: &[u8]) -> bool {
        let sent = self.pass(from, frame);
        sent.len() == 1 && sent[0].0 == to
    }

    /// The frames sent since the last call, each with the number of its port, sorted.
    pub fn sent(&self) -> Vec<(usize, Vec<u8>)> {
        let number =
            |sw_if: u32| self.ports.iter().position(|port| port.0 == sw_if).expect("a port");
        let mut sent: Vec<_> =
            self.sent.take().into_iter().map(|(sw_if, b)| (number(sw_if), b)).collect();
        sent.sort();
        sent
    }

    /// Lets the instance's clock go on by seconds, one by one.
    pub fn seconds(&mut self, n: u64) {
        for _ in 0..n {
            self.bench.world.clock.adjust(1_000_000_000);
            self.bench.settle();
        }
    }

    /// Reads a counter of a node.
    pub fn count(&self, node: &str, counter: &str) -> u64 {
        self.bench.count(node, counter)
    }

    /// Packets of an interface, received and sent.
    pub fn packets(&self, sw_if: SwIfIndex) -> (u64, u64) {
        let counters = self.bench.world.get::<IfCounters>();
        (counters.rx.sum(sw_if.at()).0, counters.tx.sum(sw_if.at()).0)
    }
}

/// A frame at each of these ports, as [`Rig::sent`] has it.
pub fn at(ports: &[usize], frame: &[u8]) -> Vec<(usize, Vec<u8>)> {
    ports.iter().map(|port| (*port, frame.to_vec())).collect()
}
