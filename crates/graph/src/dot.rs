// SPDX-License-Identifier: Apache-2.0
//! The graph as a picture, made from what the graph itself knows.

use crate::registry::has_last_word;
use crate::{NodeIndex, NodeInfo, World};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

const HEAD: &str = r##"digraph ferrovia {
  graph [rankdir=LR, newrank=true, ranksep=0.7, nodesep=0.12, style=rounded, color="#cccccc", fontname="Helvetica", fontsize=11, fontcolor="#666666", labelloc=b, label="green: brings packets in   blue: sends them   red: where they end   red border: drops some   dashed: not there"];
  node [shape=box, style="rounded,filled", fillcolor=white, color="#666666", height=0.25, margin="0.08,0.03", fontname="Helvetica", fontsize=10];
  edge [color="#888888", arrowsize=0.5, penwidth=0.7];
"##;

/// Returns true if packets end at this node. So many nodes drop that the arrows would hide all
/// others: they get a red border instead.
fn is_end(name: &str) -> bool {
    ["drop", "punt"].iter().any(|word| has_last_word(name, word))
}

/// Nodes of one family stand in one frame: nodes with the same first word, and the nodes of one
/// interface.
fn family(node: &NodeInfo) -> &str {
    let name = &*node.name;
    let interface =
        name.strip_suffix("-output").or(name.strip_suffix("-tx").filter(|_| node.transmits()));
    interface.or(name.split_once('-').map(|(first, _)| first)).unwrap_or(name)
}

fn look(node: &NodeInfo) -> &'static str {
    let drops = node.next.iter().any(|next| is_end(next));
    match () {
        () if node.input => r##" [fillcolor="#d5ecd5"]"##,
        () if is_end(&node.name) => r##" [fillcolor="#f3d3d3"]"##,
        () if node.missing => r##" [style="rounded,dashed", fontcolor="#999999"]"##,
        () if node.transmits() => r##" [fillcolor="#d5e3f5"]"##,
        () if drops => r##" [color="#c04040"]"##,
        () => "",
    }
}

/// Names on a line that lists nodes.
const NAMES: usize = 32;

/// Generator of the graph's Graphviz text, one line at a time, since it is long with many
/// interfaces.
pub struct Picture {
    /// Nodes that are left out.
    hidden: BTreeSet<&'static str>,
    nodes: Vec<NodeInfo>,
    /// Positions in `nodes`, by family.
    families: BTreeMap<String, Vec<usize>>,
    /// Positions of the nodes that packets come in by, and of the last ones where they end.
    ranks: [Vec<usize>; 2],
    at: Position,
}

/// Position in the text.
enum Position {
    /// Indices of the nodes that aren't read yet. All nodes are read before the first line is
    /// written.
    Read(Box<dyn Iterator<Item = NodeIndex>>),
    /// The family with this number is next.
    Family(usize),
    /// The member at this position of a family is next, and whether the family has a frame.
    Member(usize, Vec<usize>, usize, bool),
    /// The names at this position of a rank are next.
    Rank(usize, usize),
    /// The edge of a node is next: positions of node and edge.
    Edge(usize, usize),
    Done,
}

impl Picture {
    pub(crate) fn new(
        hidden: BTreeSet<&'static str>,
        indices: impl Iterator<Item = NodeIndex> + 'static,
    ) -> Self {
        let (nodes, families, ranks) = (Vec::new(), BTreeMap::new(), [Vec::new(), Vec::new()]);
        Self { hidden, nodes, families, ranks, at: Position::Read(Box::new(indices)) }
    }

    fn add(&mut self, mut node: NodeInfo) {
        if self.hidden.contains(&*node.name) {
            return;
        }
        node.next.retain(|next| !self.hidden.contains(&**next));
        let (at, ends) = (self.nodes.len(), is_end(&node.name));
        let family = if node.input || ends { "" } else { family(&node) };
        self.families.entry(family.to_string()).or_default().push(at);
        if node.input {
            self.ranks[0].push(at);
        }
        if ends && node.next.is_empty() {
            self.ranks[1].push(at);
        }
        self.nodes.push(node);
    }

    /// Reads a node, or adds the next line. False if there is nothing more.
    pub fn step(&mut self, world: &World, out: &mut String) -> bool {
        if let Position::Read(indices) = &mut self.at {
            match indices.next() {
                Some(node) => world.node_info(node).into_iter().for_each(|node| self.add(node)),
                None => {
                    out.push_str(HEAD);
                    self.at = Position::Family(0);
                }
            }
            return true;
        }
        // Writing to a String can't fail.
        let _ = self.write(out);
        !matches!(self.at, Position::Done)
    }

