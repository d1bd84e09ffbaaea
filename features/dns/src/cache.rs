// SPDX-License-Identifier: Apache-2.0
//! The cache: answers of servers by their questions, and names that the operator has given
//! addresses.

use crate::answer::Answer;
use crate::pending::{Owner, less};
use cli::{Error, Result, retval};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use wire::dns::{Name, Question, Rcode, RecordData, RecordType};

/// Entries at most, static ones included.
pub const MOST: usize = 1000;
/// Seconds that clients may keep what the operator has given.
const STATIC_TTL: u32 = 60;

/// The addresses that the operator has given a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Static {
    pub ip4: Option<Ipv4Addr>,
    pub ip6: Option<Ipv6Addr>,
}

struct Entry {
    answer: Arc<Answer>,
    /// The client that asked first.
    owner: Owner,
    /// When it was used last: its key in [`Cache::order`].
    used: u64,
}

/// See the head of this file.
#[derive(Default)]
pub struct Cache {
    statics: BTreeMap<Name, Static>,
    entries: BTreeMap<Question, Entry>,
    /// Questions by their last use.
    order: BTreeMap<u64, Question>,
    uses: u64,
    /// Number of answers by the client that asked first.
    shares: BTreeMap<Owner, usize>,
}

impl Cache {
    /// The answer to a question, if it is known and still valid.
    pub fn get(&mut self, question: &Question, now: u64) -> Option<Arc<Answer>> {
        if let Some(answer) = self.given(question, now) {
            return Some(Arc::new(answer));
        }
        let entry = self.entries.get_mut(question)?;
        if entry.answer.expires() <= now {
            self.remove(question);
            return None;
        }
        let answer = entry.answer.clone();
        self.order.remove(&entry.used);
        self.uses += 1;
        entry.used = self.uses;
        self.order.insert(self.uses, question.clone());
        Some(answer)
    }

    /// The answer of what the operator has given: also the name of an address.
    fn given(&self, question: &Question, now: u64) -> Option<Answer> {
        let compose = |data: Vec<RecordData>| {
            let record = |data| (question.name.clone(), STATIC_TTL, data);
            let records: Vec<_> = data.into_iter().map(record).collect();
            Answer::compose(question, Rcode::NO_ERROR, &records, Some(STATIC_TTL), now)
        };
        if let Some(given) = self.statics.get(&question.name) {
            let wants = |kind| question.kind == kind || question.kind == RecordType::ANY;
            let ip4 = given.ip4.filter(|_| wants(RecordType::A)).map(RecordData::A);
            let ip6 = given.ip6.filter(|_| wants(RecordType::AAAA)).map(RecordData::Aaaa);
            return Some(compose(ip4.into_iter().chain(ip6).collect()));
        }
        if question.kind != RecordType::PTR {
            return None;
        }
        let is = |ip: Option<IpAddr>| ip.is_some_and(|ip| Name::reverse(ip) == question.name);
        let has = |given: &Static| is(given.ip4.map(Into::into)) || is(given.ip6.map(Into::into));
        let names = self.statics.iter().filter(|(_, given)| has(given));
        let names: Vec<_> = names.map(|(name, _)| RecordData::Ptr(name.clone())).collect();
        (!names.is_empty()).then(|| compose(names))
    }

    /// Keeps an answer that this client asked for first. If all entries are in use, the client with
    /// most of them loses the one that wasn't used for longest.
    pub fn put(&mut self, question: Question, answer: Arc<Answer>, owner: Owner) {
        self.remove(&question);
        if answer.ttl == 0 || self.statics.len() >= MOST {
            return;
        }
        self.uses += 1;
        self.order.insert(self.uses, question.clone());
        self.entries.insert(question, Entry { answer, owner, used: self.uses });
        *self.shares.entry(owner).or_default() += 1;
        self.shrink();
    }

    fn shrink(&mut self) {
        while self.entries.len() + self.statics.len() > MOST
            && let Some(most) = self.shares.values().max()
        {
            let is_of_largest = |question: &&Question| {
                let entry = self.entries.get(question);
                entry.is_some_and(|entry| self.shares.get(&entry.owner) == Some(most))
            };
            let Some(question) = self.order.values().find(is_of_largest).cloned() else { return };
            self.remove(&question);
        }
    }

    fn remove(&mut self, question: &Question) {
        if let Some(entry) = self.entries.remove(question) {
            self.order.remove(&entry.used);
            less(&mut self.shares, entry.owner);
        }
    }

    /// Gives a name addresses.
    ///
    /// # Errors
    /// It has some (−116); all entries are given (−162).
    pub fn give(&mut self, name: Name, given: Static) -> Result<()> {
        if self.statics.contains_key(&name) {
            let why = format!("{name} has addresses: `dns cache del' takes them");
            return Err(Error::failed(why).retval(retval::ENTRY_ALREADY_EXISTS));
        }
        if self.statics.len() >= MOST {
            let why = format!("{MOST} names have addresses");
            return Err(Error::limit(why).retval(retval::LIMIT_EXCEEDED));
        }
        self.statics.insert(name, given);
        self.shrink();
        Ok(())
    }

    /// Forgets what is known of a name: what the operator has given, and answers.
    ///
    /// # Errors
    /// Nothing is known (−6).
    pub fn forget(&mut self, name: &Name) -> Result<()> {
        let given = self.statics.remove(name).is_some();
        if !self.forget_answers(name) && !given {
            return Err(unknown(name));
        }
        Ok(())
    }

    /// Forgets the answers for a name. False if there were none.
    pub fn forget_answers(&mut self, name: &Name) -> bool {
        let known: Vec<_> =
            self.entries.keys().filter(|question| question.name == *name).cloned().collect();
        known.iter().for_each(|question| self.remove(question));
        !known.is_empty()
    }

    /// Forgets all answers.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.order.clear();
        self.shares.clear();
    }

    /// The names that the operator has given addresses.
    pub fn statics(&self) -> impl Iterator<Item = (&Name, &Static)> {
        self.statics.iter()
    }

    /// The answers, by question.
    pub fn answers(&self) -> impl Iterator<Item = (&Question, &Answer)> {
        self.entries.iter().map(|(question, entry)| (question, &*entry.answer))
    }
}

/// The error for a name that the cache lacks.
pub fn unknown(name: &Name) -> Error {
    Error::not_found(format!("{name} is not in the cache")).retval(retval::NO_SUCH_ENTRY)
}
