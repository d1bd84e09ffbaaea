// SPDX-License-Identifier: Apache-2.0
//! The verb `scale`: a list of values for one number of the device or of the traffic.

use clap::{Args, ValueEnum};
use measure::Mode;

use super::{Action, Options};
use crate::dut::Spec;
use crate::dut::change::MOST_ROUTES;
use crate::run::Plan;
use crate::traffic::random::{MOST_ADDRESSES, Spread};

/// Number that grows.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// Threads of the device that forward.
    Workers,
    /// Pairs of addresses per direction.
    Flows,
    /// Routes that the device has beside its own.
    Routes,
    /// Rules of filters; no device takes them yet.
    Rules,
    /// NAT sessions; no device takes their number yet.
    Sessions,
}

/// Measurement of each point.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Binary search.
    Throughput,
    /// MLRsearch.
    Ndrpdr,
    /// Maximum receive rate.
    Mrr,
}

/// Arguments of `scale`.
#[derive(Args, Debug)]
pub struct Scale {
    /// Devices.
    #[arg(required = true)]
    devices: Vec<Spec>,
    /// Number that grows.
    #[arg(long, value_enum)]
    over: Over,
    /// Its values, separated by commas; relative scale-up needs a 1 among them.
    #[arg(long, value_delimiter = ',', required = true)]
    values: Vec<u32>,
    /// Measurement of each point.
    #[arg(long, value_enum, default_value_t = By::Throughput)]
    by: By,
    /// Options.
    #[command(flatten)]
    options: Options,
}

/// Ranges of sources and destinations with so many pairs of addresses.
fn flows(count: u32) -> Result<(Spread, Spread), String> {
    let spread = |count| if count == 1 { Spread::Fixed } else { Spread::Random(count) };
    let sources = (1..=MOST_ADDRESSES)
        .find(|&src| count.is_multiple_of(src) && (1..=MOST_ADDRESSES).contains(&(count / src)));
    let src = sources.ok_or_else(|| {
        format!("--over flows: {count} isn't a product of two numbers from 1 to {MOST_ADDRESSES}")
    })?;
    Ok((spread(src), spread(count / src)))
}

impl Scale {
    /// The action.
    ///
    /// # Errors
    /// No such device or value.
    pub fn action(self) -> Result<Action, String> {
        let Self { devices, over, mut values, by, options } = self;
        values.sort_unstable();
        values.dedup();
        let mut plan = options.plan(vec![Mode::Scale], devices)?;
        plan.settings.search = match by {
            By::Throughput => Mode::Throughput,
            By::Ndrpdr => Mode::Ndrpdr,
            By::Mrr => Mode::Mrr,
        };
        apply(over, values, &mut plan)?;
        Ok(Action::Run(Box::new(plan), options.outputs))
    }
}

fn apply(over: Over, values: Vec<u32>, plan: &mut Plan) -> Result<(), String> {
    match over {
        Over::Workers => {
            let fixed = |device: &&Spec| matches!(device, Spec::Linux(_) | Spec::External(_));
            if let Some(device) = plan.devices.iter().find(fixed) {
                return Err(format!(
                    "--over workers: the tester can't set the workers of {device}; expected \
                     ferrovia, vpp or none:IMPAIRMENTS"
                ));
            }
            if values.contains(&0) {
                return Err("--over workers: expected values from 1 on".into());
            }
            plan.workers = values;
        }
        Over::Flows => {
            let mut traffic = Vec::new();
            for &count in &values {
                let (src, dst) = flows(count)?;
                traffic.extend(plan.traffic.iter().map(|like| {
                    let mut one = like.clone();
                    (one.src, one.dst) = (src, dst);
                    one
                }));
            }
            plan.traffic = traffic;
        }
        Over::Routes => {
            if let Some(many) = values.iter().find(|count| **count > MOST_ROUTES) {
                return Err(format!("--over routes: {many}, expected at most {MOST_ROUTES}"));
            }
            plan.routes = values;
        }
        Over::Rules => return Err(impossible("rules")),
        Over::Sessions => return Err(impossible("sessions")),
    }
    Ok(())
}

fn impossible(what: &str) -> String {
    format!(
        "--over {what}: no device takes a number of {what} yet; expected workers, flows or routes"
    )
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn flows_are_products_of_ranges() {
        assert_eq!(flows(1), Ok((Spread::Fixed, Spread::Fixed)));
        assert_eq!(flows(65_000), Ok((Spread::Fixed, Spread::Random(65_000))));
        assert_eq!(flows(1_000_000), Ok((Spread::Random(16), Spread::Random(62_500))));
        assert!(flows(0).is_err() && flows(65_003).is_err());
    }
}
