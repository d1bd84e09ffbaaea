// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! `#[derive(Next)]`: one enum names all edges by which packets leave a node.
//!
//! A variant is the edge, the counter and the text an operator reads in `show errors`:
//!
//! | attribute | the packet goes to |
//! |---|---|
//! | `#[next("ip4-lookup")]` | that node; with `#[next("ip4-lookup", count)]` it is counted under the variant's text, with `#[next("ip4-icmp-error", reason)]` it carries this as the reason of its drop, too |
//! | `#[next_feature]` | the next feature of the running arc |
//! | `#[dynamic]` (holds a `NodeIndex`) | the node that was chosen at run time |
//! | `#[drop]` | the node's drop node, counted under the variant's text |
//! | `#[punt]` | the node's punt node, counted under the variant's text |
//! | `#[free]` | nowhere: it is freed; a transmitted packet |
//! | `#[keep]` | `Node::keep`, which becomes its owner |
//! | `#[count]` | none goes there: `Cx::count` counts what happens under the variant's text |
//!
//! The first line of the doc comment is the text; a counted variant without one does not compile.
//!
//! The counter's name below `/err/NODE/` is the variant's name in snake case. `#[counter("uRPF
//! Drop")]` beside the attribute above gives it another: where VPP has the same counter, ours has
//! its name. Variants with the same `#[counter]`, target and text share that counter. `#[counter("
//! rpf_failure", of = "ip4-input")]` counts under another node's name, where VPP does.

mod next;

use proc_macro::TokenStream;
use syn::{DeriveInput, Error};

/// Derives `graph::Next`. See the crate's page.
#[proc_macro_derive(
    Next,
    attributes(next, next_feature, dynamic, drop, punt, free, keep, count, counter)
)]
pub fn derive_next(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    next::expand(&input).unwrap_or_else(Error::into_compile_error).into()
}
