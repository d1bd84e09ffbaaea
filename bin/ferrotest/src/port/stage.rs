// SPDX-License-Identifier: Apache-2.0
//! Impairment stage: a device inside the tester whose behaviour is known exactly, in simulated
//! time. The modes have to find what it was set to.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::rc::Rc;

use super::nat::{Limits, Nat};
use super::{Rx, Taken, Tx};
use crate::dut::change::Change;
use crate::lab::End;
use crate::traffic::size::{FCS, GAP};

/// A share of packets: exactly `n` of each `of`, spread evenly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Exactly {
    /// Packets concerned.
    pub n: u32,
    /// Of so many.
    pub of: u32,
}

impl Exactly {
    /// True if packet `count` is concerned.
    fn hits(self, count: u64) -> bool {
        let (n, of) = (u64::from(self.n), u64::from(self.of.max(1)));
        // The multiples of n that pass a multiple of `of`.
        (count + 1) * n / of > count * n / of
    }
}

/// Changes that a stage makes to packets. Times are in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Impairment {
    /// Packets that are dropped.
    pub drop: Exactly,
    /// Packets that come out twice.
    pub duplicate: Exactly,
    /// Packets that are overtaken by those of the next millisecond.
    pub reorder: Exactly,
    /// Packets of which a byte is changed.
    pub change: Exactly,
    /// Delay of each packet.
    pub delay: u64,
    /// Delay of up to this beside it, uniformly distributed.
    pub jitter: u64,
    /// Packets per second that pass; infinite: all.
    pub rate: f64,
    /// Packets that wait when more come.
    pub queue: u64,
    /// Time after an overload for which every second packet is still dropped.
    pub congestion: u64,
    /// Time that a restart takes.
    pub restart: u64,
    /// Time for which a load of routes stops forwarding.
    pub reconfig: u64,
    /// Bits per second of the links to the stage.
    pub link: f64,
    /// Exponents with which the rate grows with workers, flows and routes.
    pub growth: Growth,
    /// Limits of a translation of source addresses.
    pub nat: Option<Limits>,
}

/// Exponents: n workers have n^x times the rate of one.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Growth {
    /// Of workers.
    pub workers: f64,
    /// Of flows.
    pub flows: f64,
    /// Of routes.
    pub routes: f64,
}

impl Default for Impairment {
    fn default() -> Self {
        Self {
            drop: Exactly::default(),
            duplicate: Exactly::default(),
            reorder: Exactly::default(),
            change: Exactly::default(),
            delay: 0,
            jitter: 0,
            rate: f64::INFINITY,
            queue: 16,
            congestion: 0,
            restart: 50_000_000,
            reconfig: 0,
            link: 10e9,
            growth: Growth::default(),
            nat: None,
        }
    }
}

impl Impairment {
    /// The same with the rate that it has for these numbers.
    pub fn grown(self, workers: u32, flows: u64, routes: u32) -> Self {
        let Growth { workers: w, flows: f, routes: r } = self.growth;
        let factor = f64::from(workers.max(1)).powf(w)
            * (flows.max(1) as f64).powf(f)
            * f64::from(routes.max(1)).powf(r);
        Self { rate: self.rate * factor, ..self }
    }

    /// Time for which a change of the device stops it.
    pub fn time_of(&self, change: Change) -> u64 {
        match change {
            Change::Restart => self.restart,
            Change::Add(_) | Change::Delete(_) => self.reconfig,
            // By the number of sessions: see `Bench::change`.
            Change::Clear => 0,
        }
    }
}

/// Time by which an overtaken packet is late.
const OVERTAKEN: u64 = 1_000_000;

