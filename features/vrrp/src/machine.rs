// SPDX-License-Identifier: Apache-2.0
//! The state machine of a virtual router (RFC 9568 6.4). It knows neither packets nor interfaces:
//! control feeds it with time, advertisements and changes, and carries out its effects in order.

use std::net::IpAddr;

/// Nanoseconds of a centisecond.
pub const CENTISECOND: u64 = 10_000_000;
/// The priority of the router that has the addresses itself (RFC 9568 5.2.4).
pub const OWNER: u8 = 255;
/// Minimum time between two advertisements by which a master answers other routers, in nanoseconds.
const ASSERTION: u64 = 10 * CENTISECOND;

/// The state of a virtual router.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum State {
    /// Not started.
    #[default]
    Init,
    /// Another router is the master.
    Backup,
    /// This router forwards for the virtual one.
    Master,
    /// Started, but its interface is down or has no address to send from.
    InterfaceDown,
}

/// The settings that the machine depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The priority in force, 1 to 255.
    pub priority: u8,
    /// Centiseconds between two advertisements of this router as master, at least 1.
    pub interval: u16,
    /// True if it takes over from a master of lower priority.
    pub preempt: bool,
}

/// The part of a received advertisement that the machine reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heard {
    /// The sender's priority; 0 if it ceases to be the master.
    pub priority: u8,
    /// The sender's interval in centiseconds.
    pub interval: u16,
    /// The sender's address.
    pub from: IpAddr,
}

/// A consequence that control carries out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The state has changed.
    Changed {
        /// The state before.
        from: State,
        /// The state now.
        to: State,
    },
    /// An advertisement of this priority is sent.
    Advertise(u8),
    /// Stations are told that the addresses are at the virtual MAC address.
    Announce,
}

/// The outcome of an advertisement, for counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is the master's, or makes its sender the master.
    Accepted,
    /// This router is preferred and takes over, or stays the master.
    Preempted,
    /// It doesn't matter in this state.
    Ignored,
}

/// The machine of one virtual router.
#[derive(Clone, Debug)]
pub struct Machine {
    state: State,
    settings: Settings,
    /// The master's interval in centiseconds, its own at first.
    master_interval: u16,
    /// When the timer of the state expires: as master the next advertisement, as backup the end of
    /// the time in which the master has to be heard.
    due: Option<u64>,
    /// Earliest time of the next answer to another router's advertisement.
    assert_at: u64,
}

impl Machine {
    /// A machine that isn't started.
    pub fn new(settings: Settings) -> Self {
        let master_interval = settings.interval;
        Self { state: State::Init, settings, master_interval, due: None, assert_at: 0 }
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// The settings in force.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// When the machine has to run next ([`Self::expire`]).
    pub fn due(&self) -> Option<u64> {
        self.due
    }

    /// The master's interval, in centiseconds.
    pub fn master_interval(&self) -> u16 {
        self.master_interval
    }

    /// The part of the master's interval by which routers of lower priority wait longer, in
    /// nanoseconds (RFC 9568 6.1).
    fn skew(&self) -> u64 {
        let rest = 256 - u64::from(self.settings.priority);
        rest * u64::from(self.master_interval) * CENTISECOND / 256
    }

    /// The time without advertisements after which the master counts as lost (6.1), in nanoseconds.
    fn down_interval(&self) -> u64 {
        3 * u64::from(self.master_interval) * CENTISECOND + self.skew()
    }

    /// [`Self::skew`] in centiseconds, rounded down, as clients see it.
    pub fn skew_centiseconds(&self) -> u16 {
        (self.skew() / CENTISECOND) as u16
    }

    /// The time until a silent master is taken for gone, in centiseconds, as clients see it.
    pub fn down_centiseconds(&self) -> u16 {
        (self.down_interval() / CENTISECOND).try_into().unwrap_or(u16::MAX)
    }

    fn interval(&self) -> u64 {
        u64::from(self.settings.interval) * CENTISECOND
    }

    fn change(&mut self, to: State, due: Option<u64>, effects: &mut Vec<Effect>) {
        let from = std::mem::replace(&mut self.state, to);
        self.due = due;
        if from != to {
            effects.push(Effect::Changed { from, to });
        }
    }

    fn become_master(&mut self, now: u64, effects: &mut Vec<Effect>) {
        self.master_interval = self.settings.interval;
        self.change(State::Master, Some(now + self.interval()), effects);
        effects.extend([Effect::Advertise(self.settings.priority), Effect::Announce]);
    }

    /// Leaves `Init` or `InterfaceDown` (6.4.1).
    fn begin(&mut self, now: u64, effects: &mut Vec<Effect>) {
        if self.settings.priority == OWNER {
            return self.become_master(now, effects);
        }
        self.master_interval = self.settings.interval;
        let due = now + self.down_interval();
        self.change(State::Backup, Some(due), effects);
    }

    /// Starts the machine; `ready` if the interface is up and has an address.
    pub fn start(&mut self, now: u64, ready: bool) -> Vec<Effect> {
        let mut effects = Vec::new();
        match (self.state, ready) {
            (State::Init, true) => self.begin(now, &mut effects),
            (State::Init, false) => self.change(State::InterfaceDown, None, &mut effects),
            _ => {}
        }
        effects
    }

    /// Ends the machine. A master takes leave, so that a backup takes over at once.
    pub fn stop(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.state == State::Master {
            effects.push(Effect::Advertise(0));
        }
        self.change(State::Init, None, &mut effects);
        effects
    }

    /// The interface goes up or down, or gets its first or loses its last address.
    pub fn set_ready(&mut self, now: u64, ready: bool) -> Vec<Effect> {
        let mut effects = Vec::new();
        match (self.state, ready) {
            (State::InterfaceDown, true) => self.begin(now, &mut effects),
            (State::Backup | State::Master, false) => {
                self.change(State::InterfaceDown, None, &mut effects);
            }
            _ => {}
        }
        effects
    }

    /// Changes the settings. The state stays; a timer that runs to its end does so by the old
    /// settings, unless it would end later than by the new ones.
    pub fn set_settings(&mut self, now: u64, settings: Settings) {
        if self.state != State::Backup {
            self.master_interval = settings.interval;
        }
        self.settings = settings;
        let latest = match self.state {
            State::Master => now + self.interval(),
            State::Backup => now + self.down_interval(),
            State::Init | State::InterfaceDown => return,
        };
        self.due = self.due.map(|due| due.min(latest));
    }

    /// A timer may have expired (6.4.2, 6.4.3).
    pub fn expire(&mut self, now: u64) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.due.is_none_or(|due| due > now) {
            return effects;
        }
        match self.state {
            State::Backup => self.become_master(now, &mut effects),
            State::Master => {
                // A deferred answer counts as one.
                if self.due == Some(self.assert_at) {
                    self.assert_at = now + ASSERTION;
                }
                self.due = Some(now + self.interval());
                effects.push(Effect::Advertise(self.settings.priority));
            }
            State::Init | State::InterfaceDown => self.due = None,
        }
        effects
    }

