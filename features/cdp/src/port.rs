// SPDX-License-Identifier: Apache-2.0
//! Ports and their neighbours: received packets, and the timing of sent packets.

use crate::pdu::{self, LocalSystem, Pdu};
use graph::{Deleted, Process, Shared, Signal, Sleep, SwIfIndex, Wake, World};
use net::{Addresses, IfEvent, Interface, Interfaces};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Mailbox, Slots, Turn};
use wire::Ip4;

const SECOND: u64 = 1_000_000_000;
/// Packets of one port that wait for control at most.
const WAITING: usize = 4;
/// Packets that a new neighbour gets, one a second.
const HELLOS: u8 = 3;
/// Seconds between two packets after these.
const INTERVAL: u64 = 30;
/// Seconds until neighbours remove us.
const TTL: u8 = 180;
const SOFTWARE: &str = concat!("Ferrovia ", env!("CARGO_PKG_VERSION"));

/// A neighbour. Times are on the instance's clock, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbor {
    /// Its last packet.
    pub unit: Pdu,
    /// Time at which that was received.
    pub heard: u64,
    /// Packets sent to it, counted up to [`HELLOS`].
    hellos: u8,
    /// Time at which the next one is to be sent.
    due: u64,
}

impl Neighbor {
    fn expires(&self) -> u64 {
        self.heard + u64::from(self.unit.ttl) * SECOND
    }
}

/// The part of a port that workers write.
pub struct Received {
    /// Packets queued for control. Each port has its own queue, so that no port fills another's.
    units: Mailbox<Pdu>,
    /// Hash of the last packet's bytes; 0 before the first.
    last: AtomicU64,
}

impl Received {
    /// Stores a hash of the packet. Returns true if the packet before had the same hash, and so
    /// nearly always the same bytes.
    pub fn note_bytes(&self, bytes: &[u8]) -> bool {
        // FNV-1a.
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        self.last.swap(hash, Ordering::Relaxed) == hash
    }

    /// Returns true if control's queue is full: `WAITING` packets.
    pub fn is_full(&self) -> bool {
        self.units.len() >= WAITING
    }

    /// Queues a packet's contents for control. Returns true if there was room.
    #[must_use]
    pub fn post(&self, unit: Pdu) -> bool {
        self.units.post(unit).is_ok()
    }
}

struct Port {
    received: Arc<Received>,
    neighbor: Option<Neighbor>,
    /// Time before which no packet is sent, whatever is received: a second after the last one.
    earliest: u64,
}

impl Port {
    /// Time at which a packet is to be sent.
    fn due(&self) -> Option<u64> {
        self.neighbor.map(|neighbor| neighbor.due.max(self.earliest))
    }
}

#[derive(Default)]
struct Inner {
    on: bool,
    /// All Ethernet devices while CDP is enabled; else empty.
    ports: BTreeMap<SwIfIndex, Port>,
}

/// All ports.
pub struct Cdp {
    inner: Mutex<Inner>,
    /// Ports, for workers.
    ports: Slots<Arc<Received>>,
    signal: Signal,
}

impl Shared for Cdp {
    fn make(world: &World) -> Self {
        Self {
            inner: Mutex::default(),
            ports: Slots::new(world.qsbr.clone()),
            signal: world.processes.signal(),
        }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.inner().ports.remove(sw_if);
            self.ports.clear(sw_if.0);
        }
    }
}

impl Cdp {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// Starts the process.
    pub fn start(world: &World) {
        let this: Arc<Self> = world.get();
        world.processes.spawn(Box::new(CdpProcess(this.clone())), &this.signal);
        world.get::<Interfaces>().subscribe(move |world, event| match event {
            IfEvent::Added(sw_if) => this.add(world, &mut this.inner(), sw_if),
            IfEvent::Admin(sw_if, true) | IfEvent::Link(sw_if, true) => this.greet(sw_if),
            IfEvent::Name(sw_if) | IfEvent::Mac(sw_if) | IfEvent::Address(sw_if, false) => {
                this.greet(sw_if)
            }
            _ => (),
        });
    }

    /// Sends a packet at once if there is a neighbour: its contents have changed, or the link has
    /// come up.
    fn greet(&self, sw_if: SwIfIndex) {
        if let Some(neighbor) =
            self.inner().ports.get_mut(&sw_if).and_then(|port| port.neighbor.as_mut())
        {
            neighbor.due = 0;
            self.signal.raise();
        }
    }

