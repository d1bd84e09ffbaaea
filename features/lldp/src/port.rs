// SPDX-License-Identifier: Apache-2.0
//! Ports: the data units sent there and their timing, and the received neighbour.

use crate::tlv::{self, Id, LocalSystem, Pdu};
use cli::{Error, Result};
use graph::{Deleted, Process, Shared, Signal, Sleep, SwIfIndex, Wake, World};
use msg::retval;
use net::{IfEvent, Interface, Interfaces};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Mailbox, Slots, Turn};

const SECOND: u64 = 1_000_000_000;
/// Maximum number of data units of one port that wait for control.
pub const WAITING: usize = 4;

/// The settings of all ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The system's name; empty for none.
    pub system_name: String,
    /// Our TTL in intervals, 1 to 100 (IEEE 802.1AB-2016 9.2.5.5, msgTxHold).
    pub hold: u32,
    /// Seconds between two data units, 1 to 3600 (msgTxInterval).
    pub interval: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { system_name: String::new(), hold: 4, interval: 30 }
    }
}

/// A port's settings: what its data units carry.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Port {
    /// Description of the port; empty for none.
    pub description: String,
    /// Where the system is managed.
    pub management: (Option<Ipv4Addr>, Option<Ipv6Addr>),
    /// The object that is managed there; empty for none.
    pub object: String,
}

/// The neighbour at the other end. Times are on the instance's clock, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbor {
    /// Chassis ID of the neighbour.
    pub chassis: Id,
    /// Port ID of the neighbour.
    pub port: Id,
    /// Seconds until the neighbour is removed, counted from `heard`.
    pub ttl: u16,
    /// When its last data unit was received.
    pub heard: u64,
}

impl Neighbor {
    fn expires(&self) -> u64 {
        self.heard + u64::from(self.ttl) * SECOND
    }
}

/// The status of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Status {
    /// When a data unit was sent last.
    pub sent: Option<u64>,
    /// The neighbour that was received last and hasn't expired.
    pub neighbor: Option<Neighbor>,
    /// The neighbour that was received last.
    pub last_known: Option<Neighbor>,
}

struct Entry {
    port: Port,
    status: Status,
    /// When something is to be sent.
    due: u64,
    /// Received data units queued for control. Each port has its own queue, so that no port fills
    /// another's.
    received: Arc<Mailbox<Pdu>>,
}

/// All ports.
pub struct Lldp {
    settings: Mutex<Settings>,
    ports: Mutex<BTreeMap<SwIfIndex, Entry>>,
    /// Enabled ports, for workers.
    enabled: Slots<Arc<Mailbox<Pdu>>>,
    signal: Signal,
}

impl Shared for Lldp {
    fn make(world: &World) -> Self {
        Self {
            settings: Mutex::default(),
            ports: Mutex::default(),
            enabled: Slots::new(world.qsbr.clone()),
            signal: world.processes.signal(),
        }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.ports_mut().remove(sw_if);
            self.enabled.clear(sw_if.0);
        }
    }
}

