// SPDX-License-Identifier: Apache-2.0
//! The resolver's work: queries are answered from the cache or asked of a name server, whose
//! response answers all who wait for it.

use crate::answer::{self, Answer, Client};
use crate::control::{Dns, State};
use crate::pending::{Alias, MOST_ALIASES, Outcome, Wait, Waiter};
use crate::received::{Query, Response};
use graph::{Process, Sleep, Wake, World};
use net::{Addresses, AdjKind, LinkLocals, Net, TableIndex};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use udp::origin::{self, Ends};
use wire::dns::{
    DnsHeader, HEADER, MAX_UDP, Message, PORT, Question, Rcode, RecordData, RecordType,
    put_question,
};
use wire::{Family, Ip4, Ip6, U16};
use zerocopy::IntoBytes;

const SECOND: u64 = 1_000_000_000;
/// Times that each server is asked; the time that it has doubles each time, from a second on.
const ROUNDS: usize = 3;

/// The process that reads what workers have received, and asks again.
pub struct Resolver(pub Arc<Dns>);

impl Process for Resolver {
    fn name(&self) -> &'static str {
        "dns-resolver-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.run(world).map_or(Sleep::Event, Sleep::Until)
    }
}

impl Dns {
    /// Does all that is due. Returns the time of the next run.
    fn run(&self, world: &World) -> Option<u64> {
        let mut state = self.state();
        // Responses first: they make room, and answer queries.
        self.responses.drain(|response| self.read_response(world, &mut state, &response));
        for queue in &self.queries {
            queue.drain(|query| self.read_query(world, &mut state, &query));
        }
        let now = world.clock.now();
        let due = |state: &State| {
            let all = state.table.pending.iter();
            all.filter(|(_, pending)| pending.due <= now)
                .map(|(q, _)| q.clone())
                .collect::<Vec<_>>()
        };
        for question in due(&state) {
            if let Some(pending) = state.table.pending.get(&question) {
                let silent = pending.asked.server;
                prefer_other(&mut state, silent);
                self.ask(world, &mut state, &question);
            }
        }
        state.table.pending.values().map(|pending| pending.due).min()
    }

    fn read_query(&self, world: &World, state: &mut State, query: &Query) {
        if !state.enabled {
            return;
        }
        let mut query = *query;
        if matches!(query.client.ip(), IpAddr::V6(ip) if ip.is_unicast_link_local()) {
            // The way back is the link.
            let link = world.get::<LinkLocals>().table(query.sw_if);
            query.table = link.unwrap_or(query.table);
        }
        match answer::read(&query) {
            Ok(client) => {
                let question = client.question.clone();
                if !client.recursion() {
                    // The client wants nobody else to be asked (RFC 1035 4.1.1).
                    let known = state.cache.get(&question, world.clock.now());
                    let outcome = known.map_or(Outcome::Failed(Rcode::REFUSED), Outcome::of);
                    return self.tell(world, Waiter::Client(client), &outcome);
                }
                self.look_up(world, state, &question, Waiter::Client(client));
            }
            Err(Some(refusal)) => self.send(world, query.client, query.own, query.table, refusal),
            Err(None) => {}
        }
    }

    /// Looks a question up for a client of the API; the outcome is left in what is returned.
    pub fn call(&self, world: &World, question: &Question) -> Arc<OnceLock<Outcome>> {
        let outcome = Arc::new(OnceLock::new());
        let mut state = self.state();
        if state.enabled {
            self.look_up(world, &mut state, question, Waiter::Call(outcome.clone()));
        } else {
            let _ = outcome.set(Outcome::Disabled);
        }
        drop(state);
        self.signal.raise();
        outcome
    }

    /// Ends calls whose client has gone.
    pub fn give_up(&self, calls: &[Arc<OnceLock<Outcome>>]) {
        let is_one = |waiter: &Waiter| match waiter {
            Waiter::Call(call) => calls.iter().any(|gone| Arc::ptr_eq(call, gone)),
            Waiter::Client(_) => false,
        };
        self.state().table.remove(is_one);
    }

    fn look_up(&self, world: &World, state: &mut State, question: &Question, waiter: Waiter) {
        if let Some(answer) = state.cache.get(question, world.clock.now()) {
            return self.tell(world, waiter, &Outcome::of(answer));
        }
        let (wait, lost) = state.table.wait(question, waiter);
        for waiter in lost {
            self.tell(world, waiter, &Outcome::NoRoom);
        }
        if wait == Wait::New {
            if let Some(pending) = state.table.pending.get_mut(question) {
                pending.first = state.preferred;
            }
            self.ask(world, state, question);
        }
    }

