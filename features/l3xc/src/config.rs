// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::control::CrossConnects;
use cli::quote;
use fib::paths;
use graph::{Phase, RunningConfig, Script, World};
use ip::Ip;
use net::{Interfaces, TableIndex};
use wire::{Ip4, Ip6};

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "cross-connects of layer 3",
    "create loopback interface
     create loopback interface
     create loopback interface
     ip table add 7
     ip6 table add 7
     set interface state loop1 up
     set interface ip address loop1 10.0.1.1/24
     set interface ip address loop2 10.0.2.1/24
     l3xc add loop0 via 10.0.1.2 loop1
     l3xc add loop0 via 2001:db8::2 loop1 weight 3 via 2001:db8:1::2 loop2 preference 1
     l3xc add loop1 via 10.0.2.2
     l3xc loop1 via 10.0.2.2 next-hop-table 7 via loop2 via drop
     l3xc add loop1 ip6 via 10.0.2.2 loop2
     l3xc add loop2 ip6 via unreach
     l3xc add loop2 via 10.0.1.2 loop1
     l3xc del loop2",
)];

/// Writes a line for each cross-connect.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    write::<Ip4>(world, config);
    write::<Ip6>(world, config);
}

fn write<F: Ip>(world: &World, config: &mut RunningConfig) {
    let (interfaces, ids) = (world.get::<Interfaces>(), paths::Ids::new(world));
    let all = world.get::<CrossConnects<F>>().list();
    config.list(Phase::ROUTES, all, move |_, (sw_if, crossed), lines| {
        let name = quote(&interfaces.name(sw_if));
        let words = crossed
            .iter()
            .map(|path| paths::words::<F>(&interfaces, &ids, TableIndex::DEFAULT, path));
        let words = words.collect::<Vec<_>>().join(" ");
        let of = format!("{name} {}", F::NAME);
        lines.push(format!("l3xc add {of} {words}"), format!("l3xc del {of}"));
    });
}
