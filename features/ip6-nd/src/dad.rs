// SPDX-License-Identifier: Apache-2.0
//! Duplicate address detection (RFC 4862 5.4, RFC 7527): before an address is used, solicitations
//! detect if another node has it.
//!
//! Until the result is known, the address is tentative: we don't answer for it, don't send from it,
//! and packets to it are dropped. A duplicate address isn't answered for either, and packets to it
//! are the other node's; it stays configured, visible to operators.

use crate::compose::duplicate_probe;
use crate::local::LocalAddresses;
use crate::protocol::{Nd, announce, say, speaking};
use crate::rng::ControlRng;
use cli::{Error, Result};
use graph::{Deleted, Process, Shared, Signal, Sleep, SwIfIndex, Wake, World};
use ip_neighbor::resolve::Reports;
use msg::retval;
use net::{Interfaces, LinkLocals};
use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard};
use wire::MacAddr;

/// Another station's use of our address is logged at most this often, in nanoseconds.
const TELL_INTERVAL: u64 = 10_000_000_000;

/// Settings of duplicate address detection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Addresses are probed before they are used.
    pub enabled: bool,
    /// Number of solicitations, 1 to 10.
    pub transmits: u8,
    /// Seconds between two solicitations, and after the last.
    pub delay: f64,
    /// Link-local addresses that follow from the MAC address are probed too (RFC 4862 5.4; VPP
    /// doesn't).
    pub link_local: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { enabled: false, transmits: 1, delay: 1.0, link_local: false }
    }
}

/// State of an address that isn't simply ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It is being probed.
    Tentative {
        /// Nonce of the solicitations.
        nonce: [u8; 6],
        /// Solicitations sent.
        sent: u8,
        /// When the next solicitation is due, or the end; never while the interface is down.
        due: Option<u64>,
    },
    /// Another node has it.
    Duplicate,
}

/// Change of an address's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It is being probed: reported at the beginning and with every solicitation.
    Tentative,
    /// It is ours.
    Preferred,
    /// Another node has it.
    Duplicate,
}

#[derive(Default)]
struct Inner {
    settings: Settings,
    all: BTreeMap<(SwIfIndex, Ipv6Addr), State>,
    told: BTreeMap<(SwIfIndex, Ipv6Addr), u64>,
}

/// Keys of all addresses that an interface may have.
fn all_of(sw_if: SwIfIndex) -> RangeInclusive<(SwIfIndex, Ipv6Addr)> {
    (sw_if, Ipv6Addr::UNSPECIFIED)..=(sw_if, Ipv6Addr::from_bits(u128::MAX))
}

/// The addresses of all interfaces that aren't simply ours.
pub struct Dad {
    inner: Mutex<Inner>,
    signal: Signal,
}

impl Shared for Dad {
    fn make(world: &World) -> Self {
        Self { inner: Mutex::default(), signal: world.processes.signal() }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.clear(*sw_if);
        }
    }
}

impl Dad {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// Starts the process.
    pub fn start(world: &World) {
        let dad: Arc<Self> = world.get();
        world.processes.spawn(Box::new(DadProcess(dad.clone())), &dad.signal);
    }

    /// Returns the settings.
    pub fn settings(&self) -> Settings {
        self.inner().settings
    }

    /// Changes the settings. Tentative addresses become ours when detection is disabled.
    ///
    /// # Errors
    /// Not 1 to 10 solicitations; a delay that is not 0.1 to 10 seconds (−7).
    pub fn set(&self, world: &World, new: Settings) -> Result<()> {
        let refuse = |why: String| Err(Error::parse(why).retval(retval::INVALID_VALUE));
        if !(1..=10).contains(&new.transmits) {
            return refuse(format!("{} transmits: 1 to 10 are possible", new.transmits));
        }
        if !(0.1..=10.0).contains(&new.delay) {
            return refuse(format!("a delay of {} seconds: 0.1 to 10 are possible", new.delay));
        }
        let sure: Vec<_> = {
            let mut inner = self.inner();
            inner.settings = new;
            let tentative = |s: &State| matches!(s, State::Tentative { .. });
            let sure =
                inner.all.iter().filter(|(_, s)| !new.enabled && tentative(s)).map(|(k, _)| *k);
            sure.collect()
        };
        for (sw_if, ip) in sure {
            self.prefer(world, sw_if, ip);
        }
        Ok(())
    }

    /// State of an address; `None` if it is simply ours.
    pub fn state(&self, sw_if: SwIfIndex, ip: Ipv6Addr) -> Option<State> {
        self.inner().all.get(&(sw_if, ip)).copied()
    }

    /// Tentative and duplicate addresses of an interface.
    pub fn of(&self, sw_if: SwIfIndex) -> Vec<(Ipv6Addr, State)> {
        self.inner().all.range(all_of(sw_if)).map(|((_, ip), state)| (*ip, *state)).collect()
    }

    /// All addresses that aren't simply ours.
    pub fn list(&self) -> Vec<(SwIfIndex, Ipv6Addr, State)> {
        self.inner().all.iter().map(|((sw_if, ip), state)| (*sw_if, *ip, *state)).collect()
    }

