// SPDX-License-Identifier: Apache-2.0
//! DHCPv6: messages, and the clients for addresses and prefixes.

mod addresses;
pub mod association;
pub mod cli;
pub mod client;
mod consumers;
pub mod input;
pub mod machine;
pub mod message;
pub mod ports;
pub mod transmission;
