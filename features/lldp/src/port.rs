// SPDX-License-Identifier: Apache-2.0
//! Ports: what is said there, when it is due, and who was heard.

use crate::tlv::{self, Id, Own, Unit};
use cli::{Error, Result};
use graph::{Deleted, Process, Shared, Signal, Sleep, SwIfIndex, Wake, World};
use msg::retval;
use net::{IfEvent, IfKind, Interface, Interfaces};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Mailbox, Slots, Turn};

const SECOND: u64 = 1_000_000_000;
/// Data units that wait for control at most.
const WAITING: usize = 64;

/// What holds for all ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The system's name; empty for none.
    pub system_name: String,
    /// So many intervals our word holds, 1 to 100 (IEEE 802.1AB-2016 9.2.5.5, msgTxHold).
    pub hold: u32,
    /// Seconds between two data units, 1 to 3600 (msgTxInterval).
    pub interval: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { system_name: String::new(), hold: 4, interval: 30 }
    }
}

/// What is said of a port.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Port {
    /// What it is for; empty for nothing.
    pub description: String,
    /// Where the system is managed.
    pub management: (Option<Ipv4Addr>, Option<Ipv6Addr>),
    /// The object that is managed there; empty for none.
    pub object: String,
}

/// Who is at the other end. Times are on the instance's clock, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbor {
    /// The neighbour.
    pub chassis: Id,
    /// Its port.
    pub port: Id,
    /// Seconds that its last word holds.
    pub ttl: u16,
    /// When that was.
    pub heard: u64,
}

impl Neighbor {
    fn ends(&self) -> u64 {
        self.heard + u64::from(self.ttl) * SECOND
    }
}

/// What happens on a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Status {
    /// When something was sent last.
    pub sent: Option<u64>,
    /// Who was heard.
    pub neighbor: Option<Neighbor>,
}

#[derive(Default)]
struct Entry {
    port: Port,
    status: Status,
    /// When something is to be sent.
    due: u64,
}

/// A data unit that came in.
pub struct Heard {
    /// By this interface.
    pub sw_if: u32,
    /// What it says.
    pub unit: Unit,
}

/// All ports.
pub struct Lldp {
    settings: Mutex<Settings>,
    ports: Mutex<BTreeMap<SwIfIndex, Entry>>,
    /// Those that are enabled, for workers.
    enabled: Slots<()>,
    heard: Mailbox<Heard>,
    signal: Signal,
}