    /// Starts to probe addresses of an interface. A link-local one that follows from its MAC
    /// address is left out, unless the settings include it: it is as unique as the MAC address.
    pub fn begin(&self, world: &World, sw_if: SwIfIndex, ips: &[Ipv6Addr]) {
        let is_ethernet =
            world.get::<Interfaces>().get(sw_if).is_ok_and(|i| i.kind == net::IfKind::Ethernet);
        let settings = self.settings();
        if !settings.enabled || !is_ethernet {
            return;
        }
        let due = speaking(world, sw_if).map(|_| world.clock.now());
        let nonce = world.get::<ControlRng>().nonce();
        let set = world.get::<LinkLocals>().is_set(sw_if);
        let asked = |ip: &&Ipv6Addr| {
            settings.link_local || !ip.is_unicast_link_local() || set == Some(**ip)
        };
        for ip in ips.iter().filter(asked) {
            self.inner().all.insert((sw_if, *ip), State::Tentative { nonce, sent: 0, due });
            self.tell(world, sw_if, *ip, Change::Tentative, 0);
            // Another host that has the address is reported again, also if it was reported just
            // now.
            world.get::<Reports<Nd>>().forgotten(sw_if);
        }
        self.signal.raise();
    }

    /// Forgets all but these addresses of an interface.
    pub fn retain(&self, sw_if: SwIfIndex, ips: &[Ipv6Addr]) {
        fn forget<T>(
            all: &mut BTreeMap<(SwIfIndex, Ipv6Addr), T>,
            sw_if: SwIfIndex,
            ips: &[Ipv6Addr],
        ) {
            let there = all.range(all_of(sw_if)).map(|(key, _)| *key);
            let gone: Vec<_> = there.filter(|(_, ip)| !ips.contains(ip)).collect();
            gone.iter().for_each(|key| _ = all.remove(key));
        }
        let mut inner = self.inner();
        forget(&mut inner.all, sw_if, ips);
        forget(&mut inner.told, sw_if, ips);
    }

    /// Forgets an interface.
    pub fn clear(&self, sw_if: SwIfIndex) {
        self.retain(sw_if, &[]);
    }

    /// Handles another station that has an address of ours, or wants it.
    pub fn conflict(&self, world: &World, sw_if: SwIfIndex, ip: Ipv6Addr, mac: MacAddr) {
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        let sent = match self.state(sw_if, ip) {
            Some(State::Duplicate) => return,
            Some(State::Tentative { sent, .. }) => Some(sent),
            None => None,
        };
        let Some(sent) = sent else {
            let now = world.clock.now();
            let last = self.inner().told.get(&(sw_if, ip)).copied();
            if last.is_none_or(|last| now >= last + TELL_INTERVAL) {
                self.inner().told.insert((sw_if, ip), now);
                log::warn!("{mac} uses our address {ip} on {}", interface.name);
            }
            return;
        };
        log::warn!("{mac} has {ip}: it is not used on {}", interface.name);
        self.inner().all.insert((sw_if, ip), State::Duplicate);
        world.get::<LocalAddresses>().publish(world, sw_if);
        self.tell(world, sw_if, ip, Change::Duplicate, sent);
    }

    /// Makes a tentative address ours: no other node has it.
    fn prefer(&self, world: &World, sw_if: SwIfIndex, ip: Ipv6Addr) {
        let old = self.inner().all.remove(&(sw_if, ip));
        let Some(State::Tentative { sent, .. }) = old else { return };
        crate::proxy::changed(world, sw_if);
        announce(world, sw_if, &[ip]);
        crate::ra::on_state(world, sw_if);
        crate::rd::on_state(world, sw_if);
        self.tell(world, sw_if, ip, Change::Preferred, sent);
    }

    fn tell(&self, world: &World, sw_if: SwIfIndex, ip: Ipv6Addr, change: Change, sent: u8) {
        crate::api::dad::publish(world, sw_if, ip, change, sent, self.settings().transmits);
    }

    /// Performs what is due, and returns the time of the next.
    fn run(&self, world: &World) -> Option<u64> {
        let (now, settings) = (world.clock.now(), self.settings());
        let pause = (settings.delay * 1e9) as u64;
        for (sw_if, ip, state) in self.list() {
            let State::Tentative { nonce, sent, due: Some(due) } = state else { continue };
            if due > now {
                continue;
            }
            let Some(interface) = speaking(world, sw_if) else {
                // It starts again when the interface is up.
                self.inner()
                    .all
                    .insert((sw_if, ip), State::Tentative { nonce, sent: 0, due: None });
                continue;
            };
            if sent >= settings.transmits {
                self.prefer(world, sw_if, ip);
                continue;
            }
            let state = State::Tentative { nonce, sent: sent + 1, due: Some(now + pause) };
            self.inner().all.insert((sw_if, ip), state);
            say(world, &interface, "requests", vec![duplicate_probe(interface.mac, ip, nonce)]);
            self.tell(world, sw_if, ip, Change::Tentative, sent + 1);
        }
        let due =
            |state: &State| if let State::Tentative { due, .. } = state { *due } else { None };
        self.inner().all.values().filter_map(due).min()
    }
}

struct DadProcess(Arc<Dad>);

impl Process for DadProcess {
    fn name(&self) -> &'static str {
        "ip6-dad-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.run(world).map_or(Sleep::Event, Sleep::Until)
    }
}
