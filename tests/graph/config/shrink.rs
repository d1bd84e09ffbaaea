// SPDX-License-Identifier: Apache-2.0
//! Takes lines away as long as the same difference is found.

use super::compare::Difference;

/// Returns the lines without those that the difference doesn't need, and the difference that they
/// make.
pub fn shrink(
    mut lines: Vec<String>,
    mut found: Difference,
    check: impl Fn(&[String]) -> Result<(), Difference>,
) -> (Vec<String>, Difference) {
    let mut size = lines.len().div_ceil(2);
    loop {
        let mut at = 0;
        let before = lines.len();
        while at < lines.len() {
            let end = lines.len().min(at + size);
            let fewer = [&lines[..at], &lines[end..]].concat();
            match check(&fewer) {
                Err(difference) if difference.of == found.of => {
                    (lines, found) = (fewer, difference)
                }
                _ => at = end,
            }
        }
        // Single lines are tried until each is needed.
        if size == 1 && lines.len() == before {
            return (lines, found);
        }
        size = size.div_ceil(2).max(1);
    }
}

#[test]
fn only_the_lines_that_it_takes_are_left() {
    let lines: Vec<_> = (0..100).map(|n| n.to_string()).collect();
    let check = |lines: &[String]| {
        let has = |n: &str| lines.iter().any(|line| line == n);
        match () {
            () if has("17") && has("18") && has("83") => Err(Difference::new("three", "")),
            () if has("5") => Err(Difference::new("another", "")),
            () => Ok(()),
        }
    };
    let (few, found) = shrink(lines, Difference::new("three", ""), check);
    assert_eq!((few.join(" "), found.of.as_str()), ("17 18 83".into(), "three"));
}
