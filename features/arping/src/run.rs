// SPDX-License-Identifier: Apache-2.0
//! An arping that runs: for a command, which prints, and for a client of the API.

use crate::request::{Request, Sender};
use crate::waiters::{Opened, Waiters};
use cli::{Error, Output, Result, Task, TaskState, retval};
use graph::World;
use msg::Pending;
use serde_json::json;
use std::fmt::Write as _;
use std::time::Duration;
use wire::MacAddr;

/// An arping that runs. It ends when this is dropped.
pub struct Run {
    opened: Opened,
    sender: Sender,
    request: Request,
    /// Frames sent.
    sent: u32,
    /// When the next frame is sent, or after the last one, when the end is.
    due: Option<Duration>,
    cancelled: bool,
}

/// A step of a run.
enum Step {
    /// A frame was sent.
    Sent,
    Waits,
    Done,
}

/// Result of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answers {
    /// Number of replies.
    pub replies: u32,
    /// The stations that replied, with the number of each.
    pub stations: Vec<(MacAddr, u32)>,
}

impl Run {
    /// Begins with the next poll.
    ///
    /// # Errors
    /// Those of [`Sender::new`]; another arping runs on the interface (−7).
    pub fn new(world: &World, request: Request) -> Result<Self> {
        let sender = Sender::new(world, &request)?;
        let opened = world.get::<Waiters>().open(world, &request)?;
        Ok(Self { opened, sender, request, sent: 0, due: None, cancelled: false })
    }

    fn step(&mut self, now: Duration) -> Result<Step> {
        let due = *self.due.get_or_insert(now);
        if self.cancelled || self.sent == self.request.repeat && now >= due {
            return Ok(Step::Done);
        }
        if now < due {
            return Ok(Step::Waits);
        }
        let world = self.opened.world().filter(|_| self.opened.is_there());
        if !world.is_some_and(|world| self.sender.send(&world)) {
            let why = "the interface was deleted";
            return Err(Error::failed(why).retval(retval::INVALID_SW_IF_INDEX));
        }
        self.sent += 1;
        // The last replies have the same time as the others.
        self.due = Some(now.saturating_add(self.request.interval));
        Ok(Step::Sent)
    }

    /// The replies so far.
    pub fn answers(&self) -> Answers {
        let waiter = &self.opened.waiter;
        Answers { replies: waiter.replies(), stations: waiter.stations() }
    }

    fn summary(&self) -> Output {
        let Request { address, gratuitous, .. } = self.request;
        let Answers { replies, stations } = self.answers();
        let mut text = String::new();
        let name = self.sender.replies();
        for (mac, n) in &stations {
            // Writing to a String can't fail.
            let _ = writeln!(text, "Received {n} {name} from {mac} ({address})");
        }
        // Nobody has to answer an announcement.
        if stations.is_empty() && !gratuitous {
            text.push_str("Received 0 Reply\n");
        }
        let stations =
            stations.iter().map(|(mac, n)| json!({ "mac": mac.to_string(), "replies": n }));
        let json = json!({
            "address": address.to_string(),
            "sent": self.sent,
            "replies": replies,
            "stations": stations.collect::<Vec<_>>(),
        });
        Output::both(text, json)
    }
}

impl Task for Run {
    fn poll(&mut self, now: Duration) -> TaskState {
        match self.step(now) {
            Ok(Step::Sent) => {
                let (n, name, to) = (self.sent, self.sender.name(), self.request.address);
                TaskState::Chunk(format!("Sending {n} {name} to {to}\n"))
            }
            Ok(Step::Waits) => TaskState::Pending,
            Ok(Step::Done) => TaskState::Done(self.summary()),
            Err(error) => TaskState::Failed(error),
        }
    }

    fn cancel(&mut self) {
        self.cancelled = true;
    }

    fn wake_at(&self) -> Option<Duration> {
        self.due
    }
}

/// A run whose answers become a reply.
pub struct Reply(pub Run);

impl<R: From<Answers>> Pending<World, R> for Reply {
    fn poll(&mut self, _: &World, now: Duration) -> Option<Result<R>> {
        match self.0.step(now) {
            // One frame a poll: control has other work, too.
            Ok(Step::Sent | Step::Waits) => None,
            Ok(Step::Done) => Some(Ok(self.0.answers().into())),
            Err(error) => Some(Err(error)),
        }
    }

    fn wake_at(&self) -> Option<Duration> {
        self.0.due
    }
}
