// SPDX-License-Identifier: Apache-2.0
//! One life of the daemon: configured or loaded, under load, checked when all is quiet, and ended.

use crate::clients::{self, Served};
use crate::operator::Operator;
use crate::plan;
use crate::ports::{self, Shared};
use fixture::{CliClient, Router};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use testkit::lab::Netns;

/// Maximum time until buffers are free: neighbours are solicited for some seconds, fragments wait
/// half a second.
const SETTLED: Duration = Duration::from_secs(60);

/// Buffers that threads keep at hand: each as many as the longest frame takes, once it has received
/// from a tap.
const AT_HAND: u64 = 3 * 33;
/// Longer than anything waits: for neighbours, or for further fragments.
const AT_REST: Duration = Duration::from_secs(5);

/// Totals of all lives of the daemon.
#[derive(Default)]
pub struct Record {
    /// Process ID of the running daemon.
    pub id: AtomicU32,
    pub lives: AtomicU64,
    pub killed: AtomicU64,
    pub commands: AtomicU64,
    /// Commands that were refused, with the reason.
    pub refused: Mutex<BTreeMap<String, u64>>,
    pub served: Served,
    /// Buffers in use before any bad traffic, and now.
    pub used: [AtomicU64; 2],
    /// Bytes resident after the first life, now, and at most.
    pub resident: [AtomicU64; 3],
    /// Log of all daemons that have ended.
    pub log: Mutex<String>,
}

/// The running daemon and its surroundings.
pub struct DaemonRun<'a> {
    pub router: Router,
    pub netns: &'a Netns,
    pub hosts: &'a Netns,
    pub seed: u64,
}

/// Bytes that a process holds in memory.
pub fn resident(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) << 10
}

/// Packet buffers in use, and of how many.
pub fn buffers(dir: &Path) -> Result<(u64, u64), String> {
    let mut session = CliClient::connect(&dir.join("cli.sock"), Duration::from_secs(60))?;
    let text = session.run("show buffers", true)??;
    let rows: serde_json::Value =
        serde_json::from_str(&text).map_err(|e| format!("show buffers: {e}"))?;
    let row = &rows[0];
    let number =
        |name: &str| row[name].as_u64().ok_or_else(|| format!("show buffers: no {name} in {text}"));
    Ok((number("used")?, number("total")?))
}

impl DaemonRun<'_> {
    fn dir(&self) -> &Path {
        self.router.dir()
    }

    fn show(&self, line: &str) -> Result<String, String> {
        let mut session =
            CliClient::connect(&self.dir().join("cli.sock"), Duration::from_secs(60))?;
        session.run(line, false)?.map_err(|e| format!("{line}: {e}"))
    }

    /// Runs operators and clients for this time; all of their changes are removed at the end.
    pub fn work(&self, time: Duration, shared: &Shared, record: &Record) -> Result<(), String> {
        let over = AtomicBool::new(false);
        let until = || over.load(Relaxed);
        let (dir, served) = (self.dir(), &record.served);
        let seed = self.seed.wrapping_add(record.lives.load(Relaxed));
        let start = Instant::now();
        let refused = std::thread::scope(|scope| {
            let operator = scope.spawn(|| {
                let socket = dir.join("cli.sock");
                let beside = (self.netns, self.hosts);
                let mut operator = Operator::connect(socket, seed, beside, &record.commands)?;
                let done = operator.work(shared, until).and_then(|()| operator.tidy());
                done.map(|()| operator.refused)
            });
            let clients = [
                scope.spawn(|| clients::api(dir, shared, served, until)),
                scope.spawn(|| clients::readers(dir, shared, served, until)),
                scope.spawn(|| clients::hostile(dir, seed, shared, served, until)),
            ];
            while start.elapsed() < time && !shared.has_stopped() && !operator.is_finished() {
                std::thread::sleep(Duration::from_millis(50));
            }
            over.store(true, Relaxed);
            for client in clients {
                if client.join().is_err() {
                    shared.fault("a client that behaves was not served".into());
                }
            }
            operator.join().unwrap_or_else(|_| Err("the operator panicked".into()))
        })?;
        let mut all = record.refused.lock().expect("no panic");
        for (why, n) in refused {
            *all.entry(why).or_default() += n;
        }
        Ok(())
    }

    /// When nothing is sent: good packets alone arrive, all buffers come back, and memory is as it
    /// was.
    pub fn quiet(&mut self, shared: &Shared, record: &Record, limit: u64) -> Result<(), String> {
        shared.traffic.store(false, Relaxed);
        ports::calm(shared)?;
        let used = self.settled(record.used[0].load(Relaxed) + AT_HAND)?;
        record.used[1].store(used, Relaxed);
        let now = resident(self.router.id());
        let [first, last, _] = &record.resident;
        last.store(now, Relaxed);
        let first =
            first.compare_exchange(0, now, Relaxed, Relaxed).map_or_else(|first| first, |_| now);
        if now > (first + first / 2 + (64 << 20)).max(limit) {
            return Err(format!(
                "it grows: {} MiB resident, after the first life {}",
                now >> 20,
                first >> 20
            ));
        }
        if self.router.is_running() { Ok(()) } else { Err("the daemon has ended".into()) }
    }

    /// Waits until no more buffers than these are in use.
    fn settled(&self, most: u64) -> Result<u64, String> {
        let start = Instant::now();
        loop {
            let (used, _) = buffers(self.dir())?;
            if used <= most {
                return Ok(used);
            }
            if start.elapsed() > SETTLED {
                let held =
                    self.show("show buffers verbose").or_else(|_| self.show("show buffers"))?;
                let errors = self.show("show errors")?;
                return Err(format!(
                    "{used} buffers are in use, expected at most {most}\n{held}\n{errors}"
                ));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Saves, ends the daemon or kills it while packets come, starts it, and compares what it was
    /// with what it is.
    pub fn restart(&mut self, kill: bool, record: &Record) -> Result<(), String> {
        self.show("save")?;
        let before = self.show("show running-config")?;
        *record.log.lock().expect("no panic") += &self.router.log();
        if kill {
            self.router.kill();
            record.killed.fetch_add(1, Relaxed);
        } else {
            // It has to end well: anything else panics, with its log.
            drop(self.router.end());
        }
        self.router.restart();
        record.id.store(self.router.id(), Relaxed);
        let after = self.show("show running-config")?;
        if before != after {
            return Err(format!(
                "the configuration after a restart is another:\n{}",
                difference(&before, &after)
            ));
        }
        Ok(())
    }

    /// Makes the router of the plan, and sees how many buffers are in use when it has carried some
    /// packets.
    pub fn configure(&self, shared: &Shared, record: &Record) -> Result<(), String> {
        record.id.store(self.router.id(), Relaxed);
        drop(self.router.script(&plan::configuration()));
        ports::calm(shared)?;
        let (mut used, mut since) = (u64::MAX, Instant::now());
        while since.elapsed() < AT_REST {
            let (now, _) = buffers(self.dir())?;
            if now != used {
                (used, since) = (now, Instant::now());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        record.used[0].store(used, Relaxed);
        Ok(())
    }
}

/// Lines that are in one text only.
fn difference(before: &str, after: &str) -> String {
    let only = |a: &str, b: &str, sign| -> String {
        let others: Vec<_> = b.lines().collect();
        a.lines()
            .filter(|line| !others.contains(line))
            .map(|line| format!("{sign}{line}\n"))
            .collect()
    };
    only(before, after, '-') + &only(after, before, '+')
}
