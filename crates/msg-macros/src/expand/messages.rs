// SPDX-License-Identifier: Apache-2.0
//! Messages, and the answers to requests.

use super::{Item, Word, convert, fields, kinds, names};
use msg_table::{Message, tables};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Error, Result};

/// The type of a message of the list `all`, its implementations, and those of a request.
pub fn expand(item: &Item, message: &Message, all: &[&Ident]) -> Result<TokenStream> {
    let (head, ident, name) = (kinds::head(item), &item.name, message.name);
    let doc = names::doc(&item.attributes);
    let mut end = message.head();
    if item.word == Some(Word::Retval) {
        end = message.fields[..end].iter().take_while(|field| field.name != "retval").count();
    }
    let (before, own) = message.fields.split_at(end);
    let before = before.iter().map(|field| match field.name {
        "client_index" => quote! { ::msg::HeadField::ClientIndex },
        "context" => quote! { ::msg::HeadField::Context },
        "retval" => quote! { ::msg::HeadField::Retval },
        _ => quote! { ::msg::HeadField::Pid },
    });
    let f = fields::expand(own, ident.span());
    let (declare, put, get, names) = (f.declare, f.put, f.get, f.names);
    let (answers, conversions) = (answers(ident, name, all)?, convert::expand(item, own)?);
    Ok(quote! {
        #head
        pub struct #ident { #(#declare),* }
        impl ::msg::Message for #ident {
            const NAME: &'static str = #name;
            const DOC: &'static str = #doc;
            const HEAD: &'static [::msg::HeadField] = &[#(#before),*];
            #[allow(unused_variables, reason = "a message may have no fields")]
            fn put(&self, out: &mut ::std::vec::Vec<u8>) { #(#put)* }
            #[allow(unused_variables, reason = "a message may have no fields")]
            fn get(r: &mut ::msg::Reader<'_>) -> ::std::result::Result<Self, ::msg::Malformed> {
                #(#get)*
                Ok(Self { #(#names),* })
            }
        }
        #answers
        #conversions
    })
}

/// Names the answers to a request.
fn answers(request: &Ident, name: &str, all: &[&Ident]) -> Result<TokenStream> {
    let Some(service) = tables().service(name) else { return Ok(TokenStream::new()) };
    let type_of = |answer: &str| {
        let answer = Ident::new(&names::camel(answer), request.span());
        match all.contains(&&answer) {
            true => Ok(quote! { #answer }),
            false => {
                let why = format!("{request} is answered by {answer}: add it to the list");
                Err(Error::new(request.span(), why))
            }
        }
    };
    let mut code = TokenStream::new();
    let is_dump = service.stream && service.stream_msg.is_none();
    if let Some(details) = service.stream_msg.or(is_dump.then_some(service.reply)) {
        let details = type_of(details)?;
        code.extend(quote! { impl ::msg::Dump for #request { type Details = #details; } });
    }
    if !is_dump {
        let bare = |reply: Message| {
            let names = reply.fields.iter().map(|field| field.name);
            names.eq(["context", "retval"])
        };
        let reply = match tables().message(service.reply).is_some_and(bare) {
            true => quote! { () },
            false => type_of(service.reply)?,
        };
        code.extend(quote! { impl ::msg::Call for #request { type Reply = #reply; } });
    }
    Ok(code)
}
