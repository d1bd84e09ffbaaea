// SPDX-License-Identifier: Apache-2.0
//! Startup configuration: VPP's brace syntax and section names, from a file or from arguments.
//!
//! ```text
//! unix { nodaemon cli-listen /run/ferrovia/cli.sock }
//! cpu { main-core 0 corelist-workers 1-3 }   # comments in files
//! ```
//!
//! [`table`] and the plugins declare what is accepted. A section may be given more than once; of a
//! word that holds one value the last one counts. Words that VPP needs and Ferrovia doesn't, as
//! sizes of fixed heaps, are accepted and noted in [`Config::notes`].

pub mod logging;
pub mod model;
pub mod slot;
pub mod table;

mod print;
#[cfg(feature = "tests")]
mod tests;

use crate::reference;
use startup::Source;
use startup::text::{self, Token, TokenKind};
use startup::{Cursor, Error, View};
use table::SECTIONS;

pub use model::Config;
pub use print::help;

impl Config {
    /// Reads `source` on top of what is already there.
    pub fn read(&mut self, source: &Source) -> Result<(), Error> {
        let tokens = lenient(text::tokens(source)?);
        let mut cursor = Cursor::new(source, &tokens);
        while !cursor.at_end() {
            let name = cursor.word("the name of a section")?;
            let done = match SECTIONS.iter().find(|s| s.name() == name) {
                Some(section) => Some(section.read(self, &mut cursor)),
                None => self.of_plugins.0.read(name, &mut cursor),
            };
            if let Some(done) = done {
                done?;
            } else if let Some(owner) = reference::owner_of_section(name)
                && cursor.empty_block()
            {
                // VPP's own file has many empty sections.
                cursor.notes.push(format!(
                    "{name}: empty, and belongs to {owner}, which is not part of this build"
                ));
            } else if let Some(owner) = reference::owner_of_section(name)
                && cursor.harmless_block()
            {
                cursor.notes.push(format!(
                    "{name}: not needed: {owner} is not part of this build, and the section only switches off or sizes it"
                ));
            } else {
                return Err(unknown_section(&self.views(), &cursor, name));
            }
        }
        self.notes.append(&mut cursor.notes);
        Ok(())
    }

    /// Returns the values of a plugin's sections.
    pub fn startup<T: startup::Startup>(&self) -> T {
        self.of_plugins.0.get()
    }

    /// All sections with their values: the process's, then those of the plugins.
    pub fn views(&self) -> Vec<View> {
        let own = SECTIONS.iter().map(|section| section.view(self));
        own.chain(self.of_plugins.0.views()).collect()
    }

    /// The values of words that are secret.
    pub fn secrets(&self) -> Vec<String> {
        secrets_of(&self.views())
    }

    /// Reads `source` into a new configuration.
    pub fn parse(source: &Source) -> Result<Config, Error> {
        let mut config = Config::default();
        config.read(source).map(|()| config)
    }
}

fn secrets_of(views: &[View]) -> Vec<String> {
    let words = views.iter().flat_map(|view| &view.words).filter(|word| word.secret);
    // The values themselves, without the quotes of the text.
    words.flat_map(|word| &word.values).map(|value| value.trim_matches('"').to_string()).collect()
}

/// The tokens as VPP reads them where it looks less closely at blanks, which configurations in the
/// wild rely on: lists of cores may have blanks beside their commas (`corelist-workers 4, 6`), and
/// nothing needs to stand between `on` and the next word (`per-node-counters onupdate-interval
/// 0.05`).
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
        match rest.filter(|rest| {
            is(out.last(), "per-node-counters") && rest.starts_with("update-interval")
        }) {
            Some(rest) => {
                let middle = token.end - rest.len();
                let switch = word[..word.len() - rest.len()].to_string();
                out.push(Token { kind: TokenKind::Word(switch), start: token.start, end: middle });
                out.push(Token {
                    kind: TokenKind::Word(rest.to_string()),
                    start: middle,
                    end: token.end,
                });
            }
            None => out.push(token),
        }
    }
    out
}

fn unknown_section(views: &[View], cursor: &Cursor, name: &str) -> Error {
    if let Some(owner) = reference::owner_of_section(name) {
        let error = cursor.error_before(format!(
            "section `{name}` belongs to {owner}, which is not part of this build"
        ));
        return error.hint(match name {
            "avf" | "af_xdp" | "devices" | "dpdk" | "dsa" => {
                "leave the section out; the command `create host-interface name IF` takes an interface of the host"
            }
            "tapcli" | "tuntap" => "leave the section out; the command `create tap` makes one",
            _ => "leave the section out",
        });
    }
    // A word of some section, given without it, is the usual slip on the command line.
    let owner = views.iter().find(|view| !view.whole && view.words.iter().any(|w| w.name == name));
    let error = cursor.error_before(format!("unknown section `{name}`"));
    let known = || views.iter().map(|view| view.name);
    match (cli::nearest(name, known().chain(reference::SECTIONS.iter().map(|a| a.0))), owner) {
        (Some(meant), _) => error.hint(format!("did you mean `{meant}`?")),
        (None, Some(section)) => {
            error.hint(format!("did you mean `{} {{ {name} … }}`?", section.name))
        }
        (None, None) => error.hint(format!("known are {}", known().collect::<Vec<_>>().join(", "))),
    }
}
