// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The binary API, as VPP's clients speak it.
//!
//! Messages stand in the tables of `crates/msg-table`: [`messages!`] makes Rust types of those that
//! a crate names; their CRCs and their places in the `.api.json` files that clients read are the
//! tables'. A [`Module`] is what one feature adds: its messages, with the functions that answer
//! them.
//!
//! ```
//! use msg::{Message, Messages, Module};
//!
//! msg::messages! {
//!     /// Gives a lamp a name.
//!     LampName,
//! }
//!
//! static API: Module<()> = Module::plugin("lamp", |m| {
//!     m.call(|_world, request: LampName| {
//!         println!("hello {}", request.name);
//!         Ok(())
//!     });
//! });
//! let hub = msg::Hub::new([&API]).expect("names that nobody else has");
//! assert!(hub.table().find("lamp_name_reply").is_some());
//! ```
//!
//! [`Hub`] is the server's shared side: message table, connected clients, event subscriptions.
//! [`Session`] is one connection's protocol, without the socket: bytes in, bytes out.

// Code of `messages!` names this crate, here too.
extern crate self as msg;

mod answer;
mod changes;
pub mod check;
mod crc;
mod encode;
mod hub;
mod json;
mod loopback;
mod memclnt;
mod message;
mod out;
mod session;
mod show;
mod table;
#[cfg(feature = "tests")]
mod tests;
mod wire;

pub use answer::Pending;
pub use cli::retval;
pub use encode::fields as encode_fields;
pub use hub::{ClientInfo, Hub, Traced};
pub use json::{module as api_json, shared as api_json_shared, whole as api_json_whole};
pub use loopback::{Loopback, Suspended};
pub use message::{Call, Dump, End, Head, HeadField, Message, Reply};
pub use msg_macros::messages;
pub use msg_table::{Field, Multiplicity, Service, Shape, Tables, Type, tables};
pub use out::SendBuffer;
pub use session::{Fault, Session, TurnResult};
pub use show::fields as show_fields;
pub use table::{Caller, Counts, Entry, Kind, Messages, Module, ModuleInfo, Table};
pub use wire::{Length, Malformed, Reader, Str, Wire, get_all, length, put_all};