impl Lldp {
    fn ports_mut(&self) -> MutexGuard<'_, BTreeMap<SwIfIndex, Entry>> {
        self.ports.lock().expect("no panic inside")
    }

    /// Starts the process.
    pub fn start(world: &World) {
        let this: Arc<Self> = world.get();
        world.processes.spawn(Box::new(LldpProcess(this.clone())), &this.signal);
        world.get::<Interfaces>().subscribe(move |_, event| match event {
            IfEvent::Admin(sw_if, true) | IfEvent::Link(sw_if, true) => this.send_soon(sw_if),
            IfEvent::Name(sw_if) | IfEvent::Mac(sw_if) => this.send_soon(sw_if),
            _ => (),
        });
    }

    /// Sends a data unit at once: its contents have changed, or the link has come up.
    fn send_soon(&self, sw_if: SwIfIndex) {
        if let Some(entry) = self.ports_mut().get_mut(&sw_if) {
            entry.due = 0;
            self.signal.raise();
        }
    }

    /// Queue to control for data units received on an interface; `None` if LLDP isn't enabled
    /// there.
    #[inline(always)]
    pub fn mailbox<'t>(&'t self, sw_if: u32, turn: &'t Turn<'_>) -> Option<&'t Mailbox<Pdu>> {
        Some(self.enabled.get(sw_if, turn)?)
    }

    /// Tells control that a mailbox isn't empty.
    pub fn notify(&self) {
        self.signal.raise();
    }

    /// The settings of all ports.
    pub fn settings(&self) -> Settings {
        self.settings.lock().expect("no panic inside").clone()
    }

    /// Changes the settings of all ports; `None` leaves a setting as it is.
    ///
    /// # Errors
    /// A setting that is out of range (−7).
    pub fn set(
        &self,
        world: &World,
        name: Option<&str>,
        hold: Option<u32>,
        interval: Option<u32>,
    ) -> Result<()> {
        let within = |what: &str, value: Option<u32>, most: u32| match value {
            Some(value) if !(1..=most).contains(&value) => {
                Err(Error::parse(format!("{what} is 1 to {most}, not {value}"))
                    .retval(retval::INVALID_VALUE))
            }
            _ => Ok(()),
        };
        within("tx-hold", hold, 100)?;
        within("tx-interval", interval, 3600)?;
        if name.is_some_and(|name| name.len() > 255) {
            return Err(
                Error::parse("a system's name has 255 bytes at most").retval(retval::INVALID_VALUE)
            );
        }
        {
            let mut settings = self.settings.lock().expect("no panic inside");
            if let Some(name) = name {
                settings.system_name = name.to_string();
            }
            settings.hold = hold.unwrap_or(settings.hold);
            settings.interval = interval.unwrap_or(settings.interval);
        }
        self.ports_mut().values_mut().for_each(|entry| entry.due = 0);
        self.signal.raise();
        world.note_config_change();
        Ok(())
    }

    /// Sends and receives data units on an interface. Replaces the port's settings if LLDP is
    /// enabled there already.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or isn't an Ethernet device (−7); a text that is too long
    /// (−7).
    pub fn enable(&self, world: &World, sw_if: SwIfIndex, port: Port) -> Result<()> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        if !interface.is_ethernet_device() {
            return Err(Error::unsupported(format!(
                "{} is no Ethernet device: neighbours are those of links",
                interface.name
            ))
            .retval(retval::INVALID_VALUE));
        }
        for (what, text, most) in
            [("port-desc", &port.description, 255), ("mgmt-oid", &port.object, 128)]
        {
            if text.len() > most {
                return Err(Error::parse(format!("{what} has {most} bytes at most"))
                    .retval(retval::INVALID_VALUE));
            }
        }
        {
            let mut ports = self.ports_mut();
            match ports.get_mut(&sw_if) {
                Some(entry) => (entry.port, entry.due) = (port, 0),
                None => {
                    let received = Arc::new(Mailbox::new(WAITING, world.processes.waker().clone()));
                    self.enabled.set(sw_if.0, received.clone());
                    ports
                        .insert(sw_if, Entry { port, status: Status::default(), due: 0, received });
                }
            }
        }
        self.signal.raise();
        world.note_config_change();
        Ok(())
    }

    /// Sends a shutdown LLDPDU (9.2.7.3) and forgets the neighbour.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or isn't an Ethernet device (−7).
    pub fn disable(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        if !interface.is_ethernet_device() {
            return Err(Error::unsupported(format!("{} is no Ethernet device", interface.name))
                .retval(retval::INVALID_VALUE));
        }
        let entry = self.ports_mut().remove(&sw_if);
        self.enabled.clear(sw_if.0);
        if let Some(entry) = entry {
            self.send(world, &interface, &entry.port, 0);
            world.note_config_change();
        }
        Ok(())
    }

    /// The settings of all ports.
    pub fn ports(&self) -> Vec<(SwIfIndex, Port)> {
        self.ports_mut().iter().map(|(sw_if, entry)| (*sw_if, entry.port.clone())).collect()
    }

    /// The status of each port.
    pub fn status(&self) -> Vec<(SwIfIndex, Status)> {
        self.ports_mut().iter().map(|(sw_if, entry)| (*sw_if, entry.status)).collect()
    }

    /// Sends a data unit, if the interface can. Returns true if it did.
    fn send(&self, world: &World, interface: &Interface, port: &Port, ttl: u16) -> bool {
        if !interface.admin_up || !interface.link_up {
            return false;
        }
        let settings = self.settings();
        let frame = tlv::frame(&LocalSystem {
            mac: interface.mac,
            port: &interface.name,
            number: interface.sw_if.0,
            ttl,
            description: &port.description,
            system: &settings.system_name,
            management: port.management,
            object: port.object.as_bytes(),
        });
        net::transmit(
            world,
            interface,
            vec![frame],
            &world.stats.simple("/net/lldp/tx/no-buffers"),
        );
        true
    }

    /// Does everything that is due. Returns the time of the next run.
    fn run(&self, world: &World) -> Option<u64> {
        let now = world.clock.now();
        let Settings { hold, interval, .. } = self.settings();
        // Not beyond what the field holds (9.2.5.22).
        let ttl = (hold * interval + 1).min(u16::MAX.into()) as u16;
        let due: Vec<(SwIfIndex, Port)> = {
            let mut ports = self.ports_mut();
            for entry in ports.values_mut() {
                let Entry { received, status, .. } = entry;
                received.drain(|Pdu { chassis, port, ttl }| {
                    let neighbor = Neighbor { chassis, port, ttl, heard: now };
                    // A TTL of 0 is a shutdown LLDPDU.
                    status.neighbor = (ttl != 0).then_some(neighbor);
                    status.last_known = Some(neighbor);
                });
                entry.status.neighbor =
                    entry.status.neighbor.filter(|neighbor| neighbor.expires() > now);
            }
            ports
                .iter()
                .filter(|(_, e)| e.due <= now)
                .map(|(sw_if, e)| (*sw_if, e.port.clone()))
                .collect()
        };
        for (sw_if, port) in due {
            let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { continue };
            let sent = self.send(world, &interface, &port, ttl);
            if let Some(entry) = self.ports_mut().get_mut(&sw_if) {
                entry.due = now + u64::from(interval) * SECOND;
                entry.status.sent = if sent { Some(now) } else { entry.status.sent };
            }
        }
        let ports = self.ports_mut();
        let expiries =
            ports.values().filter_map(|entry| entry.status.neighbor).map(|n| n.expires());
        ports.values().map(|entry| entry.due).chain(expiries).min()
    }
}

struct LldpProcess(Arc<Lldp>);

impl Process for LldpProcess {
    fn name(&self) -> &'static str {
        "lldp-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.run(world).map_or(Sleep::Event, Sleep::Until)
    }
}
