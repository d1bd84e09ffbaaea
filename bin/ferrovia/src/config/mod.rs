// SPDX-License-Identifier: Apache-2.0
//! Startup configuration: VPP's brace syntax and section names, from a file or from arguments.
//!
//! ```text
//! unix { nodaemon cli-listen /run/ferrovia/cli.sock }
//! cpu { main-core 0 corelist-workers 1-3 }   # comments in files
//! ```
//!
//! [`table`] says what is accepted. A section may be given more than once; of a word that holds one value the last
//! one counts. What VPP needs and Ferrovia doesn't, as sizes of fixed heaps, is accepted and noted in
//! [`Config::notes`].

pub mod cursor;
pub mod error;
pub mod model;
pub mod slot;
pub mod table;
pub mod text;
pub mod values;

mod print;
#[cfg(test)]
mod tests;

use crate::reference;
use cursor::Cursor;
use error::Error;
use table::{Body, SECTIONS, Target, Word};
use text::{Source, Token, TokenKind};

pub use model::Config;
pub use print::help;

impl Config {
    /// Reads `source` on top of what is already there.
    pub fn read(&mut self, source: &Source) -> Result<(), Error> {
        let tokens = lenient(text::tokens(source)?);
        let mut cursor = Cursor::new(source, &tokens);
        while !cursor.at_end() {
            let name = cursor.word("the name of a section")?;
            let Some(section) = SECTIONS.iter().find(|s| s.name == name) else {
                // VPP's own file has many of these, and nothing in them.
                if let Some(owner) = reference::owner_of_section(name)
                    && cursor.empty_block()
                {
                    cursor.notes.push(format!(
                        "{name}: empty, and belongs to {owner}, which is not part of this build"
                    ));
                    continue;
                }
                return Err(unknown_section(&cursor, name));
            };
            match &section.body {
                Body::Whole(word) => self.fill(word, "", &mut cursor)?,
                Body::Words(words) => {
                    cursor.block(&format!("`{{ … }}`, the section {name}"), |c| {
                        self.one_of(words, section.name, c)
                    })?;
                }
            }
        }
        self.notes.append(&mut cursor.notes);
        Ok(())
    }

    /// The values of words that are secret.
    pub fn secrets(&self) -> Vec<String> {
        let words = SECTIONS.iter().flat_map(|section| match &section.body {
            Body::Words(words) => words,
            Body::Whole(word) => std::slice::from_ref(word),
        });
        self.secrets_of(words)
    }

    fn secrets_of<'w>(&self, words: impl IntoIterator<Item = &'w Word>) -> Vec<String> {
        // Fields are reached through the table, which hands out mutable references only.
        let mut config = self.clone();
        let mut values = |word: &Word| match word.target {
            Target::Field(field) if word.secret => field(&mut config).show(),
            _ => Vec::new(),
        };
        // As they were meant, not as they have to be written.
        let bare = |value: String| value.trim_matches('"').to_string();
        words.into_iter().flat_map(&mut values).map(bare).collect()
    }

    /// What `source` says.
    pub fn parse(source: &Source) -> Result<Config, Error> {
        let mut config = Config::default();
        config.read(source).map(|()| config)
    }

    fn one_of(&mut self, words: &[Word], section: &str, cursor: &mut Cursor) -> Result<(), Error> {
        let first = cursor.word(&format!("a word of section {section}"))?;
        for word in words {
            let mut rest = word.name.split(' ');
            if rest.next() != Some(first) {
                continue;
            }
            let rest: Vec<&str> = rest.collect();
            if rest.iter().enumerate().all(|(i, part)| cursor.peek_word(i) == Some(part)) {
                cursor.skip(rest.len());
                return self.fill(word, section, cursor);
            }
            let error =
                cursor.error_before(format!("`{first}` is not a word of section {section} on its own"));
            return Err(error.hint(format!("did you mean `{}`?", word.name)));
        }
        let error = cursor.error_before(format!("unknown word `{first}` in section {section}"));
        let known = || words.iter().map(|w| w.name);
        Err(match cli::nearest(first, known()) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error.hint(format!("known are {}", known().collect::<Vec<_>>().join(", "))),
        })
    }

    fn fill(&mut self, word: &Word, section: &str, cursor: &mut Cursor) -> Result<(), Error> {
        let from = cursor.position();
        let note = match &word.target {
            Target::Field(field) => {
                field(self).read(cursor)?;
                word.pending.map(|what| format!("no effect: {what} is not part of this build"))
            }
            Target::Unused { read, why, .. } => {
                read(cursor)?;
                Some(why.to_string())
            }
        };
        if let Some(note) = note {
            let said = [section, word.name, &cursor.text_since(from)].join(" ");
            cursor.notes.push(format!("{}: {note}", said.trim()));
        }
        (word.check)(self).map_err(|message| cursor.error_before(message))
    }
}

/// The tokens as VPP reads them where it looks less closely at blanks, which configurations in the wild rely on: lists of cores may
/// have blanks beside their commas (`corelist-workers 4, 6`), and nothing needs to stand between `on` and the next word
/// (`per-node-counters onupdate-interval 0.05`).
fn lenient(tokens: Vec<Token>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let TokenKind::Word(word) = &token.kind else {
            out.push(token);
            continue;
        };
        let is = |token: Option<&Token>, name: &str| matches!(token, Some(Token { kind: TokenKind::Word(w), .. }) if w == name);
        let before = out.len().checked_sub(2).and_then(|i| out.get(i));
        if is(before, "corelist-workers")
            && let Some(Token { kind: TokenKind::Word(list), end, .. }) = out.last_mut()
            && (list.ends_with(',') || word.starts_with(','))
        {
            list.push_str(word);
            *end = token.end;
            continue;
        }
        let rest = ["on", "off"].iter().find_map(|switch| word.strip_prefix(switch));
        match rest.filter(|rest| is(out.last(), "per-node-counters") && rest.starts_with("update-interval")) {
            Some(rest) => {
                let middle = token.end - rest.len();
                let switch = word[..word.len() - rest.len()].to_string();
                out.push(Token { kind: TokenKind::Word(switch), start: token.start, end: middle });
                out.push(Token { kind: TokenKind::Word(rest.to_string()), start: middle, end: token.end });
            }
            None => out.push(token),
        }
    }
    out
}

fn unknown_section(cursor: &Cursor, name: &str) -> Error {
    if let Some(owner) = reference::owner_of_section(name) {
        let error = cursor
            .error_before(format!("section `{name}` belongs to {owner}, which is not part of this build"));
        return error.hint(match name {
            "avf" | "af_xdp" | "devices" | "dpdk" | "dsa" => {
                "leave the section out; the command `create host-interface name IF` takes an interface of the host"
            }
            "tapcli" | "tuntap" | "vhost-user" => "leave the section out; the command `create tap` makes one",
            _ => "leave the section out",
        });
    }
    // A word of some section, given without it, is the usual slip on the command line.
    let owner = SECTIONS.iter().find(|s| match &s.body {
        Body::Words(words) => words.iter().any(|w| w.name == name),
        Body::Whole(_) => false,
    });
    let error = cursor.error_before(format!("unknown section `{name}`"));
    let known = || SECTIONS.iter().map(|s| s.name);
    match (cli::nearest(name, known().chain(reference::SECTIONS.iter().map(|a| a.0))), owner) {
        (Some(meant), _) => error.hint(format!("did you mean `{meant}`?")),
        (None, Some(section)) => error.hint(format!("did you mean `{} {{ {name} … }}`?", section.name)),
        (None, None) => error.hint(format!("known are {}", known().collect::<Vec<_>>().join(", "))),
    }
}
