// SPDX-License-Identifier: Apache-2.0
//! Devices whose packets are spread, and how.

use crate::flow::{Content, Fields, Frames, OfDevice, Packets4, Packets6, Selection};
use crate::toeplitz::{DEFAULT_KEY, Key, Toeplitz};
use cli::{Error, Result, quote};
use graph::{Deleted, Phase, RunningConfig, Shared, SwIfIndex, ThreadIndex, World};
use net::{IfKind, Interface, Interfaces};
use startup::value::{CoreList, Value};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use sync::{Slots, Turn};

/// Entries of the table from hashes to threads, as network cards have at least.
const TABLE: usize = 64;

/// An arc, and the node that spreads its packets.
type Place = (&'static str, &'static str);

/// The place of packets that a device receives.
const DEVICE: [Place; 1] = [place::<OfDevice>()];
/// The places of packets that are taken out of a tunnel.
const TUNNEL: [Place; 3] = [place::<Frames>(), place::<Packets4>(), place::<Packets6>()];

const fn place<C: Content>() -> Place {
    (C::ARC, C::NODE)
}

/// The places of packets of an interface; none if it is neither a device with Ethernet frames nor a
/// tunnel.
fn places(interface: &Interface) -> &'static [Place] {
    match () {
        () if interface.sub.is_some() => &[],
        () if interface.device.is_tunnel() => &TUNNEL,
        () if interface.is_ethernet_device() => &DEVICE,
        () => &[],
    }
}

/// Starts or stops to spread the packets of an interface.
fn set_places(world: &World, interface: &Interface, on: bool) -> Result<()> {
    places(interface).iter().try_for_each(|(arc, node)| {
        world.set_feature(arc, node, interface.sw_if, on).map_err(Error::failed)
    })
}

/// The configuration of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Fields of IPv4 packets that are hashed.
    pub ip4: Fields,
    /// The same of IPv6 packets.
    pub ip6: Fields,
    /// Bytes in front of the Ethernet header.
    pub l2_offset: u32,
    /// The threads that were given; none for all workers.
    pub threads: Vec<u16>,
    /// The main thread takes part beside all workers.
    pub with_main: bool,
    /// The key of the hash.
    pub key: Key,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ip4: Fields::default(),
            ip6: Fields::default(),
            l2_offset: 0,
            threads: Vec::new(),
            with_main: false,
            key: DEFAULT_KEY,
        }
    }
}

impl Config {
    /// The threads that packets are spread over, in an instance with `n` threads.
    pub fn targets(&self, n: usize) -> Vec<u16> {
        if !self.threads.is_empty() {
            return self.threads.clone();
        }
        let first = if self.with_main || n == 1 { 0 } else { 1 };
        (first..n as u16).collect()
    }

    /// The words behind `soft-rss config INTERFACE`.
    fn words(&self) -> String {
        let mut words = String::new();
        if self.ip4 != Fields::default() {
            words += &format!(" ipv4-type {}", self.ip4.word());
        }
        if self.ip6 != Fields::default() {
            words += &format!(" ipv6-type {}", self.ip6.word());
        }
        if self.l2_offset != 0 {
            words += &format!(" l2-offset {}", self.l2_offset);
        }
        if !self.threads.is_empty() {
            words += &format!(" threads {}", list(&self.threads));
        }
        if self.with_main {
            words += " with-main-thread";
        }
        if self.key != DEFAULT_KEY {
            words += &format!(" rss-key {}", hex(&self.key));
        }
        words
    }
}

/// Threads as a list of ranges.
pub fn list(threads: &[u16]) -> String {
    CoreList(threads.to_vec()).show()
}

/// A key in hexadecimal digits.
pub fn hex(key: &Key) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A device's configuration as threads read it.
pub struct Plan {
    hash: Toeplitz,
    table: [u16; TABLE],
    selection: Selection,
}

impl Plan {
    fn new(config: &Config, targets: &[u16]) -> Self {
        Self {
            hash: Toeplitz::new(&config.key),
            table: std::array::from_fn(|i| {
                targets.get(i % targets.len().max(1)).copied().unwrap_or(0)
            }),
            selection: Selection {
                ip4: config.ip4,
                ip6: config.ip6,
                l2_offset: config.l2_offset as usize,
            },
        }
    }

    /// The thread for a packet, and its hash; packets without a flow go to the first thread.
    #[inline(always)]
    pub fn thread<C: Content>(&self, packet: &[u8]) -> (ThreadIndex, u32) {
        let hash = C::flow(packet, self.selection)
            .map_or(0, |(input, len)| self.hash.hash(input.get(..len).unwrap_or_default()));
        (ThreadIndex(self.table[hash as usize % TABLE]), hash)
    }
}

/// All devices with a configuration.
pub struct SoftRss {
    configs: Mutex<BTreeMap<SwIfIndex, (Config, bool)>>,
    plans: Slots<Plan>,
}

