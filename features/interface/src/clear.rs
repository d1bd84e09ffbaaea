// SPDX-License-Identifier: Apache-2.0
//! `clear interface…`.

use crate::set::named;
use cli::{Error, Matches, Output};
use graph::World;
use net::IfCounters;

pub fn counters(w: &World, _: &Matches) -> Result<Output, Error> {
    Ok(w.get::<IfCounters>().clear(w).then(|_| Ok(Output::empty())))
}

pub fn tag(w: &World, m: &Matches) -> Result<Output, Error> {
    let (interfaces, sw_if) = named(w, m)?;
    interfaces.set_tag(sw_if, "")?;
    Ok(Output::empty())
}
