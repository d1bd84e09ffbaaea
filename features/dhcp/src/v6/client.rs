// SPDX-License-Identifier: Apache-2.0
//! The DHCPv6 clients: exchanges of messages on links, for clients of the API and for our own,
//! which gets addresses of interfaces and prefixes of groups.

use super::addresses::{check_group, set_address};
use super::association::{Answer, ClientMessage, Kind};
use super::machine::{Action, Machine};
use super::message::{CLIENT_PORT, SERVER_PORT, kind};
use super::ports::{Exchange, Inbox, Port, Received, Request, State};
use super::transmission::Transmission;
use crate::output;
use crate::random::Random;
use crate::relay::config::ALL_AGENTS;
use cli::{Error, Result, retval};
use graph::{Deleted, Process, Shared, Signal, Sleep, SwIfIndex, Wake, World};
use net::{IfEvent, Interface, Interfaces, LinkLocals};
use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use sync::{Mailbox, Slots, Turn};
use wire::{
    EtherType, Ethernet, Header, Ip6, IpHeader, IpProtocol, Ipv6Header, MacAddr, U16, UdpHeader,
};
use zerocopy::IntoBytes;

/// Messages of one interface that wait for control at most.
const WAITING: usize = 8;
/// Packets for which there was no buffer, by interface.
const UNSENT: &str = "/net/dhcp/client6/no-buffers";
/// Hardware type of Ethernet, in identifiers of type 3 (RFC 8415 11.4).
const DUID_LL: [u8; 4] = [0, 3, 0, 1];

/// Reports an answer of the server of an index to a client of an interface.
pub type Report = fn(&World, SwIfIndex, Kind, u32, &Answer);

/// All clients.
pub struct Clients6 {
    state: Mutex<State>,
    inboxes: Slots<Inbox>,
    signal: Signal,
    report: OnceLock<Report>,
}

impl Shared for Clients6 {
    fn make(world: &World) -> Self {
        Self {
            state: Mutex::default(),
            inboxes: Slots::new(world.qsbr.clone()),
            signal: world.processes.signal(),
            report: OnceLock::new(),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        {
            let mut state = self.state();
            state.consumers.retain(|consumer| consumer.sw_if != sw_if);
            state.ports.retain(|(of, _), _| *of != sw_if);
            state.servers.remove(&sw_if);
            state.inboxes.remove(&sw_if);
        }
        self.inboxes.clear(sw_if.0);
        self.sync_consumers(world);
    }
}

impl Clients6 {
    /// Locks the state. Calls of other features' verbs are made without it: they may call back.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic inside")
    }

    /// Starts the process, and follows links. `report` is called with each server's answer.
    pub fn start(world: &World, report: Report) {
        let clients: Arc<Self> = world.get();
        let _ = clients.report.set(report);
        world.processes.spawn(Box::new(ClientProcess(clients.clone())), &clients.signal);
        world.get::<Interfaces>().subscribe(|world, event| {
            if let IfEvent::Admin(sw_if, true) | IfEvent::Link(sw_if, true) = event {
                world.get::<Self>().link_up(world, sw_if);
            }
        });
    }

