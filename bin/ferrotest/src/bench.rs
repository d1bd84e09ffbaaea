// SPDX-License-Identifier: Apache-2.0
//! Bench: a device under test between two ports of the tester.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use measure::siitperf::Ports;
use measure::{Direction, Family, Size};
use wire::MacAddr;

use crate::dut::{self, Device, Spec};
use crate::engine::clock::{Clock, Real};
use crate::engine::live::{self, Idle, Wire};
use crate::engine::{Phase, Plan, Ran, simulation};
use crate::lab::{End, Lab};
use crate::port::capture::CaptureTx;
use crate::port::host::HostPort;
use crate::port::ring::{self, RingRx, RingTx};
use crate::port::stage::Impairment;
use crate::port::{Rx, Tx};
use crate::replay::{self, Replayed};
use crate::traffic::flow::Share;
use crate::traffic::neighbor::Host;
use crate::traffic::random::{DESTINATION, SOURCE, Spread};
use crate::traffic::size::{GAP, for_kind};
use crate::traffic::{Flow, Kind};

/// Traffic, the same for all devices and for both directions.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Kind of packets.
    pub kind: Kind,
    /// Length of frames.
    pub size: Size,
    /// VLAN of frames.
    pub vlan: Option<u16>,
    /// Distribution of source addresses.
    pub src: Spread,
    /// Distribution of destination addresses.
    pub dst: Spread,
    /// Ports of the forward and of the reverse direction.
    pub ports: [Ports; 2],
    /// Share of the foreground.
    pub share: Share,
    /// Directions.
    pub directions: Vec<Direction>,
    /// Seed of all that is random.
    pub seed: u64,
    /// True if addresses outside of the benchmarking ranges are permitted.
    pub any_address: bool,
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            kind: Kind::Ip4,
            size: Size::Bytes(64),
            vlan: None,
            src: Spread::Fixed,
            dst: Spread::Fixed,
            ports: [Ports { source: SOURCE, destination: DESTINATION }; 2],
            share: Share::ALL,
            directions: vec![Direction::Forward, Direction::Reverse],
            seed: 1,
            any_address: false,
        }
    }
}

impl Traffic {
    /// Family, as results have it.
    pub fn family(&self) -> Family {
        match self.kind {
            Kind::Ip4 => Family::Ip4,
            Kind::Ip6 => Family::Ip6,
            Kind::Ethernet => Family::Ethernet,
        }
    }

    /// Length of the frames that are sent.
    pub fn real_size(&self) -> Size {
        for_kind(self.size, self.kind, self.vlan.is_some())
    }

    /// Frames per second that a link of this many bits per second carries.
    pub fn line_rate(&self, bits_per_second: f64) -> f64 {
        bits_per_second / 8.0 / (self.real_size().mean_bytes() + GAP as f64)
    }

    fn flow(&self, direction: Direction, macs: (MacAddr, MacAddr)) -> Result<Flow, String> {
        let source = End::source(direction);
        let ends = |end: End, spread: Spread| match spread {
            Spread::Fixed => end.addresses().fixed(),
            _ => end.addresses().range,
        };
        let flow = Flow {
            kind: self.kind,
            size: self.size,
            vlan: self.vlan,
            src_mac: macs.0,
            dst_mac: macs.1,
            src: ends(source, self.src),
            dst: ends(source.other(), self.dst),
            src_spread: self.src,
            dst_spread: self.dst,
            ports: self.ports[usize::from(direction == Direction::Reverse)],
            share: self.share,
            seed: self.seed,
        };
        flow.check_addresses(self.any_address)?;
        Ok(flow)
    }
}

/// Connection between the ports.
enum Body {
    /// An impairment stage in simulated time.
    Simulated(Impairment),
    /// Rings from one port to the other, one for each direction.
    Rings([(RingTx, RingRx); 2]),
    /// Interfaces of a lab.
    Lab(Box<InLab>),
}

struct InLab {
    // Fields are dropped in this order: the device goes before its namespace.
    device: Option<Box<dyn Device>>,
    ports: [HostPort; 2],
    lab: Lab,
    /// The device's Ethernet addresses, by end and family.
    macs: Vec<((End, bool), MacAddr)>,
}

