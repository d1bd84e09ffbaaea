// SPDX-License-Identifier: Apache-2.0
//! Modes of measurement. Each function does one repeat, and adds its values to the measurement, so
//! that repeats of several devices can be interleaved.

mod bursts;
mod delay;
mod fit;
mod nat;
mod rates;
mod upset;

use std::time::Instant;

use measure::search::Observation;
use measure::siitperf::Vary;
use measure::{Direction, Fault, Mark, Measurement, Mode, Profile, Rules, Trial, is_tester_bound};

use crate::bench::{Bench, Traffic};
use crate::dut::change::Routes;
use crate::engine::{Phase, Plan, Ran};

/// Settings of all measurements of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Profile.
    pub profile: Profile,
    /// Seconds of a trial.
    pub duration: f64,
    /// Repeats.
    pub repeats: u32,
    /// Width of the last interval of a search.
    pub width: f64,
    /// Seconds after which a packet counts as lost.
    pub wait: f64,
    /// Rules for valid trials.
    pub rules: Rules,
    /// Attempts at a trial that isn't valid.
    pub attempts: u32,
    /// Load in packets per second and direction, for modes that need one.
    pub rate: Option<f64>,
    /// Highest load of searches.
    pub max_rate: Option<f64>,
    /// Seconds of a soak.
    pub soak: f64,
    /// Mode that measures each point of a scaling.
    pub search: Mode,
    /// NAT sessions.
    pub sessions: u32,
    /// NAT sessions that are opened in a second before others are measured.
    pub session_rate: f64,
    /// Orders in which NAT sessions are opened, and in which the responder answers those that are
    /// open. The initiator draws its packets of open sessions.
    pub orders: (Vary, Vary),
    /// Routes of a reconfiguration.
    pub routes: u32,
}

impl Settings {
    /// Settings of a profile.
    pub fn of(profile: Profile) -> Self {
        let quick = profile == Profile::Quick;
        // A trial of one second on a machine that is shared can't be held to ten microseconds.
        let sending_time = if quick { 1.01 } else { Rules::default().sending_time };
        Self {
            profile,
            duration: profile.duration(),
            repeats: profile.repeats(),
            width: profile.width(),
            // RFC 2544 §23: two seconds for packets that are under way.
            wait: if quick { 0.2 } else { 2.0 },
            rules: Rules { sending_time, ..Rules::default() },
            attempts: 3,
            rate: None,
            max_rate: None,
            soak: 3600.0,
            search: Mode::Throughput,
            sessions: 10_000,
            session_rate: 10_000.0,
            orders: (Vary::Random, Vary::Random),
            routes: 10_000,
        }
    }
}

/// Reason why a measurement ends early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The operator has stopped the run.
    Interrupted,
    /// It can't be done.
    Failed(String),
}

impl From<String> for Stop {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// Time since the start of a run, also of one that goes on after an interruption.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    start: Instant,
    before: f64,
}

impl RunClock {
    /// A run that started so many seconds ago.
    pub fn started(before: f64) -> Self {
        Self { start: Instant::now(), before }
    }

    /// Seconds since the start of the run.
    pub fn now(&self) -> f64 {
        self.before + self.start.elapsed().as_secs_f64()
    }
}

/// Notes for the operator while a measurement runs.
pub trait Notes {
    /// A trial begins. `bounds` are the lower and the upper bound of a search so far.
    fn trial(&mut self, rate: f64, seconds: f64, bounds: (Option<f64>, Option<f64>));
}

/// Nothing is noted.
impl Notes for () {
    fn trial(&mut self, _: f64, _: f64, _: (Option<f64>, Option<f64>)) {}
}

/// A measurement that runs.
pub struct Measuring<'a> {
    /// The device between the ports.
    pub bench: &'a mut Bench,
    /// The traffic.
    pub traffic: &'a Traffic,
    /// The settings.
    pub settings: &'a Settings,
    /// The results so far.
    pub measurement: &'a mut Measurement,
    /// Limit of the tester itself before this repeat, in packets per second and direction, if it is
    /// known.
    pub limit: Option<f64>,
    /// The repeat, counted from 0.
    pub repeat: u32,
    /// Clock of the run.
    pub clock: &'a RunClock,
    /// Notes for the operator.
    pub notes: &'a mut dyn Notes,
}

