// SPDX-License-Identifier: Apache-2.0
//! `set interface ip directed-broadcast`.

use crate::broadcast::DirectedBroadcast;
use cli::{Error, Matches};
use graph::World;
use net::args::interface;

pub fn set(w: &World, m: &Matches) -> Result<(), Error> {
    w.get::<DirectedBroadcast>().set(w, interface(w, m, "interface")?, m.flag("enable"))
}