    /// The queue of an interface's messages, for workers.
    #[inline(always)]
    pub fn inbox<'t>(&'t self, sw_if: u32, turn: &'t Turn<'_>) -> Option<&'t Mailbox<Received>> {
        Some(self.inboxes.get(sw_if, turn)?)
    }

    /// Tells control that an inbox isn't empty.
    #[inline(always)]
    pub fn notify(&self) {
        self.signal.raise();
    }

    /// Our identifier: the one that is set, or the hardware address that the first Ethernet device
    /// had when it was needed first.
    fn duid(&self, world: &World) -> [u8; 10] {
        let known = {
            let state = self.state();
            state.duid.or(state.default_duid)
        };
        if let Some(duid) = known {
            return duid;
        }
        let all = world.get::<Interfaces>().list();
        let device = all.iter().find(|interface| interface.is_ethernet_device());
        let mut duid = [0; 10];
        duid[..4].copy_from_slice(&DUID_LL);
        if let Some(device) = device {
            duid[4..].copy_from_slice(&device.mac.octets());
            self.state().default_duid = Some(duid);
        }
        duid
    }

    /// Sets our identifier; `None` for the default one, which is made anew.
    pub fn set_duid(&self, world: &World, duid: Option<[u8; 10]>) {
        {
            let mut state = self.state();
            (state.duid, state.default_duid) = (duid, None);
        }
        world.note_config_change();
    }

    /// Lets clients of the API send messages, or ends that and their exchanges.
    pub fn set_enabled(&self, on: bool) {
        let gone = {
            let mut state = self.state();
            state.enabled = on;
            if !on {
                state.ports.retain(|_, port| port.machine.is_some());
            }
            state.unused_inboxes()
        };
        self.close(gone);
    }

    fn close(&self, gone: Vec<SwIfIndex>) {
        for sw_if in gone {
            self.inboxes.clear(sw_if.0);
        }
    }

    /// Makes the queue of an interface's messages, if it isn't there.
    fn open(&self, world: &World, sw_if: SwIfIndex) {
        let mut state = self.state();
        state.inboxes.entry(sw_if).or_insert_with(|| {
            let inbox = Arc::new(Mailbox::new(WAITING, world.processes.waker().clone()));
            self.inboxes.set(sw_if.0, inbox.clone());
            inbox
        });
    }

    /// Sends a message of an API client until it is answered; `None` ends that.
    ///
    /// # Errors
    /// An interface that isn't there (−2), carries no Ethernet frames (−151), or has a client of
    /// our own (−155); a type that no client sends (−7); clients of the API may not send (−30).
    pub fn send(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        kind: Kind,
        request: Option<Request>,
    ) -> Result<()> {
        let interface = output::ethernet(world, sw_if)?;
        if self.state().ports.get(&(sw_if, kind)).is_some_and(|port| port.machine.is_some()) {
            let why = format!("{} has a DHCPv6 client of its own", interface.name);
            return Err(Error::failed(why).retval(retval::RSRC_IN_USE));
        }
        let Some(request) = request else {
            let gone = {
                let mut state = self.state();
                state.ports.remove(&(sw_if, kind));
                state.unused_inboxes()
            };
            self.close(gone);
            return Ok(());
        };
        if !kind::is_to_server(request.kind) || request.kind == kind::RELAY_FORW {
            let why = format!("clients send no DHCPv6 messages of type {}", request.kind);
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        if !self.state().enabled {
            let why = "DHCPv6 clients are disabled: dhcp6_clients_enable_disable enables them";
            return Err(Error::failed(why).retval(retval::FEATURE_DISABLED));
        }
        self.open(world, sw_if);
        self.begin(world, sw_if, kind, request);
        Ok(())
    }

    fn begin(&self, world: &World, sw_if: SwIfIndex, kind: Kind, request: Request) {
        let xid = (world.get::<Random>().next() & 0xff_ffff) as u32;
        let transmission = Transmission::new(request.pace, world.clock.now());
        let exchange = Exchange { request, xid, transmission };
        self.state().ports.entry((sw_if, kind)).or_default().exchange = Some(exchange);
        self.signal.raise();
    }

    /// Starts our own client on an interface; one that is there goes on, with the new group. It
    /// waits until IPv6 is enabled there: its messages leave from the link-local address.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or carries no Ethernet frames (−151); a group without a
    /// name, or with one that is too long (−7).
    pub fn enable(&self, world: &World, sw_if: SwIfIndex, kind: Kind, group: &str) -> Result<()> {
        output::ethernet(world, sw_if)?;
        if kind == Kind::Prefixes {
            check_group(group)?;
        }
        self.open(world, sw_if);
        let actions = {
            let mut state = self.state();
            let port = state.ports.entry((sw_if, kind)).or_default();
            port.group = group.to_string();
            match port.machine {
                Some(_) => Vec::new(),
                None => {
                    let (machine, actions) = Machine::new();
                    port.machine = Some(machine);
                    actions
                }
            }
        };
        self.perform(world, sw_if, kind, actions);
        self.sync_consumers(world);
        world.note_config_change();
        Ok(())
    }

    /// Ends our own client on an interface, and the use of its leases. Without one, nothing
    /// happens.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or carries no Ethernet frames (−151).
    pub fn disable(&self, world: &World, sw_if: SwIfIndex, kind: Kind) -> Result<()> {
        output::ethernet(world, sw_if)?;
        let (port, gone) = {
            let mut state = self.state();
            let is_own = state.ports.get(&(sw_if, kind)).is_some_and(|p| p.machine.is_some());
            let port = if is_own { state.ports.remove(&(sw_if, kind)) } else { None };
            (port, state.unused_inboxes())
        };
        self.close(gone);
        let Some(Port { machine: Some(machine), .. }) = port else { return Ok(()) };
        if kind == Kind::Addresses {
            for address in machine.leases().keys() {
                set_address(world, sw_if, *address, false);
            }
        }
        self.sync_consumers(world);
        world.note_config_change();
        Ok(())
    }

    fn link_up(&self, world: &World, sw_if: SwIfIndex) {
        for kind in [Kind::Addresses, Kind::Prefixes] {
            let actions = {
                let mut state = self.state();
                let port = state.ports.get_mut(&(sw_if, kind));
                let machine = port.and_then(|port| port.machine.as_mut());
                machine.map_or_else(Vec::new, Machine::link_up)
            };
            self.perform(world, sw_if, kind, actions);
        }
    }

    fn perform(&self, world: &World, sw_if: SwIfIndex, kind: Kind, actions: Vec<Action>) {
        let mut leases_changed = false;
        for action in actions {
            match action {
                Action::Start(start) => self.begin(world, sw_if, kind, start.into()),
                Action::Stop => {
                    if let Some(port) = self.state().ports.get_mut(&(sw_if, kind)) {
                        port.exchange = None;
                    }
                }
                Action::Add(prefix) | Action::Remove(prefix) => {
                    leases_changed = true;
                    if kind == Kind::Addresses {
                        set_address(world, sw_if, prefix, matches!(action, Action::Add(_)));
                    }
                }
            }
        }
        if leases_changed && kind == Kind::Prefixes {
            self.sync_consumers(world);
        }
    }

    /// Handles a message that an interface received.
    fn take(&self, world: &World, sw_if: SwIfIndex, received: &Received) {
        let message = received.message();
        let waiting: Vec<_> = self.state().waiting(sw_if, message).collect();
        let read = |kind| Some((kind, Answer::read(message, &self.duid(world), kind)?));
        let Some((kind, answer)) = waiting.into_iter().find_map(read) else {
            world.stats.simple("/net/dhcp/client6/ignored").control().add(sw_if.at(), 1);
            return;
        };
        world.stats.simple("/net/dhcp/client6/answers").control().add(sw_if.at(), 1);
        let now = world.clock.now();
        let (index, actions) = {
            let mut state = self.state();
            let index = state.servers.entry(sw_if).or_default().index(&answer.server);
            let Some(port) = state.ports.get_mut(&(sw_if, kind)) else { return };
            let actions = match &mut port.machine {
                Some(machine) => machine.receive(&answer, now),
                None => {
                    // It is answered; further servers may answer a solicitation.
                    if let Some(exchange) = &mut port.exchange {
                        exchange.transmission.due = None;
                    }
                    Vec::new()
                }
            };
            (index, actions)
        };
        if let Some(report) = self.report.get() {
            report(world, sw_if, kind, index, &answer);
        }
        self.perform(world, sw_if, kind, actions);
    }

    /// Sends the message of an exchange; returns false if the interface can't send it now.
    fn transmit(&self, world: &World, sw_if: SwIfIndex, kind: Kind, exchange: &Exchange) -> bool {
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return false };
        let source = world.get::<LinkLocals>().usable(sw_if);
        let Some(source) = source.filter(|_| interface.admin_up && interface.link_up) else {
            return false;
        };
        let Exchange { request, xid, transmission } = exchange;
        let message = ClientMessage {
            kind: request.kind,
            xid: *xid,
            duid: &self.duid(world),
            server: request.server.as_deref(),
            elapsed: transmission.elapsed(world.clock.now()),
            association: kind,
            times: request.times,
            leases: &request.leases,
        };
        let frame = frame(&interface, source, &message.bytes());
        output::send::<Ip6>(world, sw_if, frame, &world.stats.simple(UNSENT));
        world.stats.simple("/net/dhcp/client6/sent").control().add(sw_if.at(), 1);
        true
    }

    /// Handles messages and times; returns the time of the next run.
    fn run(&self, world: &World) -> Option<u64> {
        let inboxes: Vec<_> =
            self.state().inboxes.iter().map(|(sw_if, inbox)| (*sw_if, inbox.clone())).collect();
        for (sw_if, inbox) in inboxes {
            inbox.drain(|received| self.take(world, sw_if, &received));
        }
        let now = world.clock.now();
        let ports: BTreeSet<_> = self.state().ports.keys().copied().collect();
        for (sw_if, kind) in ports {
            let actions = {
                let mut state = self.state();
                let port = state.ports.get_mut(&(sw_if, kind));
                let machine = port.and_then(|port| port.machine.as_mut());
                machine.map_or_else(Vec::new, |machine| machine.run(now))
            };
            self.perform(world, sw_if, kind, actions);
            self.run_exchange(world, sw_if, kind, now);
        }
        let state = self.state();
        let times = state.ports.values().flat_map(|port| {
            let sent = port.exchange.as_ref().and_then(|exchange| exchange.transmission.due);
            sent.into_iter().chain(port.machine.as_ref().and_then(Machine::due))
        });
        times.min()
    }

    /// Sends the message of an exchange if it is due.
    fn run_exchange(&self, world: &World, sw_if: SwIfIndex, kind: Kind, now: u64) {
        let due = {
            let state = self.state();
            let exchange = state.ports.get(&(sw_if, kind)).and_then(|port| port.exchange.clone());
            exchange.filter(|exchange| exchange.transmission.due.is_some_and(|due| due <= now))
        };
        let Some(mut exchange) = due else { return };
        if exchange.transmission.is_over(now) {
            exchange.transmission.due = None;
            let actions = {
                let mut state = self.state();
                let Some(port) = state.ports.get_mut(&(sw_if, kind)) else { return };
                port.exchange = Some(exchange);
                port.machine.as_mut().map_or_else(Vec::new, Machine::unanswered)
            };
            return self.perform(world, sw_if, kind, actions);
        }
        match self.transmit(world, sw_if, kind, &exchange) {
            true => exchange.transmission.sent(now, world.get::<Random>().next()),
            false => exchange.transmission.postpone(now),
        }
        if let Some(port) = self.state().ports.get_mut(&(sw_if, kind)) {
            port.exchange = Some(exchange);
        }
    }
}

