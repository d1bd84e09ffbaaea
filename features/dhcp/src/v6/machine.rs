// SPDX-License-Identifier: Apache-2.0
//! The states of a client of one association (RFC 8415 18.2), without side effects. Times are on
//! the instance's clock, in nanoseconds.

use super::association::{Answer, Lease, MOST_LEASES, NO_BINDING, SUCCESS};
use super::message::kind;
use super::transmission::Pace;
use crate::lifetime::{INFINITE, end};
use std::collections::BTreeMap;
use wire::Ip6Prefix;

/// Times of solicitations (RFC 8415 7.6), with VPP's longest.
pub const SOLICIT: Pace = Pace { initial: 1, longest: 120, count: 0, duration: 0 };
/// Times of requests.
pub const REQUEST: Pace = Pace { initial: 1, longest: 30, count: 10, duration: 0 };
/// Times of renewals and rebindings; they end with the state.
pub const RENEW: Pace = Pace { initial: 10, longest: 600, count: 0, duration: 0 };

/// The phase of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// It looks for servers.
    Solicit,
    /// It wants the leases of a server.
    Request,
    /// It has leases.
    Bound,
    /// It extends its leases at their server.
    Renew,
    /// It extends its leases at any server.
    Rebind,
}

/// When a lease ends; `None` for never.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// When it ends.
    pub valid: Option<u64>,
    /// When it is deprecated.
    pub preferred: Option<u64>,
    /// Lifetimes as they were granted, in seconds: preferred, valid.
    pub granted: (u32, u32),
}

/// A message to be sent from now on, in place of the former one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    /// Its type.
    pub kind: u8,
    /// Its times.
    pub pace: Pace,
    /// The server that is meant, by its identifier.
    pub server: Option<Vec<u8>>,
    /// The leases in it.
    pub leases: Vec<Lease>,
}

/// An effect of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// A message is sent, until another one or [`Action::Stop`].
    Start(Start),
    /// Nothing is sent any more.
    Stop,
    /// A lease is used.
    Add(Ip6Prefix),
    /// A lease is used no longer.
    Remove(Ip6Prefix),
}

/// A client of one association.
#[derive(Clone, Debug)]
pub struct Machine {
    phase: Phase,
    leases: BTreeMap<Ip6Prefix, Held>,
    server: Option<Vec<u8>>,
    /// When leases are renewed, and rebound; `None` for never.
    renew: Option<u64>,
    rebind: Option<u64>,
    sol_max_rt: Option<u32>,
}

impl Machine {
    /// A client that begins to look for servers.
    pub fn new() -> (Self, Vec<Action>) {
        let mut machine = Self {
            phase: Phase::Solicit,
            leases: BTreeMap::new(),
            server: None,
            renew: None,
            rebind: None,
            sol_max_rt: None,
        };
        let start = machine.solicit();
        (machine, vec![start])
    }

    /// The phase.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The leases.
    pub fn leases(&self) -> &BTreeMap<Ip6Prefix, Held> {
        &self.leases
    }

    /// The identifier of the server that the leases are of, or are to be of.
    pub fn server(&self) -> Option<&[u8]> {
        self.server.as_deref()
    }

    /// When [`Self::run`] has something to do; `None` for never.
    pub fn due(&self) -> Option<u64> {
        let timer = match self.phase {
            Phase::Bound => self.renew.into_iter().chain(self.rebind).min(),
            Phase::Renew => self.rebind,
            _ => None,
        };
        self.leases.values().filter_map(|held| held.valid).chain(timer).min()
    }

    fn solicit(&mut self) -> Action {
        self.phase = Phase::Solicit;
        (self.server, self.renew, self.rebind) = (None, None, None);
        let longest = self.sol_max_rt.unwrap_or(SOLICIT.longest);
        let pace = Pace { longest, ..SOLICIT };
        Action::Start(Start { kind: kind::SOLICIT, pace, server: None, leases: Vec::new() })
    }

    /// Asks all servers. Without leases, whose ends would end that, it lasts a minute.
    fn rebinding(&self) -> Action {
        let leases = self.held();
        let duration = if leases.is_empty() { 60 } else { 0 };
        let pace = Pace { duration, ..RENEW };
        Action::Start(Start { kind: kind::REBIND, pace, server: None, leases })
    }

    /// The leases as messages carry them.
    fn held(&self) -> Vec<Lease> {
        let lease = |(prefix, held): (&Ip6Prefix, &Held)| Lease {
            prefix: *prefix,
            preferred: held.granted.0,
            valid: held.granted.1,
        };
        self.leases.iter().map(lease).collect()
    }

    /// Does what is due.
    pub fn run(&mut self, now: u64) -> Vec<Action> {
        let is_over = |held: &Held| held.valid.is_some_and(|end| end <= now);
        let over: Vec<_> =
            self.leases.iter().filter(|(_, held)| is_over(held)).map(|(p, _)| *p).collect();
        self.leases.retain(|_, held| !is_over(held));
        let mut actions: Vec<_> = over.iter().map(|prefix| Action::Remove(*prefix)).collect();
        let has_leases = matches!(self.phase, Phase::Bound | Phase::Renew | Phase::Rebind);
        if has_leases && self.leases.is_empty() && !over.is_empty() {
            actions.push(self.solicit());
        } else if matches!(self.phase, Phase::Bound | Phase::Renew)
            && self.rebind.is_some_and(|at| at <= now)
        {
            self.phase = Phase::Rebind;
            actions.push(self.rebinding());
        } else if self.phase == Phase::Bound && self.renew.is_some_and(|at| at <= now) {
            self.phase = Phase::Renew;
            let (server, leases) = (self.server.clone(), self.held());
            actions.push(Action::Start(Start { kind: kind::RENEW, pace: RENEW, server, leases }));
        }
        actions
    }

