// SPDX-License-Identifier: Apache-2.0
//! Documentation that can't rot: its code blocks are regions of files that compile and run under
//! test.
//!
//! In a Markdown file, `<!-- from: PATH -->` or `<!-- from: PATH#ITEM -->` before a fenced block
//! says where the block's text comes from: a whole file, or the item whose first line begins with
//! the text ITEM, with its attributes and documentation. `docs` writes the blocks, `docs --check`
//! fails where one differs. A `rust` block below `docs/` without a mark, a link to a file that
//! isn't there and a `make` verb that doesn't exist are faults as well.

use std::path::{Path, PathBuf};

use crate::sh::{self, Res};

const MARK: &str = "<!-- from: ";

/// All of `content`, or its item that begins with the text `item`, moved to the left edge.
fn excerpt(content: &str, item: Option<&str>) -> Res<String> {
    let Some(item) = item else { return Ok(content.to_string()) };
    let lines: Vec<&str> = content.lines().collect();
    let indent = |l: &str| l.len() - l.trim_start().len();
    let at = lines.iter().position(|l| l.trim_start().starts_with(item));
    let at = at.ok_or_else(|| format!("no line begins with `{item}`"))?;
    let belongs = |l: &&&str| l.trim_start().starts_with("///") || l.trim_start().starts_with("#[");
    let first = at - lines[..at].iter().rev().take_while(belongs).count();
    // An item ends on its own line, or with the first closing bracket that stands as far left as
    // its first line.
    let is_whole = lines[at].ends_with([';', ',']) || lines[at].ends_with("{}");
    let closes =
        |l: &&str| indent(l) == indent(lines[at]) && l.trim_start().starts_with(['}', ']', ')']);
    let more =
        if is_whole { Some(0) } else { lines[at + 1..].iter().position(closes).map(|n| n + 1) };
    let last = at + more.ok_or_else(|| format!("`{item}` has no end"))?;
    let left = |l: &&str| l.get(indent(lines[at])..).unwrap_or("").to_string() + "\n";
    Ok(lines[first..=last].iter().map(left).collect())
}

/// The page with every marked block filled from the tree by `source`, and what is wrong with it.
fn fill(page: &str, strict: bool, source: impl Fn(&str) -> Res<String>) -> (String, Vec<String>) {
    let mut out = String::new();
    let mut faults = Vec::new();
    let mut lines = page.lines().enumerate();
    let mut marked: Option<&str> = None;
    while let Some((number, line)) = lines.next() {
        out += line;
        out.push('\n');
        if let Some(fence) = line.strip_prefix("```") {
            let mut body = String::new();
            let mut closed = false;
            for (_, inner) in lines.by_ref() {
                if inner.trim_end() == "```" {
                    closed = true;
                    break;
                }
                body += inner;
                body.push('\n');
            }
            if !closed {
                faults.push(format!("{}: the block is not closed", number + 1));
            }
            match marked.take() {
                Some(from) => match source(from) {
                    Ok(text) => body = text,
                    Err(why) => faults.push(format!("{}: {from}: {why}", number + 1)),
                },
                None if strict && fence.starts_with("rust") => {
                    faults.push(format!(
                        "{}: a rust block comes from a file: {MARK}PATH#ITEM -->",
                        number + 1
                    ));
                }
                None => {}
            }
            out += &body;
            out += "```\n";
        } else if !line.trim().is_empty() {
            marked = line.strip_prefix(MARK).and_then(|l| l.strip_suffix(" -->"));
        }
    }
    (out, faults)
}

/// Targets of the page's inline links that name a file: without those on the web and those within
/// the page.
fn links(page: &str) -> Vec<&str> {
    let targets =
        page.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    targets
        .map(|t| t.split('#').next().unwrap_or(""))
        .filter(|t| !t.is_empty() && !t.contains("://") && !t.contains(char::is_whitespace))
        .collect()
}

/// The verbs that the page tells the reader to `make`: in code spans, and in lines of blocks.
fn verbs(page: &str) -> Vec<&str> {
    let spans = page.split("`make ").skip(1);
    let lines =
        page.lines().filter_map(|l| l.trim_start().trim_start_matches("$ ").strip_prefix("make "));
    let word =
        |text: &str| text.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(text.len());
    spans.chain(lines).map(|text| &text[..word(text)]).filter(|w| !w.is_empty()).collect()
}

