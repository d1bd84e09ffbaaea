// SPDX-License-Identifier: Apache-2.0
//! The list of names, and what each stands for.

mod convert;
mod fields;
mod kinds;
mod messages;
mod names;

use msg_table::{Shape, Type, tables};
use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Ident, Result, Token};

/// A name of the list.
struct Item {
    /// Attributes of its type.
    attributes: Vec<Attribute>,
    /// Versions of the same that are converted to it.
    from: Vec<Older>,
    /// The word before the name.
    word: Option<Word>,
    name: Ident,
}

/// Another version, and the fields whose names differ: here and there.
struct Older {
    name: Ident,
    renamed: Vec<(Ident, Ident)>,
}

impl Parse for Older {
    fn parse(input: ParseStream) -> Result<Self> {
        let (name, mut renamed) = (input.parse()?, Vec::new());
        while input.parse::<Option<Token![,]>>()?.is_some() {
            let here = input.parse()?;
            input.parse::<Token![=]>()?;
            renamed.push((here, input.parse()?));
        }
        Ok(Older { name, renamed })
    }
}

/// A word before a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    /// An enum has any value.
    Flags,
    /// The return value of a reply is one of its fields.
    Retval,
}

impl Parse for Item {
    fn parse(input: ParseStream) -> Result<Self> {
        let (from, attributes): (Vec<_>, Vec<_>) = input
            .call(Attribute::parse_outer)?
            .into_iter()
            .partition(|attribute| attribute.path().is_ident("from"));
        let from = from.iter().map(Attribute::parse_args).collect::<Result<_>>()?;
        let first: Ident = input.parse()?;
        if !input.peek(Ident) {
            return Ok(Item { attributes, from, word: None, name: first });
        }
        let word = match first.to_string().as_str() {
            "flags" => Word::Flags,
            "retval" => Word::Retval,
            _ => return Err(Error::new(first.span(), "expected `flags`, `retval` or a comma")),
        };
        Ok(Item { attributes, from, word: Some(word), name: input.parse()? })
    }
}

/// The code of a list.
pub fn expand(list: TokenStream) -> Result<TokenStream> {
    let items = Punctuated::<Item, Token![,]>::parse_terminated.parse2(list)?;
    let names: Vec<&Ident> = items.iter().map(|item| &item.name).collect();
    items.iter().map(|item| one(item, &names)).collect()
}

/// The code of a name of the list `all`.
fn one(item: &Item, all: &[&Ident]) -> Result<TokenStream> {
    let camel = item.name.to_string();
    let wrong = |why| Err(Error::new(item.name.span(), why));
    let Some(name) = names::find(&camel) else {
        let near = names::near(&camel);
        return wrong(format!(
            "no table has a message or type {camel}; near it are {near}. A message that VPP doesn't \
             have needs a line in crates/msg-table/published/own.tsv"
        ));
    };
    let kind = tables().kind(name);
    let is_number = matches!(&kind, Some(Type { shape: Shape::Enum(..) | Shape::Flags(..), .. }));
    match item.word {
        Some(Word::Flags) if !is_number => {
            wrong(format!("{name} is neither an enum nor flags: leave out `flags`"))
        }
        Some(Word::Retval) if !name.ends_with("_reply") => {
            wrong(format!("{name} is no reply: leave out `retval`"))
        }
        _ => match kind {
            Some(kind) => kinds::expand(item, &kind),
            None => {
                let message = tables().message(name).expect("a message or a type");
                messages::expand(item, &message, all)
            }
        },
    }
}
