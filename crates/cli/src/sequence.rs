// SPDX-License-Identifier: Apache-2.0
//! Commands that are made of other commands, one after the other.

use crate::{Error, Outcome, Output, Result, Said, Tree};

/// What a [`Sequence`] wants next.
#[derive(Debug)]
pub enum Step {
    /// Run this line; with JSON as its answer, or text.
    Run(String, bool),
    /// Run this line in the same manner, of a long answer only so many items.
    Sample(String, bool, usize),
    /// The sequence has run a line by itself; what that began is brought to its end.
    Ran(Result<Outcome>),
    /// Not done yet: asked again in the next turn. The text is for the operator, if there is any.
    More(String),
    /// Done; this is the answer.
    Done(Output),
    /// Ended by an error.
    Failed(Error),
}

/// A command that runs others and goes by what they answer. What they say goes to it, not to the operator.
pub trait Sequence<W: 'static> {
    /// The next step. `last` is how the line of the last one ended, and what it said; `None` at the start.
    fn next(&mut self, tree: &Tree<W>, world: &W, last: Option<Result<Vec<Said>>>) -> Step;

    /// The operator pressed ^C: the line at hand has ended, and none comes after it. What is to be said of that.
    fn cancel(&mut self) -> Error {
        Error::failed("cancelled")
    }
}
