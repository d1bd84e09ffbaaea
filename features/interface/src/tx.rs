// SPDX-License-Identifier: Apache-2.0
//! Transmit queues: the threads that send by them. Receive queues that a device spreads packets
//! over.

use crate::control;
use crate::queues::{self, RssQueues, TxConfig};
use crate::set::named;
use cli::{Error, Matches, Output, Writer};
use graph::World;
use net::{Column, Interface};
use serde_json::json;
use startup::value::{CoreList, Value as _};
use std::fmt::Write;

/// A list such as `0,2-5`.
fn list(m: &Matches, argument: &str) -> Result<Vec<u16>, Error> {
    let wrong = |why: String| Error::parse(why).at(m.span(argument));
    CoreList::parse(m.str(argument)).map(|CoreList(numbers)| numbers).map_err(wrong)
}

/// The words for such a list.
pub fn words(numbers: &[u16]) -> String {
    CoreList(numbers.to_vec()).show()
}

pub fn set_placement(w: &World, m: &Matches) -> Result<(), Error> {
    let (_, sw_if) = named(w, m)?;
    let threads: Option<Vec<u32>> = match (m.flag("default"), m.has("threads")) {
        (true, _) => None,
        (_, true) => Some(list(m, "threads")?.into_iter().map(u32::from).collect()),
        _ => Some(Vec::new()),
    };
    control::set_tx_placement(w, sw_if, m.req("queue")?, threads.as_deref()).map_err(|e| {
        let at = if e.is(msg::retval::INVALID_VALUE) { "threads" } else { "queue" };
        e.at(m.span(at))
    })
}

pub fn show_placement(w: &World, m: &Matches) -> Result<Output, Error> {
    let only = m.has("interface").then(|| named(w, m)).transpose()?.map(|(_, sw_if)| sw_if);
    let all = control::tx_placements(w, only);
    type Row = (Interface, u16, Vec<u16>);
    Ok(Output::list(all, |_: &World, (i, queue, threads): Row, out: &mut Writer| {
        out.text(|text| {
            let names = match &threads[..] {
                [] => "no thread".to_string(),
                [thread] => format!("thread {thread}"),
                _ => format!("threads {}, shared", words(&threads)),
            };
            writeln!(text, "{} queue {queue}: {names}", i.name)
        });
        let shared = threads.len() > 1;
        out.value(
            || json!({ "interface": i.name, "queue": queue, "threads": threads, "shared": shared }),
        );
        Ok(())
    }))
}

pub fn set_rss_queues(w: &World, m: &Matches) -> Result<(), Error> {
    let (_, sw_if) = named(w, m)?;
    let wanted = if m.flag("default") { None } else { Some(list(m, "queues")?) };
    queues::set_rss_queues(w, sw_if, wanted.as_deref()).map_err(m.at("queues"))
}

/// The words that place a transmit queue.
pub fn write_config(w: &World, i: &Interface, mut push: impl FnMut(String, String)) {
    let name = cli::quote(&i.name);
    for (queue, threads) in w.get::<Column<TxConfig>>().get(i.sw_if).0 {
        let line = format!("set interface tx-queue {name} queue {queue}");
        let numbers: Vec<u16> = threads.iter().map(|thread| thread.0).collect();
        let list = match &numbers[..] {
            [] => String::new(),
            numbers => format!(" threads {}", words(numbers)),
        };
        push(format!("{line}{list}"), format!("{line} threads default"));
    }
    if let RssQueues(Some(queues)) = w.get::<Column<RssQueues>>().get(i.sw_if) {
        let line = format!("set interface rss queues {name}");
        push(format!("{line} list {}", words(&queues)), format!("{line} default"));
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn lists_are_written_as_they_are_read() {
        for (numbers, text) in [(&[0][..], "0"), (&[0, 2, 3, 4], "0,2-4"), (&[1, 3], "1,3")] {
            assert_eq!(words(numbers), text);
        }
    }
}
