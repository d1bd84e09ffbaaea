// SPDX-License-Identifier: Apache-2.0
//! The interfaces that a command names, by name or by number.

use cli::{Error, Matches, Result};
use graph::{SwIfIndex, World};
use net::Interfaces;

/// The interfaces in the order in which the command names them; none stands for all.
///
/// # Errors
/// An interface that doesn't exist.
pub fn chosen(w: &World, m: &Matches) -> Result<Vec<SwIfIndex>> {
    let interfaces = w.get::<Interfaces>();
    let find = |name: &String| {
        interfaces.find(name).or_else(|error: Error| {
            let number =
                name.parse().map(SwIfIndex).ok().filter(|sw_if| interfaces.check(*sw_if).is_ok());
            number.ok_or(error)
        })
    };
    m.all::<String>("interface")?.iter().map(find).collect()
}

/// All interfaces, by name.
pub fn by_name(w: &World) -> Vec<SwIfIndex> {
    let mut all = w.get::<Interfaces>().names();
    all.sort_unstable();
    all.into_iter().map(|(_, sw_if)| sw_if).collect()
}
