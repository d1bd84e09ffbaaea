// SPDX-License-Identifier: Apache-2.0
//! `ping`: requests at an interval, a line for each answer, a summary.

use crate::probe::{MAX_SIZE, Target};
use crate::sessions::{Opened, Response, ResponseKind, Sessions};
use crate::text;
use cli::{Error, Matches, Output, Task, TaskState};
use graph::World;
use msg::retval;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub const USAGE: &str = "{<ip:ip> | ipv4 <ip4:ip4> | ipv6 <ip6:ip6>} [source <source:interface>] [size <size:0-65499>] \
     [interval <interval:f64>] [repeat <repeat:u32>] [table-id <table:u32>] [burst <burst:1-256>] [df] [verbose]";
const _: () = assert!(MAX_SIZE == 65_499);

/// Default bytes of data.
pub const SIZE: usize = 60;
/// TTL of the requests.
const TTL: u8 = 255;
/// Time to wait for the last answers, if the interval is shorter.
const PATIENCE: Duration = Duration::from_secs(1);
/// Interval between checks for answers.
const LOOK: Duration = Duration::from_millis(10);

/// When requests are sent.
pub struct Plan {
    /// From one round to the next.
    pub interval: Duration,
    /// Rounds.
    pub repeat: u32,
    /// Requests in a round.
    pub burst: u32,
}

/// A ping that goes on.
pub struct Ping {
    opened: Opened,
    target: Target,
    interval: Duration,
    repeat: u32,
    burst: u32,
    /// Rounds that were sent.
    rounds: u32,
    /// When the next round is sent, or after the last one, when the end is.
    due: Option<Duration>,
    /// When a sequence number was sent, on the instance's clock.
    sent: HashMap<u16, u64>,
    replies: u64,
    errors: u64,
    rtt: Rtt,
    answers: Vec<Value>,
    /// Text to print at the next poll.
    text: String,
    polled: Duration,
    cancelled: bool,
}

/// Round trips, in nanoseconds.
#[derive(Default)]
struct Rtt {
    min: Option<u64>,
    max: u64,
    sum: u64,
}

impl Rtt {
    fn add(&mut self, rtt: u64) {
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        self.max = self.max.max(rtt);
        self.sum += rtt;
    }
}

/// Answers that JSON lists at most; the counts go on.
const LISTED: usize = 1000;

pub fn ping(w: &World, m: &Matches) -> Result<Output, Error> {
    let plan = Plan {
        interval: interval(m.get("interval").unwrap_or(1.0)).map_err(m.at("interval"))?,
        repeat: m.get("repeat").unwrap_or(5),
        burst: m.get("burst").unwrap_or(1),
    };
    let target = Target::of(w, m, SIZE)?;
    let mut ping = Ping::new(w, target, plan);
    if m.flag("verbose") {
        let _ = writeln!(
            ping.text,
            "Source address: {}, identifier: {}, bytes of data: {}",
            target.from, ping.opened.session.id, target.size
        );
    }
    Ok(Output::task(ping))
}

/// A time in seconds.
///
/// # Errors
/// None of the kind (−7).
pub fn interval(seconds: f64) -> Result<Duration, Error> {
    let wrong = |e| Error::parse(format!("interval: {e}")).retval(retval::INVALID_VALUE);
    Duration::try_from_secs_f64(seconds).map_err(wrong)
}

impl Ping {
    /// Begins with the next poll.
    pub fn new(w: &World, target: Target, plan: Plan) -> Self {
        let Plan { interval, repeat, burst } = plan;
        Self {
            opened: w.get::<Sessions>().open(target.to, target.table),
            target,
            interval,
            repeat,
            burst,
            rounds: 0,
            due: None,
            sent: HashMap::new(),
            replies: 0,
            errors: 0,
            rtt: Rtt::default(),
            answers: Vec::new(),
            text: String::new(),
            polled: Duration::ZERO,
            cancelled: false,
        }
    }

    /// Requests that left, and answers that came.
    pub fn counts(&self) -> (u64, u64) {
        (self.count(), self.replies)
    }

