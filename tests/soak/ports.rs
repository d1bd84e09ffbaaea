// SPDX-License-Identifier: Apache-2.0
//! The hosts: one thread for each port of the router sends, answers neighbour requests, and
//! verifies received frames.

use crate::plan::PORTS;
use crate::sink::{self, Seen};
use crate::traffic::{self, Bad, BadFrames, Kind};
use af_packet::{Config, HostInterface};
use netlink::Namespace;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use testkit::Rng;
use wire::offload::Offload;

/// Packets of each kind that every port sends in a round of calm traffic.
const CALM: usize = 16;
/// Faults that are kept.
const FAULTS: usize = 20;

/// State that all hosts share: settings, commands and counters.
#[derive(Default)]
pub struct Shared {
    pub seed: u64,
    /// Kinds that are sent: good ones, and bad ones by their indices.
    good: Vec<Kind>,
    bad_frames: Vec<usize>,
    /// Set once; all threads end.
    pub stop: AtomicBool,
    /// Good and bad traffic is sent.
    pub traffic: AtomicBool,
    /// A new number starts a round of good packets alone, a few of each kind.
    pub calm: AtomicU32,
    /// Ports that have sent their part of that round.
    pub calm_done: AtomicU32,
    /// By kind: packets sent, bytes of payload that have to arrive, and bytes that did.
    pub sent: [AtomicU64; Kind::ALL.len()],
    pub wanted: [AtomicU64; Kind::ALL.len()],
    pub verified: [AtomicU64; Kind::ALL.len()],
    /// Bytes of pieces that are too short to identify their packet.
    pub short: AtomicU64,
    /// Frames with verified pieces; frames of bad kinds that the kernel took; frames that it
    /// refused.
    pub frames: AtomicU64,
    pub bad: [AtomicU64; Bad::ALL.len()],
    pub refused: AtomicU64,
    /// Faults seen so far.
    faults: Mutex<Vec<String>>,
}

impl Shared {
    /// Sends the kinds of these names, or all.
    pub fn new(seed: u64, only: &[String]) -> Result<Shared, String> {
        let names = Kind::ALL
            .map(|kind| format!("{kind:?}"))
            .into_iter()
            .chain(Bad::ALL.map(|bad| format!("{bad:?}")));
        let names: Vec<_> = names.collect();
        if let Some(odd) = only.iter().find(|name| !names.contains(name)) {
            return Err(format!("there is no kind {odd}; there are {}", names.join(", ")));
        }
        let wanted = |name: String| only.is_empty() || only.contains(&name);
        let good = Kind::ALL.into_iter().filter(|kind| wanted(format!("{kind:?}"))).collect();
        let bad_frames =
            (0..Bad::ALL.len()).filter(|i| wanted(format!("{:?}", Bad::ALL[*i]))).collect();
        Ok(Shared { seed, good, bad_frames, ..Shared::default() })
    }

    pub fn fault(&self, why: String) {
        let mut faults = self.faults.lock().expect("no panic");
        if faults.len() < FAULTS {
            faults.push(why);
        }
    }

    pub fn faults(&self) -> Vec<String> {
        self.faults.lock().expect("no panic").clone()
    }

    pub fn has_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Sleeps for this time, or until the end.
    pub fn sleep(&self, time: Duration) {
        let start = std::time::Instant::now();
        while start.elapsed() < time && !self.has_stopped() {
            std::thread::sleep(Duration::from_millis(20).min(time));
        }
    }
}

/// The host at one port.
pub struct Port {
    at: usize,
    host: HostInterface,
    rng: Rng,
    bad_frames: BadFrames,
    number: u32,
    calm: u32,
}

impl Port {
    /// Takes the interface `hN` of the hosts' namespace.
    pub fn open(hosts: &Namespace, seed: u64, at: usize) -> io::Result<Port> {
        let config = Config { rx_frames: 2048, ..Config::new(format!("h{at}")) };
        let host = hosts.run(|| HostInterface::open(&config))?;
        let own = seed.wrapping_mul(31).wrapping_add(at as u64 + 1);
        Ok(Port {
            at,
            host,
            rng: Rng::new(own),
            bad_frames: BadFrames::new(own, at),
            number: 0,
            calm: 0,
        })
    }

