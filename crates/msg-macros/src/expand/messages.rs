// SPDX-License-Identifier: Apache-2.0
//! Messages, and the answers to requests.

use super::fields::{self, Fields};
use super::{Item, Word, convert, kinds, names};
use msg_table::{Field, Message, tables};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Error, Result, parse_quote};

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
    let single = single(ident, own, &f, name.ends_with("_reply") || name.ends_with("_details"));
    let (declare, put, get, names) = (f.declare, f.put, f.get, f.names);
    let (answers, conversions) = (answers(ident, name, all)?, convert::expand(item, own)?);
    Ok(quote! {
        #head
        #[derive(Debug, PartialEq)]
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
        #single
    })
}

/// A message with one field is made of its value, an answer with one interface also of the
/// program's index of it, and a cursor alone is the end of others.
fn single(message: &Ident, fields: &[Field], f: &Fields, is_answer: bool) -> TokenStream {
    let (Some(field), [name], [kind]) = (fields.last(), &f.names[..], &f.kinds[..]) else {
        return TokenStream::new();
    };
    let from = |of: TokenStream, value: TokenStream| {
        quote! {
            impl ::std::convert::From<#of> for #message {
                fn from(value: #of) -> Self { Self { #name: #value } }
            }
        }
    };
    let mut code = from(quote! { #kind }, quote! { value });
    if is_answer && field.kind.name == "interface_index" {
        let index = Ident::new("SwIfIndex", message.span());
        code.extend(from(quote! { #index }, quote! { value.into() }));
    }
    if field.name == "cursor" {
        let end = quote! { fn end() -> Self { Self { #name: #kind::MAX } } };
        code.extend(quote! { impl ::msg::End for #message { #end } });
    }
    code
}

/// Names the answers to a request, and makes the reply with one field that isn't in the list.
fn answers(request: &Ident, name: &str, all: &[&Ident]) -> Result<TokenStream> {
    let Some(service) = tables().service(name) else { return Ok(TokenStream::new()) };
    let ident = |answer: &str| Ident::new(&names::camel(answer), request.span());
    let listed = |answer: &str| match ident(answer) {
        answer if all.contains(&&answer) => Ok(answer),
        answer => {
            let why = format!("{request} is answered by {answer}: add it to the list");
            Err(Error::new(request.span(), why))
        }
    };
    let mut code = TokenStream::new();
    let is_dump = service.stream && service.stream_msg.is_none();
    if let Some(details) = service.stream_msg.or(is_dump.then_some(service.reply)) {
        let details = listed(details)?;
        code.extend(quote! { impl ::msg::Dump for #request { type Details = #details; } });
    }
    if is_dump {
        return Ok(code);
    }
    let message = tables().message(service.reply).filter(|reply| reply.head() == 2);
    let own = message.as_ref().map_or(0, |reply| reply.fields.len() - 2);
    let reply = match message {
        Some(reply) if own == 0 && reply.fields[1].name == "retval" => quote! { () },
        Some(message) if own == 1 && !all.contains(&&ident(service.reply)) => {
            let doc = format!("Reply to `{name}`: its `{}`.", message.fields[2].name);
            let attributes = vec![parse_quote! { #[doc = #doc] }];
            let reply = ident(service.reply);
            let item = Item { attributes, from: Vec::new(), word: None, name: reply.clone() };
            code.extend(expand(&item, &message, all)?);
            quote! { #reply }
        }
        _ => {
            let reply = listed(service.reply)?;
            quote! { #reply }
        }
    };
    code.extend(quote! { impl ::msg::Call for #request { type Reply = #reply; } });
    Ok(code)
}