    fn send(&mut self) {
        let Some(world) = self.opened.sessions.world() else { return };
        self.rounds += 1;
        let seq = self.rounds as u16;
        let now = world.clock.now();
        self.sent.insert(seq, now);
        let request = self.target.request(self.opened.session.id, seq, TTL, now);
        self.target.send(&world, &self.opened, vec![request; self.burst as usize]);
    }

    fn hear(&mut self, heard: Response) {
        let Response { at, from, kind, seq, len, ttl } = heard;
        let rtt = self.sent.get(&seq).map(|sent| at.saturating_sub(*sent));
        let ms = rtt.map_or(f64::NAN, |rtt| rtt as f64 / 1e6);
        // Writing to a String can't fail.
        match kind {
            ResponseKind::Reply => {
                self.replies += 1;
                self.rtt.add(rtt.unwrap_or_default());
                let _ = writeln!(
                    self.text,
                    "{len} bytes from {from}: icmp_seq={seq} ttl={ttl} time={ms:.4} ms"
                );
            }
            ResponseKind::Error(kind, code, rest) => {
                self.errors += 1;
                let _ = writeln!(
                    self.text,
                    "From {from}: icmp_seq={seq} {}",
                    text::error(from, kind, code, rest)
                );
            }
        }
        if self.answers.len() < LISTED {
            let error = match kind {
                ResponseKind::Reply => Value::Null,
                ResponseKind::Error(kind, code, rest) => text::error(from, kind, code, rest).into(),
            };
            self.answers.push(json!({
                "from": from.to_string(), "seq": seq, "ttl": ttl, "bytes": len, "rtt_ms": rtt.map(|_| ms), "error": error,
            }));
        }
    }

    /// Requests that really left.
    fn count(&self) -> u64 {
        let unsent = self.opened.session.unsent.load(Ordering::Relaxed);
        (u64::from(self.rounds) * u64::from(self.burst)).saturating_sub(unsent.into())
    }

    fn summary(&mut self) -> Output {
        let (sent, received) = (self.count(), self.replies);
        // A request to several hosts has several answers.
        let loss = sent.saturating_sub(received) as f64 * 100.0 / sent.max(1) as f64;
        let mut text = format!(
            "\nStatistics: {sent} sent, {received} received, {}% packet loss\n",
            text::short(loss)
        );
        let unsent = self.opened.session.unsent.load(Ordering::Relaxed);
        if unsent != 0 {
            let _ = writeln!(text, "{unsent} not sent: all buffers are in use");
        }
        let ms = |ns: u64| ns as f64 / 1e6;
        let rtt = self.rtt.min.map(|min| {
            json!({ "min": ms(min), "avg": ms(self.rtt.sum / received.max(1)), "max": ms(self.rtt.max) })
        });
        let json = json!({
            "destination": self.target.to.to_string(),
            "source": self.target.from.to_string(),
            "sent": sent,
            "received": received,
            "errors": self.errors,
            "unsent": unsent,
            "loss_percent": loss,
            "rtt_ms": rtt,
            "answers": std::mem::take(&mut self.answers),
        });
        Output::both(text, json)
    }
}

impl Task for Ping {
    fn poll(&mut self, now: Duration) -> TaskState {
        self.polled = now;
        while let Some(heard) = self.opened.session.take() {
            self.hear(heard);
        }
        let due = *self.due.get_or_insert(now);
        let all = self.rounds == self.repeat;
        if !self.text.is_empty() {
            return TaskState::Chunk(std::mem::take(&mut self.text));
        }
        if self.cancelled || all && (now >= due || self.replies >= self.count()) {
            return TaskState::Done(self.summary());
        }
        if !all && now >= due {
            self.send();
            let last = self.rounds == self.repeat;
            let pause = if last { self.interval.max(PATIENCE) } else { self.interval };
            self.due = Some(now.saturating_add(pause));
        }
        TaskState::Pending
    }

    fn cancel(&mut self) {
        self.cancelled = true;
    }

    fn wake_at(&self) -> Option<Duration> {
        self.due.map(|due| due.min(self.polled + LOOK))
    }
}
