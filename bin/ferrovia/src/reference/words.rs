// SPDX-License-Identifier: Apache-2.0
//! Meanings of words of commands.

/// The beginning of a command's path, the word, a sentence. The longest path that fits wins.
const WORDS: &str = include_str!("words.tsv");

/// The entries of [`WORDS`].
pub fn words() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    WORDS.lines().map(|line| {
        let mut columns = line.split('\t');
        let mut next = || columns.next().expect("three columns");
        (next(), next(), next())
    })
}

/// The meaning of a word of this command, where it is written down.
pub fn meaning(command: &str, word: &str) -> Option<&'static str> {
    let fits = |path: &str| {
        command.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let entries = words().filter(|(path, w, _)| *w == word && fits(path));
    entries.max_by_key(|(path, ..)| path.len()).map(|(_, _, text)| text)
}
