// SPDX-License-Identifier: Apache-2.0
//! Bench: a device under test between two ports of the tester.

mod in_lab;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use measure::siitperf::Ports;
use measure::{Direction, Family, Size};
use wire::MacAddr;

use crate::dut::Spec;
use crate::dut::change::{Change, Routes};
use crate::engine::clock::Real;
use crate::engine::live::{self, Idle, Wire};
use crate::engine::{Phase, Plan, Ran, simulation};
use crate::lab::End;
use crate::port::capture::CaptureTx;
use crate::port::interface::Kind as PortKind;
use crate::port::nat::Nat;
use crate::port::ring::{self, RingRx, RingTx};
use crate::port::stage::Impairment;
use crate::replay::{self, Replayed};
use crate::traffic::flow::Share;
use crate::traffic::random::{DESTINATION, SOURCE, Spread};
use crate::traffic::sessions::Pick;
use crate::traffic::size::{GAP, for_kind};
use crate::traffic::{Flow, Kind};
use in_lab::InLab;

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
    /// Choice of addresses and ports, forward and reverse.
    pub picks: [Pick; 2],
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
            picks: Default::default(),
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

    /// Pairs of addresses per direction.
    pub fn flows(&self) -> u64 {
        u64::from(self.src.count()) * u64::from(self.dst.count())
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
            pick: self.picks[usize::from(direction == Direction::Reverse)].clone(),
            seed: self.seed,
        };
        flow.check_addresses(self.any_address)?;
        Ok(flow)
    }
}

/// Connection between the ports.
enum Body {
    /// An impairment stage in simulated time.
    Simulated(Impairment, Rc<RefCell<Nat>>),
    /// Rings from one port to the other, one for each direction.
    Rings([(RingTx, RingRx); 2]),
    /// Interfaces of a lab.
    Lab(Box<InLab>),
}

/// A device between two ports.
pub struct Bench {
    spec: Spec,
    body: Body,
    workers: u32,
    /// Routes that were loaded for a measurement.
    routes: Option<Routes>,
    clock: Real,
    idle: Idle,
    number: u64,
    stop: Arc<AtomicBool>,
}

/// Frames in flight in the rings between the ports.
const RING: usize = 1024;

/// Time that a device has to answer and to forward its first packet.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reason why a change is refused.
const UNCHANGED: &str = "device none: rings have neither routes nor sessions, and no restart";

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
    pub fn up(
        spec: Spec,
        workers: u32,
        ports: PortKind,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, String> {
        spec.check_ports(ports)?;
        let body = match &spec {
            Spec::None(Some(settings)) => Body::Simulated(*settings, Rc::default()),
            Spec::None(None) => Body::Rings([ring::connection(RING), ring::connection(RING)]),
            other => Body::Lab(Box::new(InLab::up(ports, other, workers)?)),
        };
        Ok(Self::new(spec, body, workers, stop))
    }

    fn new(spec: Spec, body: Body, workers: u32, stop: Arc<AtomicBool>) -> Self {
        let (clock, idle) = (Real::new(), Idle::Yield);
        Self { spec, body, workers, routes: None, clock, idle, number: 0, stop }
    }

    /// The tester's ports of one kind, connected to each other.
    ///
    /// # Errors
    /// The lab can't be made, or such ports need a device between them.
    pub fn cable(kind: PortKind, stop: Arc<AtomicBool>) -> Result<Self, String> {
        let body = Body::Lab(Box::new(InLab::cable(kind)?));
        Ok(Self::new(Spec::None(None), body, 1, stop))
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
        match &self.body {
            Body::Simulated(..) => "simulated",
            Body::Rings(_) => "ring",
            Body::Lab(inside) => inside.kind.name(),
        }
    }

    /// True if trials run in simulated time.
    pub fn is_simulated(&self) -> bool {
        matches!(self.body, Body::Simulated(..))
    }

    /// Frequency of the time stamp counter; 0 if it isn't used.
    pub fn tsc_hz(&self) -> f64 {
        self.clock.hz()
    }

    /// Description of the device.
    pub fn describe(&self) -> String {
        match &self.body {
            Body::Simulated(settings, _) => {
                format!("impairment stage in simulated time: {settings}")
            }
            Body::Rings(_) => "the tester's ports, connected by rings".into(),
            Body::Lab(inside) => match &inside.device {
                Some(device) => device.describe(),
                None => {
                    format!("the tester's ports, connected by {}", inside.kind.name())
                }
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

    /// Number of sessions that the device's table holds, if it says so.
    pub fn most_sessions(&self) -> Option<u64> {
        match &self.body {
            Body::Lab(inside) => inside.device.as_ref()?.most_sessions(),
            _ => None,
        }
    }

    /// True if the device forwards by Ethernet addresses.
    pub fn is_bridge(&self) -> bool {
        let Body::Lab(inside) = &self.body else { return false };
        inside.device.as_ref().is_some_and(|device| device.is_bridge())
    }

    /// Highest rate that makes sense for this traffic, per direction: that of the link.
    pub fn line_rate(&self, traffic: &Traffic) -> f64 {
        match &self.body {
            Body::Simulated(settings, _) => traffic.line_rate(settings.link),
            Body::Lab(inside) => traffic.line_rate(inside.kind.link()),
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
            Body::Simulated(settings, nat) => {
                let macs = (tester_mac(End::Left), tester_mac(End::Right));
                let flows = traffic
                    .directions
                    .iter()
                    .map(|&direction| Ok((direction, traffic.flow(direction, macs)?)))
                    .collect::<Result<Vec<_>, String>>()?;
                let routes = self.routes.map_or(0, |routes| routes.count);
                let settings = settings.grown(self.workers, traffic.flows(), routes);
                simulation::run(&plan, &flows, settings, nat)
            }
            Body::Rings(_) if plan.event.is_some() => Err(UNCHANGED.into()),
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

    /// Changes the device outside of a trial; returns the seconds that it took.
    ///
    /// # Errors
    /// The device can't be changed like this.
    pub fn change(&mut self, change: Change) -> Result<f64, String> {
        match &mut self.body {
            Body::Simulated(settings, nat) if change == Change::Clear => match settings.nat {
                Some(limits) => Ok(nat.borrow_mut().clear() as f64 / limits.removed),
                None => Err("this stage translates no addresses: see the impairment nat".into()),
            },
            Body::Simulated(settings, _) => Ok(settings.time_of(change) as f64 / 1e9),
            Body::Rings(_) => Err(UNCHANGED.into()),
            Body::Lab(inside) => inside.change(change),
        }
    }

    /// Lets the device have so many routes beside its own, and no others of earlier calls.
    ///
    /// # Errors
    /// The device can't load routes.
    pub fn hold(&mut self, routes: Routes) -> Result<(), String> {
        if self.routes == Some(routes) || self.routes.is_none() && routes.count == 0 {
            return Ok(());
        }
        if let Some(held) = self.routes.take() {
            self.change(Change::Delete(held))?;
        }
        if routes.count > 0 {
            self.change(Change::Add(routes))?;
            self.routes = Some(routes);
        }
        Ok(())
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
            Body::Simulated(..) => {
                Err("replay needs a device in real time, not impairments".into())
            }
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

impl std::fmt::Debug for Bench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bench").field("spec", &self.spec).finish_non_exhaustive()
    }
}
