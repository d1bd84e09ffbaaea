// SPDX-License-Identifier: Apache-2.0
//! `show interface brief`: a line for each interface, with rates that are measured meanwhile.

use std::sync::Arc;
use std::time::Duration;

use cli::{Cell, Error, Output, Table, Task, TaskState};
use graph::{SwIfIndex, World};
use net::{Addresses, IfCounters, Interfaces, MtuKind};
use serde_json::json;
use wire::{Ip4, Ip6};

/// Time over which rates are measured.
const PERIOD: Duration = Duration::from_millis(500);

/// State, addresses, MTU, rates and drops of these interfaces.
///
/// # Errors
/// None; the type is that of all commands.
pub fn show(w: &World, listed: Vec<SwIfIndex>) -> Result<Output, Error> {
    Ok(Output::task(Brief {
        interfaces: w.get::<Interfaces>(),
        counters: w.get::<IfCounters>(),
        addresses: (w.get::<Addresses<Ip4>>(), w.get::<Addresses<Ip6>>()),
        listed,
        begin: None,
        before: Vec::new(),
        cancelled: false,
    }))
}

struct Brief {
    interfaces: Arc<Interfaces>,
    counters: Arc<IfCounters>,
    addresses: (Arc<Addresses<Ip4>>, Arc<Addresses<Ip6>>),
    listed: Vec<SwIfIndex>,
    /// Start of the measurement, by the daemon's clock.
    begin: Option<Duration>,
    /// Packets received and sent by each interface until then.
    before: Vec<[u64; 2]>,
    cancelled: bool,
}

impl Brief {
    fn packets(&self, sw_if: SwIfIndex) -> [u64; 2] {
        [&self.counters.rx, &self.counters.tx].map(|counter| counter.sum(sw_if.at()).0)
    }

    fn addresses(&self, sw_if: SwIfIndex) -> Vec<String> {
        let (four, six) = (self.addresses.0.list(sw_if), self.addresses.1.list(sw_if));
        let (four, six) =
            (four.iter().map(ToString::to_string), six.iter().map(ToString::to_string));
        four.chain(six).collect()
    }

    fn table(&self, seconds: f64) -> Table {
        let mut table = Table::new()
            .left("Name")
            .left("Admin")
            .left("Link")
            .left("Addresses")
            .right("MTU")
            .right("rx pps")
            .right("tx pps")
            .right("Drops");
        for (sw_if, before) in self.listed.iter().zip(&self.before) {
            // It may be gone meanwhile.
            let Ok(i) = self.interfaces.get(*sw_if) else { continue };
            let now = self.packets(*sw_if);
            let rate =
                |n: usize| (now[n].saturating_sub(before[n]) as f64 / seconds).round() as u64;
            let (addresses, mtu) = (self.addresses(*sw_if), i.mtu_of(MtuKind::L3));
            let state = |up| if up { "up" } else { "down" };
            table.row([
                i.name.as_str().into(),
                state(i.admin_up).into(),
                state(i.link_up).into(),
                Cell::new(addresses.join(" "), json!(addresses)),
                mtu.into(),
                rate(0).into(),
                rate(1).into(),
                self.counters.drops.sum(sw_if.at()).into(),
            ]);
        }
        table
    }
}

impl Task for Brief {
    fn poll(&mut self, now: Duration) -> TaskState {
        let Some(begin) = self.begin else {
            self.begin = Some(now);
            self.before = self.listed.iter().map(|sw_if| self.packets(*sw_if)).collect();
            return TaskState::Pending;
        };
        let time = now.saturating_sub(begin);
        if self.cancelled {
            return TaskState::Failed(Error::failed("cancelled"));
        }
        match time >= PERIOD {
            true => TaskState::Done(self.table(time.as_secs_f64()).into()),
            false => TaskState::Pending,
        }
    }

    fn cancel(&mut self) {
        self.cancelled = true;
    }

    fn wake_at(&self) -> Option<Duration> {
        self.begin.map(|begin| begin + PERIOD)
    }
}