    /// Until the end.
    pub fn run(mut self, shared: &Shared) {
        while !shared.has_stopped() {
            let busy = self.receive(shared) > 0;
            let round = shared.calm.load(Relaxed);
            if round != self.calm {
                self.calm = round;
                for kind in Kind::ALL {
                    for _ in 0..CALM {
                        self.send_good(kind, shared);
                        self.receive(shared);
                        std::thread::sleep(Duration::from_micros(500));
                    }
                }
                shared.calm_done.fetch_add(1, Relaxed);
            } else if shared.traffic.load(Relaxed) {
                self.send(shared);
                // Others need the cores as well: the router, its operators, and other tests.
                std::thread::sleep(Duration::from_millis(3));
            } else if !busy {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn send(&mut self, shared: &Shared) {
        if !shared.bad_frames.is_empty() && (shared.good.is_empty() || self.rng.one_in(3)) {
            let which = *self.rng.pick(&shared.bad_frames);
            let frames = self.bad_frames.burst(Bad::ALL[which]);
            let n = self.transmit(&frames, shared);
            shared.bad[which].fetch_add(n, Relaxed);
        } else {
            let kind = *self.rng.pick(&shared.good);
            for _ in 0..1 + self.rng.below(16) {
                self.send_good(kind, shared);
            }
        }
    }

    fn send_good(&mut self, kind: Kind, shared: &Shared) {
        let Some(good) = traffic::good(kind, shared.seed, self.at, &mut self.number, &mut self.rng)
        else {
            return;
        };
        let copies = u64::from(good.outputs.count_ones());
        shared.sent[kind as usize].fetch_add(1, Relaxed);
        shared.wanted[kind as usize].fetch_add(good.bytes as u64 * copies, Relaxed);
        self.transmit(&good.frames, shared);
    }

    fn transmit(&mut self, frames: &[(Offload, Vec<u8>)], shared: &Shared) -> u64 {
        let mut batch = self.host.tx[0].batch();
        for (offload, frame) in frames {
            batch.push(*offload, [&frame[..]]);
        }
        let report = batch.flush();
        shared.refused.fetch_add(frames.len() as u64 - report.sent, Relaxed);
        report.sent
    }

    /// Verifies what has come.
    fn receive(&mut self, shared: &Shared) -> usize {
        let (at, mut answers) = (self.at, Vec::new());
        let n = self.host.rx[0].recv(512, |frame| {
            let offload = frame.offload;
            frame.with_bytes(|bytes| match sink::look(shared.seed, bytes, offload, at) {
                Seen::Good(tag, bytes) => {
                    shared.frames.fetch_add(1, Relaxed);
                    match shared.verified.get(usize::from(tag.kind)) {
                        Some(verified) => drop(verified.fetch_add(bytes as u64, Relaxed)),
                        None => shared.fault(format!("a kind that isn't: {tag:?}")),
                    }
                }
                Seen::Question => answers.extend(traffic::answer(at, bytes)),
                Seen::Bad(why) => shared.fault(format!("port {at}: {why}")),
                Seen::Short(bytes) => drop(shared.short.fetch_add(bytes as u64, Relaxed)),
                Seen::Other => {}
            });
        });
        let answers: Vec<_> = answers.into_iter().map(|answer| (Offload::NONE, answer)).collect();
        if !answers.is_empty() {
            self.transmit(&answers, shared);
        }
        n
    }
}

/// Bytes of payload that have to arrive and that have arrived, by kind.
pub fn tally(shared: &Shared) -> Vec<(u64, u64)> {
    let load = |(a, b): (&AtomicU64, &AtomicU64)| (a.load(Relaxed), b.load(Relaxed));
    shared.wanted.iter().zip(&shared.verified).map(load).collect()
}

/// Good packets alone: within five rounds there has to be one for each kind of which nothing is
/// lost.
pub fn calm(shared: &Shared) -> Result<(), String> {
    let mut missing: Vec<Kind> = Kind::ALL.to_vec();
    let mut last = String::new();
    for _ in 0..5 {
        let (before, short) = (tally(shared), shared.short.load(Relaxed));
        shared.calm_done.store(0, Relaxed);
        shared.calm.fetch_add(1, Relaxed);
        let mut waited = 0;
        let lost = loop {
            std::thread::sleep(Duration::from_millis(50));
            waited += 1;
            let now = tally(shared);
            let lost = |kind: Kind| {
                let ((wanted, verified), (w, v)) = (now[kind as usize], before[kind as usize]);
                (wanted - w).saturating_sub(verified - v)
            };
            let mut lost: Vec<_> =
                missing.iter().map(|kind| (*kind, lost(*kind))).filter(|l| l.1 > 0).collect();
            let total: u64 = lost.iter().map(|l| l.1).sum();
            if total <= shared.short.load(Relaxed) - short {
                lost.clear();
            }
            let all_sent = shared.calm_done.load(Relaxed) as usize == PORTS;
            // Twenty seconds behind the last packet: the machine may be loaded.
            if all_sent && (lost.is_empty() || waited > 200)
                || waited > 1200
                || shared.has_stopped()
            {
                break lost;
            }
        };
        missing.retain(|kind| lost.iter().any(|(l, _)| l == kind));
        if missing.is_empty() {
            return Ok(());
        }
        last = lost
            .iter()
            .map(|(kind, bytes)| format!("{kind:?}: {bytes} bytes"))
            .collect::<Vec<_>>()
            .join(", ");
    }
    Err(format!("good packets alone were lost in five rounds out of five: {last}"))
}
