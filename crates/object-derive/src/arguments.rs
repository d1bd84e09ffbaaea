// SPDX-License-Identifier: Apache-2.0
//! From a struct to the arguments of a command. A module without macros of its own, so that tests
//! can call it.

use proc_macro2::TokenStream as Tokens;
use quote::quote;
use std::collections::HashSet;
use syn::parse::ParseStream;
use syn::{Data, DeriveInput, Error, Expr, Field, Fields, Ident, LitStr, Path, Token};

/// Makes the implementation of `Arguments`.
pub fn expand(input: &DeriveInput) -> syn::Result<Tokens> {
    let fields = match &input.data {
        Data::Struct(body) => match &body.fields {
            Fields::Named(fields) => &fields.named,
            _ => return Err(Error::new_spanned(input, "Arguments needs fields with names")),
        },
        _ => return Err(Error::new_spanned(input, "Arguments is derived for a struct")),
    };
    let name = &input.ident;
    let mut code = Code::default();
    let mut known = HashSet::new();
    for field in fields {
        match role(field)? {
            Role::Words(argument) => {
                for (_, placeholder) in &argument.pairs {
                    if !placeholder.is_empty() && !known.insert(placeholder.clone()) {
                        let why = format!("two arguments have the placeholder <{placeholder}>");
                        return Err(Error::new_spanned(field, why));
                    }
                }
                code.argument(field, &argument);
            }
            Role::Part => code.part(field),
            Role::Unsaid => code.unsaid(field),
        }
    }
    let Code { usages, reads, names, writes, members } = code;
    if usages.is_empty() {
        return Err(Error::new_spanned(input, "no field has words"));
    }
    let (generics, types, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        impl #generics ::object::Arguments for #name #types #bounds {
            const USAGE: &'static str = ::cli::join!(#(#usages),*);

            fn read(world: &::graph::World, m: &::cli::Matches) -> ::cli::Result<Self> {
                #(#reads)*
                ::core::result::Result::Ok(Self { #(#names),* })
            }

            fn write(&self, world: &::graph::World, line: &mut ::std::string::String) {
                #(#writes)*
            }

            fn members(&self, world: &::graph::World, to: &mut ::object::Members) {
                #(#members)*
            }
        }
    })
}

/// The parts of the implementation.
#[derive(Default)]
struct Code {
    usages: Vec<Tokens>,
    reads: Vec<Tokens>,
    names: Vec<Ident>,
    writes: Vec<Tokens>,
    members: Vec<Tokens>,
}

impl Code {
    fn name(&mut self, field: &Field) -> Ident {
        // Fields have names: that was looked at first.
        let name = field.ident.clone().expect("it has a name");
        self.names.push(name.clone());
        name
    }

