// SPDX-License-Identifier: Apache-2.0
//! The clients: one on an interface, with its configuration, its state, its lease.

use super::detect::Detect;
use super::lease::Applied;
use super::machine::{Action, Ignored, Lease, Machine, Outgoing, State};
use super::message::{ClientMessage, MOST, Message, MessageType};
use super::routes::Grant;
use super::send;
use crate::random::Random;
use cli::{Error, Result, retval};
use graph::{Deleted, Node, Process, Shared, Signal, Sleep, SwIfIndex, Wake, World};
use net::{IfEvent, IfKind, Interface, Interfaces};
use stats::Simple;
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
pub const UNSENT: &str = "/net/dhcp/client/no-buffers";
/// Bytes of a name or identifier at most, as the API has them.
pub const LONGEST: usize = 63;
/// The arc of [`Detect`].
const ARC: &str = "ip4-unicast";

/// A client's configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The name that servers are told; empty for none.
    pub hostname: String,
    /// The identifier that servers are told; empty for none.
    pub client_id: Vec<u8>,
    /// Answers are to come by broadcast.
    pub broadcast: bool,
    /// The second byte of the IP headers that the client sends.
    pub tos: u8,
}

impl Default for Config {
    fn default() -> Self {
        Self { hostname: String::new(), client_id: Vec::new(), broadcast: true, tos: 0 }
    }
}

/// A message that a worker received for a client.
#[derive(Clone, Copy)]
pub struct Received {
    len: u16,
    bytes: [u8; MOST],
}

impl Received {
    /// Takes a copy; `None` if it is too long.
    #[inline(always)]
    pub fn new(message: &[u8]) -> Option<Self> {
        let mut bytes = [0; MOST];
        bytes.get_mut(..message.len())?.copy_from_slice(message);
        Some(Self { len: message.len() as u16, bytes })
    }

    fn message(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// The part of a client that workers read.
pub struct Inbox {
    /// The client's hardware address.
    pub mac: MacAddr,
    /// Messages for control. Each client has its own queue, so that no link fills another's.
    pub received: Mailbox<Received>,
}

/// A client, for `show` and dumps.
#[derive(Clone, Debug)]
pub struct Status {
    /// Its interface.
    pub sw_if: SwIfIndex,
    /// Its configuration.
    pub config: Config,
    /// Its state.
    pub state: State,
    /// Its hardware address.
    pub mac: MacAddr,
    /// The API client that gets its events, and the number that it gave.
    pub subscriber: Option<(u32, u32)>,
    /// When it sends the next message, or its lease ends.
    pub due: Option<u64>,
}

impl Status {
    /// The lease, if there is one.
    pub fn lease(&self) -> Option<&Lease> {
        match &self.state {
            State::Bound(lease) => Some(lease),
            _ => None,
        }
    }
}

/// Reports the new lease of a client.
pub type Report = fn(&World, &Status);

struct Client {
    config: Config,
    machine: Machine,
    applied: Applied,
    inbox: Arc<Inbox>,
    subscriber: Option<(u32, u32)>,
    /// The address in use was reported to the subscriber.
    reported: Option<Grant>,
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
        let interface = world.get::<Interfaces>().get(sw_if)?;
        if interface.kind != IfKind::Ethernet {
            let why = format!("{} carries no Ethernet frames", interface.name);
            return Err(Error::unsupported(why).retval(retval::NON_ETHERNET));
        }
        world.get::<Interfaces>().check_addressing(sw_if)?;
        let lengths = [("name", config.hostname.len()), ("identifier", config.client_id.len())];
        if let Some((what, len)) = lengths.into_iter().find(|(_, len)| *len > LONGEST) {
            let why = format!("a {what} of {len} bytes: {LONGEST} are possible");
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
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
        let set = world.set_feature(ARC, Detect::NAME, sw_if, on);
        debug_assert!(set.is_ok(), "the arc is that of a feature this one needs");
    }

    /// All clients.
    pub fn list(&self) -> Vec<Status> {
        let status = |(sw_if, client): (&SwIfIndex, &Client)| Status {
            sw_if: *sw_if,
            config: client.config.clone(),
            state: client.machine.state().clone(),
            mac: client.inbox.mac,
            subscriber: client.subscriber,
            due: client.machine.due(),
        };
        self.clients().iter().map(status).collect()
    }

    /// The client of an interface.
    pub fn get(&self, sw_if: SwIfIndex) -> Option<Status> {
        self.list().into_iter().find(|status| status.sw_if == sw_if)
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
        let count = |what: &str| counter(world, what).add_main(sw_if);
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
                    let forgotten = self.clients().get_mut(&sw_if).map(|c| c.reported.take());
                    drop(forgotten);
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
                counter(world, "bound").add_main(sw_if);
                let is_new = {
                    let mut clients = self.clients();
                    let Some(client) = clients.get_mut(&sw_if) else { return };
                    client.reported.replace(grant.clone()).as_ref() != Some(grant)
                };
                if is_new {
                    log::info!("DHCP: {name} has {}", grant.address);
                    if let Some(status) = self.get(sw_if) {
                        self.report(world, &status);
                    }
                }
            }
            Some(Err(why)) => {
                log::warn!("DHCP: {name} was given {}, but: {why}", grant.address);
                let (now, random) = (world.clock.now(), world.get::<Random>().next());
                let decline = self
                    .clients()
                    .get_mut(&sw_if)
                    .and_then(|client| client.machine.decline(now, random));
                decline.into_iter().for_each(|message| self.send(world, sw_if, message));
            }
            None => {}
        }
    }

    fn report(&self, world: &World, status: &Status) {
        if let Some(report) = self.report.get() {
            report(world, status);
        }
    }

    fn send(&self, world: &World, sw_if: SwIfIndex, message: Outgoing) {
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        let config = self.clients().get(&sw_if).map(|client| client.config.clone());
        let Some(config) = config.filter(|_| is_up(&interface)) else { return };
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
        counter(
            world,
            match message.kind {
                MessageType::Discover => "discover-sent",
                MessageType::Decline => "decline-sent",
                _ => "request-sent",
            },
        )
        .add_main(sw_if);
        let unsent = world.stats.simple(UNSENT);
        match message.unicast {
            Some(server) => {
                let packet = send::datagram(message.ciaddr, server, config.tos, &bytes);
                send::unicast(world, &interface, packet, &unsent);
            }
            None => {
                let to = Ipv4Addr::BROADCAST;
                let packet = send::datagram(message.ciaddr, to, config.tos, &bytes);
                send::broadcast(world, &interface, &packet, &unsent);
            }
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

fn is_up(interface: &Interface) -> bool {
    interface.admin_up && interface.link_up
}

/// A counter of clients.
fn counter(world: &World, what: &str) -> Counter {
    Counter(world.stats.simple(&format!("{COUNTERS}/{what}")))
}

struct Counter(Arc<Simple>);

impl Counter {
    fn add_main(&self, sw_if: SwIfIndex) {
        self.0.control().add(sw_if.at(), 1);
    }
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