impl Shared for Lldp {
    fn make(world: &World) -> Self {
        Self {
            settings: Mutex::default(),
            ports: Mutex::default(),
            enabled: Slots::new(world.qsbr.clone()),
            heard: Mailbox::new(WAITING, world.processes.waker().clone()),
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
            IfEvent::Admin(sw_if, true) | IfEvent::Link(sw_if, true) => this.hurry(sw_if),
            IfEvent::Name(sw_if) | IfEvent::Mac(sw_if) => this.hurry(sw_if),
            _ => (),
        });
    }

    /// What is new is said at once.
    fn hurry(&self, sw_if: SwIfIndex) {
        if let Some(entry) = self.ports_mut().get_mut(&sw_if) {
            entry.due = 0;
            self.signal.raise();
        }
    }

    /// Whether data units are wanted there.
    #[inline(always)]
    pub fn is_enabled(&self, sw_if: u32, turn: &Turn<'_>) -> bool {
        self.enabled.get(sw_if, turn).is_some()
    }

    /// Passes a data unit to control; false if there is no room.
    pub fn post(&self, heard: Heard) -> bool {
        let posted = self.heard.post(heard).is_ok();
        self.signal.raise();
        posted
    }

    /// What holds for all ports.
    pub fn settings(&self) -> Settings {
        self.settings.lock().expect("no panic inside").clone()
    }

    /// Changes what holds for all ports; `None` leaves a setting as it is.
    ///
    /// # Errors
    /// What is out of range (−7).
    pub fn set(
        &self,
        world: &World,
        name: Option<&str>,
        hold: Option<u32>,
        interval: Option<u32>,
    ) -> Result<()> {
        let within = |what: &str, value: Option<u32>, most: u32| match value {
            Some(value) if !(1..=most).contains(&value) => {
                Err(Error::parse(format!("{what} is 1 to {most}, not {value}")).retval(retval::INVALID_VALUE))
            }
            _ => Ok(()),
        };
        within("tx-hold", hold, 100)?;
        within("tx-interval", interval, 3600)?;
        if name.is_some_and(|name| name.len() > 255) {
            return Err(Error::parse("a system's name has 255 bytes at most").retval(retval::INVALID_VALUE));
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

    /// Begins to speak and to listen on an interface; what is said of it is replaced if that is so already.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or isn't an Ethernet device (−7); a text that is too long (−7).
    pub fn enable(&self, world: &World, sw_if: SwIfIndex, port: Port) -> Result<()> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        if interface.kind != IfKind::Ethernet || interface.sub.is_some() {
            return Err(Error::unsupported(format!(
                "{} is no Ethernet device: neighbours are those of links",
                interface.name
            ))
            .retval(retval::INVALID_VALUE));
        }
        for (what, text, most) in [("port-desc", &port.description, 255), ("mgmt-oid", &port.object, 128)] {
            if text.len() > most {
                return Err(
                    Error::parse(format!("{what} has {most} bytes at most")).retval(retval::INVALID_VALUE)
                );
            }
        }
        {
            let mut ports = self.ports_mut();
            let entry = ports.entry(sw_if).or_default();
            (entry.port, entry.due) = (port, 0);
        }
        self.enabled.set(sw_if.0, ());
        self.signal.raise();
        world.note_config_change();
        Ok(())
    }

    /// Takes leave, and forgets who was heard.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or isn't an Ethernet device (−7).
    pub fn disable(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        if interface.kind != IfKind::Ethernet || interface.sub.is_some() {
            return Err(Error::unsupported(format!("{} is no Ethernet device", interface.name))
                .retval(retval::INVALID_VALUE));
        }
        let entry = self.ports_mut().remove(&sw_if);
        self.enabled.clear(sw_if.0);
        if let Some(entry) = entry {
            self.say(world, &interface, &entry.port, 0);
            world.note_config_change();
        }
        Ok(())
    }

    /// What is said of each port.
    pub fn ports(&self) -> Vec<(SwIfIndex, Port)> {
        self.ports_mut().iter().map(|(sw_if, entry)| (*sw_if, entry.port.clone())).collect()
    }

    /// What happens on each port.
    pub fn status(&self) -> Vec<(SwIfIndex, Status)> {
        self.ports_mut().iter().map(|(sw_if, entry)| (*sw_if, entry.status)).collect()
    }

    /// Sends a data unit, if the interface can; says whether it did.
    fn say(&self, world: &World, interface: &Interface, port: &Port, ttl: u16) -> bool {
        if !interface.admin_up || !interface.link_up {
            return false;
        }
        let settings = self.settings();
        let frame = tlv::frame(&Own {
            mac: interface.mac,
            port: &interface.name,
            number: interface.sw_if.0,
            ttl,
            description: &port.description,
            system: &settings.system_name,
            management: port.management,
            object: port.object.as_bytes(),
        });
        net::transmit(world, interface, vec![frame], &world.stats.simple("/net/lldp/tx/no-buffers"));
        true
    }

    fn hear(&self, now: u64, heard: Heard) {
        let Heard { sw_if, unit: Unit { chassis, port, ttl } } = heard;
        if let Some(entry) = self.ports_mut().get_mut(&SwIfIndex(sw_if)) {
            entry.status.neighbor = (ttl != 0).then_some(Neighbor { chassis, port, ttl, heard: now });
        }
    }

    /// Does what is due; says when to come again.
    fn run(&self, world: &World) -> Option<u64> {
        let now = world.clock.now();
        self.heard.drain(|heard| self.hear(now, heard));
        let Settings { hold, interval, .. } = self.settings();
        // Not beyond what the field holds (9.2.5.22).
        let ttl = (hold * interval + 1).min(u16::MAX.into()) as u16;
        let due: Vec<(SwIfIndex, Port)> = {
            let mut ports = self.ports_mut();
            for entry in ports.values_mut() {
                entry.status.neighbor = entry.status.neighbor.filter(|neighbor| neighbor.ends() > now);
            }
            ports.iter().filter(|(_, e)| e.due <= now).map(|(sw_if, e)| (*sw_if, e.port.clone())).collect()
        };
        for (sw_if, port) in due {
            let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { continue };
            let sent = self.say(world, &interface, &port, ttl);
            if let Some(entry) = self.ports_mut().get_mut(&sw_if) {
                entry.due = now + u64::from(interval) * SECOND;
                entry.status.sent = if sent { Some(now) } else { entry.status.sent };
            }
        }
        let ports = self.ports_mut();
        let ends = ports.values().filter_map(|entry| entry.status.neighbor).map(|n| n.ends());
        ports.values().map(|entry| entry.due).chain(ends).min()
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
