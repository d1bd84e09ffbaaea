// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `ping`.

use crate::background::Background;
use crate::ping::{Ping, Plan, SIZE, interval};
use crate::probe::{SourceSelection, Target};
use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages, Module};
use net::TableIndex;
use net::api::Address;

/// The module.
pub static API: Module<World> =
    Module { name: "ping", version: "0.1.0", crc: 0x5b56_8e46, core: false, messages };

fn messages(m: &mut Messages<World>) {
    m.call(want);
    m.answer::<PingFinishedEvent>();
}

/// Sends echo requests to a host; when all are sent and answered or given up, an event tells how
/// many.
#[derive(Message)]
#[msg(events(PingFinishedEvent))]
pub struct WantPingFinishedEvents {
    /// The host.
    pub address: Address,
    /// Requests.
    #[wire(default = "1")]
    pub repeat: u32,
    /// Seconds from one to the next.
    #[wire(default = "1.0")]
    pub interval: f64,
}

/// A ping that was asked for has ended.
#[derive(Message)]
#[msg(head(client_index))]
pub struct PingFinishedEvent {
    /// Requests that were sent.
    pub request_count: u32,
    /// Answers that came.
    pub reply_count: u32,
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
