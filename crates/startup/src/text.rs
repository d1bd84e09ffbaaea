// SPDX-License-Identifier: Apache-2.0
//! Configuration text and its tokens.
//!
//! Words are separated by white space; `{` and `}` are tokens of their own wherever they stand; a
//! word may be put in double quotes (`\"` and `\\` inside). In a file, a word that begins with `#`
//! starts a comment to the end of the line; command-line arguments know no comments.

use crate::error::Error;

/// The origin of configuration text. It decides how a position is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file, by its name.
    File(String),
    /// Command-line arguments: for each one its number in `argv` and the byte at which it starts in
    /// the text.
    Arguments(Vec<(usize, usize)>),
}

/// Text to be parsed, with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Origin of the text.
    pub origin: Origin,
    /// The text itself.
    pub text: String,
}

impl Source {
    /// Text of the file `name`.
    pub fn file(name: impl Into<String>, text: impl Into<String>) -> Source {
        Source { origin: Origin::File(name.into()), text: text.into() }
    }

    /// Arguments joined with single spaces, as VPP joins them. `first` is the number of the first
    /// one in `argv`.
    pub fn arguments<S: AsRef<str>>(first: usize, args: &[S]) -> Source {
        let mut text = String::new();
        let mut starts = Vec::with_capacity(args.len());
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                text.push(' ');
            }
            starts.push((first + i, text.len()));
            text.push_str(arg.as_ref());
        }
        Source { origin: Origin::Arguments(starts), text }
    }

    fn comments(&self) -> bool {
        matches!(self.origin, Origin::File(_))
    }
}

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
