// SPDX-License-Identifier: Apache-2.0
//! Numbers that may only fall: `.ci/limits.tsv` has their bounds.

use crate::sh::{self, Res};
use crate::workspace::Package;

const FILE: &str = ".ci/limits.tsv";

/// Groups of files of one crate that name each other in a circle.
pub const CIRCLES: &str = "circles of files";
/// Files that are in such a circle: two circles that become one are no less.
pub const FILES: &str = "files in circles";
/// Programs that cargo builds to run tests.
pub const PROGRAMS: &str = "test programs";
/// Bytes of machine code of the daemon that ships.
pub const TEXT: &str = "bytes of .text";

/// The bound of `name` in the lines `NAME NUMBER` of `text`, which a tab separates.
fn bound(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t')?.trim().parse().ok())
}

/// The sentence for a number and its bound; an error if the number is higher.
fn held(name: &str, number: u64, bound: u64) -> Res<String> {
    if number > bound {
        return Err(format!("{number} {name}, {bound} is the limit ({FILE})"));
    }
    let lower =
        if number < bound { format!(": lower the number in {FILE}") } else { String::new() };
    Ok(format!("{number} {name} of {bound} that may be{lower}"))
}

/// Holds a number against its bound. The size of code moves with every change, so nobody is asked
/// to follow it down.
pub fn hold(name: &str, number: usize) -> Res {
    let text = sh::read(sh::root().join(FILE))?;
    let bound = bound(&text, name).ok_or_else(|| format!("{FILE}: expected a line for {name}"))?;
    println!("limits: {}", held(name, number as u64, bound)?);
    Ok(())
}

/// Number of programs that cargo builds to run the tests of all packages.
pub fn programs(packages: &[Package]) -> usize {
    packages.iter().map(|p| p.programs.len()).sum()
}

/// Holds the size of a program's code, as `size -A` of binutils prints it.
pub fn hold_code(program: &std::path::Path) -> Res {
    let sizes = sh::output(sh::cmd("size -A -d").arg(program))?;
    let bytes = code(&sizes).ok_or_else(|| format!("{}: no .text", program.display()))?;
    hold(TEXT, bytes)
}

fn code(sizes: &str) -> Option<usize> {
    sizes
        .lines()
        .find_map(|line| line.strip_prefix(".text")?.split_whitespace().next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_number_is_a_fault_and_a_lower_one_is_told() {
        assert_eq!(held("circles", 5, 4), Err("5 circles, 4 is the limit (.ci/limits.tsv)".into()));
        assert_eq!(held("circles", 4, 4), Ok("4 circles of 4 that may be".into()));
        assert!(held("circles", 3, 4).unwrap().ends_with("lower the number in .ci/limits.tsv"));
    }

    #[test]
    fn bounds_are_read_by_name() {
        let text = "# name\tnumber\ncircles of files\t57\ntest programs\t12\n";
        assert_eq!(bound(text, CIRCLES), Some(57));
        assert_eq!(bound(text, "circles"), None);
        let file = sh::read(sh::root().join(FILE)).unwrap();
        for name in [CIRCLES, FILES, PROGRAMS, TEXT] {
            assert!(bound(&file, name).is_some(), "{name}");
        }
    }

    #[test]
    fn the_size_of_code_is_read() {
        let sizes = "target/release/ferrovia  :\nsection   size   addr\n.rodata    12   1\n.text   26600000   4096\n.text.x 1 1\n";
        assert_eq!(code(sizes), Some(26_600_000));
        assert_eq!(code("section size addr\n"), None);
    }

    #[test]
    fn programs_are_counted() {
        let of = |names: &[&str]| Package {
            programs: names.iter().map(|n| n.to_string()).collect(),
            ..Package::default()
        };
        assert_eq!(programs(&[of(&["a", "b"]), of(&[]), of(&["c"])]), 3);
    }
}
