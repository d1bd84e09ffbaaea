// SPDX-License-Identifier: Apache-2.0
mod api;
mod dpdk;
mod hostile;
mod inflight;
mod kill;
mod log;
mod messages;
mod offload;
mod pair;
pub mod peer;
mod ring;
mod session;
mod shrink;
