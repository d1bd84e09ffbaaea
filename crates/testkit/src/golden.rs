// SPDX-License-Identifier: Apache-2.0
//! Texts to compare with: traces, `show` output.
//!
//! [`golden!`](crate::golden!) compares a text with the file `golden/NAME.txt` of the crate that
//! calls it. With `UPDATE=1` in the environment it writes the file instead; look at the difference
//! before you commit it.

use std::{fmt::Write, fs, path::Path};

/// Compares a text with `golden/NAME.txt` beside the `Cargo.toml` of the calling crate and panics
/// with the differing lines. `UPDATE=1` writes the file.
///
/// ```no_run
/// testkit::golden!("arp-request", "IP4: …");
/// ```
#[macro_export]
macro_rules! golden {
    ($name:expr, $actual:expr) => {
        $crate::golden::compare(
            &::std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("golden")
                .join(format!("{}.txt", $name)),
            ::core::convert::AsRef::<str>::as_ref(&$actual),
        )
    };
}

/// Compares `actual` with the file at `path`; trailing blanks and newlines don't count.
#[track_caller]
pub fn compare(path: &Path, actual: &str) {
    let update = std::env::var_os("UPDATE").is_some_and(|value| !value.is_empty() && value != "0");
    if let Err(message) = check(path, actual, update) {
        panic!("{message}");
    }
}

fn check(path: &Path, actual: &str, update: bool) -> Result<(), String> {
    let actual = tidy(actual);
    let shown = path.display();
    if update {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        return fs::write(path, actual).map_err(|error| format!("{shown}: {error}"));
    }
    let hint = "UPDATE=1 writes it anew";
    let expected = fs::read_to_string(path).map_err(|error| format!("{shown}: {error}; {hint}"))?;
    let expected = tidy(&expected);
    if expected == actual {
        return Ok(());
    }
    Err(format!(
        "{shown} differs (- expected, + actual); {hint}\n{}",
        difference(&expected, &actual)
    ))
}

fn tidy(text: &str) -> String {
    let mut lines: Vec<_> = text.lines().map(str::trim_end).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// The lines between the common beginning and the common end, with two lines of context.
fn difference(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (expected.lines().collect(), actual.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - head;
    let tail =
        old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    let mut add = |mark: char, lines: &[&str]| {
        for line in lines {
            let _ = writeln!(text, "{mark} {line}");
        }
    };
    add(' ', &old[head.saturating_sub(2)..head]);
    add('-', &old[head..old.len() - tail]);
    add('+', &new[head..new.len() - tail]);
    add(' ', &old[old.len() - tail..(old.len() - tail + 2).min(old.len())]);
    text
}

/// `text` with every digit of a time stamp `HH:MM:SS:uuuuuu` (as traces print them) replaced by 0.
pub fn without_times(text: &str) -> String {
    const SHAPE: &[u8] = b"00:00:00:000000";
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let is_stamp = |window: &[u8]| {
        window.iter().zip(SHAPE).all(|(&byte, &shape)| match shape {
            b':' => byte == b':',
            _ => byte.is_ascii_digit(),
        })
    };
    let mut at = 0;
    while at + SHAPE.len() <= bytes.len() {
        let end = at + SHAPE.len();
        let alone = !bytes.get(end).is_some_and(u8::is_ascii_digit)
            && !at
                .checked_sub(1)
                .is_some_and(|before| bytes[before].is_ascii_digit() || bytes[before] == b':');
        if alone && is_stamp(&bytes[at..end]) {
            out[at..end].copy_from_slice(SHAPE);
            at = end;
        } else {
            at += 1;
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_string())
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn writes_then_compares() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deeper/a.txt");
        assert!(check(&path, "one\ntwo\n", false).unwrap_err().contains("UPDATE=1"));
        check(&path, "one  \ntwo\n\n", true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        check(&path, "one\ntwo", false).unwrap();
        let message = check(&path, "one\n2\n3\n", false).unwrap_err();
        assert!(message.ends_with("  one\n- two\n+ 2\n+ 3\n"), "{message}");
        assert!(check(&path, "one\n", false).unwrap_err().ends_with("  one\n- two\n"));
        assert!(check(&path, "one\ntwo\ntwo\n", false).unwrap_err().ends_with("+ two\n"));
    }

    #[suite::test]
    fn of_this_crate() {
        golden!("self", "a text\nof two lines");
    }

    #[suite::test]
    fn times() {
        assert_eq!(without_times("00:12:34:567890: ip4-lookup"), "00:00:00:000000: ip4-lookup");
        let mac = "02:11:22:33:44:55 1 é 12:34:56:1234567";
        assert_eq!(without_times(mac), mac);
    }
}
