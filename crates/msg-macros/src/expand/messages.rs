// SPDX-License-Identifier: Apache-2.0
//! Messages, and the answers to requests.

use super::{Item, Word, convert, fields, kinds, names};
use msg_table::{Message, tables};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::Result;

/// The type of a message, its implementations, and those of a request.
pub fn expand(item: &Item, message: &Message) -> Result<TokenStream> {
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
    let (answers, conversions) = (answers(ident, name), convert::expand(item, own)?);
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
fn answers(request: &Ident, name: &str) -> TokenStream {
    let Some(service) = tables().service(name) else { return TokenStream::new() };
    let type_of = |name: &str| Ident::new(&names::camel(name), request.span());
    let details = service.stream_msg.or(service.stream.then_some(service.reply)).map(type_of);
    let dump = details
        .map(|details| quote! { impl ::msg::Dump for #request { type Details = #details; } });
    if service.stream && service.stream_msg.is_none() {
        return dump.unwrap_or_default();
    }
    let bare = |reply: Message| {
        let names = reply.fields.iter().map(|field| field.name);
        names.eq(["context", "retval"])
    };
    let reply = match tables().message(service.reply).is_some_and(bare) {
        true => quote! { () },
        false => {
            let reply = type_of(service.reply);
            quote! { #reply }
        }
    };
    quote! { impl ::msg::Call for #request { type Reply = #reply; } #dump }
}