    /// Asks the next server, or gives up if all were asked often enough.
    fn ask(&self, world: &World, state: &mut State, question: &Question) {
        let (servers, ports) = (&state.servers, &state.ports);
        let Some(pending) = state.table.pending.get_mut(question) else { return };
        let n = servers.len();
        if pending.tries >= ROUNDS * n {
            return self.give_in(world, state, question);
        }
        let Some(&server) = servers.get((pending.first + pending.tries) % n) else { return };
        let patience = SECOND << (pending.tries / n);
        pending.tries += 1;
        pending.due = world.clock.now() + patience;
        let random = self.random();
        pending.asked.id = random as u16;
        pending.asked.server = server;
        let port = ports.get((random >> 16) as usize % ports.len().max(1));
        pending.asked.own =
            source(world, server).and_then(|ip| port.map(|port| SocketAddr::new(ip, *port)));
        let Some(from) = pending.asked.own else {
            // It may be reachable later.
            return self.asked.add_unreachable(1);
        };
        let mut header = DnsHeader::of(pending.asked.id, DnsHeader::RECURSION_DESIRED);
        header.questions = U16::new(1);
        let mut message = header.as_bytes().to_vec();
        put_question(&mut message, &pending.asked.question);
        let to = SocketAddr::new(server, PORT);
        let ends = Ends { from, to, table: TableIndex::DEFAULT, checksum: true };
        origin::send(world, &ends, vec![message], &self.asked);
    }

    /// Asks the next server at once, since one has failed; but none again before its time, nor if
    /// all have failed.
    fn ask_other(&self, world: &World, state: &mut State, question: &Question) {
        let Some(pending) = state.table.pending.get_mut(question) else { return };
        if !pending.failed.contains(&pending.asked.server) {
            pending.failed.push(pending.asked.server);
        }
        if state.servers.iter().all(|server| pending.failed.contains(server)) {
            return self.give_in(world, state, question);
        }
        if !pending.tries.is_multiple_of(state.servers.len()) {
            self.ask(world, state, question);
        }
    }

    /// Ends a question for which no server has an answer. That is kept for a while, so that clients
    /// who go on asking don't reach the servers each time (RFC 9520 3.2).
    fn give_in(&self, world: &World, state: &mut State, question: &Question) {
        let Some(pending) = state.table.pending.get(question) else { return };
        let rcode = pending.rcode.unwrap_or(Rcode::SERVER_FAILURE);
        if pending.tries > 0 {
            let failure = Answer::failure(question, rcode, world.clock.now());
            state.cache.put(question.clone(), Arc::new(failure), pending.owner());
        }
        self.finish(world, state, question, Outcome::Failed(rcode));
    }

    fn read_response(&self, world: &World, state: &mut State, response: &Response) {
        let bytes = response.bytes.message();
        let Ok(message) = Message::parse(bytes) else { return self.malformed.control().add(0, 1) };
        let id = message.header.id.get();
        let Some(question) = state.table.find(response.server, response.own, id).cloned() else {
            return self.unexpected.control().add(0, 1);
        };
        let Some(pending) = state.table.pending.get_mut(&question) else { return };
        // Byte by byte but for the case, so that its length is that of a client's question.
        let mut asked = Vec::new();
        put_question(&mut asked, &pending.asked.question);
        let same = bytes.get(HEADER..message.questions_end);
        if !same.is_some_and(|same| same.eq_ignore_ascii_case(&asked)) {
            return self.unexpected.control().add(0, 1);
        }
        match message.header.rcode() {
            Rcode::NO_ERROR | Rcode::NAME_ERROR => {}
            rcode => {
                pending.rcode = Some(rcode);
                prefer_other(state, response.server);
                return self.ask_other(world, state, &question);
            }
        }
        self.read_answer(world, state, &question, bytes, &message);
    }

