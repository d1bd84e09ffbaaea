// SPDX-License-Identifier: Apache-2.0
//! A device in a lab: its Ethernet addresses, and trials through it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::Direction;
use wire::MacAddr;

use super::{PATIENCE, Traffic, tester_mac};
use crate::dut::change::Change;
use crate::dut::{self, Device, Spec};
use crate::engine::clock::Real;
use crate::engine::live::{self, Idle, Wire};
use crate::engine::{Event, Plan, Ran};
use crate::lab::{End, Lab};
use crate::port::interface::{Kind as PortKind, Port, PortRx, PortTx};
use crate::port::{Rx, Tx, memif};
use crate::traffic::Kind;
use crate::traffic::neighbor::Host;

/// A device in its lab, with the tester's ports.
pub(super) struct InLab {
    pub(super) kind: PortKind,
    // Fields are dropped in this order: the device goes before its namespace.
    pub(super) device: Option<Box<dyn Device>>,
    pub(super) ports: [Port; 2],
    /// The lab; none if the ports are connected in the process.
    pub(super) lab: Option<Lab>,
    /// The device's Ethernet addresses, by end and family.
    macs: Vec<((End, bool), MacAddr)>,
}

/// Changes a device; returns the seconds that it took.
fn timed(change: Change, device: &mut dyn Device, lab: &Lab) -> Result<f64, String> {
    let start = Instant::now();
    change.apply(device, lab).map(|()| start.elapsed().as_secs_f64())
}

impl InLab {
    /// Makes a lab and sets a device up in it.
    pub(super) fn up(kind: PortKind, spec: &Spec, workers: u32) -> Result<Self, String> {
        let with_ports = |(lab, ports)| (lab, Some(ports));
        let (lab, ports) = match kind {
            PortKind::Veth => (Lab::new()?, None),
            PortKind::Tap => with_ports(Lab::with_taps()?),
            PortKind::Memif => with_ports(Lab::with_memif()?),
        };
        let device = dut::up(spec, &lab, workers)?;
        let ports = match ports {
            Some(ports) => ports,
            None => [lab.port(End::Left)?, lab.port(End::Right)?],
        };
        Ok(Self { kind, device, ports, lab: Some(lab), macs: Vec::new() })
    }

    /// The tester's ports, connected to each other.
    pub(super) fn cable(kind: PortKind) -> Result<Self, String> {
        let (lab, ports) = match kind {
            PortKind::Veth => {
                let lab = Lab::direct()?;
                let ports = [lab.port(End::Left)?, lab.port(End::Right)?];
                (Some(lab), ports)
            }
            PortKind::Memif => {
                let pair = memif::pair().map_err(|error| format!("a pair of memif: {error}"))?;
                let port = |(tx, rx)| Port { tx: PortTx::Memif(tx), rx: PortRx::Memif(rx) };
                (None, pair.map(port))
            }
            PortKind::Tap => {
                return Err("port tap: two taps can't be connected without a device; \
                            --interface tap of other verbs measures through one"
                    .into());
            }
        };
        Ok(Self { kind, device: None, ports, lab, macs: Vec::new() })
    }

    /// The Ethernet address to which packets go that begin at `end`.
    pub(super) fn mac(
        &mut self,
        end: End,
        ip6: bool,
        stop: &AtomicBool,
    ) -> Result<MacAddr, String> {
        if self.device.as_ref().is_none_or(|device| device.is_bridge()) {
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

    pub(super) fn trial(
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
        let mut event = Ok(None);
        let ran = live::run(clock, idle, plan, wires, stop, |sleep_until| {
            if let (Some(Event { at, change }), Some(device), Some(lab)) =
                (plan.event, device.as_mut(), lab)
            {
                sleep_until(at);
                event = timed(change, &mut **device, lab).map(Some);
            }
        });
        let event = event?;
        if let Some(why) = self.device.as_mut().and_then(|device| device.failure()) {
            return Err(why);
        }
        if plan.event.is_some_and(|event| event.change == Change::Restart) {
            // A restarted device may have other addresses.
            self.macs.clear();
        }
        ran.map(|ran| Ran { event, ..ran })
    }

    /// Changes the device; returns the seconds that it took.
    pub(super) fn change(&mut self, change: Change) -> Result<f64, String> {
        match (&mut self.device, &self.lab) {
            (Some(device), Some(lab)) => timed(change, &mut **device, lab),
            _ => Err("there is no device that could be changed".into()),
        }
    }
}