    fn write(&mut self, out: &mut String) -> fmt::Result {
        let nodes = &self.nodes;
        match std::mem::replace(&mut self.at, Position::Done) {
            Position::Read(_) | Position::Done => {}
            Position::Family(number) => match self.families.pop_first() {
                Some((family, members)) => {
                    let framed = !family.is_empty() && members.len() > 1;
                    if framed {
                        let label = format!("labelloc=t; label=\"{family}\";");
                        writeln!(out, "  subgraph cluster_{number} {{\n    {label}")?;
                    }
                    self.at = Position::Member(number, members, 0, framed);
                }
                None => self.at = Position::Rank(0, 0),
            },
            Position::Member(number, members, at, framed) => {
                match members.get(at).map(|at| &nodes[*at]) {
                    Some(node) => {
                        let indent = if framed { "    " } else { "  " };
                        writeln!(out, "{indent}\"{}\"{};", node.name, look(node))?;
                        self.at = Position::Member(number, members, at + 1, framed);
                    }
                    None => {
                        if framed {
                            out.push_str("  }\n");
                        }
                        self.at = Position::Family(number + 1);
                    }
                }
            }
            Position::Rank(rank, at) => match self.ranks.get(rank) {
                Some(all) => {
                    let end = all.len().min(at + NAMES);
                    let names: Vec<_> =
                        all[at..end].iter().map(|n| format!("\"{}\"", nodes[*n].name)).collect();
                    if at == 0 {
                        write!(out, "  {{ rank={}; ", ["min", "max"][rank])?;
                    } else {
                        out.push_str("    ");
                    }
                    out.push_str(&names.join("; "));
                    let more = end < all.len();
                    out.push_str(if more { ";\n" } else { " }\n" });
                    self.at =
                        if more { Position::Rank(rank, end) } else { Position::Rank(rank + 1, 0) };
                }
                None => self.at = Position::Edge(0, 0),
            },
            Position::Edge(at, edge) => match nodes.get(at) {
                Some(node) => match node.next.get(edge) {
                    Some(next) => {
                        if is_end(&node.name) || !is_end(next) {
                            writeln!(out, "  \"{}\" -> \"{next}\";", node.name)?;
                        }
                        self.at = Position::Edge(at, edge + 1);
                    }
                    None => self.at = Position::Edge(at + 1, 0),
                },
                None => out.push_str("}\n"),
            },
        }
        Ok(())
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::NodeIndex;

    #[suite::test]
    fn families_are_framed_and_drops_are_borders() {
        let node = |name: &str, input, next: &[&str]| NodeInfo {
            index: NodeIndex(0),
            name: name.into(),
            input,
            feature: name.ends_with("-check-tx"),
            next: next.iter().map(|n| (*n).into()).collect(),
            missing: false,
            level: None,
        };
        let nodes = vec![
            node("pg-input", true, &["ip4-input", "error-drop"]),
            node("ip4-input", false, &["ip4-lookup", "error-drop"]),
            node("ip4-lookup", false, &["pg0-output", "capture"]),
            node("capture", false, &["ip4-input", "drop"]),
            node("pg0-output", false, &["pg0-tx"]),
            node("pg0-tx", false, &[]),
            node("ip4-check-tx", false, &["error-drop"]),
            node("error-drop", false, &["drop"]),
            node("drop", false, &[]),
        ];
        let mut picture = Picture::new(BTreeSet::from(["capture"]), std::iter::empty());
        nodes.into_iter().for_each(|node| picture.add(node));
        picture.at = Position::Family(0);
        let mut text = String::from(HEAD);
        while !matches!(picture.at, Position::Done) {
            let before = text.len();
            picture.write(&mut text).expect("memory");
            assert!(
                text.ends_with('\n') && text.len() - before < 200,
                "whole lines, one at a time: {text}"
            );
        }
        assert!(!text.contains("capture"), "{text}");
        assert_eq!(text.matches("subgraph").count(), 2, "ip4 and pg0: {text}");
        assert_eq!(text.matches("-> \"error-drop\"").count(), 0);
        assert!(
            text.contains(r##"    "ip4-check-tx" [color="#c04040"];"##),
            "a feature, no device: {text}"
        );
        assert!(text.contains(r##"    "ip4-input" [color="#c04040"];"##), "{text}");
        assert!(
            text.contains("{ rank=min; \"pg-input\" }") && text.contains("{ rank=max; \"drop\" }"),
            "{text}"
        );
        assert_eq!(text.matches('{').count(), text.matches('}').count());
        assert_eq!(text.matches(" -> ").count(), 5);
    }
}
