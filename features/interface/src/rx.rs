// SPDX-License-Identifier: Apache-2.0
//! Receive queues: which thread polls them, and how.

use crate::control::{self, Poller};
use crate::set::named;
use cli::{Error, Matches, Output, Table, Writer};
use graph::{InputMode, ThreadIndex, World};
use net::Interfaces;
use serde_json::json;

fn mode(m: &Matches) -> Option<InputMode> {
    match m.str("mode") {
        "polling" => Some(InputMode::Polling),
        "interrupt" => Some(InputMode::Interrupt),
        "adaptive" => Some(InputMode::Adaptive),
        _ => None,
    }
}

pub fn set_mode(w: &World, m: &Matches) -> Result<Output, Error> {
    let (_, sw_if) = named(w, m)?;
    control::set_rx_mode(w, sw_if, m.opt("queue")?, mode(m)).map_err(|e| e.at(m.span("queue")))?;
    Ok(Output::empty())
}

pub fn set_default_mode(w: &World, m: &Matches) -> Result<Output, Error> {
    w.get::<Interfaces>().set_default_rx_mode(mode(m));
    Ok(Output::empty())
}

pub fn show_default_mode(w: &World, _: &Matches) -> Result<Output, Error> {
    let mode = w.get::<Interfaces>().default_rx_mode().to_string();
    Ok(Output::both(format!("default rx-mode: {mode}\n"), json!({ "mode": mode })))
}

pub fn set_placement(w: &World, m: &Matches) -> Result<Output, Error> {
    let (_, sw_if) = named(w, m)?;
    let poller = match m.opt("worker")? {
        Some(worker) => Poller::Worker(worker),
        None if m.flag("main") => Poller::Main,
        None => Poller::First,
    };
    control::set_rx_placement(w, sw_if, m.opt("queue")?, poller).map_err(|e| {
        let at = if e.code() == msg::retval::INVALID_WORKER { "worker" } else { "queue" };
        e.at(m.span(at))
    })?;
    Ok(Output::empty())
}

/// A thread in the words of `set interface rx-placement`.
pub fn thread_words(thread: ThreadIndex) -> String {
    match thread.0.checked_sub(1) {
        None => "main".into(),
        Some(worker) => format!("worker {worker}"),
    }
}

/// The name of a thread as VPP's commands write it.
fn thread_name(thread: ThreadIndex) -> String {
    match thread.0.checked_sub(1) {
        None => "main".into(),
        Some(worker) => format!("wk_{worker}"),
    }
}

pub fn show_placement(w: &World, m: &Matches) -> Result<Output, Error> {
    let only = m.has("interface").then(|| named(w, m)).transpose()?.map(|(_, sw_if)| sw_if);
    let (table, interfaces) =
        (Table::new().left("Thread").left("Name").left("Interface"), w.get::<Interfaces>());
    let table = table.right("Queue").left("Mode").left("Node");
    Ok(table.list(interfaces.indices(), move |_: &World, sw_if, out: &mut Writer| {
        let Ok(i) = interfaces.get(sw_if) else { return Ok(()) };
        if only.is_some_and(|only| only != sw_if) {
            return Ok(());
        }
        for q in control::queues_of(&i) {
            out.row([
                u64::from(q.thread.0).into(),
                thread_name(q.thread).into(),
                i.name.as_str().into(),
                u64::from(q.queue).into(),
                q.mode.to_string().into(),
                i.device.input_node().into(),
            ]);
        }
        Ok(())
    }))
}
