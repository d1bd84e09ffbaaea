// SPDX-License-Identifier: Apache-2.0
//! Runs of the experiments of published studies, as far as this machine has cores.

use measure::Measurement;
use measure::papers::Paper;

use crate::bench::Traffic;
use crate::dut::Spec;
use crate::dut::linux::Role;
use crate::run::Plan;
use crate::traffic::Kind;

/// Cores for a device: those that are not needed for the tester's threads; one at least.
pub fn free(cores: usize, directions: usize) -> u32 {
    cores.saturating_sub(2 * directions).max(1) as u32
}

/// The study's experiments as plans, with the operator's options for all else: routers have one,
/// devices that translate addresses have another.
///
/// # Errors
/// A device that the study has no experiment for.
pub fn plans(paper: Paper, mut plan: Plan, cores: u32) -> Result<Vec<Plan>, String> {
    plan.title = format!("Experiments of the study {paper}");
    if plan.devices.is_empty() {
        plan.devices = vec![Spec::Linux(Role::Router), Spec::Ferrovia(None)];
        if !paper.plan_of_nat("").is_empty() {
            plan.devices.push(Spec::Linux(Role::Nat));
        }
    }
    let (nats, routers): (Vec<_>, Vec<_>) =
        plan.devices.iter().cloned().partition(Spec::translates);
    let mut plans = Vec::new();
    for (devices, experiments) in [(routers, paper.plan("", cores)), (nats, paper.plan_of_nat(""))]
    {
        if let ([device, ..], []) = (&devices[..], &experiments[..]) {
            return Err(format!("paper {paper}: the study has no experiment for {device}"));
        }
        if !devices.is_empty() {
            plans.push(of(Plan { devices, ..plan.clone() }, &experiments));
        }
    }
    Ok(plans)
}

/// The plan with the modes, traffic and workers of experiments.
fn of(mut plan: Plan, experiments: &[Measurement]) -> Plan {
    let like = plan.traffic.first().cloned().unwrap_or_default();
    (plan.modes, plan.traffic, plan.workers) = (Vec::new(), Vec::new(), Vec::new());
    for experiment in experiments {
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

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::modes::Settings;
    use measure::{Mode, Profile};

    fn base(devices: &[&str]) -> Plan {
        Plan {
            modes: vec![Mode::Mrr],
            devices: devices.iter().map(|device| device.parse().unwrap()).collect(),
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
            force: false,
            quiet: true,
        }
    }

    #[suite::test]
    fn plans_have_all_experiments() {
        assert_eq!((free(2, 2), free(24, 2)), (1, 20));
        for (paper, cores, modes, traffic, workers) in [
            (Paper::KosakLencse, 20, 1, 2, 5),
            (Paper::KosakLencse, 1, 1, 2, 1),
            (Paper::Slavik, 1, 3, 10, 1),
        ] {
            let all = plans(paper, base(&["linux"]), cores).unwrap();
            let [plan] = &all[..] else { panic!("{all:?}") };
            let counts = (plan.modes.len(), plan.traffic.len(), plan.workers.len());
            assert_eq!(counts, (modes, traffic, workers), "{paper}");
            let all = plan.modes.len() * plan.traffic.len() * plan.workers.len();
            assert_eq!(all, paper.plan("", cores).len(), "{paper}");
        }
    }

    #[suite::test]
    fn devices_that_translate_have_their_own_plan() {
        let names = |plan: &Plan| -> Vec<_> { plan.devices.iter().map(Spec::to_string).collect() };
        let all = plans(Paper::Slavik, base(&[]), 1).unwrap();
        let [routers, nats] = &all[..] else { panic!("{all:?}") };
        assert_eq!(names(routers), ["linux", "ferrovia"]);
        assert_eq!(names(nats), ["linux:nat"]);
        assert_eq!((&nats.modes[..], nats.traffic.len()), (&[Mode::NatThroughput][..], 10));
        let all = plans(Paper::Slavik, base(&["linux:nat"]), 1).unwrap();
        assert_eq!((all.len(), &all[0].modes[..]), (1, &[Mode::NatThroughput][..]));
        let all = plans(Paper::KosakLencse, base(&[]), 1).unwrap();
        assert_eq!((all.len(), names(&all[0])), (1, vec!["linux".into(), "ferrovia".into()]));
        let error = plans(Paper::KosakLencse, base(&["linux", "linux:nat"]), 1).unwrap_err();
        assert!(error.contains("no experiment for linux:nat"), "{error}");
    }
}
