// SPDX-License-Identifier: Apache-2.0
//! The filter of a capture.

use super::Captures;
use crate::classifier::{Classifier, Purpose, classifier};
use crate::control::Filters;
use crate::filter::{Expression, Program};
use crate::function::Function;
use buffer::Buffer;
use cli::Error;
use graph::{SwIfIndex, World};
use std::sync::Arc;
use sync::Turn;

/// The filter that selects the packets of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaptureFilter {
    /// An expression.
    Expression(Expression),
    /// The tables of the classifier. Without tables, no packet.
    Classifier,
}

impl CaptureFilter {
    /// Prepares it for a thread of a capture of this interface, or of any.
    ///
    /// # Errors
    /// An expression that can't be compiled; no classifier (−9).
    pub fn compile(&self, world: &World, interface: Option<SwIfIndex>) -> Result<Test, Error> {
        Ok(match self {
            Self::Expression(expression) => Test::Program(expression.compile()?),
            Self::Classifier => Test::Classifier(classifier(world)?, Purpose::Capture(interface)),
        })
    }
}

/// The same for a thread.
pub enum Test {
    Program(Program),
    Classifier(Arc<dyn Classifier>, Purpose),
}

impl Test {
    /// Returns true if a packet matches; it begins with an IP header if `ip`, else with an Ethernet
    /// header.
    pub fn accepts(&self, b: &Buffer, ip: bool, turn: &Turn<'_>) -> bool {
        match self {
            Self::Program(program) => program.matches(b.data(), ip),
            Self::Classifier(classifier, purpose) => classifier.accepts(*purpose, b, turn),
        }
    }
}

/// The configured function.
pub fn function(world: &World) -> Function {
    world.get::<Captures>().inner().function
}

/// Configures the function, from the next capture on.
pub fn set_function(world: &World, function: Function) {
    world.get::<Captures>().inner().function = function;
}

/// Filter of a capture with a bare `filter`: the expression of traces, if that is the function;
/// without one, all packets are taken.
///
/// # Errors
/// The classifier is the function, and there is none (−9).
pub fn chosen_filter(world: &World) -> Result<Option<CaptureFilter>, Error> {
    match function(world) {
        Function::Bpf => Ok(world.get::<Filters>().get().expression.map(CaptureFilter::Expression)),
        Function::Traced => classifier(world).map(|_| Some(CaptureFilter::Classifier)),
    }
}
