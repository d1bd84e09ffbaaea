// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The macros of `crates/suite`, which documents them.

use proc_macro::TokenStream;
use proc_macro2::{Delimiter, TokenStream as Tokens, TokenTree};
use quote::{format_ident, quote};
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Error, Expr, ExprLit, Ident, Lit, LitStr, Meta};

/// Marks that decide what may run beside a test.
const MARKS: &[&str] = &["serial", "netns"];

/// Registers a test. See `suite::test`.
#[proc_macro_attribute]
pub fn test(mark: TokenStream, item: TokenStream) -> TokenStream {
    let mark = if mark.is_empty() { Ok(None) } else { syn::parse::<Ident>(mark).map(Some) };
    mark.and_then(|mark| {
        let (attributes, function) = split.parse(item)?;
        expand(mark.as_ref(), attributes, &function)
    })
    .unwrap_or_else(Error::into_compile_error)
    .into()
}

/// Makes the program of the libraries whose tests the package's manifest asks for. See
/// `suite::main`.
#[proc_macro]
pub fn main(input: TokenStream) -> TokenStream {
    let manifest = std::env::var("CARGO_MANIFEST_PATH").unwrap_or_default();
    let names = std::fs::read_to_string(&manifest).map(|text| tested(&text));
    match names {
        Ok(names) if names.is_empty() || !input.is_empty() => {
            let why = format!("{manifest}: no dependency with the feature `tests`");
            quote! { ::core::compile_error!(#why); }.into()
        }
        Ok(names) => {
            let texts = names.iter().map(Ident::to_string);
            quote! {
                #(use #names as _;)*

                fn main() -> ::std::process::ExitCode {
                    ::suite::run(&[#(#texts,)* ::core::module_path!()])
                }
            }
            .into()
        }
        Err(error) => {
            let why = format!("{manifest}: {error}");
            quote! { ::core::compile_error!(#why); }.into()
        }
    }
}

/// Names of the dependencies, one on each line of a manifest, with the feature `tests`.
fn tested(manifest: &str) -> Vec<Ident> {
    let lines = manifest.lines().filter(|line| line.contains("features = [\"tests\"]"));
    let names = lines.filter_map(|line| line.split_once('='));
    names.map(|(name, _)| format_ident!("{}", name.trim().replace('-', "_"))).collect()
}

/// Splits an item into its attributes and the rest.
fn split(input: ParseStream) -> syn::Result<(Vec<Attribute>, Tokens)> {
    Ok((input.call(Attribute::parse_outer)?, input.parse()?))
}

/// Returns the name of a function without arguments.
fn name(function: &Tokens) -> syn::Result<Ident> {
    let mut tokens = function.clone().into_iter().skip_while(|t| t.to_string() != "fn").skip(1);
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Ident(name)), Some(TokenTree::Group(arguments)))
            if arguments.delimiter() == Delimiter::Parenthesis && arguments.stream().is_empty() =>
        {
            Ok(name)
        }
        _ => Err(Error::new_spanned(function, "expected a function without arguments")),
    }
}

fn expand(
    mark: Option<&Ident>,
    attributes: Vec<Attribute>,
    function: &Tokens,
) -> syn::Result<Tokens> {
    if let Some(mark) = mark
        && !MARKS.iter().any(|known| mark == known)
    {
        let known = MARKS.join(", ");
        return Err(Error::new_spanned(mark, format!("no such mark of a test: one of {known}")));
    }
    let name = name(function)?;
    let (marks, rest): (Vec<_>, Vec<_>) =
        attributes.into_iter().partition(|a| is(a, "ignore") || is(a, "should_panic"));
    let conditions: Vec<_> = rest.iter().filter(|a| is(a, "cfg")).collect();
    let ignored = marks.iter().any(|a| is(a, "ignore"));
    let panics = match marks.iter().find(|a| is(a, "should_panic")) {
        Some(attribute) => {
            let part = expected(attribute)?;
            quote! { ::core::option::Option::Some(#part) }
        }
        None => quote! { ::core::option::Option::None },
    };
    let prefix = mark.map(|mark| format!("{mark}::")).unwrap_or_default();
    let text = name.to_string();
    // A name of its own only where the mark has to be seen.
    let usual = mark.map_or_else(|| name.clone(), |mark| format_ident!("{mark}_{name}"));
    let body = if mark.is_some() {
        quote! {
            #(#rest)*
            #function
            #(#conditions)*
            #[cfg(all(test, feature = "tests"))]
            #[::core::prelude::v1::test]
            #(#marks)*
            fn #usual() { #name() }
        }
    } else {
        let metas = marks.iter().map(|a| &a.meta);
        quote! {
            #[cfg_attr(all(test, feature = "tests"), ::core::prelude::v1::test)]
            #(#[cfg_attr(all(test, feature = "tests"), #metas)])*
            #(#rest)*
            #function
        }
    };
    Ok(quote! {
        #body
        #(#conditions)*
        #[cfg(not(all(test, feature = "tests")))]
        const _: () = {
            #[::suite::linkme::distributed_slice(::suite::CASES)]
            #[linkme(crate = ::suite::linkme)]
            static CASE: ::suite::Case = ::suite::Case {
                module: ::core::module_path!(),
                name: ::core::concat!(#prefix, ::core::module_path!(), "::", #text),
                ignored: #ignored,
                panics: #panics,
                run: #name,
            };
        };
    })
}

fn is(attribute: &Attribute, name: &str) -> bool {
    attribute.path().is_ident(name)
}

/// The text of `#[should_panic(expected = "…")]`.
fn expected(attribute: &Attribute) -> syn::Result<LitStr> {
    let mut text = None;
    if let Meta::List(_) = &attribute.meta {
        attribute.parse_nested_meta(|meta| {
            let value: Expr = meta.value()?.parse()?;
            if let Expr::Lit(ExprLit { lit: Lit::Str(part), .. }) = value {
                text = Some(part);
            }
            Ok(())
        })?;
    }
    text.ok_or_else(|| {
        Error::new_spanned(attribute, "say which panic: #[should_panic(expected = \"…\")]")
    })
}
