// SPDX-License-Identifier: Apache-2.0
//! `clear interface…`.

use crate::control;
use crate::set::named;
use cli::{Error, Matches, Output};
use graph::World;

pub fn counters(w: &World, _: &Matches) -> Result<Output, Error> {
    Ok(control::clear_counters(w, None).then(|_| Ok(Output::empty())))
}

pub fn tag(w: &World, m: &Matches) -> Result<(), Error> {
    let (_, sw_if) = named(w, m)?;
    control::set_tag(w, sw_if, None)
}