/// One direction of a stage.
#[derive(Debug)]
pub struct Stage {
    settings: Impairment,
    /// End from which packets come.
    from: End,
    nat: Rc<RefCell<Nat>>,
    /// Packets inside: time of arrival at the receiver, order of arrival here, bytes.
    inside: BinaryHeap<Reverse<(u64, u64, Vec<u8>)>>,
    /// Memory of packets that have left.
    spare: Vec<Vec<u8>>,
    count: u64,
    order: u64,
    /// Time at which the server is free.
    served: f64,
    /// The same if no packet were dropped for congestion: load beyond the rate keeps it full.
    pressed: f64,
    congested_until: u64,
    down: Option<(u64, u64)>,
    /// Time at which the link is free.
    link_free: f64,
}

impl Stage {
    /// A stage at rest.
    pub fn new(settings: Impairment, from: End, nat: Rc<RefCell<Nat>>) -> Self {
        Self {
            settings,
            from,
            nat,
            inside: BinaryHeap::new(),
            spare: Vec::new(),
            count: 0,
            order: 0,
            served: 0.0,
            pressed: 0.0,
            congested_until: 0,
            down: None,
            link_free: 0.0,
        }
    }

    /// Stops forwarding at `at`, for this time.
    pub fn stop(&mut self, at: u64, time: u64) {
        self.down = Some((at, at + time));
    }

    /// Time at which the next packet leaves.
    pub fn next(&self) -> Option<u64> {
        self.inside.peek().map(|Reverse((at, ..))| *at)
    }

    /// A packet comes in.
    fn enter(&mut self, now: u64, frame: &[u8]) {
        let settings = self.settings;
        let count = self.count;
        self.count += 1;
        let is_down = self.down.is_some_and(|(from, to)| (from..to).contains(&now));
        if is_down || settings.drop.hits(count) {
            return;
        }
        let mut at = now as f64;
        if settings.rate.is_finite() {
            let service = 1e9 / settings.rate;
            // The packet in service is not in the queue.
            let room = at + (settings.queue as f64 + 1.0) * service + 1e-3 * service;
            let pressed = self.pressed.max(at) + service;
            if pressed > room {
                self.congested_until = now + settings.congestion;
            } else {
                self.pressed = pressed;
            }
            let served = self.served.max(at) + service;
            if served > room || now < self.congested_until && count.is_multiple_of(2) {
                return;
            }
            self.served = served;
            at = served;
        }
        // Multiples of an irrational number are uniform, and the same each time.
        let fraction = (count as f64 * 0.618_033_988_749_894_9).fract();
        let mut out = at as u64 + settings.delay + (settings.jitter as f64 * fraction) as u64;
        if settings.reorder.hits(count) {
            out += OVERTAKEN;
        }
        let translated = settings.nat.map(|limits| {
            let mut frame = frame.to_vec();
            let passes = self.nat.borrow_mut().translate(now, self.from, limits, &mut frame);
            passes.then_some(frame)
        });
        let frame = match &translated {
            Some(Some(translated)) => translated,
            Some(None) => return,
            None => frame,
        };
        let copies = 1 + usize::from(settings.duplicate.hits(count));
        for _ in 0..copies {
            let mut bytes = self.spare.pop().unwrap_or_default();
            bytes.clear();
            bytes.extend_from_slice(frame);
            if settings.change.hits(count) {
                // The first byte of the filler, or of the payload.
                let at = bytes.len().saturating_sub(crate::traffic::signature::LEN + 1);
                bytes[at] ^= 0x55;
            }
            self.inside.push(Reverse((out, self.order, bytes)));
            self.order += 1;
        }
    }
}

/// Sending end of a stage.
#[derive(Clone, Debug)]
pub struct StageTx(pub Rc<RefCell<Stage>>);

/// Receiving end of a stage.
#[derive(Clone, Debug)]
pub struct StageRx(pub Rc<RefCell<Stage>>);

impl Tx for StageTx {
    fn send<'d>(&mut self, now: u64, frames: impl Iterator<Item = &'d [u8]>) -> Taken {
        let stage = &mut *self.0.borrow_mut();
        let mut taken = Taken::default();
        // A frame is on the link for its length, then it is in the stage.
        for frame in frames {
            if stage.link_free > now as f64 + 1.0 {
                break;
            }
            let bits = (frame.len() + FCS) as f64 * 8.0 + GAP as f64 * 8.0;
            stage.link_free = stage.link_free.max(now as f64) + bits * 1e9 / stage.settings.link;
            stage.enter(now, frame);
            taken.sent += 1;
        }
        taken
    }

    fn ready_at(&self, now: u64) -> u64 {
        (self.0.borrow().link_free as u64).max(now + 1)
    }
}

