// SPDX-License-Identifier: Apache-2.0
//! Receive queues: which thread polls them, and how.

use crate::set::named;
use cli::{Error, Matches, Output, Table};
use graph::{InputMode, ThreadIndex, World};
use net::{Interface, Interfaces, RxQueue};

fn queues(interface: &Interface, m: &Matches) -> Result<Vec<RxQueue>, Error> {
    let wanted: Option<u16> = m.opt("queue")?;
    let all = interface.device.rx_queues();
    let found: Vec<RxQueue> = all.iter().filter(|q| wanted.is_none_or(|w| w == q.queue)).copied().collect();
    match (found.is_empty(), wanted) {
        (true, Some(queue)) => {
            let error = format!("{} has no receive queue {queue}; it has {}", interface.name, all.len());
            Err(Error::not_found(error).at(m.span("queue")))
        }
        (true, None) => Err(Error::unsupported(format!("{} has no receive queue", interface.name))),
        _ => Ok(found),
    }
}

pub fn set_mode(w: &World, m: &Matches) -> Result<Output, Error> {
    let (interfaces, sw_if) = named(w, m)?;
    let mode = match m.str("mode") {
        "polling" => Some(InputMode::Polling),
        "interrupt" => Some(InputMode::Interrupt),
        "adaptive" => Some(InputMode::Adaptive),
        _ => None,
    };
    for queue in queues(&interfaces.get(sw_if)?, m)? {
        interfaces.set_rx_mode(w, sw_if, queue.queue, mode)?;
    }
    Ok(Output::empty())
}

pub fn set_placement(w: &World, m: &Matches) -> Result<Output, Error> {
    let (interfaces, sw_if) = named(w, m)?;
    let thread = match m.opt::<u16>("worker")? {
        Some(worker) if usize::from(worker) + 1 < w.threads() => Some(ThreadIndex(worker + 1)),
        Some(worker) => {
            let error = format!("there is no worker {worker}; there are {}", w.threads() - 1);
            return Err(Error::not_found(error).at(m.span("worker")));
        }
        None => m.flag("main").then_some(ThreadIndex(0)),
    };
    for queue in queues(&interfaces.get(sw_if)?, m)? {
        interfaces.set_rx_thread(w, sw_if, queue.queue, thread)?;
    }
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
    let interfaces = w.get::<Interfaces>();
    let only = m.has("interface").then(|| named(w, m)).transpose()?.map(|(_, sw_if)| sw_if);
    let mut table =
        Table::new().left("Thread").left("Name").left("Interface").right("Queue").left("Mode").left("Node");
    for interface in interfaces.list() {
        if only.is_some_and(|only| only != interface.sw_if) || interface.parent != interface.sw_if {
            continue;
        }
        for q in interface.device.rx_queues() {
            table.row([
                u64::from(q.thread.0).into(),
                thread_name(q.thread).into(),
                interface.name.clone().into(),
                u64::from(q.queue).into(),
                q.mode.to_string().into(),
                interface.device.input_node().into(),
            ]);
        }
    }
    Ok(table.into())
}
