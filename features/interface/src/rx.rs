// SPDX-License-Identifier: Apache-2.0
//! Receive queues: which thread polls them, and how.

use crate::control::{self, Poller};
use crate::set::named;
use cli::{Error, Matches, Output, Writer};
use graph::{InputMode, ThreadIndex, World};
use net::{Interface, Interfaces, RxQueue};
use serde_json::json;
use std::fmt::Write;

fn mode(m: &Matches) -> Option<InputMode> {
    match m.str("mode") {
        "polling" => Some(InputMode::Polling),
        "interrupt" => Some(InputMode::Interrupt),
        "adaptive" => Some(InputMode::Adaptive),
        _ => None,
    }
}

pub fn set_mode(w: &World, m: &Matches) -> Result<(), Error> {
    let (_, sw_if) = named(w, m)?;
    control::set_rx_mode(w, sw_if, m.opt("queue")?, mode(m)).map_err(m.at("queue"))
}

pub fn set_default_mode(w: &World, m: &Matches) -> Result<(), Error> {
    w.get::<Interfaces>().set_default_rx_mode(mode(m));
    Ok(())
}

pub fn show_default_mode(w: &World, _: &Matches) -> Result<Output, Error> {
    let mode = w.get::<Interfaces>().default_rx_mode().to_string();
    Ok(Output::both(format!("default rx-mode: {mode}\n"), json!({ "mode": mode })))
}

pub fn set_placement(w: &World, m: &Matches) -> Result<(), Error> {
    let (_, sw_if) = named(w, m)?;
    let poller = match m.opt("worker")? {
        Some(worker) => Poller::Worker(worker),
        None if m.flag("main") => Poller::Main,
        None => Poller::First,
    };
    control::set_rx_placement(w, sw_if, m.opt("queue")?, poller).map_err(|e| {
        let at = if e.is(msg::retval::INVALID_WORKER) { "worker" } else { "queue" };
        e.at(m.span(at))
    })
}

/// A thread in the words of `set interface rx-placement`.
pub fn thread_words(thread: ThreadIndex) -> String {
    match thread.0.checked_sub(1) {
        None => "main".into(),
        Some(worker) => format!("worker {worker}"),
    }
}

/// By thread and input node, as VPP shows it.
pub fn show_placement(w: &World, m: &Matches) -> Result<Output, Error> {
    let only = m.has("interface").then(|| named(w, m)).transpose()?.map(|(_, sw_if)| sw_if);
    let mut all = control::placements(w, only);
    all.sort_by_key(|(i, q)| (q.thread.0, i.device.input_node(), i.sw_if, q.queue));
    let (mut thread, mut node) = (None, "");
    Ok(Output::list(all, move |_: &World, (i, q): (Interface, RxQueue), out: &mut Writer| {
        let (name, input) = (graph::thread_name(q.thread), i.device.input_node());
        out.text(|text| {
            if thread.replace(q.thread) != Some(q.thread) {
                node = "";
                writeln!(text, "Thread {} ({name}):", q.thread.0)?;
            }
            if std::mem::replace(&mut node, input) != input {
                writeln!(text, " node {input}:")?;
            }
            writeln!(text, "    {} queue {} ({})", i.name, q.queue, q.mode)
        });
        out.value(|| {
            json!({
                "thread": q.thread.0,
                "name": name,
                "interface": i.name,
                "queue": q.queue,
                "mode": q.mode.to_string(),
                "node": input,
            })
        });
        Ok(())
    }))
}
