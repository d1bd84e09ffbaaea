// SPDX-License-Identifier: Apache-2.0
//! `show interface pcap`.

use crate::control::Pcaps;
use cli::{Cell, Output, Table, Writer};
use graph::World;
use net::Interfaces;
use std::sync::atomic::Ordering;

/// A row for each interface.
pub fn show(w: &World) -> Output {
    let table = Table::new().left("Interface").left("Replay").left("Speed").left("State");
    let table = table.right("Passes").right("Read").right("Skipped").left("Capture");
    let table = table.right("Written").right("Lost").left("Error");
    table.list(w.get::<Pcaps>().indices(), |w: &World, sw_if, out: &mut Writer| {
        let Some(device) = w.get::<Pcaps>().device(sw_if) else { return Ok(()) };
        let name = w.get::<Interfaces>().name(sw_if);
        let (phase, progress) = device.replay();
        let path = |path: &std::path::Path| Cell::from(path.display().to_string());
        let count = |of: Option<u64>| Cell::from(of.unwrap_or(0));
        let read = progress.as_ref().map(|p| p.read.load(Ordering::Relaxed));
        let skipped = progress.as_ref().map(|p| p.skipped.load(Ordering::Relaxed));
        let passes = progress.as_ref().map(|p| p.passes.load(Ordering::Relaxed));
        let capture = device.capture.as_ref();
        let error = progress
            .and_then(|progress| progress.failed())
            .or_else(|| capture.and_then(|capture| capture.failed()));
        let speed = match &device.config.rx {
            Some(_) => Cell::from(device.config.pace_words()),
            None => Cell::empty(),
        };
        out.row([
            name.as_str().into(),
            device.config.rx.as_deref().map_or_else(Cell::empty, path),
            speed,
            phase.name().into(),
            count(passes),
            count(read),
            count(skipped),
            device.config.tx.as_deref().map_or_else(Cell::empty, path),
            count(capture.map(|capture| capture.written.load(Ordering::Relaxed))),
            count(capture.map(|capture| capture.lost.load(Ordering::Relaxed))),
            error.map_or_else(Cell::empty, Cell::from),
        ]);
        Ok(())
    })
}
