// SPDX-License-Identifier: Apache-2.0
//! Trials in simulated time against impairment stages: exact, and as fast as they can be computed.

use std::cell::RefCell;
use std::rc::Rc;

use measure::Direction;

use super::receiver::Receiver;
use super::schedule::Schedule;
use super::sender::{Sender, Turn};
use super::{Plan, Ran, Side};
use crate::lab::End;
use crate::port::nat::Nat;
use crate::port::stage::{Impairment, Stage, StageRx, StageTx};
use crate::traffic::{Flow, Generator};

struct Line {
    direction: Direction,
    stage: Rc<RefCell<Stage>>,
    sender: Sender<StageTx>,
    receiver: Receiver<StageRx>,
    /// Time of the sender's next turn; `None` when it is done.
    turn: Option<u64>,
}

/// Runs a trial through a stage for each direction.
///
/// # Errors
/// The plan or the frames can't be.
pub fn run(
    plan: &Plan,
    flows: &[(Direction, Flow)],
    settings: Impairment,
    nat: &Rc<RefCell<Nat>>,
) -> Result<Ran, String> {
    plan.check()?;
    let duration = Schedule::new(&plan.phases).duration();
    let mut lines = Vec::new();
    nat.borrow_mut().begin();
    for (direction, flow) in flows {
        let stream = plan.stream(*direction);
        let stage =
            Rc::new(RefCell::new(Stage::new(settings, End::source(*direction), nat.clone())));
        if let Some(event) = plan.event {
            stage.borrow_mut().stop((event.at * 1e9) as u64, settings.time_of(event.change));
        }
        let generator = Generator::new(flow, stream)?;
        let schedule = Schedule::new(&plan.phases);
        let deadline = plan.deadline(duration);
        let checker = plan.checker(*direction);
        lines.push(Line {
            direction: *direction,
            sender: Sender::new(StageTx(stage.clone()), generator, schedule, 0, deadline),
            receiver: Receiver::new(StageRx(stage.clone()), checker, None),
            stage,
            turn: Some(0),
        });
    }
    let mut now = 0;
    // The next event: a packet that is due, or one that leaves a stage.
    while let Some(next) = lines.iter().filter_map(Line::next).min() {
        now = now.max(next);
        lines.iter_mut().for_each(|line| line.run(now));
    }
    let sides = lines
        .into_iter()
        .map(|line| {
            let sent = line.sender.result();
            Side::new(line.direction, plan, sent, &line.receiver.finish().0, 0)
        })
        .collect();
    let event = plan.event.map(|event| settings.time_of(event.change) as f64 / 1e9);
    Ok(Ran { sides, seconds: now as f64 / 1e9, event, steal: 0.0, interrupted: false })
}

impl Line {
    fn next(&self) -> Option<u64> {
        self.turn.into_iter().chain(self.stage.borrow().next()).min()
    }

    fn run(&mut self, now: u64) {
        if self.stage.borrow().next().is_some_and(|at| at <= now) {
            self.receiver.turn(now);
        }
        if self.turn.is_some_and(|at| at <= now) {
            self.turn = match self.sender.turn(now) {
                Turn::Done => None,
                Turn::Wait(at) | Turn::Full(at) => Some(at.max(now + 1)),
            };
        }
    }
}
