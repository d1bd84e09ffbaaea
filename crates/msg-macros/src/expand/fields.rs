// SPDX-License-Identifier: Apache-2.0
//! The fields of a type or message: how they are declared, written and read.

use super::names;
use msg_table::{Field, Multiplicity, Shape, Type};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};

/// The token streams for a struct's fields.
pub struct Fields {
    /// Declarations.
    pub declare: Vec<TokenStream>,
    /// Statements that write to `out`.
    pub put: Vec<TokenStream>,
    /// Statements that read from `r` into a variable for each field.
    pub get: Vec<TokenStream>,
    /// The fields' names.
    pub names: Vec<Ident>,
    /// Their types.
    pub kinds: Vec<TokenStream>,
}

/// The Rust type of a table's type, of which a field may have several.
pub fn kind(kind: &Type, span: Span) -> TokenStream {
    let name = match &kind.shape {
        Shape::Fixed(of, n) => {
            let of = self::kind(of, span);
            return quote! { [#of; #n] };
        }
        Shape::Text(0) => return quote! { ::std::string::String },
        Shape::Text(n) => return quote! { ::msg::Str<#n> },
        Shape::Scalar => Ident::new(kind.name, span),
        _ => Ident::new(&names::camel(kind.name), span),
    };
    quote! { #name }
}

pub fn expand(fields: &[Field], span: Span) -> Fields {
    let mut all =
        Fields { declare: vec![], put: vec![], get: vec![], names: vec![], kinds: vec![] };
    for field in fields {
        let name = names::field(field.name, span);
        let one = kind(&field.kind, span);
        // The array whose length this field is has it in Rust.
        if let Some(array) = fields.iter().find(|array| names::counts(field, array)) {
            let (array, length) = (names::field(array.name, span), length(field.name));
            all.put
                .push(quote! { ::msg::Wire::put(&::msg::length::<#one>(self.#array.len()), out); });
            all.get.push(quote! { let #length: #one = ::msg::Wire::get(r)?; });
            continue;
        }
        let kind = match (&field.multiplicity, &field.kind.shape) {
            (Multiplicity::Counted(count), _) => {
                let (length, kind) = (length(count), quote! { ::std::vec::Vec<#one> });
                all.declare.push(quote! { pub #name: #kind });
                all.put.push(quote! { ::msg::put_all(&self.#name, out); });
                all.get.push(quote! { let #name = ::msg::get_all(#length as usize, r)?; });
                all.names.push(name);
                all.kinds.push(kind);
                continue;
            }
            (Multiplicity::One | Multiplicity::Text, _) | (_, Shape::Text(_)) => one,
            (Multiplicity::Fixed(n), _) => quote! { [#one; #n] },
        };
        all.declare.push(quote! { pub #name: #kind });
        all.put.push(quote! { ::msg::Wire::put(&self.#name, out); });
        all.get.push(quote! { let #name = ::msg::Wire::get(r)?; });
        all.names.push(name);
        all.kinds.push(kind);
    }
    all
}

/// The variable that has the length of an array.
fn length(field: &str) -> Ident {
    format_ident!("length_{field}")
}
