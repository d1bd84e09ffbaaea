// SPDX-License-Identifier: Apache-2.0
//! The graph as a picture, made from what the graph itself knows.

use crate::NodeInfo;
use crate::registry::has_last_word;
use std::collections::BTreeMap;
use std::fmt::Write;

const HEAD: &str = r##"digraph ferrovia {
  graph [rankdir=LR, newrank=true, ranksep=0.7, nodesep=0.12, style=rounded, color="#cccccc", fontname="Helvetica", fontsize=11, fontcolor="#666666", labelloc=b, label="green: brings packets in   blue: sends them   red: where they end   red border: drops some   dashed: not there"];
  node [shape=box, style="rounded,filled", fillcolor=white, color="#666666", height=0.25, margin="0.08,0.03", fontname="Helvetica", fontsize=10];
  edge [color="#888888", arrowsize=0.5, penwidth=0.7];
"##;

/// Whether packets end there. So many nodes drop that their arrows would hide all others: they get a red border instead.
fn is_end(name: &str) -> bool {
    ["drop", "punt"].iter().any(|word| has_last_word(name, word))
}

/// Nodes of one family stand in one frame: those with the same first word, and those of one interface.
fn family(node: &NodeInfo) -> &str {
    let name = &*node.name;
    let interface = name.strip_suffix("-output").or(name.strip_suffix("-tx").filter(|_| node.transmits()));
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

/// Graphviz text of these nodes, but for those in `hidden`.
pub(crate) fn dot(mut nodes: Vec<NodeInfo>, hidden: &[&str]) -> String {
    let is_hidden = |name: &str| hidden.contains(&name);
    nodes.retain(|n| !is_hidden(&n.name));
    nodes.iter_mut().for_each(|n| n.next.retain(|next| !is_hidden(next)));
    let nodes = &nodes[..];
    let mut families: BTreeMap<&str, Vec<&NodeInfo>> = BTreeMap::new();
    for node in nodes {
        let family = if node.input || is_end(&node.name) { "" } else { family(node) };
        families.entry(family).or_default().push(node);
    }
    let mut out = String::from(HEAD);
    for (i, (family, members)) in families.iter().enumerate() {
        let framed = !family.is_empty() && members.len() > 1;
        let indent = if framed { "    " } else { "  " };
        // Writing to a String can't fail.
        if framed {
            let _ = writeln!(out, "  subgraph cluster_{i} {{\n    labelloc=t; label=\"{family}\";");
        }
        for node in members {
            let _ = writeln!(out, "{indent}\"{}\"{};", node.name, look(node));
        }
        if framed {
            out.push_str("  }\n");
        }
    }
    for (rank, of) in [("min", nodes.iter().filter(|n| n.input).collect::<Vec<_>>()), ("max", ends(nodes))] {
        let names: Vec<_> = of.iter().map(|n| format!("\"{}\"", n.name)).collect();
        let _ = writeln!(out, "  {{ rank={rank}; {} }}", names.join("; "));
    }
    for node in nodes {
        let shown = node.next.iter().filter(|next| is_end(&node.name) || !is_end(next));
        for next in shown {
            let _ = writeln!(out, "  \"{}\" -> \"{next}\";", node.name);
        }
    }
    out.push_str("}\n");
    out
}

/// The last of the nodes where packets end.
fn ends(nodes: &[NodeInfo]) -> Vec<&NodeInfo> {
    nodes.iter().filter(|n| is_end(&n.name) && n.next.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeIndex;

    #[test]
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
        let text = dot(nodes, &["capture"]);
        assert!(!text.contains("capture"), "{text}");
        assert_eq!(text.matches("subgraph").count(), 2, "ip4 and pg0: {text}");
        assert_eq!(text.matches("-> \"error-drop\"").count(), 0);
        assert!(text.contains(r##"    "ip4-check-tx" [color="#c04040"];"##), "a feature, no device: {text}");
        assert!(text.contains(r##"    "ip4-input" [color="#c04040"];"##), "{text}");
        assert!(
            text.contains("{ rank=min; \"pg-input\" }") && text.contains("{ rank=max; \"drop\" }"),
            "{text}"
        );
        assert_eq!(text.matches('{').count(), text.matches('}').count());
        assert_eq!(text.matches(" -> ").count(), 5);
    }
}
