// SPDX-License-Identifier: Apache-2.0
//! Edges that an enum may not have. A macro crate can't be linked, so its module stands here again.

#[path = "../src/next.rs"]
mod next;

use next::expand;

fn refused(second: &str) -> Option<String> {
    let code = format!(
        "enum To {{ /// lost
            #[drop] #[counter(\"gone\")] A,
            {second} B }}"
    );
    expand(&syn::parse_str(&code).expect("an enum")).err().map(|e| e.to_string())
}

#[suite::test]
fn variants_share_a_counter_if_all_that_an_operator_sees_is_the_same() {
    assert_eq!(refused("/// lost\n #[drop] #[counter(\"gone\")]"), None);
    for second in [
        "/// lost elsewhere\n #[drop] #[counter(\"gone\")]",
        "/// lost\n #[punt] #[counter(\"gone\")]",
        "/// lost\n #[next(\"a\", count)] #[counter(\"gone\")]",
    ] {
        let why = refused(second).unwrap_or_else(|| panic!("{second}: accepted"));
        assert!(why.starts_with("another variant has this counter"), "{why}");
    }
}
