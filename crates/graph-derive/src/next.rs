// SPDX-License-Identifier: Apache-2.0
//! From an enum to its edges. A module without macros of its own, so that tests can call it.

use proc_macro2::TokenStream as Tokens;
use quote::quote;
use std::collections::HashMap;
use syn::parse::ParseStream;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Fields, Lit, LitStr, Meta, Token, Variant,
};

/// Makes the implementation of `Next`.
pub fn expand(input: &DeriveInput) -> syn::Result<Tokens> {
    let Data::Enum(body) = &input.data else {
        return Err(Error::new_spanned(
            input,
            "Next is derived for an enum: one variant for each way out of the node",
        ));
    };
    let name = &input.ident;
    let (mut edges, mut arms, mut feature) = (Vec::new(), Vec::new(), false);
    // By name: the target, whether #[counter] gives the name, the text, and the code.
    let mut counters: HashMap<String, ((String, bool, String), u32)> = HashMap::new();
    for variant in &body.variants {
        let ident = &variant.ident;
        let attribute = edge_attribute(variant)?;
        if let EdgeAttribute::Dynamic = attribute {
            arms.push(quote! { #name::#ident(node) => ::graph::dynamic_code(node) });
            continue;
        }
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new_spanned(variant, "only a #[dynamic] variant holds a value"));
        }
        let text = doc_line(&variant.attrs);
        let Counter { name: named, of } = counter(&variant.attrs)?;
        let reason = named.clone().unwrap_or_else(|| snake(&ident.to_string()));
        let of = match of {
            Some(of) => quote! { ::core::option::Option::Some(#of) },
            None => quote! { ::core::option::Option::None },
        };
        let counted = matches!(
            attribute,
            EdgeAttribute::Drop
                | EdgeAttribute::Punt
                | EdgeAttribute::Count
                | EdgeAttribute::Node(_, Noted::Counted | Noted::Reason)
        );
        if counted && text.is_none() {
            return Err(Error::new_spanned(
                variant,
                "a counted way out needs a doc comment: it is what an operator reads in `show errors`",
            ));
        }
        let text = text.unwrap_or_default();
        let target = match &attribute {
            EdgeAttribute::Node(node, Noted::Reason) => {
                quote! { ::graph::Target::Reason(#node) }
            }
            EdgeAttribute::Node(node, _) => quote! { ::graph::Target::Node(#node) },
            EdgeAttribute::Feature => {
                feature = true;
                quote! { ::graph::Target::NextFeature }
            }
            EdgeAttribute::Drop => quote! { ::graph::Target::Drop },
            EdgeAttribute::Punt => quote! { ::graph::Target::Punt },
            EdgeAttribute::Free | EdgeAttribute::Count => quote! { ::graph::Target::Free },
            EdgeAttribute::Keep => quote! { ::graph::Target::Keep },
            EdgeAttribute::Dynamic => unreachable!("handled above"),
        };
        let code = u32::try_from(edges.len()).expect("a node's ways out can be counted");
        if counted {
            let this = (format!("{target} {of}"), named.is_some(), text.clone());
            match counters.get(&reason) {
                None => _ = counters.insert(reason.clone(), (this, code)),
                Some((known, code)) if *known == this => {
                    arms.push(quote! { #name::#ident => #code });
                    continue;
                }
                Some(_) => {
                    return Err(Error::new_spanned(
                        variant,
                        "another variant has this counter: those that share one need the same target, #[counter] and text",
                    ));
                }
            }
        }
        edges.push(
            quote! { ::graph::Edge { reason: #reason, of: #of, text: #text, target: #target, counted: #counted } },
        );
        arms.push(match &attribute {
            EdgeAttribute::Feature => quote! { #name::#ident => ::graph::FEATURE_CODE },
            _ => quote! { #name::#ident => #code },
        });
    }
    let (generics, types, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        impl #generics ::graph::Next for #name #types #bounds {
            const EDGES: &'static [::graph::Edge] = &[#(#edges),*];
            const FEATURE: bool = #feature;
            #[inline(always)]
            fn code(self) -> u32 {
                match self { #(#arms),* }
            }
        }
    })
}

/// Notes about packets on an edge to a node.
enum Noted {
    Nothing,
    Counted,
    /// Counted, and the packet carries the reason.
    Reason,
}

enum EdgeAttribute {
    Node(String, Noted),
    Feature,
    Dynamic,
    Drop,
    Punt,
    Free,
    Keep,
    Count,
}

fn edge_attribute(variant: &Variant) -> syn::Result<EdgeAttribute> {
    let mut found = None;
    for attr in &variant.attrs {
        let path = attr.path();
        let attribute = if path.is_ident("next") {
            let (mut node, mut noted) = (None, Noted::Nothing);
            let args = attr.parse_args_with(
                syn::punctuated::Punctuated::<Expr, syn::Token![,]>::parse_terminated,
            )?;
            for arg in args {
                match arg {
                    Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => node = Some(text.value()),
                    Expr::Path(path) if path.path.is_ident("count") => noted = Noted::Counted,
                    Expr::Path(path) if path.path.is_ident("reason") => noted = Noted::Reason,
                    other => {
                        return Err(Error::new_spanned(
                            other,
                            "expected a node's name, `count` or `reason`",
                        ));
                    }
                }
            }
            let node =
                node.ok_or_else(|| Error::new_spanned(attr, "expected #[next(\"node-name\")]"))?;
            EdgeAttribute::Node(node, noted)
        } else if path.is_ident("next_feature") {
            EdgeAttribute::Feature
        } else if path.is_ident("dynamic") {
            EdgeAttribute::Dynamic
        } else if path.is_ident("drop") {
            EdgeAttribute::Drop
        } else if path.is_ident("punt") {
            EdgeAttribute::Punt
        } else if path.is_ident("free") {
            EdgeAttribute::Free
        } else if path.is_ident("keep") {
            EdgeAttribute::Keep
        } else if path.is_ident("count") {
            EdgeAttribute::Count
        } else {
            continue;
        };
        if found.replace(attribute).is_some() {
            return Err(Error::new_spanned(variant, "a packet leaves one way"));
        }
    }
    found.ok_or_else(|| {
        Error::new_spanned(variant, "expected one of #[next(\"node\")], #[next_feature], #[dynamic], #[drop], #[punt], #[free], #[keep], #[count]")
    })
}

/// The parsed attribute `#[counter("name", of = "node")]`.
#[derive(Default)]
struct Counter {
    name: Option<String>,
    of: Option<String>,
}

fn counter(attrs: &[Attribute]) -> syn::Result<Counter> {
    let Some(attr) = attrs.iter().find(|attr| attr.path().is_ident("counter")) else {
        return Ok(Counter::default());
    };
    attr.parse_args_with(|input: ParseStream<'_>| {
        let name = Some(input.parse::<LitStr>()?.value());
        if input.is_empty() {
            return Ok(Counter { name, of: None });
        }
        input.parse::<Token![,]>()?;
        let word: syn::Ident = input.parse()?;
        if word != "of" {
            return Err(Error::new_spanned(word, "expected `of = \"node-name\"`"));
        }
        input.parse::<Token![=]>()?;
        Ok(Counter { name, of: Some(input.parse::<LitStr>()?.value()) })
    })
}

fn doc_line(attrs: &[Attribute]) -> Option<String> {
    attrs.iter().find_map(|attr| {
        let Meta::NameValue(pair) = &attr.meta else { return None };
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &pair.value else { return None };
        pair.path.is_ident("doc").then(|| text.value().trim().trim_end_matches('.').to_string())
    })
}

fn snake(ident: &str) -> String {
    let mut out = String::new();
    for (i, c) in ident.chars().enumerate() {
        if c.is_uppercase() && i > 0 {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}
