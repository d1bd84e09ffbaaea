// SPDX-License-Identifier: Apache-2.0
//! Clients that were seen, and the control plane's interface.

use crate::dispatch::CpInput;
use cli::{Error, Result, retval};
use graph::{Deleted, Node as _, Process, Shared, Signal, Sleep, SwIfIndex, Wake, World};
use net::{Column, IfEvent, Interface, Interfaces, L2Role};
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Mailbox, Slots, Turn};
use tables::{HashIndex, fold};
use wire::MacAddr;

/// Clients without a session that are known at most. Another one takes the place of that which was
/// seen first at the port that has the most: a flood of addresses at one port displaces its own.
pub const MOST: usize = 65_536;
/// Reports of workers that wait for control at most.
const REPORTS: usize = 1024;
/// No interface.
const NONE: u32 = u32::MAX;

/// A client, and the interface that it is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Client {
    /// Its MAC address.
    pub mac: MacAddr,
    /// The interface.
    pub sw_if: u32,
}

/// The hash of a MAC address and a number.
#[inline(always)]
pub fn hash(MacAddr([a, b, c, d, e, f]): MacAddr, number: u16, seed: u64) -> u32 {
    let [low, high] = number.to_le_bytes();
    let word = u64::from_le_bytes([a, b, c, d, e, f, low, high]);
    fold(word ^ seed, word.rotate_left(32) ^ 0x9e37_79b9_7f4a_7c15 ^ seed.rotate_left(32)) as u32
}

/// A known client.
#[derive(Clone, Copy)]
struct KnownClient {
    slot: u32,
    /// The number of the report that made it known.
    age: u64,
    sw_if: u32,
}

#[derive(Default)]
struct Known {
    all: HashMap<MacAddr, KnownClient>,
    /// The clients without a session, by port and age.
    by_age: BTreeMap<(u32, u64), MacAddr>,
    /// Number of clients without a session, by port, and the ports by that.
    counts: HashMap<u32, usize>,
    by_count: BTreeSet<(usize, u32)>,
    /// Number of sessions of each client that has some: such clients stay.
    sessions: HashMap<MacAddr, usize>,
    reports: u64,
    free: Vec<u32>,
}

impl Known {
    /// Lets a client be displaced, or no longer.
    fn set_displaceable(&mut self, mac: MacAddr, client: KnownClient, on: bool) {
        let key = (client.sw_if, client.age);
        let has_changed = match on {
            true => self.by_age.insert(key, mac).is_none(),
            false => self.by_age.remove(&key).is_some(),
        };
        if !has_changed {
            return;
        }
        let count = self.counts.entry(client.sw_if).or_default();
        self.by_count.remove(&(*count, client.sw_if));
        *count = if on { *count + 1 } else { *count - 1 };
        if *count > 0 {
            self.by_count.insert((*count, client.sw_if));
        } else {
            self.counts.remove(&client.sw_if);
        }
    }

    /// The client to displace: the first that was seen at the port that has the most.
    fn displaced(&self) -> Option<MacAddr> {
        let (_, port) = *self.by_count.last()?;
        self.by_age.range((port, 0)..=(port, u64::MAX)).next().map(|(_, mac)| *mac)
    }
}

/// All clients.
pub struct Clients {
    index: HashIndex,
    clients: Slots<Client>,
    /// Secret: clients can't choose addresses that collide.
    seed: u64,
    reports: Mailbox<Client>,
    signal: Signal,
    /// The control plane's interface.
    control_plane: AtomicU32,
    known: Mutex<Known>,
}

