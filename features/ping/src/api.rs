// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `ping`.

use crate::background::Background;
use crate::ping::{Ping, Plan, SIZE, interval};
use crate::probe::{SourceSelection, Target};
use cli::Result;
use graph::World;
use msg::{Caller, Messages, Module};
use net::TableIndex;
use net::api::Address;

/// The module.
pub static API: Module<World> = Module::plugin("ping", messages);

fn messages(m: &mut Messages<World>) {
    m.call_by(want);
    m.answer::<PingFinishedEvent>();
}

msg::messages! {
    /// Sends echo requests to a host; when all are sent and answered or given up, an event tells
    /// how many.
    WantPingFinishedEvents,
    /// A ping that was asked for has ended.
    PingFinishedEvent,
}

fn want(w: &World, c: &Caller<'_, World>, r: WantPingFinishedEvents) -> Result<()> {
    let plan = Plan { interval: interval(r.interval)?, repeat: r.repeat, burst: 1 };
    let target = Target::new(w, r.address.into(), SourceSelection::In(TableIndex::DEFAULT), SIZE)?;
    let client = c.client;
    w.get::<Background>().add(client, Ping::new(w, target, plan), finished)
}

/// Tells a client how its ping went.
fn finished(w: &World, client: u32, ping: &Ping) {
    let count = |n| u32::try_from(n).unwrap_or(u32::MAX);
    let (sent, heard) = ping.counts();
    let event = PingFinishedEvent { request_count: count(sent), reply_count: count(heard) };
    w.api.publish_to(client, 0, &event);
}