    /// The message that was sent isn't answered, and isn't sent any more.
    pub fn unanswered(&mut self) -> Vec<Action> {
        match self.phase {
            Phase::Request | Phase::Rebind => vec![self.solicit()],
            _ => Vec::new(),
        }
    }

    /// The interface is up again, maybe on another link: leases are verified with any server (RFC
    /// 8415 18.2.12).
    pub fn link_up(&mut self) -> Vec<Action> {
        match self.phase {
            Phase::Solicit | Phase::Request => vec![self.solicit()],
            Phase::Bound | Phase::Renew | Phase::Rebind => {
                self.phase = Phase::Rebind;
                vec![self.rebinding()]
            }
        }
    }

    /// Handles a server's answer.
    pub fn receive(&mut self, answer: &Answer, now: u64) -> Vec<Action> {
        if answer.sol_max_rt.is_some() {
            self.sol_max_rt = answer.sol_max_rt;
        }
        match (self.phase, answer.kind) {
            (Phase::Solicit, kind::ADVERTISE) => {
                // An association without leases counts as an offer, as in VPP: the server may grant
                // some when it is asked.
                let is_offer = [answer.status, answer.inner_status] == [SUCCESS; 2]
                    && answer.has_association
                    && answer.leases.iter().all(|lease| lease.valid > 0);
                if !is_offer {
                    return Vec::new();
                }
                self.phase = Phase::Request;
                self.server = Some(answer.server.clone());
                vec![Action::Start(Start {
                    kind: kind::REQUEST,
                    pace: REQUEST,
                    server: self.server.clone(),
                    leases: answer.leases.clone(),
                })]
            }
            (Phase::Request | Phase::Renew | Phase::Rebind, kind::REPLY) => self.reply(answer, now),
            _ => Vec::new(),
        }
    }

    fn reply(&mut self, answer: &Answer, now: u64) -> Vec<Action> {
        let is_renewal = matches!(self.phase, Phase::Renew | Phase::Rebind);
        if is_renewal && answer.inner_status == NO_BINDING {
            // The server has forgotten the association: it is made again (18.2.10.1).
            self.phase = Phase::Request;
            self.server = Some(answer.server.clone());
            let (server, leases) = (self.server.clone(), self.held());
            let start = Start { kind: kind::REQUEST, pace: REQUEST, server, leases };
            return vec![Action::Start(start)];
        }
        if [answer.status, answer.inner_status] != [SUCCESS; 2] || !answer.has_association {
            return Vec::new();
        }
        let mut actions = Vec::new();
        for lease in &answer.leases {
            if lease.valid == 0 {
                if self.leases.remove(&lease.prefix).is_some() {
                    actions.push(Action::Remove(lease.prefix));
                }
                continue;
            }
            let is_known = self.leases.contains_key(&lease.prefix);
            if !is_known && self.leases.len() == MOST_LEASES {
                continue;
            }
            let held = Held {
                valid: end(now, lease.valid),
                preferred: end(now, lease.preferred),
                granted: (lease.preferred, lease.valid),
            };
            self.leases.insert(lease.prefix, held);
            if !is_known {
                actions.push(Action::Add(lease.prefix));
            }
        }
        if self.leases.is_empty() && !actions.is_empty() {
            // The server has taken all leases back.
            actions.push(self.solicit());
            return actions;
        }
        let is_extended = answer.leases.iter().any(|lease| lease.valid > 0);
        let waits = answer.leases.is_empty() && self.leases.is_empty() && answer.times.0 > 0;
        if !is_extended && !waits {
            // Nothing was granted or extended: the message is sent on.
            return actions;
        }
        self.phase = Phase::Bound;
        self.server = Some(answer.server.clone());
        let (renew, rebind) = times(answer);
        (self.renew, self.rebind) = (end(now, renew), end(now, rebind));
        actions.push(Action::Stop);
        actions
    }
}

/// T1 and T2 in seconds: those of the server, or half and four fifths of the shortest preferred
/// lifetime (RFC 8415 21.4).
fn times(answer: &Answer) -> (u32, u32) {
    let (renew, rebind) = answer.times;
    let granted = answer.leases.iter().filter(|lease| lease.valid > 0);
    let preferred = granted.clone().map(|lease| lease.preferred).filter(|p| *p > 0).min();
    let shortest = preferred.or(granted.map(|lease| lease.valid).min()).unwrap_or(INFINITE);
    let part = |numerator: u64, denominator: u64| match shortest {
        INFINITE => INFINITE,
        // Not above 2³², since the fraction is below 1.
        seconds => ((u64::from(seconds) * numerator / denominator) as u32).max(1),
    };
    let rebind = if rebind == 0 { part(4, 5).max(renew) } else { rebind };
    let renew = if renew == 0 { part(1, 2).min(rebind) } else { renew };
    (renew, rebind)
}
