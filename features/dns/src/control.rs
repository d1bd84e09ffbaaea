// SPDX-License-Identifier: Apache-2.0
//! The state of the resolver, and what operators and clients of the API change.

use crate::cache::{self, Cache, Static};
use crate::pending::{Outcome, Owner, Table, Waiter};
use crate::received::{Query, Response};
use cli::{Error, Result, retval};
use graph::{Deleted, Shared, Signal, World};
use net::DeletedTable;
use stats::Simple;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Mailbox, Snapshot, Turn};
use udp::origin::Counts;
use wire::dns::{Name, PORT};
use wire::{Family, Ip4, Ip6};

/// Queues of queries: a client fills only the one that its address leads to.
const QUEUES: usize = 16;
/// Queries that wait in one of them at most.
const WAITING: usize = 32;
/// Responses of servers that wait at most.
const RESPONSES: usize = 256;
/// Name servers at most.
const SERVERS: usize = 16;
/// Ports that queries are sent from: 5 bits more for others to guess (RFC 5452 9.2).
const PORTS: usize = 32;
/// The first of the ports that programs choose from (RFC 6335 6).
const FIRST_PORT: u16 = 49_152;

/// Everything that is known.
#[derive(Default)]
pub struct State {
    pub enabled: bool,
    /// The ports that responses come to.
    pub ports: Vec<u16>,
    /// The name servers, in the order of adding.
    pub servers: Vec<IpAddr>,
    /// Number of the server that is asked first.
    pub preferred: usize,
    pub cache: Cache,
    pub table: Table,
}

/// The resolver.
pub struct Dns {
    state: Mutex<State>,
    pub(crate) queries: Vec<Mailbox<Query>>,
    pub(crate) responses: Mailbox<Response>,
    servers: Snapshot<Vec<IpAddr>>,
    pub(crate) signal: Signal,
    random: RandomState,
    drawn: AtomicU64,
    /// Queries to servers, and responses to clients.
    pub(crate) asked: Counts,
    pub(crate) answered: Counts,
    /// Messages of servers that are no DNS, and responses to no query that waits.
    pub(crate) malformed: Arc<Simple>,
    pub(crate) unexpected: Arc<Simple>,
}

impl Shared for Dns {
    fn make(world: &World) -> Self {
        let waker = world.processes.waker();
        let counter = |name| {
            let counter = world.stats.simple(&format!("/net/dns/received/{name}"));
            counter.start(0);
            counter
        };
        let queue = |_| Mailbox::new(WAITING, waker.clone());
        Self {
            state: Mutex::default(),
            queries: (0..QUEUES).map(queue).collect(),
            responses: Mailbox::new(RESPONSES, waker.clone()),
            servers: Snapshot::new(world.qsbr.clone(), Vec::new()),
            signal: world.processes.signal(),
            random: RandomState::new(),
            drawn: AtomicU64::new(0),
            asked: Counts::new(world, "/net/dns/queries", 0),
            answered: Counts::new(world, "/net/dns/responses", 0),
            malformed: counter("malformed"),
            unexpected: counter("unexpected"),
        }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        let four = deleted.of::<DeletedTable<Ip4>>().map(|table| (table.index, false));
        let six = deleted.of::<DeletedTable<Ip6>>().map(|table| (table.index, true));
        let Some((index, is_ip6)) = four.or(six) else { return };
        // The next new table may get the index: who waits for an answer by this one gets none.
        let is_gone = |waiter: &Waiter| match waiter {
            Waiter::Client(client) => client.table == index && client.to.is_ipv6() == is_ip6,
            Waiter::Call(_) => false,
        };
        self.state().table.remove(is_gone);
    }
}

