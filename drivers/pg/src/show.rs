// SPDX-License-Identifier: Apache-2.0
//! `show packet-generator …`.

use crate::state::Shared;
use crate::stream::{Source, Stream};
use cli::{Error, Matches, Output, Table, Writer};
use graph::World;
use net::Interfaces;
use std::sync::atomic::Ordering;

fn parameters(world: &World, stream: &Stream) -> String {
    let spec = &stream.spec;
    let mut out = format!("limit {}, ", spec.limit);
    if spec.rate > 0.0 {
        out += &format!("rate {:.2e} pps, ", spec.rate);
    }
    if spec.queue > 0 {
        let lost = stream.lost.load(Ordering::Relaxed);
        out += &format!("queue {}, lost {lost}, ", spec.queue);
    }
    match &spec.source {
        Source::Packets(all) => out += &format!("pcap of {} packets, ", all.len()),
        Source::Template(_) => out += &format!("size {}-{}, ", spec.size.0, spec.size.1),
    }
    out += &format!(
        "interface {}, node {}, worker {}",
        world.get::<Interfaces>().name(spec.interface),
        world.node_name(spec.node),
        spec.thread
    );
    out
}

pub fn streams(w: &World, _: &Matches) -> Result<Output, Error> {
    let shared = w.get::<Shared>();
    // A caller that sees `No' reads the capture file next: flags are read before what streams sent
    // is written out.
    let rows: Vec<_> =
        shared.streams().into_iter().map(|s| (s.enabled.load(Ordering::Acquire), s)).collect();
    shared.write_out(w.clock.now());
    let table = Table::new().left("Name").left("Enabled").right("Count").left("Parameters");
    Ok(table.list(rows, |w: &World, (enabled, stream), out: &mut Writer| {
        out.row([
            stream.spec.name.clone().into(),
            if enabled { "Yes" } else { "No" }.into(),
            stream.sent.load(Ordering::Relaxed).into(),
            parameters(w, &stream).into(),
        ]);
        Ok(())
    }))
}

pub fn interface(w: &World, m: &Matches) -> Result<Output, Error> {
    let shared = w.get::<Shared>();
    let (sw_if, mode) = shared.mode(w, m.str("interface"))?;
    shared.write_out(w.clock.now());
    let table = Table::new()
        .left("Name")
        .left("Mode")
        .left("Offloads")
        .left("MAC filter")
        .left("Capture")
        .right("Packets");
    let mut table = table.left("Failure");
    let capture = shared.captures().into_iter().find(|c| c.0 == sw_if);
    let (file, packets, failure) =
        capture.map_or((String::new(), 0, None), |(_, file, n, why)| (file, n, why));
    table.row([
        m.str("interface").into(),
        format!("{mode:?}").to_lowercase().into(),
        shared.offloads(sw_if).words().into(),
        if shared.filters(sw_if) { "on" } else { "off" }.into(),
        file.into(),
        packets.into(),
        failure.unwrap_or_default().into(),
    ]);
    Ok(table.into())
}
