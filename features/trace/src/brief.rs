// SPDX-License-Identifier: Apache-2.0
//! `show trace brief`: of each node only what it decided or changed, which is what none before it
//! told of the packet.

use std::collections::HashSet;
use std::fmt::Write;

/// A node that a packet passed, and what its record told first.
pub struct Visit<'a> {
    pub node: &'a str,
    pub news: Vec<String>,
}

/// A packet's path, from its nodes and the full texts of their records.
pub fn visits<'a>(path: impl Iterator<Item = (&'a str, String)>) -> Vec<Visit<'a>> {
    let mut told = HashSet::new();
    let visit = |(at, (node, detail)): (usize, (&'a str, String))| {
        let mut news = Vec::new();
        for line in detail.lines().filter(|line| !is_dump(line)) {
            // Fields of headers are news once they change: the first record has all of them.
            let is_shown = at > 0 || !line.starts_with(' ');
            for item in line.trim().split(", ") {
                if told.insert(item.to_string()) && is_shown {
                    news.push(item.to_string());
                }
            }
        }
        Visit { node, news }
    };
    path.enumerate().map(visit).collect()
}

/// True for bytes in hexadecimal digits behind an offset of eight.
fn is_dump(line: &str) -> bool {
    line.trim_start()
        .split_once(':')
        .is_some_and(|(at, _)| at.len() == 8 && at.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// A line for each node that told something; in front of its name, those that told nothing.
pub fn write(text: &mut String, visits: &[Visit<'_>]) {
    let mut silent = String::new();
    for Visit { node, news } in visits {
        silent += node;
        if news.is_empty() {
            silent += " > ";
        } else {
            let _ = writeln!(text, "  {silent}: {}", news.join(", "));
            silent.clear();
        }
    }
    if !silent.is_empty() {
        let _ = writeln!(text, "  {}", silent.trim_end_matches(" > "));
    }
}