    /// The port of an interface, for workers; `None` if CDP isn't enabled there.
    pub fn port<'t>(&'t self, sw_if: u32, turn: &'t Turn<'_>) -> Option<&'t Received> {
        Some(self.ports.get(sw_if, turn)?)
    }

    /// Tells control that packets wait.
    pub fn notify(&self) {
        self.signal.raise();
    }

    /// Returns true if CDP is enabled.
    pub fn is_enabled(&self) -> bool {
        self.inner().on
    }

    /// The neighbours, by port.
    pub fn neighbors(&self) -> Vec<(SwIfIndex, Neighbor)> {
        let inner = self.inner();
        inner.ports.iter().filter_map(|(sw_if, port)| Some((*sw_if, port.neighbor?))).collect()
    }

    /// Enables CDP on all Ethernet devices, or disables it and forgets all neighbours.
    pub fn set(&self, world: &World, on: bool) {
        let mut inner = self.inner();
        if inner.on == on {
            return;
        }
        inner.on = on;
        if on {
            world
                .get::<Interfaces>()
                .indices()
                .for_each(|sw_if| self.add(world, &mut inner, sw_if));
        } else {
            for sw_if in std::mem::take(&mut inner.ports).into_keys() {
                self.ports.clear(sw_if.0);
            }
        }
        drop(inner);
        world.note_config_change();
    }

    /// Makes an interface a port if CDP is enabled, and the interface has a link.
    fn add(&self, world: &World, inner: &mut Inner, sw_if: SwIfIndex) {
        let has_link = |interface: &Interface| {
            interface.is_ethernet_device() && !ethernet::is_loopback(world, interface.sw_if)
        };
        if inner.on
            && world.get::<Interfaces>().get(sw_if).is_ok_and(|interface| has_link(&interface))
        {
            let units = Mailbox::new(WAITING, world.processes.waker().clone());
            let received = Arc::new(Received { units, last: AtomicU64::new(0) });
            self.ports.set(sw_if.0, received.clone());
            inner.ports.insert(sw_if, Port { received, neighbor: None, earliest: 0 });
        }
    }

    /// Reads what was received, removes neighbours whose TTL has expired, and takes the ports where
    /// a packet is to be sent.
    fn update(&self, now: u64) -> Vec<SwIfIndex> {
        let mut due = Vec::new();
        for (sw_if, port) in &mut self.inner().ports {
            let Port { received, neighbor, .. } = &mut *port;
            received.units.drain(|unit| {
                let is_known = |known: &Neighbor| {
                    (known.unit.device, known.unit.port) == (unit.device, unit.port)
                        && known.expires() > now
                };
                let known = neighbor.filter(is_known).unwrap_or(Neighbor {
                    unit,
                    heard: now,
                    hellos: 0,
                    due: now,
                });
                // With a TTL of 0 a neighbour takes its leave.
                *neighbor = (unit.ttl != 0).then_some(Neighbor { unit, heard: now, ..known });
            });
            *neighbor = neighbor.filter(|neighbor| neighbor.expires() > now);
            if neighbor.is_none() {
                // The next packet is new, whatever its bytes.
                received.last.store(0, Ordering::Relaxed);
            }
            if port.due().is_some_and(|due| due <= now)
                && let Some(neighbor) = &mut port.neighbor
            {
                neighbor.hellos = (neighbor.hellos + 1).min(HELLOS);
                let seconds = if neighbor.hellos < HELLOS { 1 } else { INTERVAL };
                neighbor.due = now + seconds * SECOND;
                port.earliest = now + SECOND;
                due.push(*sw_if);
            }
        }
        due
    }

    /// Does what is due; returns the time at which there is more to do.
    fn run(&self, world: &World) -> Option<u64> {
        let due = self.update(world.clock.now());
        if !due.is_empty() {
            // Control may read it: it isn't a file on a disk.
            let device = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            due.into_iter().for_each(|sw_if| send(world, sw_if, device.trim()));
        }
        let inner = self.inner();
        let times = |port: &Port| Some(port.due()?.min(port.neighbor?.expires()));
        inner.ports.values().filter_map(times).min()
    }
}

/// Tells a neighbour of us, if the interface can.
fn send(world: &World, sw_if: SwIfIndex, device: &str) {
    let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
    if !interface.admin_up || !interface.link_up {
        return;
    }
    let addresses: Vec<_> =
        world.get::<Addresses<Ip4>>().list(sw_if).into_iter().map(|prefix| prefix.addr()).collect();
    let frame = pdu::frame(&LocalSystem {
        mac: interface.mac,
        device,
        port: &interface.name,
        addresses: &addresses,
        ttl: TTL,
        software: SOFTWARE,
    });
    net::transmit(world, &interface, vec![frame], &world.stats.simple("/net/cdp/tx/no-buffers"));
}

struct CdpProcess(Arc<Cdp>);

impl Process for CdpProcess {
    fn name(&self) -> &'static str {
        "cdp-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.run(world).map_or(Sleep::Event, Sleep::Until)
    }
}
