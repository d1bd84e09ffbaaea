// SPDX-License-Identifier: Apache-2.0
//! Static neighbours and the limits of the tables, as commands. Learned neighbours are not written.

use graph::{Phase, RunningConfig, World};
use net::{Interfaces, NeighborConfig, Neighbors};

/// Writes the limits and the static neighbours.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let (neighbors, initial) = (world.get::<Neighbors>(), NeighborConfig::initial(world));
    for (ip6, family) in [(false, "ip4"), (true, "ip6")] {
        let limits = neighbors.config(ip6);
        // A limit may have come when there were more already.
        let late = neighbors.len(ip6) > limits.limit as usize;
        if !late {
            say_limits(family, limits, initial, config);
        }
        let all = neighbors.clone();
        let all = cli::pieces(
            move |after, n| all.list_from(ip6, None, after, 16 * n),
            |n| (n.sw_if, n.ip),
        );
        config.list(Phase::NEIGHBORS, all, |world, n, lines| {
            if n.is_static {
                let name = world.get::<Interfaces>().word(n.sw_if);
                let fib = if n.no_fib_entry { " no-fib-entry" } else { "" };
                lines.push(
                    format!("set ip neighbor {name} {} {} static{fib}", n.ip, n.mac),
                    format!("set ip neighbor del {name} {}", n.ip),
                );
            }
        });
        if late {
            say_limits(family, limits, initial, config);
        }
    }
}

fn words(family: &str, c: NeighborConfig) -> String {
    let recycle = if c.recycle { "recycle" } else { "norecycle" };
    let NeighborConfig { limit, age, confirm, retry, .. } = c;
    format!(
        "set ip neighbor-config {family} limit {limit} age {age} {recycle} confirm {confirm} retry {retry}"
    )
}

fn say_limits(
    family: &str,
    limits: NeighborConfig,
    initial: NeighborConfig,
    config: &mut RunningConfig,
) {
    if limits != initial {
        config.push(Phase::NEIGHBORS, words(family, limits), words(family, initial));
    }
}
