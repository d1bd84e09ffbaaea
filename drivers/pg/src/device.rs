// SPDX-License-Identifier: Apache-2.0
//! A `pgN` interface, as `net` sees it.

use crate::control::Shared;
use graph::World;
use net::Device;

pub struct PgDevice {
    pub name: String,
}

impl Device for PgDevice {
    fn driver(&self) -> &'static str {
        "pg"
    }
    fn input_node(&self) -> &'static str {
        "pg-input"
    }
    fn details(&self) -> Vec<String> {
        vec!["packet generator".into()]
    }
    fn delete(&self, world: &World) {
        world.get::<Shared>().forget(&self.name);
    }
}