impl Rx for StageRx {
    fn receive(&mut self, now: u64, max: usize, mut f: impl FnMut(&[u8])) -> usize {
        let stage = &mut *self.0.borrow_mut();
        let mut count = 0;
        while count < max
            && stage.next().is_some_and(|at| at <= now)
            && let Some(Reverse((_, _, bytes))) = stage.inside.pop()
        {
            f(&bytes);
            stage.spare.push(bytes);
            count += 1;
        }
        count
    }
}

impl std::str::FromStr for Impairment {
    type Err = String;

    /// Reads `drop=1/100,delay=50us,rate=100000`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut this = Self::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let known = match name {
                "drop" => exactly(value).map(|v| this.drop = v),
                "duplicate" => exactly(value).map(|v| this.duplicate = v),
                "reorder" => exactly(value).map(|v| this.reorder = v),
                "change" => exactly(value).map(|v| this.change = v),
                "delay" => nanoseconds(value).map(|v| this.delay = v),
                "jitter" => nanoseconds(value).map(|v| this.jitter = v),
                "congestion" => nanoseconds(value).map(|v| this.congestion = v),
                "restart" => nanoseconds(value).map(|v| this.restart = v),
                "reconfig" => nanoseconds(value).map(|v| this.reconfig = v),
                "rate" => positive(value).map(|v| this.rate = v),
                "link" => positive(value).map(|v| this.link = v),
                "by-workers" => exponent(value).map(|v| this.growth.workers = v),
                "by-flows" => exponent(value).map(|v| this.growth.flows = v),
                "by-routes" => exponent(value).map(|v| this.growth.routes = v),
                "nat" => limits(value).map(|v| this.nat = Some(v)),
                "queue" => value.parse().ok().map(|v| this.queue = v),
                _ => {
                    return Err(format!(
                        "impairment `{name}': expected drop, duplicate, reorder, change (N/OF), \
                         delay, jitter, congestion, restart, reconfig (such as 50us), rate \
                         (packets per second), queue (packets), link (bits per second), \
                         by-workers, by-flows or by-routes (exponents), or nat \
                         (SESSIONS:OPENED:REMOVED, the last two per second)"
                    ));
                }
            };
            known.ok_or_else(|| {
                format!(
                    "impairment {name}: `{value}' is no value; try drop=1/100, delay=50us, rate=1e5"
                )
            })?;
        }
        Ok(this)
    }
}

impl fmt::Display for Impairment {
    /// Writes what [`std::str::FromStr`] reads, without defaults.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |Exactly { n, of }: Exactly| format!("{n}/{of}");
        let usual = Self::default();
        let nat = self.nat.map_or(String::new(), |Limits { sessions, opened, removed }| {
            format!("{sessions}:{opened}:{removed}")
        });
        let all = [
            ("drop", share(self.drop), share(usual.drop)),
            ("duplicate", share(self.duplicate), share(usual.duplicate)),
            ("reorder", share(self.reorder), share(usual.reorder)),
            ("change", share(self.change), share(usual.change)),
            ("delay", time(self.delay), time(usual.delay)),
            ("jitter", time(self.jitter), time(usual.jitter)),
            ("rate", self.rate.to_string(), usual.rate.to_string()),
            ("queue", self.queue.to_string(), usual.queue.to_string()),
            ("congestion", time(self.congestion), time(usual.congestion)),
            ("restart", time(self.restart), time(usual.restart)),
            ("reconfig", time(self.reconfig), time(usual.reconfig)),
            ("link", self.link.to_string(), usual.link.to_string()),
            ("by-workers", self.growth.workers.to_string(), "0".into()),
            ("by-flows", self.growth.flows.to_string(), "0".into()),
            ("by-routes", self.growth.routes.to_string(), "0".into()),
            ("nat", nat, String::new()),
        ];
        let set = all.iter().filter(|(_, value, usual)| value != usual);
        let words: Vec<_> = set.map(|(name, value, _)| format!("{name}={value}")).collect();
        f.write_str(&words.join(","))
    }
}

