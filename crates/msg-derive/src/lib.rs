// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Derives for the binary API: a message is declared once, as a Rust type whose fields are the
//! message's.
//!
//! # `#[derive(Wire)]`: a type that messages are made of
//!
//! | on | is |
//! |---|---|
//! | a struct with named fields | a type; each field is on the wire in its order |
//! | `struct X(inner)` | an alias of `inner` |
//! | an enum of plain variants with `#[repr(u8)]`, `u16` or `u32` | an enum; `#[wire(prefix = "IF_API_")]` goes before every variant's name |
//!
//! # `#[derive(Message)]`: a message
//!
//! The end of the struct's name gives its kind and so the head before its fields: `…Reply`
//! (context, return value), `…Details` (context), `…Event` (client index, process id), anything
//! else a request (client index, context); a `V2` behind it changes nothing.
//! `#[msg(head(…))]` names the head where it is another.
//!
//! A request declares its answer: nothing for a bare return value, `#[msg(reply)]` for a reply with
//! fields, `#[msg(details)]` for a dump, `#[msg(reply, details)]` for a stream that ends in a
//! reply, `#[msg(events(A, B))]` for one that asks for events. The answers are named as the request
//! (`Dump` and `Get` left out for details), or by `#[msg(reply = T, details = T)]`.
//!
//! # Both
//!
//! A name on the wire is the Rust one in `snake_case` (a variant's in `SCREAMING_SNAKE_CASE`)
//! unless `#[msg(name = "…")]` or `#[wire(name = "…")]` says otherwise; `#[wire(default = "true")]`
//! on a field is what clients send if they aren't told. `#[count(n: u8)]` before a `Vec` puts its
//! length on the wire as a field `n`, right before it or, with `#[count(n: u8, before = field)]`,
//! before that field. Doc comments go to the generated documentation.

use proc_macro::TokenStream;

mod fields;
mod message;
mod names;
mod wire;

/// Derives `msg::Wire`. See the crate's page.
#[proc_macro_derive(Wire, attributes(wire, count))]
pub fn derive_wire(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    wire::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Derives `msg::Message`, and what a request is answered by. See the crate's page.
#[proc_macro_derive(Message, attributes(msg, wire, count))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    message::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
