// SPDX-License-Identifier: Apache-2.0
//! The state machines of one member, without interfaces and clock. Times are in nanoseconds.

use crate::pdu::{Participant, Pdu, State};
use bond::Stage;

const SECOND: u64 = 1_000_000_000;
/// Timers (IEEE 802.1AX-2014 6.4.4).
pub const FAST_PERIODIC: u64 = SECOND;
pub const SLOW_PERIODIC: u64 = 30 * SECOND;
pub const SHORT_TIMEOUT: u64 = 3 * SECOND;
pub const LONG_TIMEOUT: u64 = 90 * SECOND;
pub const AGGREGATE_WAIT: u64 = 2 * SECOND;
/// Data units that may be sent in the time of `FAST_PERIODIC` (6.4.16).
const BURST: usize = 3;

/// Receive machine (6.4.12), with VPP's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rx {
    PortDisabled = 1,
    Expired = 2,
    Defaulted = 4,
    Current = 5,
}

impl Rx {
    /// As the standard calls it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::PortDisabled => "PORT_DISABLED",
            Self::Expired => "EXPIRED",
            Self::Defaulted => "DEFAULTED",
            Self::Current => "CURRENT",
        }
    }
}

/// Mux machine (6.4.15), with VPP's numbers. In its last state the member collects. With
/// independent control, it distributes once the partner collects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mux {
    Detached = 0,
    Waiting = 1,
    Attached = 2,
    CollectingDistributing = 3,
}

impl Mux {
    /// As the standard calls it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Detached => "DETACHED",
            Self::Waiting => "WAITING",
            Self::Attached => "ATTACHED",
            Self::CollectingDistributing => "COLLECTING_DISTRIBUTING",
        }
    }
}

/// Periodic transmission machine (6.4.13), with VPP's numbers. `PERIODIC_TX` is passed through at
/// once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Periodic {
    None = 0,
    Fast = 1,
    Slow = 2,
}

impl Periodic {
    /// As the standard calls it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "NO_PERIODIC",
            Self::Fast => "FAST_PERIODIC",
            Self::Slow => "SLOW_PERIODIC",
        }
    }
}

/// A member.
#[derive(Clone, Debug)]
pub struct Port {
    /// This end.
    pub actor: Participant,
    /// The other end: from the last data unit, or the default.
    pub partner: Participant,
    pub rx: Rx,
    pub mux: Mux,
    pub periodic: Periodic,
    /// It belongs to the bond's aggregation (`Selected`, 6.4.8).
    pub selected: bool,
    /// Need to transmit (`NTT`).
    ntt: bool,
    /// When the timers `current_while`, `wait_while` and `periodic` expire.
    current_while: Option<u64>,
    wait_while: Option<u64>,
    periodic_at: Option<u64>,
    /// When the last data units were sent, the oldest first.
    sent: [Option<u64>; BURST],
}

/// `Partner_Admin…`: the partner while no data units are received. Its timeout is short, so data
/// units are sent each second and a partner is found soon.
const DEFAULT: Participant = {
    let system = wire::MacAddr::ZERO;
    Participant {
        system_priority: 0,
        system,
        key: 0,
        port_priority: 0,
        port: 0,
        state: State::SHORT_TIMEOUT,
    }
};

impl Port {
    /// A member that is disabled.
    pub fn new(actor: Participant) -> Self {
        let mut port = Self {
            actor,
            partner: DEFAULT,
            rx: Rx::PortDisabled,
            mux: Mux::Detached,
            periodic: Periodic::None,
            selected: false,
            ntt: false,
            current_while: None,
            wait_while: None,
            periodic_at: None,
            sent: [None; BURST],
        };
        port.put(State::DEFAULTED, true);
        port
    }

    fn put(&mut self, bits: State, on: bool) {
        self.actor.state.set(bits, on);
    }

    /// Returns the member's stage: idle, collecting, or distributing too.
    pub fn stage(&self) -> Stage {
        if self.actor.state.contains(State::DISTRIBUTING) {
            Stage::Distributing
        } else if self.mux == Mux::CollectingDistributing {
            Stage::Collecting
        } else {
            Stage::Idle
        }
    }

    /// Requests a data unit: something that the partner has to know has changed.
    pub fn notify(&mut self) {
        self.ntt = true;
    }

    /// Sets whether the link is up (`port_enabled`).
    pub fn set_enabled(&mut self, on: bool, now: u64) {
        match (self.rx, on) {
            (Rx::PortDisabled, true) => {
                self.expire(now);
                self.ntt = true;
            }
            (Rx::PortDisabled, false) | (_, true) => {}
            (_, false) => {
                self.rx = Rx::PortDisabled;
                self.current_while = None;
                self.partner.state.remove(State::SYNCHRONIZATION);
            }
        }
    }

    /// Enters state `EXPIRED`, which requests data units from the partner at the short interval.
    fn expire(&mut self, now: u64) {
        self.rx = Rx::Expired;
        self.partner.state.remove(State::SYNCHRONIZATION);
        self.partner.state.insert(State::SHORT_TIMEOUT);
        self.current_while = Some(now + SHORT_TIMEOUT);
        self.put(State::EXPIRED, true);
    }

    /// Enters state `DEFAULTED`: there is no partner. `update_Default_Selected`, `recordDefault`
    /// (6.4.9).
    fn default(&mut self) {
        self.rx = Rx::Defaulted;
        self.current_while = None;
        self.partner = DEFAULT;
        self.selected = false;
        self.put(State::DEFAULTED, true);
        self.put(State::EXPIRED, false);
    }