impl Shared for Clients {
    fn make(world: &World) -> Self {
        world.get::<Interfaces>().subscribe(|world, event| {
            if let IfEvent::Changed(sw_if, column) = event
                && column.is::<L2Role>()
            {
                world.get::<Self>().check_control_plane(world, sw_if);
            }
        });
        Self {
            index: HashIndex::new(&world.qsbr),
            clients: Slots::new(world.qsbr.clone()),
            seed: RandomState::new().hash_one("pppoe clients"),
            reports: Mailbox::new(REPORTS, world.processes.waker().clone()),
            signal: world.processes.signal(),
            control_plane: AtomicU32::new(NONE),
            known: Mutex::default(),
        }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        if self.control_plane.load(Ordering::Relaxed) == sw_if.0 {
            self.control_plane.store(NONE, Ordering::Relaxed);
        }
        let gone: Vec<_> =
            self.list().into_iter().filter(|client| client.sw_if == sw_if.0).collect();
        let mut known = self.known();
        gone.into_iter().for_each(|client| self.remove(&mut known, client.mac));
    }
}

struct Learning(Arc<Clients>);

impl Process for Learning {
    fn name(&self) -> &'static str {
        "pppoe-learn-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let interfaces = world.get::<Interfaces>();
        self.0.reports.drain(|client| {
            // The interface may be deleted since.
            if interfaces.check(SwIfIndex(client.sw_if)).is_ok() {
                self.0.learn_reported(client);
            }
        });
        Sleep::Event
    }
}

