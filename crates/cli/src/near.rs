// SPDX-License-Identifier: Apache-2.0
//! The nearest known word, for "did you mean".

/// The member of `known` that a person who typed `word` most likely meant, if any is near enough:
/// one that begins with it, else one within an edit (insert, delete, replace, swap) per three
/// letters.
///
/// ```
/// assert_eq!(cli::nearest("intrface", ["show", "interface"]), Some("interface".to_string()));
/// assert_eq!(cli::nearest("zzz", ["show", "interface"]), None);
/// ```
pub fn nearest<S: AsRef<str>>(word: &str, known: impl IntoIterator<Item = S>) -> Option<String> {
    let limit = match word.chars().count() {
        0 | 1 => 0,
        n => (n / 3).max(1),
    };
    let mut best: Option<(usize, String)> = None;
    for k in known {
        let k = k.as_ref();
        if k == word {
            continue;
        }
        let d = if word.len() >= 2 && k.starts_with(word) { 0 } else { distance(word, k, limit) };
        if d <= limit && best.as_ref().is_none_or(|(b, _)| d < *b) {
            best = Some((d, k.to_string()));
        }
    }
    best.map(|(_, k)| k)
}

/// Optimal string alignment distance, or anything above `limit` once it is certain to be above.
fn distance(a: &str, b: &str, limit: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit || a.len() > 64 {
        return limit + 1;
    }
    let mut older = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(older[j - 2] + 1);
            }
        }
        older = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn counts_edits() {
        assert_eq!(distance("via", "vai", 5), 1);
        assert_eq!(distance("kitten", "sitting", 5), 3);
        assert_eq!(distance("", "ab", 5), 2);
        assert_eq!(distance("abc", "abc", 5), 0);
    }

    #[suite::test]
    fn prefers_what_begins_with_the_word() {
        assert_eq!(nearest("int", ["ink", "interface"]), Some("interface".into()));
        assert_eq!(nearest("x", ["address"]), None);
    }
}
