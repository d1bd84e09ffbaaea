// SPDX-License-Identifier: Apache-2.0
//! Mistakes in declarations: each is named, with how to mend it. A macro crate can't be linked, so
//! its module stands here again.

#[path = "../src/arguments.rs"]
mod arguments;

use arguments::expand;

fn refused(code: &str) -> Option<String> {
    expand(&syn::parse_str(code).expect("code")).err().map(|e| e.to_string())
}

#[suite::test]
fn mistakes_are_named() {
    let field = |field: &str| refused(&format!("struct Bond {{ {field} }}"));
    assert_eq!(field("#[words(\"{id <id:u32>}\")] id: u32"), None);
    for (code, why) in [
        ("id: u32", "how is it said? expected #[words(\"…\")], #[part] or #[unsaid]"),
        ("#[words(\"{id <id:u32>\")] id: u32", "`{' isn't closed"),
        ("#[words(\"id <id:u32>]\")] id: u32", "`]' without its opening"),
        ("#[words(\"[id <id:u32]\")] id: u32", "`<id:u32]' has no `>'"),
        ("#[words(\"\")] id: u32", "no word"),
        ("#[words(\"[id <:u32>]\")] id: u32", "`<:u32>' has no name"),
        ("#[words(\"[id <id:u32>]\", defualt)] id: u32", "expected `=`"),
        ("#[words(\"[id <id:u32>]\", key = 1)] id: u32", "expected default, always, then or json"),
        (
            "#[words(\"{id <id:u32>}\", default)] id: u32",
            "an argument with a default may be left out: expected a usage in [ ]",
        ),
        ("#[words(\"[id]\")] #[part] id: u32", "one of words, part and unsaid is enough"),
        (
            "#[words(\"{a <n:u32>}\")] a: u32, #[words(\"{b <n:u32>}\")] b: u32",
            "two arguments have the placeholder <n>",
        ),
        ("#[unsaid] id: u32", "no field has words"),
    ] {
        assert_eq!(field(code).as_deref(), Some(why), "{code}");
    }
    let why = refused("enum Bond { A }");
    assert_eq!(why.as_deref(), Some("Arguments is derived for a struct"));
    let why = refused("struct Bond(u32);");
    assert_eq!(why.as_deref(), Some("Arguments needs fields with names"));
}