/// A device between two ports.
pub struct Bench {
    spec: Spec,
    body: Body,
    clock: Real,
    idle: Idle,
    number: u64,
    stop: Arc<AtomicBool>,
}

/// Frames in flight in the rings between the ports.
const RING: usize = 1024;

/// Time that a device has to answer and to forward its first packet.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ethernet address of the tester's port at one end. It isn't that of the interface, so that the
/// kernel takes all frames for another host's.
fn tester_mac(end: End) -> MacAddr {
    MacAddr::local(match end {
        End::Left => 0x1eff,
        End::Right => 0x419,
    })
}

impl Bench {
    /// Sets a device up. `stop` ends trials early.
    ///
    /// # Errors
    /// The device or the lab can't be set up.
    pub fn up(spec: Spec, workers: u32, stop: Arc<AtomicBool>) -> Result<Self, String> {
        let body = match &spec {
            Spec::None(Some(settings)) => Body::Simulated(*settings),
            Spec::None(None) => Body::Rings([ring::connection(RING), ring::connection(RING)]),
            other => {
                let lab = Lab::new()?;
                let device = dut::up(other, &lab, workers)?;
                Body::Lab(Box::new(InLab::new(lab, device)?))
            }
        };
        Ok(Self { spec, body, clock: Real::new(), idle: Idle::Yield, number: 0, stop })
    }

    /// The tester's ports on one veth pair, without a device.
    ///
    /// # Errors
    /// The lab can't be made.
    pub fn cable(stop: Arc<AtomicBool>) -> Result<Self, String> {
        let inside = InLab::new(Lab::direct()?, None)?;
        let (spec, body) = (Spec::None(None), Body::Lab(Box::new(inside)));
        Ok(Self { spec, body, clock: Real::new(), idle: Idle::Yield, number: 0, stop })
    }

