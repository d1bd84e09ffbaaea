// SPDX-License-Identifier: Apache-2.0
//! The clients: one on an interface, with its configuration, its state, its lease.

use super::detect::Detect;
use super::lease::Applied;
use super::machine::{Action, Ignored, Machine, Outgoing};
use super::message::{ClientMessage, MOST, Message, MessageType};
use super::routes::Grant;
use super::send;
use super::status::{Config, Status};
use crate::output;
use crate::random::Random;
use cli::{Error, Result, retval};
use graph::{Deleted, Node, Process, Shared, Signal, Sleep, SwIfIndex, Wake, World};
use net::{IfEvent, Interfaces};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use sync::{Mailbox, Slots, Turn};
use wire::MacAddr;

/// Messages of one client that wait for control at most.
const WAITING: usize = 8;
/// Counters of the clients, one for each interface.
const COUNTERS: &str = "/net/dhcp/client";
/// Counter of packets for which there was no buffer.
const UNSENT: &str = "/net/dhcp/client/no-buffers";
/// The arc of [`Detect`].
const ARC: &str = "ip4-unicast";

/// A message that a worker received for a client.
pub type Received = crate::received::Received<MOST>;

/// The part of a client that workers read.
pub struct Inbox {
    /// The client's hardware address.
    pub mac: MacAddr,
    /// Messages for control. Each client has its own queue, so that no link fills another's.
    pub received: Mailbox<Received>,
}

/// Reports the new lease of a client.
pub type Report = fn(&World, &Status);

struct Client {
    config: Config,
    machine: Machine,
    applied: Applied,
    inbox: Arc<Inbox>,
    subscriber: Option<(u32, u32)>,
    /// The grant that was reported to the subscriber last.
    reported: Option<Grant>,
}

impl Client {
    fn status(&self, sw_if: SwIfIndex) -> Status {
        Status {
            sw_if,
            config: self.config.clone(),
            state: self.machine.state().clone(),
            mac: self.inbox.mac,
            subscriber: self.subscriber,
            due: self.machine.due(),
        }
    }
}

/// All clients.
pub struct Clients {
    clients: Mutex<BTreeMap<SwIfIndex, Client>>,
    inboxes: Slots<Arc<Inbox>>,
    /// Interfaces where an operator or API client has enabled the detection of messages.
    detect: Mutex<BTreeSet<SwIfIndex>>,
    signal: Signal,
    report: OnceLock<Report>,
}

impl Shared for Clients {
    fn make(world: &World) -> Self {
        Self {
            clients: Mutex::default(),
            inboxes: Slots::new(world.qsbr.clone()),
            detect: Mutex::default(),
            signal: world.processes.signal(),
            report: OnceLock::new(),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(&sw_if) = deleted.of::<SwIfIndex>() {
            self.detect.lock().expect("no panic inside").remove(&sw_if);
            self.inboxes.clear(sw_if.0);
            let gone = self.clients().remove(&sw_if);
            if let Some(mut gone) = gone {
                gone.applied.clear(world, sw_if);
            }
        }
    }
}

impl Clients {
    fn clients(&self) -> MutexGuard<'_, BTreeMap<SwIfIndex, Client>> {
        self.clients.lock().expect("no panic inside")
    }

    /// Starts the process, and follows links and hardware addresses. `report` is called with each
    /// new lease.
    pub fn start(world: &World, report: Report) {
        let clients: Arc<Self> = world.get();
        let _ = clients.report.set(report);
        world.processes.spawn(Box::new(ClientProcess(clients.clone())), &clients.signal);
        world.get::<Interfaces>().subscribe(|world, event| {
            let clients = world.get::<Self>();
            match event {
                IfEvent::Admin(sw_if, true) | IfEvent::Link(sw_if, true) => {
                    clients.link_up(world, sw_if);
                }
                IfEvent::Mac(sw_if) => clients.new_mac(world, sw_if),
                _ => {}
            }
        });
    }