    /// Records a received data unit and enters state `CURRENT`. `update_Selected`, `update_NTT`,
    /// `recordPDU` (6.4.9).
    pub fn receive(&mut self, pdu: &Pdu, now: u64) {
        if self.rx == Rx::PortDisabled {
            return;
        }
        let compared =
            State::ACTIVITY | State::SHORT_TIMEOUT | State::AGGREGATION | State::SYNCHRONIZATION;
        let (theirs, ours) = (&pdu.partner, &self.actor);
        if pdu.actor.names() != self.partner.names() || pdu.actor.lag() != self.partner.lag() {
            self.selected = false;
        }
        if theirs.names() != ours.names() || theirs.state & compared != ours.state & compared {
            self.ntt = true;
        }
        // The partner's bit "in sync" counts if its data unit names this port or if its link is
        // individual, and if one of the two ends is active.
        let knows_us = theirs.names() == ours.names()
            && theirs.state & State::AGGREGATION == ours.state & State::AGGREGATION;
        let individual = !pdu.actor.state.contains(State::AGGREGATION);
        let lasts = pdu.actor.state.contains(State::ACTIVITY)
            || ours.state.contains(State::ACTIVITY) && theirs.state.contains(State::ACTIVITY);
        let in_sync =
            pdu.actor.state.contains(State::SYNCHRONIZATION) && (knows_us || individual) && lasts;
        self.partner = pdu.actor;
        self.partner.state.set(State::SYNCHRONIZATION, in_sync);
        self.put(State::DEFAULTED, false);
        self.put(State::EXPIRED, false);
        self.rx = Rx::Current;
        let short = self.actor.state.contains(State::SHORT_TIMEOUT);
        self.current_while = Some(now + if short { SHORT_TIMEOUT } else { LONG_TIMEOUT });
    }

    /// Runs the machines whose time has come.
    pub fn step(&mut self, now: u64) {
        if self.current_while.is_some_and(|at| at <= now) {
            if self.rx == Rx::Current { self.expire(now) } else { self.default() }
        }
        while self.step_mux(now) {}
        self.step_distribution();
        self.step_periodic(now);
    }

    /// Makes a transition of the mux machine; false if there is none to make.
    fn step_mux(&mut self, now: u64) -> bool {
        let in_sync = self.partner.state.contains(State::SYNCHRONIZATION);
        let to = match self.mux {
            Mux::Detached if self.selected => Mux::Waiting,
            Mux::Waiting | Mux::Attached if !self.selected => Mux::Detached,
            Mux::Waiting if self.wait_while.is_none_or(|at| at <= now) => Mux::Attached,
            Mux::Attached if in_sync => Mux::CollectingDistributing,
            Mux::CollectingDistributing if !self.selected || !in_sync => Mux::Attached,
            _ => return false,
        };
        self.mux = to;
        self.wait_while = (to == Mux::Waiting).then_some(now + AGGREGATE_WAIT);
        let on = |least: Mux| to as u8 >= least as u8;
        self.put(State::SYNCHRONIZATION, on(Mux::Attached));
        self.put(State::COLLECTING, on(Mux::CollectingDistributing));
        // `WAITING` changes nothing that the partner sees.
        self.ntt |= to != Mux::Waiting;
        true
    }

    /// States `COLLECTING` and `DISTRIBUTING` of independent control: no frames are sent before the
    /// partner collects. A partner with coupled control collects as soon as it learns that this
    /// end is in sync.
    fn step_distribution(&mut self) {
        let on = self.mux == Mux::CollectingDistributing
            && self.partner.state.contains(State::COLLECTING);
        if on != self.actor.state.contains(State::DISTRIBUTING) {
            self.put(State::DISTRIBUTING, on);
            self.ntt = true;
        }
    }

    fn step_periodic(&mut self, now: u64) {
        let speaks = self.actor.state.contains(State::ACTIVITY)
            || self.partner.state.contains(State::ACTIVITY);
        let to = if self.rx == Rx::PortDisabled || !speaks {
            Periodic::None
        } else if self.partner.state.contains(State::SHORT_TIMEOUT) {
            Periodic::Fast
        } else {
            Periodic::Slow
        };
        // A partner that changes to a short timeout gets a data unit at once.
        let is_sooner = (self.periodic, to) == (Periodic::Slow, Periodic::Fast);
        self.ntt |= is_sooner || self.periodic_at.is_some_and(|at| at <= now);
        if to != self.periodic || self.periodic_at.is_none_or(|at| at <= now) {
            self.periodic_at = match to {
                Periodic::None => None,
                Periodic::Fast => Some(now + FAST_PERIODIC),
                Periodic::Slow => Some(now + SLOW_PERIODIC),
            };
        }
        self.periodic = to;
    }

    /// Takes the data unit to send now, if there is one (6.4.16).
    pub fn transmit(&mut self, now: u64) -> Option<Pdu> {
        if self.periodic == Periodic::None {
            self.ntt = false;
        }
        if !self.ntt || self.may_send_at() > now {
            return None;
        }
        self.ntt = false;
        self.sent.rotate_left(1);
        self.sent[BURST - 1] = Some(now);
        Some(Pdu { actor: self.actor, partner: self.partner })
    }

    /// When the next data unit may be sent.
    fn may_send_at(&self) -> u64 {
        self.sent[0].map_or(0, |oldest| oldest + FAST_PERIODIC)
    }

    /// When the first timer expires, or the next data unit is to be sent.
    pub fn next(&self) -> Option<u64> {
        let send = (self.ntt && self.periodic != Periodic::None).then(|| self.may_send_at());
        [self.current_while, self.wait_while, self.periodic_at, send].into_iter().flatten().min()
    }
}