impl Dns {
    /// Locks the state.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic inside")
    }

    /// Passes a client's query to control. False if its queue is full.
    #[inline(always)]
    pub fn post_query(&self, query: Query) -> bool {
        let owner = Owner::of(query.client.ip());
        let queue = self.random.hash_one(owner) as usize % QUEUES;
        let posted = self.queries.get(queue).is_some_and(|queue| queue.post(query).is_ok());
        self.signal.raise();
        posted
    }

    /// Passes a server's response to control. False if the queue is full.
    #[inline(always)]
    pub fn post_response(&self, response: Response) -> bool {
        let posted = self.responses.post(response).is_ok();
        self.signal.raise();
        posted
    }

    /// True for an address of a name server.
    #[inline(always)]
    pub fn is_server(&self, ip: IpAddr, turn: &Turn<'_>) -> bool {
        self.servers.get(turn).contains(&ip)
    }

    /// A random number that others can't foresee: a keyed hash of a counter.
    pub fn random(&self) -> u64 {
        self.random.hash_one(self.drawn.fetch_add(1, Ordering::Relaxed))
    }

    /// Enables or disables name resolution.
    ///
    /// # Errors
    /// There is no name server (−134), unless a saved configuration is restored; another feature
    /// has the port of DNS (−164).
    pub fn enable(&self, world: &World, on: bool) -> Result<()> {
        if !on {
            self.disable(world);
            return Ok(());
        }
        {
            let state = self.state();
            if state.enabled {
                return Ok(());
            }
            if state.servers.is_empty() && !world.is_restoring() {
                let why = "no name server is there: `dns name-server' adds one";
                return Err(Error::failed(why).retval(retval::NO_NAME_SERVERS));
            }
        }
        register::<Ip4>(world, PORT, "{dns4|dns6}-request").map_err(taken)?;
        if let Err(why) = register::<Ip6>(world, PORT, "{dns4|dns6}-request") {
            ip::unregister_udp_port::<Ip4>(world, PORT);
            return Err(taken(why));
        }
        let ports = self.open_ports(world);
        let mut state = self.state();
        (state.enabled, state.ports) = (true, ports);
        drop(state);
        world.note_config_change();
        Ok(())
    }

    /// Registers random ports for responses, free ones of both IP versions.
    fn open_ports(&self, world: &World) -> Vec<u16> {
        let mut ports = Vec::with_capacity(PORTS);
        for _ in 0..4 * PORTS {
            if ports.len() == PORTS {
                break;
            }
            let port = FIRST_PORT | (self.random() as u16);
            if ports.contains(&port) || register::<Ip4>(world, port, "dns46_reply").is_err() {
                continue;
            }
            match register::<Ip6>(world, port, "dns46_reply") {
                Ok(()) => ports.push(port),
                Err(_) => ip::unregister_udp_port::<Ip4>(world, port),
            }
        }
        ports
    }

    fn disable(&self, world: &World) {
        let ports = {
            let mut state = self.state();
            if !state.enabled {
                return;
            }
            state.enabled = false;
            let waiting: Vec<_> = state.table.pending.keys().cloned().collect();
            for question in waiting {
                self.finish(world, &mut state, &question, Outcome::Disabled);
            }
            std::mem::take(&mut state.ports)
        };
        for port in ports.into_iter().chain([PORT]) {
            ip::unregister_udp_port::<Ip4>(world, port);
            ip::unregister_udp_port::<Ip6>(world, port);
        }
        world.note_config_change();
    }

    /// Adds a name server; one that is there stays where it is.
    ///
    /// # Errors
    /// An address that isn't that of one host further away (−58); there are 16 (−162).
    pub fn add_server(&self, world: &World, server: IpAddr) -> Result<()> {
        let of_link = matches!(server, IpAddr::V6(ip) if ip.is_unicast_link_local());
        let is_broadcast = matches!(server, IpAddr::V4(ip) if ip.is_broadcast());
        if server.is_multicast() || server.is_unspecified() || server.is_loopback() || is_broadcast
        {
            return Err(
                Error::parse(wire::not_one_host(server)).retval(retval::INVALID_DST_ADDRESS)
            );
        }
        if of_link {
            let why =
                format!("{server} is an address of a link: a name server needs one beyond it");
            return Err(Error::unsupported(why).retval(retval::INVALID_DST_ADDRESS));
        }
        self.change_servers(world, |servers| {
            if servers.contains(&server) {
                return Ok(());
            }
            if servers.len() >= SERVERS {
                let why = format!("at most {SERVERS} name servers");
                return Err(Error::limit(why).retval(retval::LIMIT_EXCEEDED));
            }
            servers.push(server);
            Ok(())
        })
    }

    /// Removes a name server.
    ///
    /// # Errors
    /// It isn't there (−135).
    pub fn remove_server(&self, world: &World, server: IpAddr) -> Result<()> {
        self.change_servers(world, |servers| {
            let at = servers.iter().position(|known| *known == server).ok_or_else(|| {
                let why = format!("{server} is no name server of ours");
                Error::not_found(why).retval(retval::NAME_SERVER_NOT_FOUND)
            })?;
            servers.remove(at);
            Ok(())
        })
    }

    fn change_servers(
        &self,
        world: &World,
        change: impl FnOnce(&mut Vec<IpAddr>) -> Result<()>,
    ) -> Result<()> {
        let servers = {
            let mut state = self.state();
            change(&mut state.servers)?;
            state.preferred = 0;
            state.servers.clone()
        };
        self.servers.update(|_| servers);
        world.note_config_change();
        Ok(())
    }

    /// Gives a name addresses.
    ///
    /// # Errors
    /// It has some (−116); all entries are given (−162).
    pub fn give(&self, world: &World, name: Name, given: Static) -> Result<()> {
        self.state().cache.give(name, given)?;
        world.note_config_change();
        Ok(())
    }

    /// Forgets what is known of a name.
    ///
    /// # Errors
    /// Nothing is known (−6).
    pub fn forget(&self, world: &World, name: &Name) -> Result<()> {
        self.state().cache.forget(name)?;
        world.note_config_change();
        Ok(())
    }

    /// Lets the answers for a name expire.
    ///
    /// # Errors
    /// There are none (−6).
    pub fn expire(&self, name: &Name) -> Result<()> {
        let found = self.state().cache.forget_answers(name);
        if found { Ok(()) } else { Err(cache::unknown(name)) }
    }
}

fn register<F: Family>(world: &World, port: u16, node: &str) -> std::result::Result<(), String> {
    ip::register_udp_port::<F>(world, port, &graph::filled(node, F::IS_V6))
}

fn taken(why: String) -> Error {
    Error::failed(why).retval(retval::UDP_PORT_TAKEN)
}