impl State {
    /// Removes the inboxes of interfaces without clients; returns these interfaces.
    fn unused_inboxes(&mut self) -> Vec<SwIfIndex> {
        let used: BTreeSet<_> = self.ports.keys().map(|(sw_if, _)| *sw_if).collect();
        let gone: Vec<_> =
            self.inboxes.keys().filter(|sw_if| !used.contains(sw_if)).copied().collect();
        self.inboxes.retain(|sw_if, _| used.contains(sw_if));
        gone
    }
}

/// A message to all servers and relays of a link, in its frame.
pub fn frame(interface: &Interface, source: Ipv6Addr, message: &[u8]) -> Vec<u8> {
    let len = (UdpHeader::LEN + message.len()) as u16;
    let mut ip = Ipv6Header::new(source, ALL_AGENTS, IpProtocol::UDP, len);
    // Relays make new packets of it: it doesn't leave the link.
    ip.hop_limit = 1;
    let mut udp = UdpHeader::new(CLIENT_PORT, SERVER_PORT, message.len() as u16);
    let sum = ip.pseudo_sum(IpProtocol::UDP, len.into()).with(udp.as_bytes()).with(message);
    udp.checksum = U16::new(sum.finish_udp());
    let to = MacAddr::ip6_multicast(ALL_AGENTS);
    let ethernet = Ethernet::new(interface.mac, to, EtherType::IP6);
    [ethernet.as_bytes(), ip.as_bytes(), udp.as_bytes(), message].concat()
}

struct ClientProcess(Arc<Clients6>);

impl Process for ClientProcess {
    fn name(&self) -> &'static str {
        "dhcp6-client-cp-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.run(world).map_or(Sleep::Event, Sleep::Until)
    }
}
