// SPDX-License-Identifier: Apache-2.0
//! Router advertisements that we send (RFC 4861 6.2, RFC 8106).

mod config;
mod schedule;

pub use config::{RaConfig, RaPrefix, domain, usual_lifetime};
pub use schedule::Schedule;

use crate::compose::{Envelope, frame};
use crate::due::Due;
use crate::local::LocalAddresses;
use crate::protocol::{say, speaking};
use crate::rng::ControlRng;
use cli::{Error, Result};
use graph::{Deleted, Process, Shared, Signal, Sleep, SwIfIndex, Wake, World};
use msg::retval;
use net::{IfKind, Interface, Interfaces, MtuKind};
use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::Mailbox;
use wire::nd::ALL_NODES;
use wire::{Header, Ipv6Header, MacAddr};

/// Messages that one advertisement is split into at most: with the smallest MTU some 2,400
/// prefixes.
const MOST_MESSAGES: usize = 64;
/// Every link of IPv6 takes packets of this many bytes (RFC 8200 5).
const MIN_MTU: u16 = 1280;
/// Solicitations queued for control at most.
const HEARD: usize = 256;

/// State of one interface.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// Its settings.
    pub config: RaConfig,
    /// Times of its advertisements.
    pub schedule: Schedule,
}

/// A router solicitation of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceivedSolicitation {
    /// The interface that it came in by.
    pub sw_if: u32,
    /// Address of the host, if it has one.
    pub from: Ipv6Addr,
    /// Station of the host.
    pub mac: MacAddr,
}

/// The router advertisements of all interfaces.
pub struct Advertiser {
    links: Mutex<BTreeMap<SwIfIndex, Link>>,
    /// When each interface's next advertisement is due.
    due: Mutex<Due>,
    heard: Mailbox<ReceivedSolicitation>,
    signal: Signal,
}

impl Shared for Advertiser {
    fn make(world: &World) -> Self {
        let heard = Mailbox::new(HEARD, world.processes.waker().clone());
        Self {
            links: Mutex::default(),
            due: Mutex::default(),
            heard,
            signal: world.processes.signal(),
        }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.links().remove(sw_if);
            self.due().set(*sw_if, None);
        }
    }
}

