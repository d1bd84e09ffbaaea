// SPDX-License-Identifier: Apache-2.0
//! `show af_xdp`.

use crate::control::Xdps;
use cli::{Cell, Output, Table, Writer};
use graph::World;
use net::Interfaces;
use std::sync::atomic::Ordering;

/// A row for each socket of each interface.
pub fn show(w: &World) -> Output {
    let table = Table::new().left("Interface").left("Netdev").left("XDP").left("Memory");
    let table = table.left("Buffers").right("Queue").left("Directions").right("Rx full");
    let table = table.right("No buffer").right("Rx dropped").right("Bad fill").right("Bad tx");
    let table = table.right("System calls").right("Failed");
    table.list(w.get::<Xdps>().indices(), |w: &World, sw_if, out: &mut Writer| {
        let Some(device) = w.get::<Xdps>().device(sw_if) else { return Ok(()) };
        let name = w.get::<Interfaces>().name(sw_if);
        let state = device.state();
        let Some(held) = &state.held else {
            let (name, netdev) = (name.as_str().into(), device.config.netdev.as_str().into());
            let mut row: [Cell; 14] = std::array::from_fn(|_| Cell::empty());
            let is = if device.opening.is_pending() { "opening" } else { "gone" };
            (row[0], row[1], row[2]) = (name, netdev, is.into());
            out.row(row);
            return Ok(());
        };
        let (rx, tx) = held.queues;
        for (queue, socket) in (0..).zip(&held.sockets) {
            let directions = match (queue < rx, queue < tx) {
                (true, true) => "rx tx",
                (true, false) => "rx",
                _ => "tx",
            };
            let s = socket.statistics();
            let count = |of: fn(&libc::xdp_statistics) -> u64| Cell::from(s.as_ref().map(of));
            out.row([
                name.as_str().into(),
                device.config.netdev.as_str().into(),
                held.mode.name().into(),
                if held.zero_copy { "zero copy" } else { "copy" }.into(),
                if held.multi_buffer { "chains" } else { "single" }.into(),
                queue.into(),
                directions.into(),
                count(|s| s.rx_ring_full),
                count(|s| s.rx_fill_ring_empty_descs),
                count(|s| s.rx_dropped),
                count(|s| s.rx_invalid_descs),
                count(|s| s.tx_invalid_descs),
                socket.kicks.load(Ordering::Relaxed).into(),
                socket.failures.load(Ordering::Relaxed).into(),
            ]);
        }
        Ok(())
    })
}
