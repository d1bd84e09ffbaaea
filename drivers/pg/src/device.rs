// SPDX-License-Identifier: Apache-2.0
//! A `pgN` interface, as `net` sees it.

use net::Device;

pub struct PgDevice;

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
}