/// Every Markdown page of ours: those of the root and of examples/, and those below docs/.
fn pages(root: &Path) -> Res<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut dirs = vec![
        (root.to_path_buf(), false),
        (root.join("examples"), false),
        (root.join("docs"), true),
    ];
    while let Some((dir, deep)) = dirs.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for path in entries.flatten().map(|e| e.path()) {
            if deep && path.is_dir() {
                dirs.push((path, true));
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The verb `docs`: write the blocks, or with `check` only compare them.
pub fn verb(check: bool) -> Res {
    let root = sh::root();
    let makefile = sh::read(root.join("Makefile"))?;
    let is_verb =
        |v: &str| makefile.lines().any(|l| l.strip_prefix(v).is_some_and(|l| l.starts_with(':')));
    let source = |from: &str| {
        let (path, item) = from.split_once('#').map_or((from, None), |(p, r)| (p, Some(r)));
        excerpt(&sh::read(root.join(path))?, item)
    };
    let pages = pages(&root)?;
    let mut faults = Vec::new();
    for path in &pages {
        let name = path.strip_prefix(&root).unwrap_or(path);
        let page = sh::read(path)?;
        let (filled, found) = fill(&page, name.starts_with("docs"), source);
        faults.extend(found.iter().map(|f| format!("{}:{f}", name.display())));
        let here = path.parent().unwrap_or(&root);
        let dead = links(&page).into_iter().filter(|t| !here.join(t).exists());
        faults.extend(dead.map(|t| format!("{}: link to {t}, which is not there", name.display())));
        let unknown = verbs(&page).into_iter().filter(|v| !is_verb(v));
        faults.extend(unknown.map(|v| format!("{}: there is no `make {v}`", name.display())));
        if filled.trim_end() == page.trim_end() || !found.is_empty() {
            continue;
        } else if check {
            faults.push(format!(
                "{}: blocks differ from the tree: run `cargo xtask docs`",
                name.display()
            ));
        } else {
            sh::write(path, filled)?;
            println!("docs: wrote {}", name.display());
        }
    }
    faults.iter().for_each(|f| eprintln!("docs: {f}"));
    if !faults.is_empty() {
        return Err(format!("docs: {} faults", faults.len()));
    }
    println!("docs: {} pages, blocks as in the tree, links and verbs exist", pages.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "// head\nmod a {\n    /// Doc.\n    #[inline]\n    fn f() {\n        if x {\n            g();\n        }\n    }\n\n    fn g() {}\n    struct S;\n}\n";

    #[test]
    fn an_item_is_cut_out_and_moved_left() {
        let expected = "/// Doc.\n#[inline]\nfn f() {\n    if x {\n        g();\n    }\n}\n";
        assert_eq!(excerpt(FILE, Some("fn f")), Ok(expected.into()));
        assert_eq!(excerpt(FILE, Some("fn g")), Ok("fn g() {}\n".into()));
        assert_eq!(excerpt(FILE, Some("struct S")), Ok("struct S;\n".into()));
        assert!(excerpt(FILE, Some("mod a")).unwrap().ends_with("    struct S;\n}\n"));
        assert_eq!(excerpt(FILE, None).as_deref(), Ok(FILE));
        assert!(excerpt(FILE, Some("fn h")).is_err());
        assert!(excerpt("fn f() {\n", Some("fn f")).is_err());
    }

    #[test]
    fn a_marked_block_is_filled_and_others_stay() {
        let page = "# T\n\n<!-- from: a.rs#fn f -->\n```rust\nold\n```\ntext\n```sh\nls\n```\n";
        let (out, faults) = fill(page, true, |from| Ok(format!("{from}\n")));
        assert_eq!(out, page.replace("old", "a.rs#fn f"));
        assert_eq!(faults, Vec::<String>::new());
        let (again, _) = fill(&out, true, |from| Ok(format!("{from}\n")));
        assert_eq!(again, out);
    }

    #[test]
    fn rust_from_nowhere_is_a_fault_in_docs_only() {
        let page = "<!-- from: a.rs -->\nbut text between\n```rust\nlet x;\n```\n";
        assert_eq!(fill(page, true, |_| Ok(String::new())).1.len(), 1);
        assert!(fill(page, false, |_| Ok(String::new())).1.is_empty());
        assert_eq!(fill("```\nopen\n", false, |_| Ok(String::new())).1.len(), 1);
        assert_eq!(
            fill("<!-- from: a -->\n```\n```\n", false, |_| Err("gone".into())).1,
            ["2: a: gone"]
        );
    }

    #[test]
    fn links_and_verbs_are_found() {
        assert_eq!(links("[a](b.md) [c](https://d) [e](#f) [g](h/i.md#j)"), ["b.md", "h/i.md"]);
        assert_eq!(
            verbs("run `make demo` or\n    make new-feature NAME=x\nto make it"),
            ["demo", "new-feature"]
        );
    }
}