impl Clients {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect("no panic inside")
    }

    /// Starts the process that reads workers' reports.
    pub fn start(world: &World) {
        let this: Arc<Self> = world.get();
        world.processes.spawn(Box::new(Learning(this.clone())), &this.signal);
    }

    /// The interface that a client is at.
    #[inline(always)]
    pub fn find(&self, mac: MacAddr, turn: &Turn<'_>) -> Option<u32> {
        self.index.find(hash(mac, 0, self.seed), turn, |slot| {
            self.clients.get(slot, turn).filter(|there| there.mac == mac).map(|there| there.sw_if)
        })
    }

    /// Reports a client that isn't known, or not at this interface. False if control is too far
    /// behind.
    #[inline(always)]
    pub fn report(&self, client: Client, turn: &Turn<'_>) -> bool {
        if self.find(client.mac, turn) == Some(client.sw_if) {
            return true;
        }
        // Control isn't woken for a report that finds no room.
        if self.reports.len() >= REPORTS || self.reports.post(client).is_err() {
            return false;
        }
        self.signal.raise();
        true
    }

    /// Makes a client known that a worker has seen. A client with a session stays where it is:
    /// anybody may send frames with its address.
    fn learn_reported(&self, client: Client) {
        if !self.known().sessions.contains_key(&client.mac) {
            self.learn(client);
        }
    }

    /// Makes a client known.
    pub fn learn(&self, client: Client) {
        let mut known = self.known();
        self.remove(&mut known, client.mac);
        if known.by_age.len() >= MOST
            && let Some(other) = known.displaced()
        {
            self.remove(&mut known, other);
        }
        let slot = known.free.pop().unwrap_or(known.all.len() as u32);
        known.reports += 1;
        let new = KnownClient { slot, age: known.reports, sw_if: client.sw_if };
        known.all.insert(client.mac, new);
        let is_displaceable = !known.sessions.contains_key(&client.mac);
        known.set_displaceable(client.mac, new, is_displaceable);
        self.clients.set(slot, client);
        self.index.insert(hash(client.mac, 0, self.seed), slot);
    }

    /// One more session of a client is there.
    pub fn add_session(&self, mac: MacAddr) {
        let mut known = self.known();
        *known.sessions.entry(mac).or_default() += 1;
        if let Some(client) = known.all.get(&mac).copied() {
            known.set_displaceable(mac, client, false);
        }
    }

    /// One session less is. A client without any is one of many again.
    pub fn remove_session(&self, mac: MacAddr) {
        let mut known = self.known();
        let Some(sessions) = known.sessions.get_mut(&mac) else { return };
        *sessions -= 1;
        if *sessions > 0 {
            return;
        }
        known.sessions.remove(&mac);
        if let Some(client) = known.all.get(&mac).copied() {
            known.set_displaceable(mac, client, true);
        }
    }

    fn remove(&self, known: &mut Known, mac: MacAddr) {
        let Some(client) = known.all.remove(&mac) else { return };
        known.set_displaceable(mac, client, false);
        self.index.remove(hash(mac, 0, self.seed), client.slot);
        self.clients.clear(client.slot);
        known.free.push(client.slot);
    }

    /// The interface that a client is at, for control.
    pub fn interface_of(&self, mac: MacAddr) -> Option<SwIfIndex> {
        self.known().all.get(&mac).map(|client| SwIfIndex(client.sw_if))
    }

    /// All clients, by MAC address.
    pub fn list(&self) -> Vec<Client> {
        let mut all = Vec::new();
        self.clients.for_each(|_, client| all.push(*client));
        all.sort_by_key(|client| client.mac);
        all
    }

    /// The control plane's interface.
    #[inline(always)]
    pub fn control_plane(&self) -> Option<SwIfIndex> {
        let sw_if = self.control_plane.load(Ordering::Relaxed);
        (sw_if != NONE).then_some(SwIfIndex(sw_if))
    }

    /// Sets the control plane's interface, in place of another one. It receives frames for all MAC
    /// addresses: those of clients.
    ///
    /// # Errors
    /// An interface that isn't there, or no Ethernet device, or a loopback interface that isn't
    /// routed interface of a bridge domain (−2).
    pub fn set_control_plane(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        let interface = interfaces.get(sw_if)?;
        if !interface.is_ethernet_device() {
            let why = format!("{} is no Ethernet device", interface.name);
            return Err(Error::unsupported(why).retval(retval::INVALID_SW_IF_INDEX));
        }
        if comes_back(world, &interface) {
            let why =
                format!("packets to {} come back: no control plane is behind it", interface.name);
            return Err(Error::unsupported(why).retval(retval::INVALID_SW_IF_INDEX));
        }
        if let Some(other) = self.control_plane().filter(|other| *other != sw_if) {
            self.remove_control_plane(world, other)?;
        }
        interfaces.set_taken(world, sw_if, CpInput::NAME, true)?;
        if let Err(error) = enable(world, sw_if, true) {
            // The first error is the one that counts.
            _ = interfaces.set_taken(world, sw_if, CpInput::NAME, false);
            return Err(error);
        }
        self.control_plane.store(sw_if.0, Ordering::Relaxed);
        world.note_config_change();
        Ok(())
    }

    /// Takes the control plane's interface back if nothing is behind it any more.
    fn check_control_plane(&self, world: &World, sw_if: SwIfIndex) {
        if self.control_plane() == Some(sw_if)
            && let Ok(interface) = world.get::<Interfaces>().get(sw_if)
            && comes_back(world, &interface)
            && self.remove_control_plane(world, sw_if).is_ok()
        {
            log::warn!(target: "pppoe", "{}: no control plane is behind it any more: `create pppoe cp' names another", interface.name);
        }
    }

    /// Takes the control plane's interface back.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or isn't the control plane's (−6).
    pub fn remove_control_plane(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        interfaces.check(sw_if)?;
        if self.control_plane() != Some(sw_if) {
            let why = format!("{} isn't the control plane's", interfaces.name(sw_if));
            return Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY));
        }
        self.control_plane.store(NONE, Ordering::Relaxed);
        enable(world, sw_if, false)?;
        interfaces.set_taken(world, sw_if, CpInput::NAME, false)?;
        world.note_config_change();
        Ok(())
    }
}

/// Returns true if an interface receives what it sends.
fn comes_back(world: &World, interface: &Interface) -> bool {
    let role = world.get::<Column<L2Role>>().get(interface.sw_if);
    role != L2Role::Bvi && ethernet::is_loopback(world, interface.sw_if)
}

fn enable(world: &World, sw_if: SwIfIndex, on: bool) -> Result<()> {
    world.set_feature("device-input", CpInput::NAME, sw_if, on).map_err(Error::failed)
}
