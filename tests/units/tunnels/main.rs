// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The unit tests of tunnels.

suite::main!();

#[path = "../../../features/track-mtu/tests/tunnels.rs"]
mod track_mtu_tunnels;
