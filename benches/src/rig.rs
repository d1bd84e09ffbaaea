// SPDX-License-Identifier: Apache-2.0
//! The scenarios on their routers, and the measuring of one block.

use crate::scenario::{Scenario, Table};
use crate::site::Site;
use simd::Level;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Routes of a table, rules of an ACL and connections through the firewall, in a smoke run.
const SMOKE_ROUTES: usize = 1000;

/// All routers, and what is sent through them.
pub struct Rig {
    pub sites: Vec<Site>,
    pub runs: Vec<Run>,
}

/// One scenario.
pub struct Run {
    pub scenario: Scenario,
    /// Of [`Rig::sites`].
    site: usize,
    streams: Vec<Arc<pg::Stream>>,
    /// Clocks per packet of each block, by node.
    pub blocks: Vec<BTreeMap<String, f64>>,
    /// Allocations on this thread during all measured blocks.
    pub allocations: u64,
}

impl Run {
    /// Packets of a block.
    pub fn packets(&self) -> u64 {
        self.streams.iter().map(|stream| stream.spec.limit).sum()
    }
}

impl Rig {
    /// Builds the routers, says which on standard error, and sends every stream twice, unmeasured:
    /// caches, frames, tables.
    pub fn new(
        scenarios: Vec<Scenario>,
        level: Option<Level>,
        smoke: bool,
    ) -> Result<Self, String> {
        let mut rig = Self { sites: Vec::new(), runs: Vec::new() };
        for scenario in scenarios {
            let routes =
                if smoke { scenario.table.routes.min(SMOKE_ROUTES) } else { scenario.table.routes };
            let rules =
                if smoke { scenario.table.rules.min(SMOKE_ROUTES) } else { scenario.table.rules };
            let connections = scenario.table.connections;
            let connections = if smoke { connections.min(SMOKE_ROUTES) } else { connections };
            let table = Table { routes, rules, connections, ..scenario.table };
            let site = match rig.sites.iter().position(|site| site.table == table) {
                Some(site) => site,
                None => {
                    eprintln!(
                        "{}: {routes} routes, {} outputs",
                        table.family.name(),
                        table.outputs
                    );
                    rig.sites.push(Site::new(table, level)?);
                    rig.sites.len() - 1
                }
            };
            // Small vectors cost more a packet: fewer of them make a block.
            let packets =
                if smoke { 2048 } else { (scenario.vector as u64 * 4096).clamp(65_536, 524_288) };
            let streams = rig.sites[site].streams(&scenario, packets)?;
            rig.runs.push(Run { scenario, site, streams, blocks: Vec::new(), allocations: 0 });
        }
        for Run { scenario, site, streams, .. } in &rig.runs {
            rig.sites[*site].run(scenario, streams)?;
            rig.sites[*site].run(scenario, streams)?;
        }
        Ok(rig)
    }

    /// One block of each scenario: clocks per packet of every node that ran.
    pub fn block(&mut self) -> Result<(), String> {
        for run in &mut self.runs {
            let site = &mut self.sites[run.site];
            let before = site.clocks();
            run.allocations += site.run(&run.scenario, &run.streams)?;
            let after = site.clocks();
            let per_packet = |i: usize| (after[i] - before[i]) as f64 / run.packets() as f64;
            let all = (0..site.names.len()).map(|i| (site.names[i].clone(), per_packet(i)));
            let block = all.filter(|(_, clocks)| *clocks > 0.0).collect();
            run.blocks.push(block);
        }
        Ok(())
    }
}
