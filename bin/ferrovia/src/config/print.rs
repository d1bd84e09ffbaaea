// SPDX-License-Identifier: Apache-2.0
//! The configuration as text again, and the help, both from the declarations.

use std::fmt::{self, Write as _};

use startup::WordView;

use super::model::Config;

/// The text that [`Config::read`] turns into this configuration; what wasn't given stays out.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for view in self.views() {
            let words = view.words.iter().filter(|word| !word.alias);
            let lines: Vec<String> = words
                .flat_map(|word| word.values.iter().map(|rest| join(word.name, rest)))
                .collect();
            if view.whole {
                lines.iter().try_for_each(|line| writeln!(f, "{line}"))?;
            } else if !lines.is_empty() || view.is_present {
                writeln!(f, "{} {{", view.name)?;
                lines.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
                writeln!(f, "}}")?;
            }
        }
        Ok(())
    }
}

fn join(word: &str, rest: &str) -> String {
    if rest.is_empty() { word.to_string() } else { format!("{word} {rest}") }
}

/// Help for every section and word, as `--help-config` prints it.
pub fn help() -> String {
    let mut out = String::from(
        "Startup configuration is a list of sections, `NAME { word value … }`, in a file (-c FILE) or as arguments.\n\
         In a file `#` begins a comment. Values with spaces are put in double quotes.\n",
    );
    for view in Config::default().views() {
        let braces = if view.whole { "" } else { " { … }" };
        // Write to a String doesn't fail.
        let _ = writeln!(out, "\n{}{braces} – {}", view.name, view.help);
        view.words.iter().for_each(|word| line(&mut out, word));
    }
    out
}

fn line(out: &mut String, word: &WordView) {
    let left = join(word.name, &word.syntax);
    let missing = if word.pending { " (not in this build)" } else { "" };
    // Write to a String doesn't fail.
    let _ = if left.chars().count() > 30 {
        writeln!(out, "  {left}\n  {:30}  {}{missing}", "", word.help)
    } else {
        writeln!(out, "  {left:30}  {}{missing}", word.help)
    };
}
