// SPDX-License-Identifier: Apache-2.0
//! Lookups for clients of the API, whose replies wait for the answers.

use crate::answer::{Answer, lack};
use crate::control::Dns;
use crate::pending::Outcome;
use cli::{Error, Result, retval};
use graph::World;
use msg::Pending;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use wire::dns::{CLASS_IN, Name, Question, Rcode, RecordType};

/// Time between two looks at an outcome.
const LOOK: Duration = Duration::from_millis(5);

/// The addresses of a name.
pub type NameAddresses = (Option<Ipv4Addr>, Option<Ipv6Addr>);

/// Questions for one name, and what becomes of the answers.
pub struct Lookup<T> {
    dns: Arc<Dns>,
    name: Name,
    calls: Vec<Arc<OnceLock<Outcome>>>,
    /// The reply made of the answers; `None` if they lack what was asked for.
    of: fn(&[Arc<Answer>]) -> Option<T>,
    wake: Option<Duration>,
}

fn disabled() -> Error {
    Error::failed("name resolution is disabled: `dns enable' enables it")
        .retval(retval::NAME_RESOLUTION_NOT_ENABLED)
}

impl<T> Lookup<T> {
    fn new(
        world: &World,
        name: Name,
        kinds: &[RecordType],
        of: fn(&[Arc<Answer>]) -> Option<T>,
    ) -> Result<Self> {
        let dns = world.get::<Dns>();
        if !dns.state().enabled {
            return Err(disabled());
        }
        let question = |kind| Question { name: name.clone(), kind, class: CLASS_IN };
        let calls = kinds.iter().map(|kind| dns.call(world, &question(*kind))).collect();
        Ok(Self { dns, name, calls, of, wake: None })
    }

    fn result(&self) -> Option<Result<T>> {
        let outcomes: Option<Vec<_>> = self.calls.iter().map(|call| call.get()).collect();
        let outcomes = outcomes?;
        let answer = |outcome: &&Outcome| match outcome {
            Outcome::Answer(answer) => Some(answer.clone()),
            _ => None,
        };
        let answers: Vec<_> = outcomes.iter().filter_map(answer).collect();
        if let Some(found) = (self.of)(&answers) {
            return Some(Ok(found));
        }
        let error = |outcome: &&Outcome| match outcome {
            Outcome::Answer(answer) => answer.lack(&self.name),
            Outcome::Failed(rcode) => lack(*rcode, &self.name),
            Outcome::Disabled => disabled(),
            Outcome::NoRoom => Error::limit("too many questions wait for name servers")
                .retval(retval::LIMIT_EXCEEDED),
        };
        // A failure says more than that one of the kinds of records isn't there.
        let failed = outcomes.iter().find(|outcome| !matches!(outcome, Outcome::Answer(_)));
        let last = failed.or(outcomes.first()).map(error);
        Some(Err(last.unwrap_or_else(|| lack(Rcode::NO_ERROR, &self.name))))
    }
}

/// A client that has gone waits for nothing, and leaves its share to others.
impl<T> Drop for Lookup<T> {
    fn drop(&mut self) {
        if self.calls.iter().any(|call| call.get().is_none()) {
            self.dns.give_up(&self.calls);
        }
    }
}

/// The addresses of a name.
///
/// # Errors
/// Name resolution is disabled (−136).
pub fn name(world: &World, name: Name) -> Result<Lookup<NameAddresses>> {
    Lookup::new(world, name, &[RecordType::A, RecordType::AAAA], |answers| {
        let all = answers.iter().map(|answer| answer.addresses());
        let both = all.fold((None, None), |(a4, a6), (b4, b6)| (a4.or(b4), a6.or(b6)));
        (both != (None, None)).then_some(both)
    })
}

/// The name of an address.
///
/// # Errors
/// Name resolution is disabled (−136).
pub fn ip(world: &World, ip: IpAddr) -> Result<Lookup<Name>> {
    Lookup::new(world, Name::reverse(ip), &[RecordType::PTR], |answers| {
        answers.iter().find_map(|answer| answer.pointer())
    })
}

impl<T, R: From<T>> Pending<World, R> for Reply<T> {
    fn poll(&mut self, _: &World, now: Duration) -> Option<Result<R>> {
        self.0.wake = Some(now + LOOK);
        self.0.result().map(|result| result.map(R::from))
    }

    fn wake_at(&self) -> Option<Duration> {
        self.0.wake
    }
}

/// A lookup whose answer becomes a reply.
pub struct Reply<T>(pub Lookup<T>);
