// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The binary API, as VPP's clients speak it.
//!
//! A message is declared once, as a Rust struct with `#[derive(Message)]`; its codec, its CRC, its
//! place in the `.api.json` files that clients read and its documentation follow from that. A
//! [`Module`] is what one feature adds: its messages, with the functions that answer them.
//!
//! ```
//! use msg::{Caller, Message, Messages, Module};
//!
//! /// Turns the light on or off.
//! #[derive(Message)]
//! pub struct LightSet {
//!     /// On, or off.
//!     pub on: bool,
//! }
//!
//! static API: Module<()> = Module {
//!     name: "light",
//!     version: "1.0.0",
//!     crc: 0,
//!     core: false,
//!     messages: |m| m.call(|_world: &(), _caller: &Caller<'_, ()>, _request: LightSet| Ok(())),
//! };
//! let hub = msg::Hub::new([&API]).expect("names that nobody else has");
//! assert!(hub.table().find("light_set_reply").is_some());
//! ```
//!
//! [`Hub`] is the server's shared side: message table, connected clients, event subscriptions.
//! [`Session`] is one connection's protocol, without the socket: bytes in, bytes out.

// Derived code names this crate, here too.
extern crate self as msg;

mod answer;
mod changes;
pub mod check;
mod describe;
mod encode;
mod flags;
mod hub;
mod json;
mod loopback;
mod memclnt;
mod message;
mod out;
pub mod published;
mod session;
mod show;
mod table;
#[cfg(feature = "tests")]
mod tests;
mod wire;

pub use answer::Pending;
pub use cli::retval;
pub use describe::{Field, Multiplicity, Shape, Type, crc};
pub use encode::fields as encode_fields;
pub use hub::{ClientInfo, Hub, Traced};
pub use json::{module as api_json, shared as api_json_shared, whole as api_json_whole};
pub use loopback::{Loopback, Suspended};
pub use message::{Call, Dump, Head, HeadField, Message, Reply};
pub use msg_derive::{Message, Wire};
pub use out::SendBuffer;
pub use session::{Fault, Session, TurnResult};
pub use show::fields as show_fields;
pub use table::{Caller, Counts, Entry, Kind, Messages, Module, ModuleInfo, Service, Table};
pub use wire::{Length, Malformed, Reader, Str, Wire, get_all, length, put_all};
