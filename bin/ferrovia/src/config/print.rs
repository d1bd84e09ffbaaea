// SPDX-License-Identifier: Apache-2.0
//! The configuration as text again, and the help, both from the table.

use std::fmt::{self, Write as _};

use super::model::Config;
use super::table::{Body, SECTIONS, Target, Word};

/// The text that [`Config::read`] turns into this configuration; what wasn't given stays out.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        // Fields are reached through the table, which hands out mutable references only.
        let mut config = self.clone();
        let mut lines = |word: &Word| -> Vec<String> {
            match word.target {
                Target::Field(field) if !word.alias => {
                    field(&mut config).show().iter().map(|rest| join(word.name, rest)).collect()
                }
                _ => Vec::new(),
            }
        };
        for section in SECTIONS {
            match &section.body {
                Body::Whole(word) => lines(word).iter().try_for_each(|line| writeln!(f, "{line}"))?,
                Body::Words(words) => {
                    let inner: Vec<String> = words.iter().flat_map(&mut lines).collect();
                    if !inner.is_empty() {
                        writeln!(f, "{} {{", section.name)?;
                        inner.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
                        writeln!(f, "}}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn join(word: &str, rest: &str) -> String {
    if rest.is_empty() { word.to_string() } else { format!("{word} {rest}") }
}

/// What every section and word is for, as `--help-config` prints it.
pub fn help() -> String {
    let mut config = Config::default();
    let mut out = String::from(
        "Startup configuration is a list of sections, `NAME { word value … }`, in a file (-c FILE) or as arguments.\n\
         In a file `#` begins a comment. Values with spaces are put in double quotes.\n",
    );
    let mut line = |out: &mut String, word: &Word| {
        let syntax = match &word.target {
            Target::Field(field) => field(&mut config).syntax(),
            Target::Unused { syntax, .. } => (*syntax).to_string(),
        };
        let left = join(word.name, &syntax);
        let missing = if word.pending.is_some() { " (not in this build)" } else { "" };
        // Write to a String doesn't fail.
        let _ = if left.chars().count() > 30 {
            writeln!(out, "  {left}\n  {:30}  {}{missing}", "", word.help)
        } else {
            writeln!(out, "  {left:30}  {}{missing}", word.help)
        };
    };
    for section in SECTIONS {
        match &section.body {
            Body::Whole(word) => {
                let _ = writeln!(out, "\n{} – {}", section.name, section.help);
                line(&mut out, word);
            }
            Body::Words(words) => {
                let _ = writeln!(out, "\n{} {{ … }} – {}", section.name, section.help);
                words.iter().for_each(|word| line(&mut out, word));
            }
        }
    }
    out
}
