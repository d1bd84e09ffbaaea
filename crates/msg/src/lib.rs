// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The binary API, as VPP's clients speak it.
//!
//! A message is declared once, as a Rust struct with `#[derive(Message)]`; its codec, its CRC, its place in the `.api.json` files
//! that clients read and its documentation follow from that. A [`Module`] is what one feature adds: its messages, with the
//! functions that answer them.
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
//! [`Hub`] is the server's shared side: the message table, who is connected, who wants events. [`Session`] is one connection's
//! protocol, without the socket: bytes in, bytes out.

// What is derived names this crate, here too.
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
#[cfg(test)]
mod tests;
mod wire;

pub use answer::Pending;
pub use describe::{Field, Many, Shape, Type, crc};
pub use encode::fields as encode_fields;
pub use hub::{ClientInfo, Hub, Traced};
pub use json::{module as api_json, shared as api_json_shared, whole as api_json_whole};
pub use loopback::{Loopback, Suspended};
pub use message::{Call, Dump, Head, HeadField, Message, Reply};
pub use msg_derive::{Message, Wire};
pub use out::Out;
pub use session::{Fault, Session, Turn};
pub use show::fields as show_fields;
pub use table::{Caller, Counts, Entry, Kind, Messages, Module, ModuleInfo, Service, Table};
pub use wire::{Length, Malformed, Reader, Str, Wire, get_all, length, put_all};

/// Return values of requests, as VPP's clients know them.
pub mod retval {
    /// What has no number of its own.
    pub const UNSPECIFIED: i32 = -1;
    /// No such interface.
    pub const INVALID_SW_IF_INDEX: i32 = -2;
    /// No such table.
    pub const NO_SUCH_FIB: i32 = -3;
    /// No such thing.
    pub const NO_SUCH_ENTRY: i32 = -6;
    /// A value that can't be.
    pub const INVALID_VALUE: i32 = -7;
    /// Not built in.
    pub const UNIMPLEMENTED: i32 = -9;
    /// The system refused.
    pub const SYSCALL_ERROR_1: i32 = -11;
    /// Not for an interface of this kind.
    pub const FEATURE_DISABLED: i32 = -30;
    /// A number that is taken.
    pub const INVALID_REGISTRATION: i32 = -31;
    /// No way there.
    pub const UNKNOWN_DESTINATION: i32 = -51;
    /// A route without a path.
    pub const NO_PATHS_IN_ROUTE: i32 = -52;
    /// No address to send from.
    pub const INVALID_SRC_ADDRESS: i32 = -57;
    /// No address of one host.
    pub const INVALID_DST_ADDRESS: i32 = -58;
    /// A network that has no such length.
    pub const ADDRESS_LENGTH_MISMATCH: i32 = -59;
    /// An interface hasn't got this address.
    pub const ADDRESS_NOT_FOUND_FOR_INTERFACE: i32 = -60;
    /// An address that every interface with IPv6 has.
    pub const ADDRESS_NOT_DELETABLE: i32 = -61;
    /// No such node.
    pub const NO_SUCH_NODE: i32 = -63;
    /// Too few bytes, or too many.
    pub const INVALID_MEMORY_SIZE: i32 = -70;
    /// No interface of the host's, or one that can't be used so.
    pub const INVALID_INTERFACE: i32 = -71;
    /// An interface is in a state that doesn't allow it.
    pub const UNEXPECTED_INTF_STATE: i32 = -74;
    /// There is an interface of that name.
    pub const IF_ALREADY_EXISTS: i32 = -79;
    /// There is one already.
    pub const VALUE_EXIST: i32 = -81;
    /// No such worker.
    pub const INVALID_WORKER: i32 = -89;
    /// The file can't be made, or is there.
    pub const CANNOT_CREATE_PCAP_FILE: i32 = -93;
    /// More ranges than there is room for.
    pub const EXCEEDED_NUMBER_OF_RANGES_CAPACITY: i32 = -95;
    /// An address, or its network, is another's.
    pub const ADDRESS_IN_USE: i32 = -105;
    /// An interface still has addresses.
    pub const ADDRESS_FOUND_FOR_INTERFACE: i32 = -114;
    /// No such queue.
    pub const INVALID_QUEUE: i32 = -125;
    /// Not possible with this.
    pub const UNSUPPORTED: i32 = -126;
    /// An IPv6 address, or its network, is another's.
    pub const DUPLICATE_IF_ADDRESS: i32 = -127;
    /// An interface that carries no Ethernet frames.
    pub const NON_ETHERNET: i32 = -151;
    /// Somebody needs it.
    pub const RSRC_IN_USE: i32 = -155;
    /// As many as there may be.
    pub const LIMIT_EXCEEDED: i32 = -162;
    /// A stream that goes on at the cursor.
    pub const EAGAIN: i32 = -165;
}
