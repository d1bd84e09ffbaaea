// SPDX-License-Identifier: Apache-2.0
//! Conversions between versions of a message or type.

use super::{Item, Older, names};
use msg_table::{Field, Shape, Type, tables};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Error, Result};

/// The conversions that `#[from(Other)]` asks for. Fields that the other one lacks have the
/// table's default; an other one that is newer may have more.
pub fn expand(item: &Item, fields: &[Field]) -> Result<TokenStream> {
    item.from.iter().map(|from| conversion(&item.name, fields, from)).collect()
}

fn conversion(name: &Ident, fields: &[Field], older: &Older) -> Result<TokenStream> {
    let from = &older.name;
    let wrong = |why| Err(Error::new(from.span(), why));
    let Some(theirs) = names::find(&from.to_string()).and_then(fields_of) else {
        return wrong(format!("no table has a message or type {from}"));
    };
    // The name of a field there.
    let of = |field: &Field| {
        let renamed = older.renamed.iter().find(|(here, _)| here == field.name);
        renamed.map_or(field.name.to_string(), |(_, there)| there.to_string())
    };
    let mut added = fields.iter().filter(|field| theirs.iter().all(|t| t.name != of(field)));
    let mut lost = theirs.iter().filter(|their| fields.iter().all(|f| their.name != of(f)));
    if let (Some(added), Some(lost)) = (added.next(), lost.next()) {
        return wrong(format!(
            "{name} has no field {}, and {from} no field {}: write the conversion by hand",
            lost.name, added.name
        ));
    }
    let mut values = Vec::new();
    for field in fields {
        // The length of an array is none in Rust.
        let counts = |other: &Field| names::counts(field, other);
        if fields.iter().any(counts) {
            continue;
        }
        let ident = names::field(field.name, from.span());
        let same = theirs.iter().find(|other| other.name == of(field));
        let theirs = names::field(&of(field), from.span());
        values.push(match same {
            Some(other) if other.kind == field.kind => quote! { #ident: other.#theirs },
            Some(_) => quote! { #ident: other.#theirs.into() },
            None => {
                let value = default(field);
                quote! { #ident: #value }
            }
        });
    }
    Ok(quote! {
        impl ::std::convert::From<#from> for #name {
            fn from(other: #from) -> Self { Self { #(#values),* } }
        }
    })
}

/// The own fields of a message, or those of a type.
fn fields_of(name: &str) -> Option<Vec<Field>> {
    match (tables().message(name), tables().kind(name)) {
        (Some(message), _) => Some(message.fields[message.head()..].to_vec()),
        (None, Some(Type { shape: Shape::Struct(fields), .. })) => Some(fields),
        _ => None,
    }
}

/// The value that clients send if they aren't told one.
fn default(field: &Field) -> TokenStream {
    match (field.default, &field.kind.shape) {
        (Some(value), Shape::Scalar) => value.parse().expect("a literal"),
        _ => quote! { ::std::default::Default::default() },
    }
}
