// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! `msg::messages!` makes Rust types of messages, and of the types that their fields have, by the
//! tables of `crates/msg-table`.
//!
//! ```text
//! msg::messages! {
//!     /// Makes or deletes a tunnel.
//!     GeneveAddDelTunnel,
//!     /// One tunnel: its ends and settings.
//!     GeneveTunnelDetails,
//!     /// The fields copied between inner and outer headers.
//!     flags TunnelEncapDecapFlags,
//! }
//! ```
//!
//! A name is that of the table in camel case. It stands for a message or a type:
//!
//! | in the table | in Rust |
//! |---|---|
//! | a message | a struct that implements `msg::Message`: its own fields, without those of the head. A request implements `msg::Call`, `msg::Dump` or both, by its service |
//! | a reply behind the word `retval` | the same with its return value as a field: an error doesn't leave out the other fields |
//! | a type of several fields | a struct that implements `msg::Wire` |
//! | an alias | a struct with one unnamed field |
//! | an enum | an enum; its first member is the default. A value that it doesn't have makes a message malformed |
//! | flags, and an enum behind the word `flags` | a struct with one unnamed number and a constant for each member. It has any value |
//! | a union | a struct with its bytes; another field says which part is meant |
//!
//! A field has the table's name, and the Rust type of that name in scope: `vl_api_address_t` is
//! `Address`, `u8 x[4]` is `[u8; 4]`, `string x[64]` is `msg::Str<64>`, `string x[]` is `String`,
//! and `u8 n, u32 x[n]` is `Vec<u32>` without a field for the number. Members are named without
//! the beginning that all have in common. The doc comment is the documentation of the message.
//! Attributes of a name go to its type, but for `#[from(Other)]`: it converts another version of
//! the same. Fields that the other one lacks have the default of the table, or are zero;
//! `#[from(Other, here = there)]` names a field that has another name there.
//!
//! A reply with one field of its own needn't be in the list. A message with one field converts from
//! its value, and an answer with an interface also from `SwIfIndex`.

use proc_macro::TokenStream;

mod expand;

/// Makes types of the tables' messages and types. See the crate's page.
#[proc_macro]
pub fn messages(input: TokenStream) -> TokenStream {
    expand::expand(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
