// SPDX-License-Identifier: Apache-2.0
//! Runs of the experiments of published studies, as far as this machine has cores.

use measure::papers::Paper;

use crate::bench::Traffic;
use crate::run::Plan;
use crate::traffic::Kind;

/// Cores for a device: those that are not needed for the tester's threads; one at least.
pub fn free(cores: usize, directions: usize) -> u32 {
    cores.saturating_sub(2 * directions).max(1) as u32
}

/// The study's experiments as a plan, with the operator's options for all else.
pub fn plan(paper: Paper, mut plan: Plan, cores: u32) -> Plan {
    let like = plan.traffic.first().cloned().unwrap_or_default();
    let experiments = paper.plan("", cores);
    plan.title = format!("Experiments of the study {paper}");
    (plan.modes, plan.traffic, plan.workers) = (Vec::new(), Vec::new(), Vec::new());
    for experiment in &experiments {
        if !plan.modes.contains(&experiment.mode) {
            plan.modes.push(experiment.mode);
        }
        if !plan.workers.contains(&experiment.cores) {
            plan.workers.push(experiment.cores);
        }
        let kind = if experiment.family == measure::Family::Ip6 { Kind::Ip6 } else { Kind::Ip4 };
        let directions = experiment.directions.clone();
        let traffic = Traffic { kind, size: experiment.size, directions, ..like.clone() };
        let is_same = |other: &Traffic| {
            (other.kind, other.size, &other.directions)
                == (traffic.kind, traffic.size, &traffic.directions)
        };
        if !plan.traffic.iter().any(is_same) {
            plan.traffic.push(traffic);
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::Settings;
    use measure::{Mode, Profile};

    #[test]
    fn plans_have_all_experiments() {
        assert_eq!((free(2, 2), free(24, 2)), (1, 20));
        for (paper, cores, modes, traffic, workers) in [
            (Paper::KosakLencse, 20, 1, 2, 5),
            (Paper::KosakLencse, 1, 1, 2, 1),
            (Paper::Slavik, 1, 3, 10, 1),
        ] {
            let base = Plan {
                modes: vec![Mode::Mrr],
                devices: Vec::new(),
                traffic: Vec::new(),
                workers: Vec::new(),
                ports: crate::port::interface::Kind::Veth,
                routes: vec![0],
                settings: Settings::of(Profile::Quick),
                title: String::new(),
                seed: 1,
                selftest: false,
                file: None,
                resume: false,
                quiet: true,
            };
            let plan = plan(paper, base, cores);
            let counts = (plan.modes.len(), plan.traffic.len(), plan.workers.len());
            assert_eq!(counts, (modes, traffic, workers), "{paper}");
            let all = plan.modes.len() * plan.traffic.len() * plan.workers.len();
            assert_eq!(all, paper.plan("", cores).len(), "{paper}");
        }
    }
}
