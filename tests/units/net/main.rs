// SPDX-License-Identifier: Apache-2.0
//! The unit tests of model, drivers' base and netlink.

suite::main!();

#[path = "../../../crates/net/tests/churn/main.rs"]
mod net_churn;
#[path = "../../../crates/netlink/tests/namespaces.rs"]
mod netlink_namespaces;