    /// An advertisement was received; `own` is the address that this router sends from.
    pub fn receive(&mut self, now: u64, heard: &Heard, own: IpAddr) -> (Vec<Effect>, Outcome) {
        let mut effects = Vec::new();
        // An owner has no master (7.1), and its own packets may come back to a router.
        if self.settings.priority == OWNER || heard.from == own {
            return (effects, Outcome::Ignored);
        }
        let outcome = match self.state {
            State::Init | State::InterfaceDown => Outcome::Ignored,
            State::Backup => self.heard_as_backup(now, heard),
            State::Master => self.heard_as_master(now, heard, own, &mut effects),
        };
        (effects, outcome)
    }

    fn heard_as_backup(&mut self, now: u64, heard: &Heard) -> Outcome {
        if heard.priority == 0 {
            self.due = Some(now + self.skew());
        } else if !self.settings.preempt || heard.priority >= self.settings.priority {
            self.follow(now, heard);
        } else {
            return Outcome::Preempted;
        }
        Outcome::Accepted
    }

    /// The sender of an advertisement is the master.
    fn follow(&mut self, now: u64, heard: &Heard) {
        // No master sends without a pause.
        self.master_interval = heard.interval.max(1);
        self.due = Some(now + self.down_interval());
    }

    fn heard_as_master(
        &mut self,
        now: u64,
        heard: &Heard,
        own: IpAddr,
        effects: &mut Vec<Effect>,
    ) -> Outcome {
        if heard.priority == 0 {
            // Another master takes leave: its backups learn of this one (6.4.3).
            self.answer(now, effects);
            return Outcome::Accepted;
        }
        if (heard.priority, heard.from) > (self.settings.priority, own) {
            self.change(State::Backup, None, effects);
            self.follow(now, heard);
            return Outcome::Accepted;
        }
        // The other router, and switches on the path to it, learn where the master is (6.4.3).
        self.answer(now, effects);
        Outcome::Preempted
    }

    /// Answers another router's advertisement, at most once in [`ASSERTION`], so that a flood isn't
    /// answered by a flood. A further answer is deferred to the end of that time. The next
    /// advertisement follows after an interval, as after any other.
    fn answer(&mut self, now: u64, effects: &mut Vec<Effect>) {
        if now < self.assert_at {
            self.due = self.due.map(|due| due.min(self.assert_at));
            return;
        }
        self.assert_at = now + ASSERTION;
        self.due = Some(now + self.interval());
        effects.push(Effect::Advertise(self.settings.priority));
    }
}

impl State {
    /// The name that `show vrrp vr` prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Init => "Initialize",
            Self::Backup => "Backup",
            Self::Master => "Master",
            Self::InterfaceDown => "Interface Down",
        }
    }
}
