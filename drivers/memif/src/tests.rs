// SPDX-License-Identifier: Apache-2.0
mod api;
mod dpdk;
mod handshake;
mod hostile;
mod messages;
mod open;
mod pair;
mod peer;
mod placement;
mod shrink;
