// SPDX-License-Identifier: Apache-2.0
//! Labels of measurements: the attributes in which the measurements of a run differ.

use std::collections::BTreeSet;

use crate::{Measurement, Size};

/// Attributes of a measurement that a label may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Attribute {
    Device,
    Family,
    Size,
    Cores,
    Flows,
    Directions,
    Parameters,
    Profile,
}

use Attribute::*;

const ALL: [Attribute; 8] = [Device, Family, Size, Cores, Flows, Directions, Parameters, Profile];

/// Frame size in words.
pub(super) fn size(size: Size) -> String {
    match size {
        Size::Bytes(n) => format!("{n} B"),
        Size::Imix => "IMIX".into(),
    }
}

/// Directions in words.
pub(super) fn directions(m: &Measurement) -> String {
    match m.directions.as_slice() {
        [] => String::new(),
        [one] => format!("one-way ({one})"),
        _ => "bidirectional".into(),
    }
}

/// Parameters in words, without those that serve another output.
pub(super) fn parameters(m: &Measurement) -> String {
    let parts = m.parameters.iter().map(|(name, value)| format!("{name} {value}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// One attribute as text.
pub(super) fn text(m: &Measurement, attribute: Attribute) -> String {
    match attribute {
        Device => m.device.clone(),
        Family => m.family.to_string(),
        Size => size(m.size),
        Cores if m.cores == 1 => "1 core".into(),
        Cores => format!("{} cores", m.cores),
        Flows if m.flows == 1 => "1 address pair".into(),
        Flows => format!("{} address pairs", super::grouped(m.flows as f64)),
        Directions => directions(m),
        Parameters => parameters(m),
        Profile => m.profile.to_string(),
    }
}

/// Labels for a set of measurements.
#[derive(Debug, Clone)]
pub(super) struct Labels {
    differ: BTreeSet<Attribute>,
}

impl Labels {
    /// Labels that tell these measurements from each other. The device is always named.
    pub(super) fn of<'a>(measurements: impl Iterator<Item = &'a Measurement> + Clone) -> Labels {
        let differs = |attribute: &Attribute| {
            let mut texts = measurements.clone().map(|m| text(m, *attribute));
            let first = texts.next();
            texts.any(|t| Some(t) != first)
        };
        let mut differ: BTreeSet<_> = ALL.into_iter().filter(differs).collect();
        differ.insert(Device);
        Labels { differ }
    }

    /// True if the measurements differ in this attribute.
    pub(super) fn differ(&self, attribute: Attribute) -> bool {
        self.differ.contains(&attribute)
    }

    /// Label without some attributes; the device's name if nothing else is left.
    pub(super) fn label(&self, m: &Measurement, without: &[Attribute]) -> String {
        let parts = self.differ.iter().filter(|a| !without.contains(a)).map(|a| text(m, *a));
        let parts: Vec<_> = parts.filter(|p| !p.is_empty()).collect();
        if parts.is_empty() { m.device.clone() } else { parts.join(", ") }
    }

    /// Attributes in which the measurements agree, in words.
    pub(super) fn common(&self, m: &Measurement, without: &[Attribute]) -> String {
        let alike = ALL.iter().filter(|a| !self.differ.contains(a) && !without.contains(a));
        let parts: Vec<_> = alike.map(|a| text(m, *a)).filter(|p| !p.is_empty()).collect();
        parts.join(", ")
    }
}
