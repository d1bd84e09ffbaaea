// SPDX-License-Identifier: Apache-2.0
//! Two next hops, and one of them fails.

use crate::rig::{Options, Rig};
use crate::tables::{Table, far, hop};
use cli::Table as Shown;
use net::{Interfaces, NextHop, NextHops};
use std::time::{Duration, Instant};

/// Two next hops, one fails: packets lost at a fixed rate.
#[derive(clap::Args)]
pub struct Arguments {
    /// Packets a second.
    #[arg(long, default_value_t = 2_000_000.0)]
    rate: f64,
    /// Number of measurements of each case.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Numbers of routes.
    #[arg(long, value_delimiter = ',', default_value = "10,1000,100000,1000000")]
    routes: Vec<usize>,
}

/// Shape of the routes: how they reach their two next hops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Each over one of 500 pairs of neighbours, one on either link, both in use.
    Pairs,
    /// All over one recursive next hop, which two links lead to, both in use.
    Recursive,
    /// Like `Recursive`, with the second link as a backup of the first.
    Backup,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The cable is out.
    Link,
    /// An operator switches the interface off.
    Admin,
    /// The neighbours behind the link don't answer: they are found to be down, all at once.
    NextHops,
}

impl Shape {
    fn name(self) -> &'static str {
        match self {
            Self::Pairs => "500 pairs of neighbours",
            Self::Recursive => "recursive, two links",
            Self::Backup => "recursive, link and backup",
        }
    }

    /// Neighbours on a link.
    fn hops(self) -> u16 {
        if self == Self::Pairs { testkit::internet::HOPS } else { 1 }
    }

    fn fill(self, rig: &Rig, table: &Table) -> Result<(), String> {
        let (ip6, far) = (rig.ip6, far(rig.ip6));
        let near = |number: u16, backup: &str| {
            format!("via {} pg1 via {} pg2{backup}", hop(ip6, 1, number), hop(ip6, 2, number))
        };
        let len = if ip6 { 128 } else { 32 };
        match self {
            Self::Pairs => rig.load(&table.lines(|number| near(number, "")))?,
            Self::Recursive | Self::Backup => {
                let backup = if self == Self::Backup { " preference 1" } else { "" };
                rig.run(&format!("ip route add {far}/{len} {}", near(0, backup)))?;
                rig.load(&table.lines(|_| format!("via {far}")))?
            }
        };
        Ok(())
    }
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::Link => "link down",
            Self::Admin => "interface off",
            Self::NextHops => "next hops down",
        }
    }

    fn strike(self, rig: &Rig, hops: &[NextHop]) -> Result<(), String> {
        self.set(rig, hops, false)
    }

    fn mend(self, rig: &Rig, hops: &[NextHop]) -> Result<(), String> {
        self.set(rig, hops, true)?;
        rig.neighbors(1, hops.len() as u16)
    }

    fn set(self, rig: &Rig, hops: &[NextHop], up: bool) -> Result<(), String> {
        let (world, interfaces) = (&rig.world, rig.world.get::<Interfaces>());
        let done = match self {
            Self::Link => interfaces.set_link(world, rig.port(1), up),
            Self::Admin => interfaces.set_admin(world, rig.port(1), up),
            Self::NextHops => {
                world.get::<NextHops>().set(world, hops, "bench", up);
                Ok(())
            }
        };
        done.map_err(|e| e.to_string())
    }
}

/// One failure.
struct Seen {
    /// Time until control had handled the failure completely.
    took: Duration,
    stores: u64,
    /// Packets that arrived after the failure and didn't leave by the other link.
    lost: u64,
    /// Packets lost because the worker was descheduled: caused by the machine.
    missed: u64,
}

fn one(
    rig: &Rig,
    (shape, fault): (Shape, Fault),
    packets: &std::sync::Arc<pg::Packets>,
    rate: f64,
) -> Result<Seen, String> {
    let hop = |number| NextHop { sw_if: rig.port(1), ip: hop(rig.ip6, 1, number) };
    let hops: Vec<NextHop> = (0..shape.hops()).map(hop).collect();
    let flow = rig.start(packets, rate)?;
    rig.wait(Duration::from_millis(50));
    let (stores, before) = (rig.stores(), rig.count(&flow));
    // From here on packets sent to this link are lost.
    let start = Instant::now();
    fault.strike(rig, &hops)?;
    let (took, stores) = (start.elapsed(), rig.stores() - stores);
    rig.wait(Duration::from_millis(50));
    let count = rig.stop(&flow)?;
    // The router sends packets of its own now and then.
    let lost = count.sent.saturating_sub(before.out[0] + count.out[1]);
    fault.mend(rig, &hops)?;
    rig.wait(Duration::from_millis(50));
    Ok(Seen { took, stores, lost, missed: count.missed })
}

pub fn run(options: &Options, arguments: &Arguments) -> Result<(), String> {
    let (rounds, rate) =
        if options.smoke { (1, 20_000.0) } else { (arguments.rounds, arguments.rate) };
    let mut shown = Shown::new()
        .left("Routes")
        .right("Number")
        .left("Fault")
        .right("Lost")
        .right("at most")
        .right("Stores")
        .right("Control")
        .right("Missed");
    let mut left = 0;
    for shape in [Shape::Pairs, Shape::Recursive, Shape::Backup] {
        for &n in &arguments.routes {
            let n = if options.smoke { n.min(1000) } else { n };
            eprintln!("{}, {n} routes", shape.name());
            let (rig, table) = (Rig::new(options, 2, shape.hops())?, Table::new(options.ip6, n));
            shape.fill(&rig, &table)?;
            let packets = rig.packets(&table.to)?;
            for fault in [Fault::Link, Fault::Admin, Fault::NextHops] {
                let mut all = (0..rounds)
                    .map(|_| one(&rig, (shape, fault), &packets, rate))
                    .collect::<Result<Vec<_>, _>>()?;
                all.sort_by_key(|seen| seen.lost);
                let (middle, last) = (&all[rounds / 2], &all[rounds - 1]);
                left += usize::from(middle.lost as f64 > rate / 20.0);
                let missed: u64 = all.iter().map(|seen| seen.missed).sum();
                shown.row([
                    shape.name().into(),
                    n.into(),
                    fault.name().into(),
                    middle.lost.into(),
                    last.lost.into(),
                    middle.stores.into(),
                    format!("{:.0} µs", middle.took.as_secs_f64() * 1e6).into(),
                    missed.into(),
                ]);
            }
        }
    }
    println!(
        "{} packets a second, {rounds} faults of each kind; packets lost on the way from the fault on: the middle one, and the most",
        rate
    );
    println!("{}", shown.render());
    // Not a timing: while packets arrive, some still take the failed path.
    if left > 0 {
        return Err(format!("{left} cases in which the packets don't turn to the other link"));
    }
    Ok(())
}