/// A time in the largest unit that needs no fraction.
fn time(nanoseconds: u64) -> String {
    match nanoseconds {
        n if n.is_multiple_of(1_000_000) => format!("{}ms", n / 1_000_000),
        n if n.is_multiple_of(1000) => format!("{}us", n / 1000),
        n => format!("{n}ns"),
    }
}

fn exactly(text: &str) -> Option<Exactly> {
    let (n, of) = text.split_once('/')?;
    let (n, of) = (n.parse().ok()?, of.parse().ok()?);
    (n <= of && of > 0).then_some(Exactly { n, of })
}

fn limits(text: &str) -> Option<Limits> {
    let (sessions, rest) = text.split_once(':')?;
    let (opened, removed) = rest.split_once(':')?;
    let (opened, removed) = (positive(opened)?, positive(removed)?);
    Some(Limits { sessions: sessions.parse().ok()?, opened, removed })
}

fn exponent(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| value.abs() <= 10.0)
}

fn positive(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| *value > 0.0)
}

/// A time with its unit: `50us`, `1.5ms`, `2s`, `800ns`.
pub fn nanoseconds(text: &str) -> Option<u64> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let (number, unit) =
        units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    let value = number.parse::<f64>().ok()? * unit;
    (0.0..=1e15).contains(&value).then_some(value.round() as u64)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn shares_are_exact() {
        for (n, of) in [(1, 100), (3, 7), (0, 5), (5, 5), (1, 1)] {
            let hits = (0..u64::from(of) * 50).filter(|&i| Exactly { n, of }.hits(i)).count();
            assert_eq!(hits as u32, n * 50, "{n}/{of}");
        }
    }

    #[suite::test]
    fn reads_impairments() {
        let read: Impairment =
            "drop=1/100,delay=50us,rate=1e5,queue=512,jitter=1.5ms".parse().unwrap();
        let expected = Impairment {
            drop: Exactly { n: 1, of: 100 },
            delay: 50_000,
            rate: 1e5,
            queue: 512,
            jitter: 1_500_000,
            ..Impairment::default()
        };
        assert_eq!(read, expected);
        for bad in ["drop=2/1", "drop=1", "delay=5", "rate=0", "speed=1", "queue=-1"] {
            assert!(bad.parse::<Impairment>().is_err(), "{bad}");
        }
    }

    #[suite::test]
    fn impairments_are_written_as_they_are_read() {
        for text in [
            "",
            "drop=1/100,delay=50us,jitter=1500ns,rate=100000,queue=512",
            "duplicate=1/50,reorder=1/9,change=3/7,congestion=20ms,restart=120ms,link=100000000",
            "rate=1000,reconfig=3ms,by-workers=0.9,by-flows=-0.2,by-routes=-0.1",
            "delay=1us,nat=4000:10000:50000",
        ] {
            let read: Impairment = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
        }
    }

    #[suite::test]
    fn a_queue_holds_what_it_is_said_to() {
        let settings = Impairment { rate: 1e6, queue: 10, ..Impairment::default() };
        let stage = Rc::new(RefCell::new(Stage::new(settings, End::Left, Rc::default())));
        for n in 0..50_u8 {
            stage.borrow_mut().enter(0, &[n; 60]);
        }
        let (mut rx, mut got) = (StageRx(stage.clone()), Vec::new());
        rx.receive(u64::MAX, 100, |frame| got.push(frame[0]));
        // one in service and ten that wait
        assert_eq!(got, (0..11).collect::<Vec<_>>());
    }
}
