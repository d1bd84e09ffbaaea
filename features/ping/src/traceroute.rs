// SPDX-License-Identifier: Apache-2.0
//! `traceroute`: requests with a growing TTL; the routers on the path answer.

use crate::probe::Target;
use crate::sessions::{Opened, Response, ResponseKind, Sessions};
use crate::text;
use cli::{Error, Matches, Output, Task, TaskState};
use graph::World;
use serde_json::{Value, json};
use std::fmt::Write;
use std::net::IpAddr;
use std::time::Duration;

pub const USAGE: &str = "{<ip:ip> | ipv4 <ip4:ip4> | ipv6 <ip6:ip6>} [icmp] [source <source:interface>] [table-id <table:u32>] \
     [max-hops <hops:1-255>] [repeat <repeat:1-255>] [size <size:0-65499>] [interval <interval:f64>]";

struct Traceroute {
    opened: Opened,
    target: Target,
    /// Time to wait for answers of one hop.
    interval: Duration,
    repeat: u8,
    max: u8,
    hop: u8,
    /// When the hop's requests were sent, on the instance's clock.
    sent: u64,
    /// The hop's answers, by request.
    heard: Vec<Option<Response>>,
    /// When the hop is given up.
    until: Option<Duration>,
    reached: bool,
    /// The end of the path was found, whether it is the destination or not.
    over: bool,
    hops: Vec<Value>,
}

pub fn traceroute(w: &World, m: &Matches) -> Result<Output, Error> {
    let interval: f64 = m.get("interval").unwrap_or(1.0);
    let interval = crate::ping::interval(interval).map_err(m.at("interval"))?;
    let target = Target::of(w, m, 120)?;
    Ok(Output::task(Traceroute {
        target,
        opened: w.get::<Sessions>().open(target.to, target.table),
        interval,
        repeat: m.get("repeat").unwrap_or(3),
        max: m.get("hops").unwrap_or(30),
        hop: 0,
        sent: 0,
        heard: Vec::new(),
        until: None,
        reached: false,
        over: false,
        hops: Vec::new(),
    }))
}

impl Traceroute {
    /// Sends the next hop's requests.
    fn next(&mut self, now: Duration) {
        let Some(world) = self.opened.sessions.world() else { return };
        self.hop += 1;
        self.sent = world.clock.now();
        self.heard = vec![None; self.repeat.into()];
        self.until = Some(now.saturating_add(self.interval));
        let requests = (0..self.repeat).map(|i| {
            let seq = u16::from_be_bytes([self.hop, i]);
            self.target.request(self.opened.session.id, seq, self.hop, self.sent)
        });
        self.target.send(&world, &self.opened, requests.collect());
    }

    fn hear(&mut self, heard: Response) {
        let [hop, i] = heard.seq.to_be_bytes();
        // A late answer to an earlier hop proves nothing about this one.
        if let (true, Some(slot @ None)) = (hop == self.hop, self.heard.get_mut(usize::from(i))) {
            *slot = Some(heard);
            self.reached |= heard.kind == ResponseKind::Reply;
            self.over |= !heard.is_time_exceeded();
        }
    }

    /// The hop's line, and the same for programs.
    fn close(&mut self) -> String {
        self.until = None;
        let mut line = format!("{}: ", self.hop);
        let mut last: Option<IpAddr> = None;
        let mut answers = Vec::new();
        for heard in &self.heard {
            let Some(h) = heard else {
                line += "*\t";
                answers.push(Value::Null);
                continue;
            };
            let ms = h.at.saturating_sub(self.sent) as f64 / 1e6;
            // Writing to a String can't fail.
            if last != Some(h.from) {
                let _ = write!(line, "{}:\t", h.from);
                last = Some(h.from);
            }
            let _ = write!(line, "{ms:.4}\t");
            let error = match h.kind {
                ResponseKind::Error(kind, code, rest) if !h.is_time_exceeded() => {
                    let error = text::error(h.from, kind, code, rest);
                    let _ = write!(line, "({error})\t");
                    Some(error)
                }
                _ => None,
            };
            answers.push(json!({ "from": h.from.to_string(), "rtt_ms": ms, "error": error }));
        }
        self.hops.push(json!({ "hop": self.hop, "answers": answers }));
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    }

    fn done(&mut self) -> TaskState {
        let json = json!({
            "destination": self.target.to.to_string(),
            "source": self.target.from.to_string(),
            "reached": self.reached,
            "hops": std::mem::take(&mut self.hops),
        });
        let text = if self.reached { "" } else { "The destination was not reached.\n" };
        TaskState::Done(Output::both(text, json))
    }
}

impl Task for Traceroute {
    fn poll(&mut self, now: Duration) -> TaskState {
        while let Some(heard) = self.opened.session.take() {
            self.hear(heard);
        }
        match self.until {
            Some(until) if now < until && self.heard.iter().any(Option::is_none) => {
                TaskState::Pending
            }
            Some(_) => TaskState::Chunk(self.close()),
            None if self.over || self.hop >= self.max => self.done(),
            None => {
                self.next(now);
                TaskState::Pending
            }
        }
    }

    fn cancel(&mut self) {
        (self.max, self.until) = (self.hop, self.until.map(|_| Duration::ZERO));
    }
}
