// SPDX-License-Identifier: Apache-2.0
//! The graph as a picture, made from what the graph itself knows.

use crate::NodeInfo;
use std::fmt::Write;

/// Graphviz text of these nodes.
pub(crate) fn dot(nodes: &[NodeInfo]) -> String {
    let mut out = String::from(
        "digraph ferrovia {\n  rankdir=LR;\n  node [shape=box, fontname=\"Helvetica\", fontsize=10, style=rounded];\n  edge [color=\"#555555\", arrowsize=0.6];\n",
    );
    for node in nodes {
        let style = match (node.input, node.missing, node.name.contains("drop") || node.name.contains("punt"))
        {
            (true, ..) => " [style=\"rounded,filled\", fillcolor=\"#cfe8cf\"]",
            (_, true, _) => " [style=\"rounded,dashed\", fontcolor=\"#999999\"]",
            (_, _, true) => " [style=\"rounded,filled\", fillcolor=\"#f3d3d3\"]",
            _ => "",
        };
        // Writing to a String can't fail.
        let _ = writeln!(out, "  \"{}\"{style};", node.name);
    }
    for node in nodes {
        for next in &node.next {
            let _ = writeln!(out, "  \"{}\" -> \"{next}\";", node.name);
        }
    }
    out.push_str("}\n");
    out
}
