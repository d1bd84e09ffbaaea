// SPDX-License-Identifier: Apache-2.0
//! `derive(Wire)`.

use crate::{fields, names};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DataEnum, DeriveInput, Error, Fields, Ident, LitStr, Result};

struct Options {
    name: String,
    prefix: String,
}

fn options(input: &DeriveInput) -> Result<Options> {
    let mut options =
        Options { name: names::snake(&input.ident.to_string()), prefix: String::new() };
    for attr in input.attrs.iter().filter(|a| a.path().is_ident("wire")) {
        attr.parse_nested_meta(|meta| {
            let value = meta.value()?.parse::<LitStr>()?.value();
            if meta.path.is_ident("name") {
                options.name = value;
            } else if meta.path.is_ident("prefix") {
                options.prefix = value;
            } else {
                return Err(meta.error("expected name or prefix"));
            }
            Ok(())
        })?;
    }
    Ok(options)
}

pub fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let options = options(input)?;
    if let Data::Enum(body) = &input.data {
        return enumeration(input, body, &options);
    }
    let (ident, name, doc) = (&input.ident, &options.name, names::doc(&input.attrs));
    let Some(named) = fields::named(input)? else {
        return alias(input, &options);
    };
    let f = fields::expand(&named)?;
    let (describe, put, get, idents) = (&f.describe, &f.put, &f.get, &f.idents);
    Ok(quote! {
        impl ::msg::Wire for #ident {
            fn describe() -> ::msg::Type {
                ::msg::Type::new(#name, #doc, ::msg::Shape::Struct(vec![#(#describe),*]))
            }
            fn put(&self, out: &mut Vec<u8>) { #(#put)* }
            fn get(r: &mut ::msg::Reader<'_>) -> ::std::result::Result<Self, ::msg::Malformed> {
                #(#get)*
                Ok(Self { #(#idents),* })
            }
        }
    })
}

fn alias(input: &DeriveInput, options: &Options) -> Result<TokenStream> {
    let (ident, name, doc) = (&input.ident, &options.name, names::doc(&input.attrs));
    let Data::Struct(body) = &input.data else {
        return Err(Error::new_spanned(input, "expected a struct"));
    };
    let Fields::Unnamed(fields) = &body.fields else {
        return Err(Error::new_spanned(input, "expected one field"));
    };
    let [field] = &fields.unnamed.iter().collect::<Vec<_>>()[..] else {
        return Err(Error::new_spanned(fields, "an alias stands for one thing"));
    };
    let inner = &field.ty;
    Ok(quote! {
        impl ::msg::Wire for #ident {
            fn describe() -> ::msg::Type {
                ::msg::Type::new(#name, #doc, ::msg::Shape::alias::<#inner>())
            }
            fn put(&self, out: &mut Vec<u8>) { ::msg::Wire::put(&self.0, out); }
            fn get(r: &mut ::msg::Reader<'_>) -> ::std::result::Result<Self, ::msg::Malformed> {
                Ok(Self(::msg::Wire::get(r)?))
            }
        }
    })
}

fn enumeration(input: &DeriveInput, body: &DataEnum, options: &Options) -> Result<TokenStream> {
    let (ident, name, doc) = (&input.ident, &options.name, names::doc(&input.attrs));
    let repr: Ident = input
        .attrs
        .iter()
        .find(|a| a.path().is_ident("repr"))
        .ok_or_else(|| {
            Error::new_spanned(input, "an enum on the wire has a #[repr(u8)], u16 or u32")
        })?
        .parse_args()?;
    let (mut members, mut arms) = (Vec::new(), Vec::new());
    for variant in &body.variants {
        let mut member = format!(
            "{}{}",
            options.prefix,
            names::snake(&variant.ident.to_string()).to_uppercase()
        );
        for attr in variant.attrs.iter().filter(|a| a.path().is_ident("wire")) {
            attr.parse_nested_meta(|meta| {
                member = meta.value()?.parse::<LitStr>()?.value();
                Ok(())
            })?;
        }
        let v = &variant.ident;
        members.push(quote! { (#member, Self::#v as u32) });
        arms.push(quote! { if value == Self::#v as #repr { return Ok(Self::#v); } });
    }
    Ok(quote! {
        impl ::msg::Wire for #ident {
            fn describe() -> ::msg::Type {
                ::msg::Type::new(#name, #doc, ::msg::Shape::enumeration::<#repr>(vec![#(#members),*]))
            }
            fn put(&self, out: &mut Vec<u8>) { ::msg::Wire::put(&(*self as #repr), out); }
            fn get(r: &mut ::msg::Reader<'_>) -> ::std::result::Result<Self, ::msg::Malformed> {
                let value: #repr = ::msg::Wire::get(r)?;
                #(#arms)*
                Err(::msg::Malformed::Value)
            }
        }
    })
}
