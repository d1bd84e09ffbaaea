// SPDX-License-Identifier: Apache-2.0
//! The words with which comments begin, and the width of their lines.

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

/// Columns of a line of text. rustfmt holds code to it (`max_width`), but doesn't wrap comments.
pub const COLUMNS: usize = 100;

/// Lines, counted from 1, of comments that are wider than [`COLUMNS`]. Tables, drawings with arrows
/// and examples of code keep their lines.
pub fn wide(content: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut in_example = false;
    for (number, line) in (1..).zip(content.lines()) {
        let Some(text) = comment(line) else {
            in_example = false;
            continue;
        };
        in_example ^= text.starts_with("```");
        let whole = in_example || text.starts_with('|') || text.contains('→');
        if !whole && line.chars().count() > COLUMNS {
            found.push(number);
        }
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

    #[test]
    fn wide_comments_are_found() {
        let (wide_line, code) = (format!("//! {}", "word ".repeat(20)), "x".repeat(200));
        let text = [
            wide_line.as_str(),
            &format!("// | {code} |"),
            &format!("// a → {code}"),
            "/// ```",
            &format!("/// {code}"),
            "/// ```",
            &format!("/// {code}"),
            &format!("let {code} = 1;"),
        ];
        assert_eq!(wide(&text.join("\n")), [1, 7]);
    }
}
