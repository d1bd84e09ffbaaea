// SPDX-License-Identifier: Apache-2.0
//! Names on the wire, and the doc comment.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// `SwInterfaceDump` → `sw_interface_dump`; digits stay with what is before them.
pub fn snake(name: &str) -> String {
    let mut out = String::new();
    for (i, c) in name.trim_start_matches("r#").chars().enumerate() {
        if c.is_ascii_uppercase() && i > 0 {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// The doc comment as one paragraph.
pub fn doc(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter_map(|attr| match &attr.meta {
        Meta::NameValue(nv) if nv.path.is_ident("doc") => match &nv.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_string()),
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ").trim().to_string()
}