    /// True if the operator has stopped the run.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The device.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Kind of the ports, as results name it.
    pub fn port(&self) -> &'static str {
        match self.body {
            Body::Simulated(_) => "simulated",
            Body::Rings(_) => "ring",
            Body::Lab(_) => "veth",
        }
    }

    /// True if trials run in simulated time.
    pub fn is_simulated(&self) -> bool {
        matches!(self.body, Body::Simulated(_))
    }

    /// Frequency of the time stamp counter; 0 if it isn't used.
    pub fn tsc_hz(&self) -> f64 {
        self.clock.hz()
    }

    /// Description of the device.
    pub fn describe(&self) -> String {
        match &self.body {
            Body::Simulated(settings) => {
                format!("impairment stage in simulated time: {settings:?}")
            }
            Body::Rings(_) => "the tester's ports, connected by rings".into(),
            Body::Lab(inside) => match &inside.device {
                Some(device) => device.describe(),
                None => "the tester's ports, connected by a veth pair".into(),
            },
        }
    }

    /// CPU time of the device, in seconds.
    pub fn cpu_seconds(&self) -> Option<f64> {
        match &self.body {
            Body::Lab(inside) => inside.device.as_ref()?.cpu_seconds(),
            _ => None,
        }
    }

    /// Highest rate that makes sense for this traffic, per direction: that of the link.
    pub fn line_rate(&self, traffic: &Traffic) -> f64 {
        match &self.body {
            Body::Simulated(settings) => traffic.line_rate(settings.link),
            // The speed that a veth reports.
            Body::Lab(_) => traffic.line_rate(10e9),
            Body::Rings(_) => traffic.line_rate(100e9),
        }
    }

    /// Runs a trial.
    ///
    /// # Errors
    /// The plan can't be run, or the device doesn't work any more.
    pub fn trial(&mut self, traffic: &Traffic, plan: &Plan) -> Result<Ran, String> {
        self.number += 1;
        let plan = Plan { number: self.number, ..plan.clone() };
        let threads = traffic.directions.len() * 2 + usize::from(matches!(self.body, Body::Lab(_)));
        let cores = thread::available_parallelism().map_or(1, usize::from);
        self.idle = if cores >= threads { Idle::Spin } else { Idle::Yield };
        let (clock, idle, stop) = (self.clock, self.idle, self.stop.clone());
        match &mut self.body {
            Body::Simulated(settings) => {
                let macs = (tester_mac(End::Left), tester_mac(End::Right));
                let flows = traffic
                    .directions
                    .iter()
                    .map(|&direction| Ok((direction, traffic.flow(direction, macs)?)))
                    .collect::<Result<Vec<_>, String>>()?;
                simulation::run(&plan, &flows, *settings)
            }
            Body::Rings([forward, reverse]) => {
                let wires = [(Direction::Forward, forward), (Direction::Reverse, reverse)];
                let wires = wires
                    .into_iter()
                    .filter(|(direction, _)| traffic.directions.contains(direction))
                    .map(|(direction, (tx, rx))| {
                        let source = End::source(direction);
                        let macs = (tester_mac(source), tester_mac(source.other()));
                        Ok(Wire {
                            direction,
                            flow: traffic.flow(direction, macs)?,
                            tx,
                            rx,
                            host: None,
                        })
                    })
                    .collect::<Result<Vec<_>, String>>()?;
                live::run(clock, idle, &plan, wires, &stop, |_| ())
            }
            Body::Lab(inside) => inside.trial(clock, idle, traffic, &plan, &stop),
        }
    }

    /// Sends the frames of a capture file from the left to the right, and takes what comes back.
    ///
    /// # Errors
    /// A frame doesn't fit, the device doesn't answer, or time is simulated.
    pub fn replay(
        &mut self,
        mut frames: Vec<(u64, Vec<u8>)>,
        wait: u64,
        write: Option<&mut CaptureTx>,
    ) -> Result<Replayed, String> {
        let (clock, stop) = (self.clock, self.stop.clone());
        match &mut self.body {
            Body::Simulated(_) => Err("replay needs a device in real time, not impairments".into()),
            Body::Rings([(tx, rx), _]) => {
                replay::address(&mut frames, tester_mac(End::Left), tester_mac(End::Right))?;
                let ends = replay::Ends { tx, rx, host: None, write };
                Ok(replay::play(&clock, ends, &frames, wait, &stop))
            }
            Body::Lab(inside) => {
                let to = inside.mac(End::Left, false, &stop)?;
                replay::address(&mut frames, tester_mac(End::Left), to)?;
                let [left, right] = &mut inside.ports;
                right.drain();
                let host = Some(End::Right.addresses().host(tester_mac(End::Right)));
                let ends = replay::Ends { tx: &mut left.tx, rx: &mut right.rx, host, write };
                Ok(replay::play(&clock, ends, &frames, wait, &stop))
            }
        }
    }

    /// Lets the device learn neighbours, and makes sure that it forwards at all.
    ///
    /// # Errors
    /// Nothing comes through.
    pub fn learn(&mut self, traffic: &Traffic) -> Result<(), String> {
        if !matches!(self.body, Body::Lab(_)) {
            return Ok(());
        }
        let start = Instant::now();
        let plan =
            Plan { wait: 100_000_000, ..Plan::of(vec![Phase { rate: 2000.0, packets: 50 }]) };
        loop {
            let ran = self.trial(traffic, &plan)?;
            let late = start.elapsed() > PATIENCE;
            // Nearly all packets: a mix is learned when both families come through. After some
            // time any packet will do, since a device may lose packets at each rate.
            let enough = ran.sides.iter().all(|side| {
                let (sent, received) = (side.counts.sent, side.counts.received);
                if late { received > 0 } else { received * 10 >= sent * 9 }
            });
            if enough || ran.interrupted {
                return Ok(());
            }
            if late {
                let counts: Vec<_> = ran
                    .sides
                    .iter()
                    .map(|side| {
                        let counts = side.counts;
                        format!("{}: {} of {}", counts.direction, counts.received, counts.sent)
                    })
                    .collect();
                return Err(format!(
                    "device {} forwards no {} packets ({}); it is: {}",
                    self.spec,
                    traffic.kind,
                    counts.join(", "),
                    self.describe()
                ));
            }
        }
    }
}

