// SPDX-License-Identifier: Apache-2.0
//! The named fields of a type or message: their description, and how they are written and read.

use crate::names;
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Data, DeriveInput, Error, Field, Fields, LitStr, Result, Token, Type};

/// `#[count(n: u8, before = field)]`
struct Count {
    name: Ident,
    kind: Type,
    before: Option<Ident>,
}

impl Parse for Count {
    fn parse(input: ParseStream) -> Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        let kind = input.parse()?;
        let mut before = None;
        if input.parse::<Option<Token![,]>>()?.is_some() {
            let word: Ident = input.parse()?;
            if word != "before" {
                return Err(Error::new(word.span(), "expected `before = FIELD`"));
            }
            input.parse::<Token![=]>()?;
            before = Some(input.parse()?);
        }
        Ok(Count { name, kind, before })
    }
}

/// The token streams for a struct's fields.
pub struct Expanded {
    /// `Field` values, in the order of the wire.
    pub describe: Vec<TokenStream>,
    /// Statements that write to `out`.
    pub put: Vec<TokenStream>,
    /// Statements that read from `r` into a variable for each field.
    pub get: Vec<TokenStream>,
    /// The fields' names.
    pub idents: Vec<Ident>,
}

pub fn named(input: &DeriveInput) -> Result<Option<Vec<&Field>>> {
    match &input.data {
        Data::Struct(s) => match &s.fields {
            Fields::Named(fields) => Ok(Some(fields.named.iter().collect())),
            Fields::Unit => Ok(Some(Vec::new())),
            Fields::Unnamed(_) => Ok(None),
        },
        _ => Err(Error::new_spanned(input, "expected a struct")),
    }
}

/// The name on the wire, and the default as JSON.
fn wire_name(field: &Field) -> Result<(String, Option<String>)> {
    let ident = field.ident.as_ref().expect("a named field");
    let (mut name, mut default) = (ident.to_string().trim_start_matches("r#").to_string(), None);
    for attr in field.attrs.iter().filter(|a| a.path().is_ident("wire")) {
        attr.parse_nested_meta(|meta| {
            let value = meta.value()?.parse::<LitStr>()?.value();
            if meta.path.is_ident("name") {
                name = value;
            } else if meta.path.is_ident("default") {
                default = Some(value);
            } else {
                return Err(meta.error("expected name or default"));
            }
            Ok(())
        })?;
    }
    Ok((name, default))
}

pub fn expand(fields: &[&Field]) -> Result<Expanded> {
    let mut counts = Vec::new();
    for field in fields {
        let attr = field.attrs.iter().find(|a| a.path().is_ident("count"));
        counts.push(attr.map(|a| a.parse_args::<Count>()).transpose()?);
    }
    for (at, count) in counts.iter().enumerate() {
        let before = count.as_ref().and_then(|c| c.before.as_ref());
        if let Some(before) = before
            && !fields[..at].iter().any(|f| f.ident.as_ref() == Some(before))
        {
            return Err(Error::new(
                before.span(),
                "the length stands before one of the earlier fields",
            ));
        }
    }
    let (mut describe, mut put, mut get, mut idents) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (at, field) in fields.iter().enumerate() {
        let ident = field.ident.clone().expect("a named field");
        let ((name, default), ty, doc) = (wire_name(field)?, &field.ty, names::doc(&field.attrs));
        let or = default.map_or_else(|| quote! {}, |text| quote! { .or(#text) });
        // The lengths that stand before this field.
        for (of, count) in fields.iter().zip(&counts) {
            let Some(count) = count else { continue };
            let vec = of.ident.as_ref().expect("a named field");
            let here = count.before.as_ref().map_or(*vec == ident, |b| *b == ident);
            if !here {
                continue;
            }
            let (count_name, kind) = (count.name.to_string(), &count.kind);
            let var = quote::format_ident!("count_of_{}", vec);
            describe.push(quote! { ::msg::Field::one::<#kind>(#count_name, "") });
            put.push(quote! { ::msg::Wire::put(&::msg::length::<#kind>(self.#vec.len()), out); });
            get.push(quote! { let #var: #kind = ::msg::Wire::get(r)?; });
        }
        match &counts[at] {
            None => {
                describe.push(quote! { ::msg::Field::one::<#ty>(#name, #doc) #or });
                put.push(quote! { ::msg::Wire::put(&self.#ident, out); });
                get.push(quote! { let #ident: #ty = ::msg::Wire::get(r)?; });
            }
            Some(count) => {
                let count_name = count.name.to_string();
                let var = quote::format_ident!("count_of_{}", ident);
                describe.push(quote! { ::msg::Field::counted::<#ty>(#name, #count_name, #doc) });
                put.push(quote! { ::msg::put_all(&self.#ident, out); });
                get.push(quote! { let #ident: #ty = ::msg::get_all(#var as usize, r)?; });
            }
        }
        idents.push(ident);
    }
    Ok(Expanded { describe, put, get, idents })
}
