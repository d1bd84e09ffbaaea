// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! `#[derive(Arguments)]`: see `crates/object`.

mod arguments;

use proc_macro::TokenStream;
use syn::{DeriveInput, Error};

/// Derives `object::Arguments`. See that crate's page.
#[proc_macro_derive(Arguments, attributes(words, part, unsaid))]
pub fn derive_arguments(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    arguments::expand(&input).unwrap_or_else(Error::into_compile_error).into()
}