    fn read_answer(
        &self,
        world: &World,
        state: &mut State,
        question: &Question,
        bytes: &[u8],
        message: &Message,
    ) {
        let now = world.clock.now();
        let Some(pending) = state.table.pending.get_mut(question) else { return };
        let asked = pending.asked.question.clone();
        let Some((canonical, chain)) = message.canonical(&asked.name) else {
            // Aliases in a circle.
            pending.rcode = Some(Rcode::SERVER_FAILURE);
            return self.ask_other(world, state, question);
        };
        let is_final = answer::answers(message, &asked)
            || message.header.has(DnsHeader::TRUNCATED)
            || message.header.rcode() != Rcode::NO_ERROR
            || message.authority.iter().any(|record| record.kind == RecordType::SOA);
        let is_address = matches!(asked.kind, RecordType::A | RecordType::AAAA);
        if !is_final && !chain.is_empty() && is_address {
            // The server doesn't follow aliases to the end: ask for the canonical name.
            let aliases = chain.iter().filter_map(|record| match &record.data {
                RecordData::Cname(to) => Some((record.name.clone(), record.ttl, to.clone())),
                _ => None,
            });
            let aliases: Vec<_> = aliases.collect();
            let seen = pending.aliases.iter().any(|(name, ..)| name == canonical);
            if seen || pending.aliases.len() + aliases.len() > MOST_ALIASES {
                pending.rcode = Some(Rcode::SERVER_FAILURE);
                return self.give_in(world, state, question);
            }
            pending.aliases.extend(aliases);
            pending.asked.question.name = canonical.clone();
            (pending.tries, pending.failed) = (0, Vec::new());
            return self.ask(world, state, question);
        }
        let answer = Answer::new(bytes.to_vec(), message, now);
        let answer = match &pending.aliases[..] {
            [] => answer,
            aliases => joined(question, aliases, &answer, message, now),
        };
        let (answer, owner) = (Arc::new(answer), pending.owner());
        state.cache.put(question.clone(), answer.clone(), owner);
        self.finish(world, state, question, Outcome::Answer(answer));
    }

    /// Ends a question: all who wait for it get the outcome.
    pub fn finish(&self, world: &World, state: &mut State, question: &Question, outcome: Outcome) {
        let Some(waiters) = state.table.take(question) else { return };
        for waiter in waiters {
            self.tell(world, waiter, &outcome);
        }
    }

    fn tell(&self, world: &World, waiter: Waiter, outcome: &Outcome) {
        match waiter {
            Waiter::Call(call) => _ = call.set(outcome.clone()),
            Waiter::Client(client) => {
                let Client { to, own, table, .. } = client;
                let message = match outcome {
                    Outcome::Answer(answer) => answer.response(&client, world.clock.now()),
                    Outcome::Failed(rcode) => client.refusal(*rcode),
                    Outcome::NoRoom => client.refusal(Rcode::SERVER_FAILURE),
                    Outcome::Disabled => return,
                };
                self.send(world, to, own, table, message);
            }
        }
    }

    fn send(
        &self,
        world: &World,
        to: SocketAddr,
        own: IpAddr,
        table: TableIndex,
        message: Vec<u8>,
    ) {
        debug_assert!(message.len() <= MAX_UDP, "longer messages are cut off");
        let ends = Ends { from: SocketAddr::new(own, PORT), to, table, checksum: true };
        origin::send(world, &ends, vec![message], &self.answered);
    }
}

/// The answer behind aliases that several responses have followed.
fn joined(
    question: &Question,
    aliases: &[Alias],
    last: &Answer,
    message: &Message,
    now: u64,
) -> Answer {
    let alias = |(name, ttl, to): &Alias| {
        (name.clone(), (*ttl).min(answer::MAX_TTL), RecordData::Cname(to.clone()))
    };
    let mut records: Vec<_> = aliases.iter().map(alias).collect();
    let known = |data: &RecordData| !matches!(data, RecordData::Soa(_) | RecordData::Other(_));
    let more = message.answers.iter().filter(|record| known(&record.data));
    records.extend(more.map(|r| (r.name.clone(), r.ttl.min(answer::MAX_TTL), r.data.clone())));
    let least = aliases.iter().map(|(_, ttl, _)| *ttl).min().unwrap_or(0).min(last.ttl);
    let answer = Answer::compose(question, last.rcode(), &records, Some(least), now)
        .with_zone(last, message);
    if message.header.has(DnsHeader::TRUNCATED) { answer.truncated() } else { answer }
}

/// Asks another server first from now on, if this one was first.
fn prefer_other(state: &mut State, server: IpAddr) {
    if state.servers.get(state.preferred) == Some(&server) {
        state.preferred = (state.preferred + 1) % state.servers.len();
    }
}

/// Our address towards a server; `None` without a route, or if the interface has none.
fn source(world: &World, server: IpAddr) -> Option<IpAddr> {
    match server {
        IpAddr::V4(to) => source_to::<Ip4>(world, to).map(Into::into),
        IpAddr::V6(to) => source_to::<Ip6>(world, to).map(Into::into),
    }
}

fn source_to<F: Net>(world: &World, to: <F as Family>::Addr) -> Option<<F as Family>::Addr> {
    let info = origin::first_adjacency::<F>(world, TableIndex::DEFAULT, to)?;
    if info.adj.kind == AdjKind::Receive {
        return Some(to);
    }
    let sw_if = info.sw_if()?;
    let own = world.get::<Addresses<F>>().usable(sw_if);
    let link = world.get::<LinkLocals>().usable(sw_if).filter(|_| F::IS_V6);
    icmp::source(&own, link.and_then(|ip| F::of_ip(ip.into())), to)
}