    fn argument(&mut self, field: &Field, argument: &Argument) {
        let (name, ty) = (self.name(field), &field.ty);
        let Argument { usage, pairs, default, always, then, json } = argument;
        let pairs = pairs.iter().map(|(literal, placeholder)| quote! { (#literal, #placeholder) });
        let words = quote! { ::object::Words(&[#(#pairs),*]) };
        let json = json.clone().unwrap_or_else(|| name.to_string());
        let missing = match default {
            Some(value) => quote! { #value },
            None => quote! { return ::core::result::Result::Err(#words.missing()) },
        };
        let then = then.as_ref().map(|then| {
            quote! { let #name = #then(#name).map_err(|error| #words.mark(m, error))?; }
        });
        let write = quote! { ::object::Argument::write(&self.#name, world, #words, line); };
        self.usages.push(quote! { #usage });
        self.reads.push(quote! {
            let #name = match <#ty as ::object::Argument>::read(world, m, #words)? {
                ::core::option::Option::Some(value) => value,
                ::core::option::Option::None => #missing,
            };
            #then
        });
        self.writes.push(match default {
            Some(value) if !always => quote! {
                let default: #ty = #value;
                if self.#name != default { #write }
            },
            _ => write,
        });
        self.members
            .push(quote! { ::object::Argument::members(&self.#name, world, #words, #json, to); });
    }

    fn part(&mut self, field: &Field) {
        let (name, ty) = (self.name(field), &field.ty);
        self.usages.push(quote! { <#ty as ::object::Arguments>::USAGE });
        self.reads.push(quote! { let #name = <#ty as ::object::Arguments>::read(world, m)?; });
        self.writes.push(quote! { ::object::Arguments::write(&self.#name, world, line); });
        self.members.push(quote! { ::object::Arguments::members(&self.#name, world, to); });
    }

    fn unsaid(&mut self, field: &Field) {
        let name = self.name(field);
        self.reads.push(quote! { let #name = ::core::default::Default::default(); });
    }
}

/// A field's attribute.
enum Role {
    Words(Argument),
    Part,
    Unsaid,
}

/// `#[words(…)]`.
struct Argument {
    usage: LitStr,
    /// Literals and the placeholders behind them.
    pairs: Vec<(String, String)>,
    default: Option<Tokens>,
    /// The default is written, too.
    always: bool,
    then: Option<Path>,
    json: Option<String>,
}

fn role(field: &Field) -> syn::Result<Role> {
    let mut role = None;
    for attribute in &field.attrs {
        let path = attribute.path();
        let this = if path.is_ident("words") {
            Role::Words(attribute.parse_args_with(argument)?)
        } else if path.is_ident("part") {
            Role::Part
        } else if path.is_ident("unsaid") {
            Role::Unsaid
        } else {
            continue;
        };
        if role.replace(this).is_some() {
            return Err(Error::new_spanned(attribute, "one of words, part and unsaid is enough"));
        }
    }
    let why = "how is it said? expected #[words(\"…\")], #[part] or #[unsaid]";
    role.ok_or_else(|| Error::new_spanned(field, why))
}

fn argument(input: ParseStream<'_>) -> syn::Result<Argument> {
    let usage: LitStr = input.parse()?;
    let pairs = pairs(&usage.value()).map_err(|why| Error::new(usage.span(), why))?;
    let mut all = Argument { usage, pairs, default: None, always: false, then: None, json: None };
    while input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
        if input.peek(Token![default]) {
            input.parse::<Token![default]>()?;
            let value = match input.parse::<Option<Token![=]>>()? {
                Some(_) => input.parse::<Expr>().map(|value| quote! { #value })?,
                None => quote! { ::core::default::Default::default() },
            };
            all.default = Some(value);
            continue;
        }
        let key: Ident = input.parse()?;
        if key == "always" {
            all.always = true;
            continue;
        }
        input.parse::<Token![=]>()?;
        match key.to_string().as_str() {
            "then" => all.then = Some(input.parse()?),
            "json" => all.json = Some(input.parse::<LitStr>()?.value()),
            _ => return Err(Error::new(key.span(), "expected default, always, then or json")),
        }
    }
    if all.default.is_some() && !all.usage.value().trim_start().starts_with('[') {
        let why = "an argument with a default may be left out: expected a usage in [ ]";
        return Err(Error::new(all.usage.span(), why));
    }
    Ok(all)
}

/// Literals of a usage and the placeholders behind them.
fn pairs(usage: &str) -> Result<Vec<(String, String)>, String> {
    let (mut all, mut open): (Vec<(String, String)>, Vec<char>) = (Vec::new(), Vec::new());
    let (mut rest, mut waits) = (usage, false);
    while let Some(first) = rest.trim_start().chars().next() {
        rest = rest.trim_start();
        if first == '<' {
            let end = rest.find('>').ok_or_else(|| format!("`{rest}' has no `>'"))?;
            let inner = &rest[1..end];
            let name = inner.split(':').next().unwrap_or_default().trim().to_string();
            if name.is_empty() {
                return Err(format!("`<{inner}>' has no name"));
            }
            match all.last_mut().filter(|_| waits) {
                Some((_, placeholder)) => *placeholder = name,
                None => all.push((String::new(), name)),
            }
            (rest, waits) = (&rest[end + 1..], false);
            continue;
        }
        let closes = match first {
            ']' => Some('['),
            '}' => Some('{'),
            ')' => Some('('),
            _ => None,
        };
        if closes.is_some() && open.pop() != closes {
            return Err(format!("`{first}' without its opening"));
        }
        if matches!(first, '[' | '{' | '(') {
            open.push(first);
        }
        if matches!(first, '[' | '{' | '(' | ']' | '}' | ')' | '|') {
            (rest, waits) = (&rest[1..], false);
            continue;
        }
        let is_end = |c: char| {
            c.is_whitespace() || matches!(c, '[' | '{' | '(' | ']' | '}' | ')' | '|' | '<')
        };
        let end = rest.find(is_end).unwrap_or(rest.len());
        let literal = &rest[..end];
        (rest, waits) = (&rest[end..], literal != "...");
        if waits {
            all.push((literal.to_string(), String::new()));
        }
    }
    match open.pop() {
        Some(open) => Err(format!("`{open}' isn't closed")),
        None if all.is_empty() => Err("no word".to_string()),
        None => Ok(all),
    }
}
