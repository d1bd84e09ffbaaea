// SPDX-License-Identifier: Apache-2.0
//! Questions that wait for an answer of a name server, and who waits for it.

use crate::answer::{Answer, Client};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use wire::dns::{Name, Question, Rcode};

/// Questions that wait at most.
pub const MOST: usize = 256;
/// Questions that one client waits for at most.
const SHARE: usize = 32;
/// Times that one client waits for one question at most: more would take a name from others.
const EACH: usize = 4;
/// Clients and calls that wait at most, all questions together.
const MOST_WAITERS: usize = 1024;
/// Aliases that are followed by questions of our own for one question at most.
pub const MOST_ALIASES: usize = 8;

/// An alias: name, TTL, canonical name.
pub type Alias = (Name, u32, Name);

/// The client whose share a question counts to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Owner {
    /// All clients of the API together.
    Local,
    /// A host: its address, of IPv6 the network, which a host has as a whole.
    Host(IpAddr),
}

impl Owner {
    /// A client.
    pub fn of(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(_) => Self::Host(ip),
            IpAddr::V6(ip) => Self::Host(IpAddr::V6((ip.to_bits() & !u128::from(u64::MAX)).into())),
        }
    }
}

/// The end of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// An answer, also that there is nothing.
    Answer(Arc<Answer>),
    /// The last response code of the servers, that of a failure if none responded.
    Failed(Rcode),
    /// There was no room for the question.
    NoRoom,
    /// Name resolution was disabled meanwhile.
    Disabled,
}

impl Outcome {
    /// The outcome of what was kept: an answer, or that the servers fail.
    pub fn of(answer: Arc<Answer>) -> Self {
        match answer.rcode() {
            Rcode::NO_ERROR | Rcode::NAME_ERROR => Self::Answer(answer),
            rcode => Self::Failed(rcode),
        }
    }
}

/// A client or a call that waits for an answer.
#[derive(Clone, Debug)]
pub enum Waiter {
    /// A client, by UDP.
    Client(Client),
    /// A call of the API; its outcome is left here.
    Call(Arc<OnceLock<Outcome>>),
}

impl Waiter {
    fn owner(&self) -> Owner {
        match self {
            Self::Client(client) => Owner::of(client.to.ip()),
            Self::Call(_) => Owner::Local,
        }
    }

    /// True for a query that a client has repeated, and for the same call.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Client(a), Self::Client(b)) => (a.to, a.own, a.id) == (b.to, b.own, b.id),
            (Self::Call(a), Self::Call(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// The query that a server was asked with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// The question: another one than that of the clients behind an alias.
    pub question: Question,
    /// The id: random, since others mustn't be able to guess it (RFC 5452 4).
    pub id: u16,
    /// The server.
    pub server: IpAddr,
    /// Our address and port, of which the port is random, too.
    pub own: Option<SocketAddr>,
}

/// A question that waits.
pub struct Pending {
    /// The last query.
    pub asked: Asked,
    /// Queries sent for this name, and number of the server of the first of them.
    pub tries: usize,
    pub first: usize,
    /// When the next server is asked, in nanoseconds.
    pub due: u64,
    /// The last response code of a server that failed.
    pub rcode: Option<Rcode>,
    /// The servers that have answered with a failure.
    pub failed: Vec<IpAddr>,
    /// Aliases that answers of servers ended with.
    pub aliases: Vec<Alias>,
    waiters: Vec<Waiter>,
}

/// Result of [`Table::wait`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// The question is new: a server is to be asked.
    New,
    /// It waits already.
    Joined,
    /// There is no room.
    NoRoom,
}

/// All questions that wait.
#[derive(Default)]
pub struct Table {
    pub pending: BTreeMap<Question, Pending>,
    /// Number of waiters of each owner.
    shares: BTreeMap<Owner, usize>,
    /// Number of questions whose first waiter is an owner's.
    questions: BTreeMap<Owner, usize>,
}

/// Counts one less of an owner.
pub fn less(counts: &mut BTreeMap<Owner, usize>, owner: Owner) {
    if let Some(n) = counts.get_mut(&owner) {
        *n = n.saturating_sub(1);
        if *n == 0 {
            counts.remove(&owner);
        }
    }
}

impl Pending {
    /// The client that has asked first of those who wait.
    pub fn owner(&self) -> Owner {
        self.waiters.first().map_or(Owner::Local, Waiter::owner)
    }
}

impl Table {
    /// Adds a waiter for a question. If there is no room for a new question, the owner with the
    /// most of them loses one, if that is more than this owner has; its waiters are given back. The
    /// same holds for waiters.
    pub fn wait(&mut self, question: &Question, waiter: Waiter) -> (Wait, Vec<Waiter>) {
        let owner = waiter.owner();
        if let Some(pending) = self.pending.get(question)
            && pending.waiters.iter().any(|other| other.is_same(&waiter))
        {
            return (Wait::Joined, Vec::new());
        }
        if self.shares.get(&owner).is_some_and(|n| *n >= SHARE) {
            return (Wait::NoRoom, vec![waiter]);
        }
        let mut lost = Vec::new();
        if self.shares.values().sum::<usize>() >= MOST_WAITERS {
            lost = self.lose_one(owner);
            if lost.is_empty() {
                return (Wait::NoRoom, vec![waiter]);
            }
        }
        if let Some(pending) = self.pending.get_mut(question) {
            // The API's clients are many, with one share.
            let same = pending.waiters.iter().filter(|other| other.owner() == owner).count();
            if same >= EACH && owner != Owner::Local {
                lost.push(waiter);
                return (Wait::NoRoom, lost);
            }
            pending.waiters.push(waiter);
            *self.shares.entry(owner).or_default() += 1;
            return (Wait::Joined, lost);
        }
        if self.pending.len() >= MOST {
            let own = self.questions.get(&owner).copied().unwrap_or(0);
            let most = self.questions.iter().max_by_key(|(_, n)| **n).map(|(o, n)| (*o, *n));
            match most.filter(|(_, n)| *n > own + 1).and_then(|(o, _)| self.newest_of(o)) {
                Some(victim) => lost.extend(self.take(&victim).unwrap_or_default()),
                None => {
                    lost.push(waiter);
                    return (Wait::NoRoom, lost);
                }
            }
        }
        *self.shares.entry(owner).or_default() += 1;
        *self.questions.entry(owner).or_default() += 1;
        let asked = Asked {
            question: question.clone(),
            id: 0,
            server: Ipv6Addr::UNSPECIFIED.into(),
            own: None,
        };
        let pending = Pending {
            asked,
            tries: 0,
            first: 0,
            due: 0,
            rcode: None,
            failed: Vec::new(),
            aliases: Vec::new(),
            waiters: vec![waiter],
        };
        self.pending.insert(question.clone(), pending);
        (Wait::New, lost)
    }

