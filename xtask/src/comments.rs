// SPDX-License-Identifier: Apache-2.0
//! The words with which comments begin.

/// Words that hide the subject of a sentence. CONTRIBUTING.md, "Words", says how to begin instead.
const VAGUE: &[&str] = &["What", "Who", "Whether", "Those", "How"];

/// The text of a line that is a comment as a whole.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']).trim())
}

/// Lines, counted from 1, in which a paragraph of a comment begins with a vague word, and the word.
pub fn vague(content: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut begins = true;
    for (number, line) in (1..).zip(content.lines()) {
        let Some(text) = comment(line) else {
            begins = true;
            continue;
        };
        let word = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        if begins && VAGUE.contains(&word) {
            found.push((number, word));
        }
        begins = text.is_empty() || text.starts_with("SPDX-License-Identifier");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_that_begin_with_a_vague_word_are_found() {
        let text = [
            "// SPDX-License-Identifier: Apache-2.0",
            "//! What a file is.",
            "//!",
            "//! Whether it is long.",
            "",
            "/// A number.",
            "/// What follows in a paragraph is part of its sentence.",
            "fn f() {} // Who stands behind code isn't looked at.",
            "    // How it goes on.",
            "/// Whatever the word begins with.",
        ];
        assert_eq!(vague(&text.join("\n")), [(2, "What"), (4, "Whether"), (9, "How")]);
    }
}