impl Shared for SoftRss {
    fn make(world: &World) -> Self {
        Self { configs: Mutex::default(), plans: Slots::new(world.qsbr.clone()) }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.configs().remove(sw_if);
            self.plans.clear(sw_if.0);
        }
    }
}

impl SoftRss {
    fn configs(&self) -> MutexGuard<'_, BTreeMap<SwIfIndex, (Config, bool)>> {
        self.configs.lock().expect("no panic inside")
    }

    /// A device's plan, while its packets are spread.
    #[inline(always)]
    pub fn plan<'t>(&'t self, sw_if: u32, turn: &'t Turn<'_>) -> Option<&'t Plan> {
        self.plans.get(sw_if, turn)
    }

    /// All configurations, each with true if it is in force.
    pub fn list(&self) -> Vec<(SwIfIndex, Config, bool)> {
        self.configs().iter().map(|(sw_if, (config, on))| (*sw_if, config.clone(), *on)).collect()
    }

    /// Sets a device's configuration, which [`Self::enable`] puts in force.
    ///
    /// # Errors
    /// An interface that is neither an Ethernet device nor a tunnel; bytes in front of an Ethernet
    /// header where there is none; a thread that isn't there; a device whose packets are spread
    /// now.
    pub fn configure(&self, world: &World, sw_if: SwIfIndex, config: Config) -> Result<()> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        if places(&interface).is_empty() {
            let text = format!("{} is neither an Ethernet device nor a tunnel", interface.name);
            return Err(Error::unsupported(text));
        }
        if interface.kind != IfKind::Ethernet && config.l2_offset != 0 {
            return Err(Error::unsupported(format!(
                "packets of {} have no Ethernet header that `l2-offset' could stand in front of",
                interface.name
            )));
        }
        let threads = world.threads();
        if let Some(thread) = config.threads.iter().find(|thread| usize::from(**thread) >= threads)
        {
            return Err(Error::not_found(format!(
                "no thread {thread}: there are threads 0 to {} (`show threads')",
                threads - 1
            )));
        }
        if self.configs().get(&sw_if).is_some_and(|(_, on)| *on) {
            return Err(Error::failed(format!(
                "packets of {0} are spread now: `soft-rss disable {0}' first",
                interface.name
            )));
        }
        self.configs().insert(sw_if, (config, false));
        world.note_config_change();
        Ok(())
    }

    /// Starts to spread the packets of a device.
    ///
    /// # Errors
    /// No configuration; a configuration of fewer than two threads; one that is in force already.
    pub fn enable(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        let name = &interface.name;
        let config = match self.configs().get(&sw_if) {
            None => {
                let text = format!("{name} has no configuration: `soft-rss config {name}' first");
                return Err(Error::not_found(text));
            }
            Some((_, true)) => {
                return Err(Error::failed(format!("packets of {name} are spread already")));
            }
            Some((config, false)) => config.clone(),
        };
        let targets = config.targets(world.threads());
        if targets.len() < 2 {
            return Err(Error::failed(
                "one thread has nothing to share: give `threads' two or more, \
                 `with-main-thread', or the daemon more workers (startup.conf, cpu)",
            ));
        }
        self.plans.set(sw_if.0, Plan::new(&config, &targets));
        set_places(world, &interface, true)?;
        self.configs().insert(sw_if, (config, true));
        world.note_config_change();
        Ok(())
    }

    /// Stops to spread the packets of a device; its configuration stays.
    ///
    /// # Errors
    /// A device whose packets aren't spread.
    pub fn disable(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        let Some((config, true)) = self.configs().get(&sw_if).cloned() else {
            let text = format!("packets of {} are not spread", interface.name);
            return Err(Error::not_found(text));
        };
        set_places(world, &interface, false)?;
        self.plans.clear(sw_if.0);
        self.configs().insert(sw_if, (config, false));
        world.note_config_change();
        Ok(())
    }

    /// Removes a device's configuration.
    ///
    /// # Errors
    /// No configuration.
    pub fn clear(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let name = world.get::<Interfaces>().get(sw_if)?.name;
        let on = self.configs().get(&sw_if).map(|(_, on)| *on);
        match on {
            None => return Err(Error::not_found(format!("{name} has no configuration"))),
            Some(true) => self.disable(world, sw_if)?,
            Some(false) => {}
        }
        self.configs().remove(&sw_if);
        world.note_config_change();
        Ok(())
    }
}

/// Writes the configuration.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.list(
        Phase::FEATURES,
        world.get::<SoftRss>().list(),
        |world, (sw_if, own, on), lines| {
            let name = quote(&world.get::<Interfaces>().name(sw_if));
            let line = format!("soft-rss config {name}{}", own.words());
            lines.push(line, format!("soft-rss clear {name}"));
            if on {
                lines.push(format!("soft-rss enable {name}"), format!("soft-rss disable {name}"));
            }
        },
    );
}
