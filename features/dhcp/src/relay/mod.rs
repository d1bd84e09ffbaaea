// SPDX-License-Identifier: Apache-2.0
//! The relays of both IP versions: messages of clients go to servers elsewhere, and their answers
//! back.

pub mod cli;
pub mod config;
pub mod option82;
pub mod packet;
pub mod to_client4;
pub mod to_client6;
pub mod to_server4;
pub mod to_server6;
mod trace;
pub mod vss;
