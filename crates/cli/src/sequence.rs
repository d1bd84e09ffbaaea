// SPDX-License-Identifier: Apache-2.0
//! Commands that are made of other commands, one after the other.

use crate::{Error, Outcome, Output, OutputPiece, Result, Tree};

/// The next step of a [`Sequence`].
#[derive(Debug)]
pub enum Step {
    /// Run this line; with JSON as its answer, or text.
    Run(String, bool),
    /// Run this line in the same manner, of a long answer only so many items.
    Sample(String, bool, usize),
    /// The sequence has run a line by itself; the task or script that the line started is run to
    /// its end.
    Ran(Result<Outcome>),
    /// Not done yet: asked again in the next turn. The text is for the operator, if there is any.
    More(String),
    /// Done; this is the answer.
    Done(Output),
    /// Ended by an error.
    Failed(Error),
}

/// A command that runs others and acts on their answers. Their output goes to it, not to the
/// operator.
pub trait Sequence<W: 'static> {
    /// Returns the next step. `last` is the result and output of the last step's line; `None` at
    /// the start.
    fn next(&mut self, tree: &Tree<W>, world: &W, last: Option<Result<Vec<OutputPiece>>>) -> Step;

    /// Called at the operator's ^C: the current line has ended, and none follows. Returns the error
    /// to report.
    fn cancel(&mut self) -> Error {
        Error::failed("cancelled")
    }
}
