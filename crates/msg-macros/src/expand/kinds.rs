// SPDX-License-Identifier: Apache-2.0
//! Types that fields have.

use super::{Item, convert, fields, names};
use msg_table::{Field, Multiplicity, Shape, Type};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::Result;

/// Beginning of a type: its attributes.
pub fn head(item: &Item) -> TokenStream {
    let attributes = &item.attributes;
    quote! {
        #(#attributes)*
        #[allow(missing_docs, reason = "the tables of messages tell names and types only")]
    }
}

/// Implements `msg::Wire`.
fn wire(name: &Ident, put: TokenStream, get: TokenStream) -> TokenStream {
    quote! {
        impl ::msg::Wire for #name {
            fn put(&self, out: &mut ::std::vec::Vec<u8>) { #put }
            fn get(r: &mut ::msg::Reader<'_>) -> ::std::result::Result<Self, ::msg::Malformed> { #get }
        }
    }
}

/// The type, and how it is written and read.
pub fn expand(item: &Item, kind: &Type) -> Result<TokenStream> {
    let (head, name) = (head(item), &item.name);
    Ok(match &kind.shape {
        Shape::Enum(base, members) if item.word.is_none() => enumeration(item, base, members),
        Shape::Enum(base, members) | Shape::Flags(base, members) => flags(item, base, members),
        Shape::Struct(fields) => {
            let (derive, conversions) = (derive(kind), convert::expand(item, fields)?);
            let f = fields::expand(fields, name.span());
            let (declare, put, get, names) = (f.declare, f.put, f.get, f.names);
            let wire =
                wire(name, quote! { #(#put)* }, quote! { #(#get)* Ok(Self { #(#names),* }) });
            quote! { #head #derive pub struct #name { #(#declare),* } #wire #conversions }
        }
        Shape::Alias(of) => {
            let of = fields::kind(of, name.span());
            newtype(item, derive(kind), of)
        }
        // Which part of it is meant, another field says.
        Shape::Union(_) => {
            let bytes = kind.least();
            newtype(item, derive(kind), quote! { [u8; #bytes] })
        }
        Shape::Scalar | Shape::Text(_) | Shape::Fixed(..) => TokenStream::new(),
    })
}

/// A struct with one unnamed field.
fn newtype(item: &Item, derive: TokenStream, of: TokenStream) -> TokenStream {
    let (head, name) = (head(item), &item.name);
    let put = quote! { ::msg::Wire::put(&self.0, out) };
    let wire = wire(name, put, quote! { ::msg::Wire::get(r).map(Self) });
    quote! { #head #derive pub struct #name(pub #of); #wire }
}

/// True if `f` is true for a type and for all that it is made of.
fn all(kind: &Type, f: &dyn Fn(&Type) -> bool) -> bool {
    f(kind) && kind.parts().into_iter().all(|part| all(part, f))
}

/// The traits that a type's values may have.
fn derive(kind: &Type) -> TokenStream {
    let is_text = |part: &Type| matches!(part.shape, Shape::Text(_));
    let counted = |field: &Field| matches!(field.multiplicity, Multiplicity::Counted(_));
    // Longer arrays have no default in Rust.
    let long = |field: &Field| matches!(field.multiplicity, Multiplicity::Fixed(33..));
    let copy = all(kind, &|part| !is_text(part) && !part.fields().iter().any(counted));
    let default =
        all(kind, &|part| !part.fields().iter().any(|field| long(field) && !is_text(&field.kind)));
    let copy = copy.then(|| quote! { Copy, });
    let default = default.then(|| quote! { Default, });
    let eq = all(kind, &|part| part.name != "f64").then(|| quote! { Eq, });
    quote! { #[derive(Clone, #copy Debug, #default #eq PartialEq)] }
}

fn enumeration(item: &Item, base: &str, members: &[(&'static str, u32)]) -> TokenStream {
    let (head, name) = (head(item), &item.name);
    let base = Ident::new(base, name.span());
    let variants = names::members(members).into_iter();
    let variants: Vec<_> = variants.map(|v| Ident::new(&names::camel(v), name.span())).collect();
    let values: Vec<_> =
        members.iter().map(|(_, value)| proc_macro2::Literal::u32_unsuffixed(*value)).collect();
    let get = quote! {
        let value: #base = ::msg::Wire::get(r)?;
        match value {
            #(#values => Ok(Self::#variants),)*
            _ => Err(::msg::Malformed::Value),
        }
    };
    let wire = wire(name, quote! { ::msg::Wire::put(&(*self as #base), out) }, get);
    quote! {
        #head
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[repr(#base)]
        pub enum #name { #[default] #(#variants = #values),* }
        #wire
    }
}

fn flags(item: &Item, base: &str, members: &[(&'static str, u32)]) -> TokenStream {
    let name = &item.name;
    let base = Ident::new(base, name.span());
    let flags = names::members(members).into_iter().map(|m| Ident::new(m, name.span()));
    let values = members.iter().map(|(_, value)| proc_macro2::Literal::u32_unsuffixed(*value));
    let derive = quote! { #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)] };
    let newtype = newtype(item, derive, quote! { #base });
    quote! {
        #newtype
        #[allow(missing_docs, reason = "the tables of messages tell names and types only")]
        impl #name {
            #(pub const #flags: Self = Self(#values);)*
            /// All bits of `other` are set.
            pub fn has(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }
            /// These bits if `on`, none otherwise.
            pub fn when(self, on: bool) -> Self {
                if on { self } else { Self(0) }
            }
        }
        impl ::std::ops::BitOr for #name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }
    }
}
