// SPDX-License-Identifier: Apache-2.0
//! Placeholders in names and texts of nodes that are written once for both IP versions.

use crate::Edge;
use crate::node::Target;
use std::collections::HashSet;
use std::sync::Mutex;

/// Fills in the placeholders of a name or text: `{ip}` becomes `ip4` or `ip6`, `{a|b}` becomes `a`
/// for IPv4 and `b` for IPv6. Without a version the text stays as it is.
pub fn fill(text: &'static str, v6: Option<bool>) -> &'static str {
    match v6 {
        Some(v6) if text.contains('{') => keep(filled(text, v6)),
        _ => text,
    }
}

/// Like [`fill`] for a known version, but returns an owned `String`.
pub fn filled(text: &str, v6: bool) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, behind)) = rest.split_once('{') {
        let (inside, behind) = behind.split_once('}').unwrap_or((behind, ""));
        let (four, six) = if inside == "ip" {
            ("ip4", "ip6")
        } else {
            inside.split_once('|').unwrap_or((inside, inside))
        };
        out += before;
        out += if v6 { six } else { four };
        rest = behind;
    }
    out + rest
}

/// Texts stay for good: their number is bounded by the declarations, whatever the number of
/// instances.
fn keep(text: String) -> &'static str {
    static KEPT: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut kept = KEPT.lock().expect("no panic inside");
    let kept = kept.get_or_insert_default();
    if let Some(text) = kept.get(&*text) {
        return text;
    }
    let text: &'static str = text.leak();
    kept.insert(text);
    text
}

/// Ways out with their counters and texts filled in.
pub(crate) fn edges(edges: &'static [Edge], v6: Option<bool>) -> Vec<Edge> {
    let edge = |edge: &Edge| {
        let target = match edge.target {
            Target::Node(name) => Target::Node(fill(name, v6)),
            Target::Reason(name) => Target::Reason(fill(name, v6)),
            other => other,
        };
        let of = edge.of.map(|node| fill(node, v6));
        Edge { reason: fill(edge.reason, v6), of, text: fill(edge.text, v6), target, ..*edge }
    };
    edges.iter().map(edge).collect()
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn placeholders() {
        let texts = [
            ("{ip}-lookup", "ip4-lookup", "ip6-lookup"),
            ("{ip4-arp|ip6-discover-neighbor}", "ip4-arp", "ip6-discover-neighbor"),
            ("{ip} {ttl|hop limit} <= 1", "ip4 ttl <= 1", "ip6 hop limit <= 1"),
            ("no placeholder", "no placeholder", "no placeholder"),
        ];
        for (text, four, six) in texts {
            assert_eq!((fill(text, Some(false)), fill(text, Some(true))), (four, six));
            assert_eq!(fill(text, None), text);
        }
        assert!(std::ptr::eq(fill("{ip}", Some(true)), fill("{ip}", Some(true))), "kept once");
    }
}