impl Advertiser {
    fn links(&self) -> MutexGuard<'_, BTreeMap<SwIfIndex, Link>> {
        self.links.lock().expect("no panic inside")
    }

    fn due(&self) -> MutexGuard<'_, Due> {
        self.due.lock().expect("no panic inside")
    }

    /// Passes a host's solicitation to control; returns false if there is no room.
    #[inline(always)]
    pub fn post(&self, question: ReceivedSolicitation) -> bool {
        let posted = self.heard.post(question).is_ok();
        self.signal.raise();
        posted
    }

    /// One interface's settings and times.
    pub fn link(&self, sw_if: SwIfIndex) -> Link {
        self.links().get(&sw_if).cloned().unwrap_or_default()
    }

    /// The interfaces that have settings, or have been able to send advertisements.
    pub fn list(&self) -> Vec<(SwIfIndex, Link)> {
        self.links().iter().map(|(sw_if, link)| (*sw_if, link.clone())).collect()
    }

    /// Changes the settings of an interface.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or carries no Ethernet frames (−151); inconsistent
    /// numbers (−7); too many prefixes.
    pub fn change(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        f: impl FnOnce(&mut RaConfig) -> Result<()>,
    ) -> Result<()> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        if interface.kind != IfKind::Ethernet {
            let why = format!("{} carries no Ethernet frames", interface.name);
            return Err(Error::unsupported(why).retval(retval::NON_ETHERNET));
        }
        let mut config = self.link(sw_if).config;
        f(&mut config)?;
        config.check()?;
        let messages = messages(&interface, &config, 0, false).len();
        if messages > MOST_MESSAGES {
            let why = format!(
                "that takes {messages} packets by {} each time, {MOST_MESSAGES} at most are sent: remove prefixes",
                interface.name
            );
            return Err(Error::limit(why).retval(retval::LIMIT_EXCEEDED));
        }
        {
            let mut links = self.links();
            let link = links.entry(sw_if).or_default();
            // Any command lets hosts be answered again, also if it changes nothing.
            link.schedule.forget_answers();
            if link.config == config {
                return Ok(());
            }
            link.config = config;
            link.schedule.changed(&link.config, world.clock.now());
        }
        on_state(world, sw_if);
        Ok(())
    }

    fn run(&self, world: &World) -> Option<u64> {
        let (now, rng) = (world.clock.now(), world.get::<ControlRng>());
        self.heard.drain(|question| {
            let sw_if = SwIfIndex(question.sw_if);
            if let Some(link) = self.links().get_mut(&sw_if) {
                link.schedule.solicited(&question, &link.config, now, rng.random());
                // Unicast answers are sent at once.
                self.due().set(sw_if, Some(now));
            }
        });
        let all = self.due().take(now);
        for sw_if in all {
            let (sendings, config) = {
                let mut links = self.links();
                let Some(link) = links.get_mut(&sw_if) else { continue };
                let sendings = link.schedule.take_due(&link.config, now, rng.random());
                self.due().set(sw_if, link.schedule.next_due());
                (sendings, link.config.clone())
            };
            if !sendings.is_empty() {
                self.send(world, sw_if, &sendings, &config);
            }
        }
        self.due().next()
    }

    fn send(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        sendings: &[schedule::PendingAdvertisement],
        config: &RaConfig,
    ) {
        let Some(interface) = speaking(world, sw_if) else { return };
        let Some(src) = world.get::<LocalAddresses>().here(sw_if).link_local() else { return };
        let frames = sendings.iter().flat_map(|sending| {
            let (dst, dst_mac) = match sending.to {
                // A host without an address is reached by its station (RFC 6085).
                Some((ip, mac)) => (if ip.is_unspecified() { ALL_NODES } else { ip }, mac),
                None => (ALL_NODES, MacAddr::ip6_multicast(ALL_NODES)),
            };
            let to = Envelope { src_mac: interface.mac, dst_mac, src, dst };
            let bodies = messages(&interface, config, world.clock.now(), sending.last);
            bodies.into_iter().map(move |body| frame(to, &body))
        });
        say(world, &interface, "router-advertisements", frames.collect());
    }
}

/// The messages of an advertisement, each within the MTU of the interface, which is at least IPv6's
/// smallest where IPv6 runs.
fn messages(interface: &Interface, config: &RaConfig, now: u64, last: bool) -> Vec<Vec<u8>> {
    let mtu = interface.mtu_of(MtuKind::Ip6).max(MIN_MTU);
    config.messages(interface.mac, mtu.into(), now, last, usize::from(mtu) - Ipv6Header::LEN)
}

/// Returns true if advertisements are sent by an interface now.
pub fn advertises(world: &World, sw_if: SwIfIndex) -> bool {
    world.get::<Advertiser>().links().get(&sw_if).is_some_and(|link| link.schedule.is_active())
}

/// Starts the process.
pub fn start(world: &World) {
    let advertiser: Arc<Advertiser> = world.get();
    world.processes.spawn(Box::new(RaProcess(advertiser.clone())), &advertiser.signal);
}

/// Handles a change that decides if an interface can advertise.
pub fn on_state(world: &World, sw_if: SwIfIndex) {
    let advertiser = world.get::<Advertiser>();
    let speaks = speaking(world, sw_if).is_some()
        && world.get::<LocalAddresses>().here(sw_if).link_local().is_some();
    let before = advertises(world, sw_if);
    let now = {
        let mut links = advertiser.links();
        if !speaks && !links.contains_key(&sw_if) {
            return;
        }
        let link = links.entry(sw_if).or_default();
        let on = speaks && !link.config.suppress;
        link.schedule.set_active(on, speaks, &link.config, world.clock.now());
        advertiser.due().set(sw_if, link.schedule.next_due());
        on
    };
    if before != now {
        world.get::<LocalAddresses>().publish(world, sw_if);
    }
    advertiser.signal.raise();
}

struct RaProcess(Arc<Advertiser>);

impl Process for RaProcess {
    fn name(&self) -> &'static str {
        "ip6-ra-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.run(world).map_or(Sleep::Event, Sleep::Until)
    }
}