impl InLab {
    fn new(lab: Lab, device: Option<Box<dyn Device>>) -> Result<Self, String> {
        let ports = [lab.port(End::Left)?, lab.port(End::Right)?];
        Ok(Self { device, ports, lab, macs: Vec::new() })
    }

    /// The Ethernet address to which packets go that begin at `end`.
    fn mac(&mut self, end: End, ip6: bool, stop: &AtomicBool) -> Result<MacAddr, String> {
        if self.device.is_none() {
            return Ok(tester_mac(end.other()));
        }
        if let Some(&(_, mac)) = self.macs.iter().find(|(key, _)| *key == (end, ip6)) {
            return Ok(mac);
        }
        let host = end.addresses().host(tester_mac(end));
        let port = &mut self.ports[usize::from(end == End::Right)];
        let start = Instant::now();
        while start.elapsed() < PATIENCE && !stop.load(Ordering::Relaxed) {
            let ask = host.ask(ip6);
            port.tx.send(0, std::iter::once(ask.frame()));
            let asked = Instant::now();
            while asked.elapsed() < Duration::from_millis(100) {
                let mut found = None;
                let mut reply = None;
                port.rx.receive(0, 64, |frame| {
                    found = found.or_else(|| host.learn(frame, ip6));
                    reply = reply.or_else(|| host.answer(frame));
                });
                if let Some(reply) = reply {
                    port.rx.reply(reply.frame());
                }
                if let Some(mac) = found {
                    self.macs.push(((end, ip6), mac));
                    return Ok(mac);
                }
                port.rx.rest();
            }
        }
        let address: std::net::IpAddr = match (end.addresses().device, ip6) {
            ((address, _), false) => address.into(),
            ((_, address), true) => address.into(),
        };
        let failure = self.device.as_mut().and_then(|device| device.failure());
        Err(failure.unwrap_or_else(|| {
            format!(
                "the device's address {address} on its {} side has not been answered for in \
                     {} s: is it up and configured?",
                end.name(),
                PATIENCE.as_secs()
            )
        }))
    }

    fn trial(
        &mut self,
        clock: Real,
        idle: Idle,
        traffic: &Traffic,
        plan: &Plan,
        stop: &AtomicBool,
    ) -> Result<Ran, String> {
        // A mix needs the answers of both families; the device has one address per port.
        let ip6 = traffic.kind == Kind::Ip6;
        let mut flows = Vec::new();
        for &direction in &traffic.directions {
            let source = End::source(direction);
            let macs = (tester_mac(source), self.mac(source, ip6, stop)?);
            flows.push((direction, traffic.flow(direction, macs)?));
        }
        let Self { ports: [left, right], device, lab, .. } = self;
        let mut wires = Vec::new();
        let host = |end: End| -> Option<Host> { Some(end.addresses().host(tester_mac(end))) };
        let (left_tx, left_rx) = (&mut left.tx, &mut left.rx);
        let (right_tx, right_rx) = (&mut right.tx, &mut right.rx);
        let mut forward = Some((left_tx, right_rx));
        let mut reverse = Some((right_tx, left_rx));
        for (direction, flow) in flows {
            let pair = match direction {
                Direction::Forward => forward.take(),
                Direction::Reverse => reverse.take(),
            };
            if let Some((tx, rx)) = pair {
                wires.push(Wire {
                    direction,
                    flow,
                    tx,
                    rx,
                    host: host(End::source(direction).other()),
                });
            }
        }
        let mut restarted = Ok(());
        let ran = live::run(clock, idle, plan, wires, stop, |sleep_until| {
            if let (Some(seconds), Some(device)) = (plan.restart_at, device.as_mut()) {
                sleep_until(seconds);
                restarted = device.restart(lab);
            }
        });
        restarted?;
        if let Some(why) = self.device.as_mut().and_then(|device| device.failure()) {
            return Err(why);
        }
        if plan.restart_at.is_some() {
            // A restarted device may have other addresses.
            self.macs.clear();
        }
        ran
    }
}

impl std::fmt::Debug for Bench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bench").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// Nanoseconds of the bench's clock, for the time of a trial in its run.
impl Bench {
    /// Seconds since the bench was set up.
    pub fn now(&self) -> f64 {
        self.clock.now() as f64 / 1e9
    }
}
