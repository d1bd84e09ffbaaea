// SPDX-License-Identifier: Apache-2.0
//! Quantities over which figures and tables show a result.

use std::collections::BTreeSet;

use super::labels::{Attribute, Labels};
use crate::{Measurement, Size};

/// Quantity in which measurements differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Over {
    Cores,
    Size,
    Flows,
    Parameter(String),
}

impl Over {
    /// Quantities with at least two values among the measurements; three for sizes.
    pub(super) fn of(measurements: &[&Measurement]) -> Vec<Over> {
        let names: BTreeSet<_> = measurements.iter().flat_map(|m| m.parameters.keys()).collect();
        let parameters = names.into_iter().map(|n| Over::Parameter(n.clone()));
        let all = [Over::Cores, Over::Size, Over::Flows].into_iter().chain(parameters);
        let enough = |over: &Over| {
            let values = measurements.iter().filter_map(|m| over.value(m)).map(f64::to_bits);
            let values: BTreeSet<_> = values.collect();
            values.len() >= if *over == Over::Size { 3 } else { 2 }
        };
        all.filter(enough).collect()
    }

    pub(super) fn value(&self, m: &Measurement) -> Option<f64> {
        match self {
            Over::Cores => Some(f64::from(m.cores)),
            Over::Flows => Some(m.flows as f64),
            Over::Size => match m.size {
                Size::Bytes(n) => Some(f64::from(n)),
                Size::Imix => None,
            },
            Over::Parameter(name) => {
                m.parameters.get(name)?.parse().ok().filter(|v: &f64| v.is_finite())
            }
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Over::Cores => "cores",
            Over::Size => "frame size",
            Over::Flows => "flows",
            Over::Parameter(name) => name,
        }
    }

    pub(super) fn axis(&self) -> String {
        match self {
            Over::Size => "frame size in bytes".into(),
            Over::Cores => "cores of the device".into(),
            Over::Flows => "address pairs per direction".into(),
            Over::Parameter(name) => name.clone(),
        }
    }

    /// Label of the line to which a measurement belongs: without the quantity.
    pub(super) fn line(&self, labels: &Labels, m: &Measurement) -> String {
        match self {
            Over::Cores => labels.label(m, &[Attribute::Cores]),
            Over::Size => labels.label(m, &[Attribute::Size]),
            Over::Flows => labels.label(m, &[Attribute::Flows]),
            Over::Parameter(name) => {
                let mut without = m.clone();
                without.parameters.remove(name);
                labels.label(&without, &[])
            }
        }
    }
}