    fn newest_of(&self, owner: Owner) -> Option<Question> {
        let is_of = |p: &Pending| p.waiters.first().is_some_and(|w| w.owner() == owner);
        let all = self.pending.iter().filter(|(_, pending)| is_of(pending));
        all.max_by_key(|(_, pending)| pending.due).map(|(question, _)| question.clone())
    }

    /// Takes a waiter from the owner with the most of them, if that is more than another one has.
    fn lose_one(&mut self, other: Owner) -> Vec<Waiter> {
        let own = self.shares.get(&other).copied().unwrap_or(0);
        let most = self.shares.iter().max_by_key(|(_, n)| **n).filter(|(_, n)| **n > own + 1);
        let Some((&most, _)) = most else { return Vec::new() };
        let mut all = self.pending.values().flat_map(|pending| &pending.waiters);
        let victim = all.find(|waiter| waiter.owner() == most).cloned();
        victim.map_or_else(Vec::new, |victim| self.remove(|waiter| waiter.is_same(&victim)))
    }

    /// Removes waiters, which are given back, and questions for which nobody waits any more.
    pub fn remove(&mut self, is_gone: impl Fn(&Waiter) -> bool) -> Vec<Waiter> {
        let Self { pending, shares, questions } = self;
        let mut removed = Vec::new();
        pending.retain(|_, pending| {
            let first = pending.waiters.first().map(Waiter::owner);
            pending.waiters.retain(|waiter| {
                let gone = is_gone(waiter);
                if gone {
                    less(shares, waiter.owner());
                    removed.push(waiter.clone());
                }
                !gone
            });
            // The question counts to the first who waits for it.
            let next = pending.waiters.first().map(Waiter::owner);
            if next != first {
                first.into_iter().for_each(|owner| less(questions, owner));
                next.into_iter().for_each(|owner| *questions.entry(owner).or_default() += 1);
            }
            next.is_some()
        });
        removed
    }

    /// Removes a question, and returns its waiters.
    pub fn take(&mut self, question: &Question) -> Option<Vec<Waiter>> {
        let pending = self.pending.remove(question)?;
        if let Some(first) = pending.waiters.first() {
            less(&mut self.questions, first.owner());
        }
        pending.waiters.iter().for_each(|waiter| less(&mut self.shares, waiter.owner()));
        Some(pending.waiters)
    }

    /// The question to which a response belongs: a server's that was asked with this id, from this
    /// address and port of ours (RFC 5452 9.1).
    pub fn find(&self, server: IpAddr, own: SocketAddr, id: u16) -> Option<&Question> {
        let fits = |asked: &Asked| (asked.server, asked.own, asked.id) == (server, Some(own), id);
        self.pending.iter().find(|(_, pending)| fits(&pending.asked)).map(|(question, _)| question)
    }

    /// Number of those who wait for a question.
    pub fn waiters(&self, question: &Question) -> usize {
        self.pending.get(question).map_or(0, |pending| pending.waiters.len())
    }
}
