// SPDX-License-Identifier: Apache-2.0
//! `derive(Message)`.

use crate::{fields, names};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::punctuated::Punctuated;
use syn::{DeriveInput, Error, LitStr, Path, Result, Token, parenthesized};

#[derive(Default)]
struct Options {
    name: Option<String>,
    head: Option<Vec<String>>,
    /// A reply with fields: its type, unless it is named as the request.
    reply: Option<Option<Path>>,
    details: Option<Option<Path>>,
    events: Vec<Path>,
}

fn options(input: &DeriveInput) -> Result<Options> {
    let mut o = Options::default();
    for attr in input.attrs.iter().filter(|a| a.path().is_ident("msg")) {
        attr.parse_nested_meta(|meta| {
            let path = |meta: &syn::meta::ParseNestedMeta| -> Result<Option<Path>> {
                if meta.input.peek(Token![=]) { Ok(Some(meta.value()?.parse()?)) } else { Ok(None) }
            };
            if meta.path.is_ident("name") {
                o.name = Some(meta.value()?.parse::<LitStr>()?.value());
            } else if meta.path.is_ident("head") {
                let words;
                parenthesized!(words in meta.input);
                let list = Punctuated::<Ident, Token![,]>::parse_terminated(&words)?;
                o.head = Some(list.iter().map(ToString::to_string).collect());
            } else if meta.path.is_ident("reply") {
                o.reply = Some(path(&meta)?);
            } else if meta.path.is_ident("details") {
                o.details = Some(path(&meta)?);
            } else if meta.path.is_ident("events") {
                let words;
                parenthesized!(words in meta.input);
                o.events =
                    Punctuated::<Path, Token![,]>::parse_terminated(&words)?.into_iter().collect();
            } else {
                return Err(meta.error("expected name, head, reply, details or events"));
            }
            Ok(())
        })?;
    }
    Ok(o)
}

pub fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let o = options(input)?;
    let ident = &input.ident;
    let rust = ident.to_string();
    let name = o.name.clone().unwrap_or_else(|| names::snake(&rust));
    let doc = names::doc(&input.attrs);
    let Some(named) = fields::named(input)? else {
        return Err(Error::new_spanned(input, "a message has named fields"));
    };
    let f = fields::expand(&named)?;
    let (describe, put, get, idents) = (&f.describe, &f.put, &f.get, &f.idents);
    // `…EventV2` is an event too.
    let kind = rust.trim_end_matches(|c: char| c.is_ascii_digit());
    let kind =
        if kind.len() < rust.len() { kind.strip_suffix('V').unwrap_or(&rust) } else { &rust };
    let answers = ["Reply", "Details", "Event"].iter().any(|end| kind.ends_with(end));
    let head: Vec<String> = match &o.head {
        Some(head) => head.clone(),
        None if kind.ends_with("Reply") => vec!["context".into(), "retval".into()],
        None if kind.ends_with("Details") => vec!["context".into()],
        None if kind.ends_with("Event") => vec!["client_index".into(), "pid".into()],
        None => vec!["client_index".into(), "context".into()],
    };
    let head = head.iter().map(|word| match word.as_str() {
        "client_index" => Ok(quote! { ::msg::HeadField::ClientIndex }),
        "context" => Ok(quote! { ::msg::HeadField::Context }),
        "retval" => Ok(quote! { ::msg::HeadField::Retval }),
        "pid" => Ok(quote! { ::msg::HeadField::Pid }),
        other => Err(Error::new_spanned(input, format!("no head field is named {other}"))),
    });
    let head = head.collect::<Result<Vec<_>>>()?;
    let request = if answers && o.reply.is_none() && o.details.is_none() {
        quote! {}
    } else {
        request(ident, &name, &o)
    };
    Ok(quote! {
        impl ::msg::Message for #ident {
            const NAME: &'static str = #name;
            const DOC: &'static str = #doc;
            const HEAD: &'static [::msg::HeadField] = &[#(#head),*];
            fn fields() -> Vec<::msg::Field> { vec![#(#describe),*] }
            #[allow(unused_variables, reason = "a message may have no fields")]
            fn put(&self, out: &mut Vec<u8>) { #(#put)* }
            #[allow(unused_variables, reason = "a message may have no fields")]
            fn get(r: &mut ::msg::Reader<'_>) -> ::std::result::Result<Self, ::msg::Malformed> {
                #(#get)*
                Ok(Self { #(#idents),* })
            }
        }
        #request
    })
}

fn request(ident: &Ident, name: &str, o: &Options) -> TokenStream {
    let rust = ident.to_string();
    let reply_name = format!("{name}_reply");
    let default_reply = format_ident!("{}Reply", rust);
    let reply = match &o.reply {
        None => quote! { () },
        Some(None) => quote! { #default_reply },
        Some(Some(path)) => quote! { #path },
    };
    let base = rust.strip_suffix("Dump").or_else(|| rust.strip_suffix("Get")).unwrap_or(&rust);
    let default_details = format_ident!("{}Details", base);
    let details = match &o.details {
        None => quote! {},
        Some(path) => {
            let details =
                path.as_ref().map_or_else(|| quote! { #default_details }, |p| quote! { #p });
            quote! { impl ::msg::Dump for #ident { type Details = #details; } }
        }
    };
    // A dump without a reply of its own ends without a word; all else is a call.
    let reply = if o.details.is_some() && o.reply.is_none() {
        quote! {}
    } else {
        let events = o.events.iter();
        quote! {
            impl ::msg::Call for #ident {
                type Reply = #reply;
                const REPLY: &'static str = #reply_name;
                fn events() -> Vec<&'static str> { vec![#(<#events as ::msg::Message>::NAME),*] }
            }
        }
    };
    quote! { #reply #details }
}