/// Modes of devices that translate addresses.
pub const NAT: [Mode; 4] =
    [Mode::NatThroughput, Mode::NatCps, Mode::NatCapacity, Mode::NatTeardown];

/// Largest loss of a trial that was not offered its load: no search takes it for a pass.
const NOT_OFFERED: f64 = 1e-6;

impl Measuring<'_> {
    /// Lets the device have these routes beside its own.
    ///
    /// # Errors
    /// It can't.
    pub fn hold(&mut self, routes: Routes) -> Result<(), Stop> {
        Ok(self.bench.hold(routes)?)
    }

    /// Does one repeat.
    ///
    /// # Errors
    /// It was interrupted, can't be done, or is not built.
    pub fn repeat(&mut self) -> Result<(), Stop> {
        if !self.settings.profile.is_rfc2544() || self.settings.duration < 60.0 {
            self.measurement.mark(Mark::NotRfc2544);
        }
        self.check()?;
        // A device that translates addresses lets nothing in before a session is open.
        let mut learned = self.traffic.clone();
        if NAT.contains(&self.measurement.mode) {
            learned.directions = vec![Direction::Forward];
        } else if self.bench.is_bridge() {
            // A bridge floods frames to addresses from which it has seen nothing.
            learned.directions = vec![Direction::Forward, Direction::Reverse];
        }
        self.bench.learn(&learned)?;
        let (cpu, packets) = (self.bench.cpu_seconds(), self.delivered());
        let mode = match self.measurement.mode {
            Mode::Scale => self.settings.search,
            mode => mode,
        };
        let done = match mode {
            Mode::Selftest | Mode::Throughput => rates::throughput(self),
            Mode::Ndrpdr => rates::ndrpdr(self),
            Mode::Mrr => rates::mrr(self),
            Mode::Loss => rates::loss(self),
            Mode::Soak => rates::soak(self),
            Mode::Latency => delay::latency(self),
            Mode::Pdv | Mode::Ipdv => delay::variation(self),
            Mode::B2b => bursts::back_to_back(self),
            Mode::Recovery => upset::recovery(self),
            Mode::Reset => upset::reset(self),
            Mode::Reconfig => upset::reconfig(self),
            Mode::NatThroughput => nat::throughput(self),
            Mode::NatCps => nat::opened(self),
            Mode::NatCapacity => nat::capacity(self),
            Mode::NatTeardown => nat::removed(self),
            other => Err(Stop::Failed(format!("mode {other} is not built yet"))),
        };
        if let (Some(before), Some(after)) = (cpu, self.bench.cpu_seconds()) {
            let hz = self.bench.tsc_hz();
            let packets = self.delivered() - packets;
            let cost = self.measurement.cpu.get_or_insert(measure::CpuCost {
                cpu_seconds: 0.0,
                packets: 0,
                hz,
            });
            cost.cpu_seconds += after - before;
            cost.packets += packets;
        }
        done
    }

    fn delivered(&self) -> u64 {
        self.measurement.trials.iter().map(Trial::received).sum()
    }

    /// The plan of a trial at one rate.
    fn plan(&self, rate: f64, seconds: f64) -> Plan {
        self.plan_of(vec![Phase::lasting(rate, seconds)])
    }

    fn plan_of(&self, phases: Vec<Phase>) -> Plan {
        Plan { wait: (self.settings.wait * 1e9) as u64, ..Plan::of(phases) }
    }

    /// Runs a trial until it is valid, as often as the settings permit, and keeps all attempts.
    fn trial(
        &mut self,
        plan: &Plan,
        bounds: (Option<f64>, Option<f64>),
    ) -> Result<(Trial, Ran), Stop> {
        self.until_valid(self.traffic, plan, bounds, |_, _| Ok(()))
    }

    /// As [`Self::trial`], with other traffic; `prepare` is called before each attempt, with its
    /// number from 1 on.
    fn until_valid(
        &mut self,
        traffic: &Traffic,
        plan: &Plan,
        bounds: (Option<f64>, Option<f64>),
        mut prepare: impl FnMut(&mut Bench, u32) -> Result<(), String>,
    ) -> Result<(Trial, Ran), Stop> {
        let mut attempt = 1;
        loop {
            prepare(self.bench, attempt)?;
            let (trial, ran) = self.attempt(traffic, plan, bounds)?;
            if trial.valid() || attempt >= self.settings.attempts {
                return Ok((trial, ran));
            }
            attempt += 1;
        }
    }

    /// Runs a trial once, valid or not.
    fn attempt(
        &mut self,
        traffic: &Traffic,
        plan: &Plan,
        bounds: (Option<f64>, Option<f64>),
    ) -> Result<(Trial, Ran), Stop> {
        let seconds = plan.phases.iter().map(|phase| phase.packets as f64 / phase.rate).sum();
        let rate = plan.packets() as f64 / seconds;
        self.notes.trial(rate, seconds, bounds);
        let at = self.clock.now();
        let ran = self.bench.trial(traffic, plan)?;
        let mut trial = plan.trial(&ran);
        (trial.at, trial.repeat) = (at, self.repeat);
        trial.judge(&self.settings.rules, &traffic.directions);
        trial.tester_bound = self.limit.is_some_and(|limit| is_tester_bound(trial.rate, limit));
        self.measurement.trials.push(trial.clone());
        self.look_at(&trial);
        if ran.interrupted {
            return Err(Stop::Interrupted);
        }
        Ok((trial, ran))
    }

    /// Marks what a reader has to know of a trial.
    fn look_at(&mut self, trial: &Trial) {
        let changed: u64 = trial.directions.iter().map(|counts| counts.changed).sum();
        if changed > 0 {
            let text = "packets came back changed: see the trials".to_string();
            self.measurement.mark(Mark::Other { text });
        }
    }

    /// The trial as a search sees it: one that was not offered its load does not pass.
    fn observe(&mut self, rate: f64, duration: f64, trial: &Trial) -> Observation {
        let mut seen = Observation { rate, duration, ..Observation::from(trial) };
        let not_offered = trial.faults.iter().any(|fault| {
            matches!(
                fault,
                Fault::SendingTime { .. } | Fault::Shortfall { .. } | Fault::Other { .. }
            )
        });
        if not_offered {
            seen.loss_ratio = seen.loss_ratio.max(NOT_OFFERED);
            self.measurement.mark(Mark::TesterBound);
        }
        seen
    }

    /// Adds the value of a repeat.
    fn value(&mut self, name: &str, unit: &str, value: f64) {
        self.measurement.series_mut(name, unit).values.push(value);
    }

    /// Highest load of searches: that of the link, or somewhat more than the tester can send
    /// through this device.
    fn highest(&mut self) -> Result<f64, Stop> {
        let line =
            self.settings.max_rate.unwrap_or(f64::INFINITY).min(self.bench.line_rate(self.traffic));
        if self.bench.is_simulated() {
            return Ok(line);
        }
        let sent = self.flood(20_000)?;
        let sent = self.flood((sent * 0.3).clamp(20_000.0, 5e6) as u64)?;
        // Rates beyond this only make invalid trials.
        Ok(line.min(sent * 1.2))
    }

    /// Sends as fast as the port takes packets; returns the rate.
    fn flood(&mut self, packets: u64) -> Result<f64, Stop> {
        let plan = self.plan_of(vec![Phase { rate: f64::INFINITY, packets }]);
        self.notes.trial(f64::INFINITY, 0.0, (None, None));
        let ran = self.bench.trial(self.traffic, &plan)?;
        if ran.interrupted {
            return Err(Stop::Interrupted);
        }
        let rate = |direction: Direction| {
            let side = ran.sides.iter().find(|side| side.counts.direction == direction)?;
            Some(side.counts.sent as f64 / side.counts.sending_time.max(1e-9))
        };
        let rates = self.traffic.directions.iter().filter_map(|&direction| rate(direction));
        Ok(rates.fold(f64::INFINITY, f64::min))
    }

    /// The load that was asked for, or the throughput: measured now if it is not known.
    fn throughput(&mut self) -> Result<f64, Stop> {
        if let Some(series) = self.measurement.series("throughput")
            && let Some(&rate) = series.values.last()
        {
            return Ok(rate);
        }
        let rate = rates::search(self)?;
        self.value("throughput", "pps", rate);
        if rate <= 0.0 {
            return Err(Stop::Failed(
                "the device has no throughput: it loses packets at each rate".into(),
            ));
        }
        Ok(rate)
    }

    /// The load of modes that need one: as asked for, else this share of the throughput.
    fn load(&mut self, share: f64) -> Result<f64, Stop> {
        match self.settings.rate {
            Some(rate) => Ok(rate),
            None => Ok(self.throughput()? * share),
        }
    }
}

#[cfg(feature = "tests")]
mod tests;
