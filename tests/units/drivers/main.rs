// SPDX-License-Identifier: Apache-2.0
//! The unit tests of drivers.

suite::main!();

#[path = "../../../drivers/af_packet/tests/lab/mod.rs"]
mod af_packet_lab;
#[path = "../../../drivers/tap/tests/lab/mod.rs"]
mod tap_lab;

#[path = "../../../drivers/af_packet/tests/forward.rs"]
mod af_packet_forward;
#[path = "../../../drivers/af_packet/tests/tun.rs"]
mod af_packet_tun;
#[path = "../../../drivers/af_packet/tests/veth.rs"]
mod af_packet_veth;
#[path = "../../../drivers/tap/tests/forward.rs"]
mod tap_forward;
#[path = "../../../drivers/tap/tests/host.rs"]
mod tap_host;
