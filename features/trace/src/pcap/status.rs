// SPDX-License-Identifier: Apache-2.0
//! The captures that run, and the result of the last one.

use super::{Captures, Running};
use cli::Output;
use graph::World;
use net::Interfaces;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The result of a capture.
#[derive(Clone, Debug)]
pub struct Summary {
    pub path: PathBuf,
    pub written: u64,
    pub lost: u64,
    /// Reason for an end by itself, with fewer packets than requested.
    pub ended: Option<String>,
    pub error: Option<String>,
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_empty() {
            write!(f, "no packet, so no file")?;
        } else {
            write!(f, "{} packets in {}", self.written, self.path.display())?;
        }
        if self.lost > 0 {
            write!(f, ", {} lost: they came faster than they were written", self.lost)?;
        }
        self.ended.as_ref().map_or(Ok(()), |why| write!(f, ", ended since {why}"))?;
        self.error.as_ref().map_or(Ok(()), |e| write!(f, ", ended by: {e}"))
    }
}

impl Summary {
    /// Nothing was captured, and there is no file.
    pub fn is_empty(&self) -> bool {
        self.written == 0 && self.error.is_none()
    }

    pub fn json(&self) -> Value {
        let file = (!self.is_empty()).then_some(&self.path);
        json!({
            "file": file,
            "packets": self.written,
            "lost": self.lost,
            "ended": self.ended,
            "error": self.error,
        })
    }
}

/// Status of the running captures, and of the last one.
pub fn status(world: &World) -> Output {
    let captures: Arc<Captures> = world.get();
    let inner = captures.inner();
    let last = inner.ended.back().map(|(_, summary)| summary);
    let (mut text, mut all) = (String::new(), Vec::new());
    for running in &inner.running {
        let (line, json) = of_running(world, running);
        text += &line;
        all.push(json);
    }
    if all.is_empty() {
        text = "No capture runs\n".into();
        text += &last.map_or(String::new(), |last| format!("last: {last}\n"));
    }
    let first = all.first().cloned().unwrap_or_default();
    let json = json!({ "running": first, "captures": all, "last": last.map(Summary::json) });
    Output::both(text, json)
}

/// A running capture, for people and for programs.
fn of_running(world: &World, running: &Running) -> (String, Value) {
    let left = running.meter.left.load(Ordering::Relaxed);
    let (plan, max) = (&running.plan, running.plan.limits.packets);
    let captured = max - left.min(max);
    let interface = plan.interface.map_or("any".to_string(), |i| world.get::<Interfaces>().name(i));
    let (words, lost) = (plan.on.words(), running.meter.lost.load(Ordering::Relaxed));
    let text = format!(
        "Capturing {}{} of {interface} to {}: {captured} of {max} packets, {} bytes of each, {lost} lost\n",
        words.join(" "),
        plan.reason.as_ref().map_or(String::new(), |reason| format!(" by {reason}")),
        running.path.display(),
        plan.limits.bytes,
    );
    let json = json!({
        "directions": words,
        "error": plan.reason,
        "interface": interface,
        "file": running.path,
        "packets": captured,
        "max": max,
        "bytes": plan.limits.bytes,
        "lost": lost,
    });
    (text, json)
}
