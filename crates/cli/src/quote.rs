// SPDX-License-Identifier: Apache-2.0
//! Values as they have to be written in a line.

use crate::lex::{self, Shape};

/// A value as one word of a line: in quotes if it would be read as something else without them.
/// There are no escapes: in a value with quotes of both kinds the double ones become single, and
/// newlines become blanks.
///
/// ```
/// assert_eq!(cli::quote("uplink"), "uplink");
/// assert_eq!(cli::quote("to the west"), "\"to the west\"");
/// ```
pub fn quote(value: &str) -> String {
    let mut words = Vec::new();
    lex::split(value, &mut words);
    let whole =
        matches!(&words[..], [w] if w.shape == Shape::Word && w.outer() == (0..value.len()));
    if whole && !matches!(value, "-j" | "json") {
        return value.to_string();
    }
    let mut text = value.replace(['\n', '\r'], " ");
    let (mut double, single) = (text.contains('"'), text.contains('\''));
    if double && single {
        text = text.replace('"', "'");
        double = false;
    }
    if double { format!("'{text}'") } else { format!("\"{text}\"") }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn values_are_read_as_they_were() {
        for value in [
            "a",
            "a b",
            "",
            " a",
            "{",
            "{ a }",
            "a\"b",
            "'",
            "say \"a\"",
            "json",
            "-j",
            "it's",
            "a{b",
            "é ü",
        ] {
            let line = format!("x {}", quote(value));
            let mut words = Vec::new();
            lex::split(&line, &mut words);
            assert_eq!(words.len(), 2, "{line}");
            assert_eq!(&line[words[1].inner()], value, "{line}");
        }
        assert_eq!(quote("a\nb \"c\" 'd'"), "\"a b 'c' 'd'\"");
    }
}
