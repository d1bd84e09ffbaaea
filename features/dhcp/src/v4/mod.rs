// SPDX-License-Identifier: Apache-2.0
//! The DHCPv4 client.

pub mod cli;
pub mod client;
pub mod detect;
mod lease;
pub mod machine;
pub mod message;
pub mod routes;
mod send;
pub mod status;
