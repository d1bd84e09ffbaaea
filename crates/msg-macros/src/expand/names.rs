// SPDX-License-Identifier: Apache-2.0
//! Rust names of what the tables name.

use msg_table::{Field, Multiplicity};
use proc_macro2::Span;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, Meta};

/// `ip_route_v2` as `IpRouteV2`.
pub fn camel(name: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..].to_lowercase();
    name.split('_').filter(|part| !part.is_empty()).map(word).collect()
}

/// The name of the tables that `camel` stands for.
pub fn find(camel: &str) -> Option<&'static str> {
    msg_table::tables().names().find(|name| {
        // Most names differ in the first letters: this is done for each name of the tables.
        let mut letters = camel.chars();
        let mut begins = true;
        name.chars().all(|c| match (c, std::mem::replace(&mut begins, c == '_')) {
            ('_', _) => true,
            (c, true) => letters.next() == Some(c.to_ascii_uppercase()),
            (c, false) => letters.next() == Some(c),
        }) && letters.next().is_none()
    })
}

/// The names of the tables that begin as `camel`.
pub fn near(camel: &str) -> String {
    let common =
        |name: &String| name.chars().zip(camel.chars()).take_while(|(a, b)| a == b).count();
    let all: Vec<String> = msg_table::tables().names().map(self::camel).collect();
    let most = all.iter().map(common).max().unwrap_or(0);
    let near: Vec<_> = all.iter().filter(|name| common(name) == most).take(3).cloned().collect();
    near.join(", ")
}

/// The Rust name of a field.
pub fn field(name: &str, span: Span) -> Ident {
    match name {
        "type" | "match" => Ident::new_raw(name, span),
        _ => Ident::new(name, span),
    }
}

/// True if `field` is the length of `array`.
pub fn counts(field: &Field, array: &Field) -> bool {
    array.multiplicity == Multiplicity::Counted(field.name)
}

/// Members without the beginning that all have in common: whole words, but no name begins with a
/// digit.
pub fn members(all: &[(&'static str, u32)]) -> Vec<&'static str> {
    let first = all.first().map_or("", |(name, _)| name);
    let starts_all = |cut: &usize| {
        all.iter().all(|(name, _)| {
            name.get(..*cut) == Some(&first[..*cut])
                && name[*cut..].starts_with(|c: char| c.is_ascii_alphabetic())
        })
    };
    let cuts = first.match_indices('_').map(|(at, _)| at + 1);
    let cut = cuts.filter(starts_all).max().unwrap_or(0);
    all.iter().map(|(name, _)| &name[cut..]).collect()
}

/// The doc comment as one paragraph.
pub fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(nv) if nv.path.is_ident("doc") => match &nv.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_string()),
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ").trim().to_string()
}