    /// The part of an interface's client that workers read.
    #[inline(always)]
    pub fn inbox<'t>(&'t self, sw_if: u32, turn: &'t Turn<'_>) -> Option<&'t Inbox> {
        Some(self.inboxes.get(sw_if, turn)?)
    }

    /// Tells control that an inbox isn't empty.
    #[inline(always)]
    pub fn notify(&self) {
        self.signal.raise();
    }

    /// Starts a client on an interface. `subscriber` is the API client that gets its events.
    ///
    /// # Errors
    /// An interface that isn't there (−2), carries no Ethernet frames (−151) or has no exact tags
    /// (−1); a name or identifier that is too long, an interface that has a client (−7).
    pub fn add(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        config: Config,
        subscriber: Option<(u32, u32)>,
    ) -> Result<()> {
        let interface = output::ethernet(world, sw_if)?;
        world.get::<Interfaces>().check_addressing(sw_if)?;
        config.check()?;
        if self.clients().contains_key(&sw_if) {
            let why = format!("{} has a DHCP client already", interface.name);
            return Err(Error::failed(why).retval(retval::INVALID_VALUE));
        }
        let received = Mailbox::new(WAITING, world.processes.waker().clone());
        let inbox = Arc::new(Inbox { mac: interface.mac, received });
        self.inboxes.set(sw_if.0, inbox.clone());
        let machine = Machine::new(world.clock.now(), world.get::<Random>().next());
        let applied = Applied::default();
        let client = Client { config, machine, applied, inbox, subscriber, reported: None };
        self.clients().insert(sw_if, client);
        self.sync_detect(world, sw_if);
        self.signal.raise();
        world.note_config_change();
        Ok(())
    }

    /// Ends the client of an interface, and the use of its lease. The server keeps the lease until
    /// its end, and gives it to the same client again.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or has no client (−7).
    pub fn remove(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        let gone = self.clients().remove(&sw_if);
        let Some(mut client) = gone else {
            let why = format!("{} has no DHCP client", interface.name);
            return Err(Error::not_found(why).retval(retval::INVALID_VALUE));
        };
        self.inboxes.clear(sw_if.0);
        client.applied.clear(world, sw_if);
        self.sync_detect(world, sw_if);
        world.note_config_change();
        Ok(())
    }

    /// Enables or disables the detection of DHCP messages on an interface, whether or not a client
    /// waits for one.
    ///
    /// # Errors
    /// An interface that isn't there (−2).
    pub fn set_detect(&self, world: &World, sw_if: SwIfIndex, on: bool) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        {
            let mut detect = self.detect.lock().expect("no panic inside");
            if on {
                detect.insert(sw_if)
            } else {
                detect.remove(&sw_if)
            };
        }
        self.sync_detect(world, sw_if);
        Ok(())
    }

    /// Messages to a host without an address are detected while a client waits for one.
    fn sync_detect(&self, world: &World, sw_if: SwIfIndex) {
        let waits = |client: &Client| client.machine.lease().is_none();
        let on = self.clients().get(&sw_if).is_some_and(waits)
            || self.detect.lock().expect("no panic inside").contains(&sw_if);
        // Most messages and times change nothing here.
        if world.is_feature_set(ARC, Detect::NAME, sw_if) != Ok(on)
            && let Err(why) = world.set_feature(ARC, Detect::NAME, sw_if, on)
        {
            log::error!("DHCP: {}: {why}", world.get::<Interfaces>().name(sw_if));
        }
    }

    /// All clients.
    pub fn list(&self) -> Vec<Status> {
        self.clients().iter().map(|(sw_if, client)| client.status(*sw_if)).collect()
    }

    /// The client of an interface.
    fn get(&self, sw_if: SwIfIndex) -> Option<Status> {
        self.clients().get(&sw_if).map(|client| client.status(sw_if))
    }

    fn link_up(&self, world: &World, sw_if: SwIfIndex) {
        let now = world.clock.now();
        if let Some(client) = self.clients().get_mut(&sw_if) {
            client.machine.link_up(now);
            self.signal.raise();
        }
    }

    /// Servers know a client by its hardware address: with another one it begins anew.
    fn new_mac(&self, world: &World, sw_if: SwIfIndex) {
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        let Some(status) = self.get(sw_if).filter(|s| s.mac != interface.mac) else { return };
        if self.remove(world, sw_if).is_ok()
            && let Err(why) = self.add(world, sw_if, status.config, status.subscriber)
        {
            log::error!("DHCP client on {}: {why}", interface.name);
        }
    }

    /// Handles a message that a server sent to the client of an interface.
    fn take(&self, world: &World, sw_if: SwIfIndex, received: &Received) {
        let count = |what: &str| count(world, sw_if, what);
        let Some(message) = Message::read(received.message()) else {
            return count("malformed");
        };
        let kind = message.message_type().filter(|kind| kind.is_of_server());
        let Some(kind) = kind else { return count("other-received") };
        count(match kind {
            MessageType::Offer => "offer-received",
            MessageType::Ack => "ack-received",
            _ => "nak-received",
        });
        let (now, random) = (world.clock.now(), world.get::<Random>().next());
        let done = {
            let mut clients = self.clients();
            let Some(client) = clients.get_mut(&sw_if) else { return };
            client.machine.receive(message, kind, now, random)
        };
        match done {
            Ok(actions) => self.perform(world, sw_if, actions),
            Err(Ignored::Transaction) => count("other-transaction"),
            Err(Ignored::State) => count("unexpected"),
            Err(Ignored::Incomplete) => count("malformed"),
        }
    }

    fn perform(&self, world: &World, sw_if: SwIfIndex, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send(message) => self.send(world, sw_if, message),
                Action::Bind(grant) => self.bind(world, sw_if, &grant),
                Action::Unbind => {
                    self.apply(sw_if, |applied| applied.clear(world, sw_if));
                    if let Some(client) = self.clients().get_mut(&sw_if) {
                        client.reported = None;
                    }
                    let name = world.get::<Interfaces>().name(sw_if);
                    log::warn!("DHCP: the lease of {name} has ended");
                }
            }
        }
        self.sync_detect(world, sw_if);
    }

    /// Changes what is in use of a lease. The table of clients isn't locked meanwhile: subscribers
    /// of interface events may look at it.
    fn apply<R>(&self, sw_if: SwIfIndex, change: impl FnOnce(&mut Applied) -> R) -> Option<R> {
        let mut applied = std::mem::take(&mut self.clients().get_mut(&sw_if)?.applied);
        let done = change(&mut applied);
        if let Some(client) = self.clients().get_mut(&sw_if) {
            client.applied = applied;
        }
        Some(done)
    }

    fn bind(&self, world: &World, sw_if: SwIfIndex, grant: &Grant) {
        let name = world.get::<Interfaces>().name(sw_if);
        match self.apply(sw_if, |applied| applied.apply(world, sw_if, grant)) {
            Some(Ok(())) => {
                count(world, sw_if, "bound");
                let is_new = {
                    let mut clients = self.clients();
                    let Some(client) = clients.get_mut(&sw_if) else { return };
                    client.reported.replace(grant.clone()).as_ref() != Some(grant)
                };
                if is_new {
                    log::info!("DHCP: {name} has {}", grant.address);
                    if let (Some(report), Some(status)) = (self.report.get(), self.get(sw_if)) {
                        report(world, &status);
                    }
                }
            }
            Some(Err(why)) => {
                log::warn!("DHCP: {name} was given {}, but: {why}", grant.address);
                let (now, random) = (world.clock.now(), world.get::<Random>().next());
                let decline = self.clients().get_mut(&sw_if).and_then(|client| {
                    client.reported = None;
                    client.machine.decline(now, random)
                });
                decline.into_iter().for_each(|message| self.send(world, sw_if, message));
            }
            None => {}
        }
    }

    fn send(&self, world: &World, sw_if: SwIfIndex, message: Outgoing) {
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        let config = self.clients().get(&sw_if).map(|client| client.config.clone());
        let is_up = interface.admin_up && interface.link_up;
        let Some(config) = config.filter(|_| is_up) else { return };
        let bytes = ClientMessage {
            kind: message.kind,
            xid: message.xid,
            secs: message.secs,
            broadcast: config.broadcast,
            ciaddr: message.ciaddr,
            mac: interface.mac,
            server: message.server,
            requested: message.requested,
            hostname: &config.hostname,
            client_id: &config.client_id,
        }
        .bytes();
        let sent = match message.kind {
            MessageType::Discover => "discover-sent",
            MessageType::Decline => "decline-sent",
            _ => "request-sent",
        };
        count(world, sw_if, sent);
        let unsent = world.stats.simple(UNSENT);
        let to = message.unicast.unwrap_or(Ipv4Addr::BROADCAST);
        let packet = send::datagram(message.ciaddr, to, config.tos, &bytes);
        match message.unicast {
            Some(_) => send::unicast(world, sw_if, packet, &unsent),
            None => send::broadcast(world, &interface, &packet, &unsent),
        }
    }

    /// Handles messages and times; returns the time of the next run.
    fn run(&self, world: &World) -> Option<u64> {
        let inboxes: Vec<_> =
            self.clients().iter().map(|(sw_if, c)| (*sw_if, c.inbox.clone())).collect();
        for (sw_if, inbox) in inboxes {
            inbox.received.drain(|received| self.take(world, sw_if, &received));
        }
        let now = world.clock.now();
        let due: Vec<_> = {
            let mut clients = self.clients();
            let due = clients.iter_mut().filter(|(_, c)| c.machine.due().is_some_and(|t| t <= now));
            due.map(|(sw_if, client)| {
                (*sw_if, client.machine.run(now, world.get::<Random>().next()))
            })
            .collect()
        };
        due.into_iter().for_each(|(sw_if, actions)| self.perform(world, sw_if, actions));
        self.clients().values().filter_map(|client| client.machine.due()).min()
    }
}

/// Counts an event of an interface's client.
fn count(world: &World, sw_if: SwIfIndex, what: &str) {
    world.stats.simple(&format!("{COUNTERS}/{what}")).control().add(sw_if.at(), 1);
}

struct ClientProcess(Arc<Clients>);

impl Process for ClientProcess {
    fn name(&self) -> &'static str {
        "dhcp-client-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.run(world).map_or(Sleep::Event, Sleep::Until)
    }
}
