// SPDX-License-Identifier: Apache-2.0
//! Configuration text and its tokens.
//!
//! Words are separated by white space; `{` and `}` are tokens of their own wherever they stand; a
//! word may be put in double quotes (`\"` and `\\` inside). In a file, a word that begins with `#`
//! starts a comment to the end of the line; command-line arguments know no comments.

use crate::error::Error;
use crate::source::Source;

/// The kind of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A word, quotes and escapes already resolved.
    Word(String),
    /// `{`
    Open,
    /// `}`
    Close,
}

/// A token and the bytes of the text it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// Splits text into tokens and checks that every brace has its partner.
pub fn tokens(source: &Source) -> Result<Vec<Token>, Error> {
    let text = &source.text;
    let mut out = Vec::new();
    let mut open = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let kind = match c {
            c if c.is_whitespace() => continue,
            '{' => {
                open.push(start);
                TokenKind::Open
            }
            '}' => {
                if open.pop().is_none() {
                    return Err(Error::new(source, start..start + 1, "this `}` closes nothing"));
                }
                TokenKind::Close
            }
            '#' if source.comments() => {
                while chars.next_if(|&(_, c)| c != '\n').is_some() {}
                continue;
            }
            '"' => {
                let mut word = String::new();
                loop {
                    match chars.next() {
                        Some((_, '"')) => break,
                        Some((_, '\\')) if matches!(chars.peek(), Some((_, '"' | '\\'))) => {
                            word.extend(chars.next().map(|(_, c)| c));
                        }
                        Some((_, c)) => word.push(c),
                        None => {
                            return Err(Error::new(
                                source,
                                start..start + 1,
                                "this quote is not closed",
                            ));
                        }
                    }
                }
                TokenKind::Word(word)
            }
            c => {
                let mut word = String::from(c);
                while let Some((_, c)) =
                    chars.next_if(|&(_, c)| !c.is_whitespace() && c != '{' && c != '}')
                {
                    word.push(c);
                }
                TokenKind::Word(word)
            }
        };
        let end = chars.peek().map_or(text.len(), |&(i, _)| i);
        out.push(Token { kind, start, end });
    }
    match open.pop() {
        Some(start) => Err(Error::new(source, start..start + 1, "this `{` is not closed")),
        None => Ok(out),
    }
}

/// A word as it has to be written so that [`tokens`] gives it back.
pub fn quoted(word: &str) -> String {
    let plain = !word.is_empty()
        && !word.starts_with(['#', '"'])
        && !word.contains(|c: char| c.is_whitespace() || c == '{' || c == '}');
    if plain {
        word.to_string()
    } else {
        format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::source::Origin;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        let shown = |t: Token| match t.kind {
            TokenKind::Word(w) => w,
            TokenKind::Open => "{".into(),
            TokenKind::Close => "}".into(),
        };
        tokens(&Source::file("f", text)).unwrap().into_iter().map(shown).collect()
    }

    #[suite::test]
    fn braces_stand_anywhere_and_comments_end_with_the_line() {
        assert_eq!(
            words("unix{nodaemon}cpu {} # rest { \n a#b"),
            ["unix", "{", "nodaemon", "}", "cpu", "{", "}", "a#b"]
        );
        assert_eq!(words(r#"log "/a b/{c}" "x\"y\\z""#), ["log", "/a b/{c}", r#"x"y\z"#]);
    }

    #[suite::test]
    fn arguments_have_no_comments_and_keep_their_numbers() {
        let source = Source::arguments(1, &["unix {", "cli-prompt", "#", "}"]);
        assert_eq!(source.text, "unix { cli-prompt # }");
        assert_eq!(source.origin, Origin::Arguments(vec![(1, 0), (2, 7), (3, 18), (4, 20)]));
        assert_eq!(tokens(&source).unwrap().len(), 5);
    }

    proptest! {
        #[suite::test]
        fn quoted_words_come_back(word in "\\PC{0,12}") {
            prop_assert_eq!(words(&quoted(&word)), [word]);
        }
    }
}
