// SPDX-License-Identifier: Apache-2.0
//! Conversions between versions of a message or type.

use super::{Item, names};
use msg_table::{Field, Shape, Type, tables};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Error, Result};

/// The conversions that `#[from(Other)]` asks for. Fields that the other one lacks have the
/// table's default; an other one that is newer may have more.
pub fn expand(item: &Item, fields: &[Field]) -> Result<TokenStream> {
    item.from.iter().map(|from| conversion(&item.name, fields, from)).collect()
}

fn conversion(name: &Ident, fields: &[Field], from: &Ident) -> Result<TokenStream> {
    let wrong = |why| Err(Error::new(from.span(), why));
    let Some(theirs) = names::find(&from.to_string()).and_then(fields_of) else {
        return wrong(format!("no table has a message or type {from}"));
    };
    let lacks = |all: &[Field], field: &Field| all.iter().all(|other| other.name != field.name);
    let (mut added, mut lost) = (
        fields.iter().filter(|field| lacks(&theirs, field)),
        theirs.iter().filter(|field| lacks(fields, field)),
    );
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
        let same = theirs.iter().find(|other| other.name == field.name);
        values.push(match same {
            Some(other) if other.kind == field.kind => quote! { #ident: other.#ident },
            Some(_) => quote! { #ident: other.#ident.into() },
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
