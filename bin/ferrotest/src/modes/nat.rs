// SPDX-License-Identifier: Apache-2.0
//! Devices that translate source addresses (RFC 9693). In the first phase the initiator, on the
//! left, opens sessions, and the responder keeps addresses and ports as it sees them; in the second
//! the responder answers by this table.

use std::sync::Arc;

use measure::search::{Binary, Next, Observation, Range};
use measure::{Direction, Trial};

use super::rates::{LEAST, range};
use super::{Measuring, Stop};
use crate::bench::{Bench, Traffic};
use crate::dut::change::Change;
use crate::engine::{Phase, Plan};
use crate::traffic::sessions::{Combinations, Pick, Tuple};

/// Longest trial of a search for the rate at which sessions open, in durations of a trial: all
/// sessions open in each, which takes hours at a thousandth of a high rate.
const LONGEST: f64 = 20.0;

/// First number of sessions of a search for the capacity.
const FIRST: u64 = 256;

impl Measuring<'_> {
    fn combinations(&self) -> Combinations {
        let all = Combinations::new(self.traffic.ports[0], self.traffic.seed);
        all.ordered(self.settings.orders.0)
    }

    fn one_way(&self, direction: Direction, pick: Pick) -> Traffic {
        let picks = match direction {
            Direction::Forward => [pick, Pick::Drawn],
            Direction::Reverse => [Pick::Drawn, pick],
        };
        Traffic { directions: vec![direction], picks, ..self.traffic.clone() }
    }

    /// First phase: opens sessions from an empty table on. Returns the trial, and the table.
    fn open(&mut self, count: u64, rate: f64) -> Result<(Trial, Arc<[Tuple]>), Stop> {
        let all = self.combinations();
        if count > all.total() {
            return Err(Stop::Failed(format!(
                "{count} sessions: the ports have {} combinations; --ports makes more",
                all.total()
            )));
        }
        let traffic = self.one_way(Direction::Forward, Pick::Each(all));
        let plan = self.plan_of(vec![Phase { rate, packets: count }]);
        let plan = Plan { keep_tuples: true, ..plan };
        let empty = |bench: &mut Bench, _| bench.change(Change::Clear).map(drop);
        let (trial, ran) = self.until_valid(&traffic, &plan, (None, None), empty)?;
        let side = ran.sides.into_iter().next();
        Ok((trial, side.map(|side| side.tuples).unwrap_or_default().into()))
    }

    /// Opens sessions of which none may be missing.
    fn fill(&mut self, count: u64) -> Result<Arc<[Tuple]>, Stop> {
        let rate = self.settings.session_rate;
        let (_, table) = self.open(count, rate)?;
        if table.len() as u64 == count {
            return Ok(table);
        }
        Err(Stop::Failed(format!(
            "{} of {count} sessions were opened at {rate} per second: expected all; a lower \
             --session-rate or fewer --sessions may do",
            table.len()
        )))
    }

    /// True if each session of the table lets an answer through.
    fn is_whole(&mut self, table: Arc<[Tuple]>, rate: f64) -> Result<bool, Stop> {
        if table.is_empty() {
            return Ok(false);
        }
        let plan = self.plan_of(vec![Phase { rate, packets: table.len() as u64 }]);
        let traffic = self.one_way(Direction::Reverse, Pick::Once(table));
        let (trial, _) = self.until_valid(&traffic, &plan, (None, None), |_, _| Ok(()))?;
        Ok(trial.lost() == 0 && trial.valid())
    }
}

/// Highest rate at which both directions of existing sessions lose no packet.
pub fn throughput(m: &mut Measuring<'_>) -> Result<(), Stop> {
    let (all, count) = (m.combinations(), m.settings.sessions);
    let max = m.highest()?;
    let mut search =
        Binary::new(range(max, m.settings.duration), m.settings.duration)?.width(m.settings.width);
    let rate = loop {
        match search.step() {
            Next::Run(ask) => {
                let table = m.fill(count.into())?;
                let picks = [Pick::Among(all, count), Pick::Of(table, m.settings.orders.1)];
                let traffic = Traffic { picks, ..m.traffic.clone() };
                let plan = m.plan(ask.rate, ask.duration);
                let (trial, _) = m.until_valid(&traffic, &plan, search.bounds(), |_, _| Ok(()))?;
                search.answer(&m.observe(ask.rate, ask.duration, &trial));
            }
            Next::Done(found) => break found.lower.unwrap_or(0.0),
        }
    };
    m.value("nat-throughput", "pps", rate);
    Ok(())
}

/// Highest rate at which each packet opens a session; all of them are tried by answers.
pub fn opened(m: &mut Measuring<'_>) -> Result<(), Stop> {
    let count = u64::from(m.settings.sessions);
    let max = m.highest()?;
    let seconds = |rate: f64| count as f64 / rate;
    let slowest = count as f64 / (LONGEST * m.settings.duration);
    let all = Range { min: (max * LEAST).max(slowest).min(max), max };
    let mut search = Binary::new(all, 1.0)?.width(m.settings.width);
    let rate = loop {
        match search.step() {
            Next::Run(ask) => {
                let (trial, table) = m.open(count, ask.rate)?;
                let mut seen: Observation = m.observe(ask.rate, seconds(ask.rate), &trial);
                if seen.loss_ratio == 0.0 && !m.is_whole(table, ask.rate / 2.0)? {
                    seen.loss_ratio = 1.0;
                }
                search.answer(&seen);
            }
            Next::Done(found) => break found.lower.unwrap_or(0.0),
        }
    };
    m.value("nat-cps", "1/s", rate);
    Ok(())
}

/// Most sessions that all let answers through: the number doubles until some don't, then the
/// interval is halved.
pub fn capacity(m: &mut Measuring<'_>) -> Result<(), Stop> {
    let rate = m.settings.session_rate;
    let most = m.combinations().total();
    let width = m.settings.width;
    let mut holds = |count: u64| -> Result<bool, Stop> {
        let (_, table) = m.open(count, rate)?;
        Ok(table.len() as u64 == count && m.is_whole(table, rate)?)
    };
    let (mut lower, mut upper, mut next) = (0, None, FIRST.min(most));
    loop {
        if holds(next)? {
            lower = next;
        } else {
            upper = Some(next);
        }
        next = match upper {
            None if lower == most => break,
            None => (lower * 2).min(most),
            Some(upper) if (upper - lower) as f64 <= (upper as f64 * width).max(1.0) => break,
            Some(upper) => lower.midpoint(upper),
        };
    }
    m.value("nat-capacity", "sessions", lower as f64);
    Ok(())
}

/// Sessions per second that are removed when the table is cleared.
pub fn removed(m: &mut Measuring<'_>) -> Result<(), Stop> {
    let count = m.settings.sessions;
    m.fill(count.into())?;
    let time = m.bench.change(Change::Clear)?;
    if time <= 0.0 {
        return Err(Stop::Failed("the table was cleared in no time".into()));
    }
    m.value("nat-teardown", "1/s", f64::from(count) / time);
    Ok(())
}
