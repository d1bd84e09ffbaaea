// SPDX-License-Identifier: Apache-2.0
//! The packet graph as the daemon itself describes it, drawn by graphviz.

use std::path::Path;

use crate::sh::{self, Res};
use crate::{setup, verbs};

/// Nodes and edges of a picture in dot's language, one statement a line.
pub fn size(dot: &str) -> (usize, usize) {
    let edges = dot.lines().filter(|l| l.contains("->")).count();
    let is_node = |l: &&str| l.trim_start().starts_with('"') && !l.contains("->");
    (dot.lines().filter(is_node).count(), edges)
}

/// Write `graph.dot` and `graph.svg` into `dir`.
pub fn draw(dot: &str, dir: &Path) -> Res {
    let (from, to) = (dir.join("graph.dot"), dir.join("graph.svg"));
    sh::write(&from, dot)?;
    sh::quiet(sh::cmd("dot -Tsvg -o").arg(to).arg(from))
}

/// The verb `graph`: into docs/, or with `check` only say whether docs/graph.dot is current.
pub fn verb(check: bool) -> Res {
    setup::ensure(&[setup::DRAW])?;
    let daemon = verbs::build_release()?.join("ferrovia");
    let dot = sh::output(sh::cmd(&daemon.to_string_lossy()).arg("--dump-graph"))?;
    let docs = sh::root().join("docs");
    let (nodes, edges) = size(&dot);
    if check {
        let current = sh::read(docs.join("graph.dot")).is_ok_and(|kept| kept == dot);
        return if current {
            Ok(())
        } else {
            Err("docs/graph.dot is not current: run `make graph`".into())
        };
    }
    draw(&dot, &docs)?;
    println!("graph: {nodes} nodes, {edges} edges: docs/graph.svg");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn statements_are_counted() {
        let dot = "digraph g {\n  rankdir=LR\n  \"a\" [shape=box]\n  \"b\"\n  \"a\" -> \"b\"\n}\n";
        assert_eq!(size(dot), (2, 1));
    }
}
