// SPDX-License-Identifier: Apache-2.0
//! Multiple loss ratio search (MLRsearch, RFC 9971): several goals in one search.
//!
//! The RFC fixes how loads are classified and what a result is ([`Bound`](crate::Bound) is one);
//! the choice of loads is left to the implementation. This one reaches each goal in stages, from
//! short trials and a wide interval to the goal's own, and starts from the rate that the device
//! forwards under overload.

mod classify;
mod controller;
#[cfg(feature = "tests")]
mod tests;

pub use classify::{Class, classify, conditional_throughput};
pub use controller::{Mlr, Outcome};

use crate::Profile;

/// Goal of a search (RFC 9971, "Search Goal").
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// Name for reports: `ndr`, `pdr`.
    pub name: String,
    /// Loss ratio up to which a trial is a low-loss one.
    pub loss_ratio: f64,
    /// Share of high-loss trials that a lower bound tolerates.
    pub exceed_ratio: f64,
    /// Seconds of the trials that decide.
    pub final_duration: f64,
    /// Seconds of the shortest trials.
    pub initial_duration: f64,
    /// Seconds of trials that decide a load.
    pub duration_sum: f64,
    /// Distance of the bounds, relative to the upper one, at which the search ends.
    pub width: f64,
}

impl Goal {
    /// Goal that makes the result compliant with RFC 2544, 24: one trial of 60 s without loss.
    pub fn rfc2544(width: f64) -> Goal {
        Goal {
            name: "ndr".into(),
            loss_ratio: 0.0,
            exceed_ratio: 0.0,
            final_duration: 60.0,
            initial_duration: 1.0,
            duration_sum: 60.0,
            width,
        }
    }

    /// Goals of a profile: `ndr` without loss, and `pdr` with 0.5 % of loss.
    pub fn of(profile: Profile) -> Vec<Goal> {
        let goal = |name: &str, loss_ratio: f64| Goal {
            name: name.into(),
            loss_ratio,
            exceed_ratio: match profile {
                Profile::Rfc2544 | Profile::Thesis if loss_ratio == 0.0 => 0.0,
                _ => 0.5,
            },
            final_duration: profile.duration(),
            initial_duration: profile.duration().min(1.0),
            duration_sum: profile.duration_sum(),
            // Recommended: not narrower than the loss ratio.
            width: profile.width().max(loss_ratio),
        };
        vec![goal("ndr", 0.0), goal("pdr", 0.005)]
    }

    /// Error in words if an attribute is out of its range.
    pub fn check(&self) -> Result<(), String> {
        let Goal { name, loss_ratio, exceed_ratio, width, .. } = self;
        for (what, ratio) in [("loss ratio", loss_ratio), ("exceed ratio", exceed_ratio)] {
            if !(0.0..1.0).contains(ratio) {
                return Err(format!(
                    "goal {name}: a {what} is at least 0 and below 1, not {ratio}"
                ));
            }
        }
        if !(*width > 0.0 && *width < 1.0) {
            return Err(format!("goal {name}: a width is above 0 and below 1, not {width}"));
        }
        let Goal { initial_duration: initial, final_duration: last, duration_sum: sum, .. } = self;
        if !(*initial > 0.0 && initial <= last && last <= sum && sum.is_finite()) {
            return Err(format!(
                "goal {name}: 0 < initial duration <= final duration <= duration sum, \
                 not {initial} s, {last} s, {sum} s"
            ));
        }
        Ok(())
    }
}
