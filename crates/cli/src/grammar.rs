// SPDX-License-Identifier: Apache-2.0
//! Reads usage strings.
//!
//! ```text
//! usage   = sequence { "|" sequence }
//! item    = literal | "<" name [ ":" type ] ">" | "{" usage "}" | "[" usage "]" | "(" items ")"
//! ```
//! Each item but the last kind may be followed by "...".
//! ```text
//! items   = item { item }, in any order
//! ```

use crate::kind::Kind;

/// A usage string, read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Literal(&'static str),
    Arg(&'static str, Kind),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    /// Parts in any order, each at most once unless it repeats.
    Options(Vec<Part>),
    /// Once or more.
    Repeat(Box<Node>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    pub node: Node,
    pub repeats: bool,
    /// It may not be left out.
    pub required: bool,
}

/// More parts in any order than this are refused (they are kept as bits).
const MAX_OPTIONS: usize = 64;
const MAX_DEPTH: usize = 32;

pub(crate) fn parse(usage: &'static str) -> Result<Node, String> {
    let mut p = Parser { usage, at: 0, depth: 0 };
    let node = p.choice()?;
    p.blanks();
    match p.peek() {
        None => Ok(node),
        Some(c) => Err(p.error(&format!("`{}' without its opening", c as char))),
    }
}

/// The usage as operators read it: without types (but with the words of a choice), runs of blanks
/// made one.
pub(crate) fn show(usage: &str) -> String {
    let mut out = String::with_capacity(usage.len());
    let mut rest = usage;
    while let Some((before, after)) = rest.split_once('<') {
        let Some((body, after)) = after.split_once('>') else { break };
        out.push_str(before);
        match body.split_once(':') {
            Some((_, words)) if words.contains('|') => out.extend(["{", words.trim(), "}"]),
            Some((name, _)) => out.extend(["<", name.trim(), ">"]),
            None => out.extend(["<", body.trim(), ">"]),
        }
        rest = after;
    }
    out.push_str(rest);
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

struct Parser {
    usage: &'static str,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<u8> {
        self.usage.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|c| c.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn error(&self, what: &str) -> String {
        format!("usage `{}', column {}: {what}", self.usage, self.at + 1)
    }

    fn choice(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("nested too deep"));
        }
        let mut alternatives = vec![self.sequence()?];
        while self.peek() == Some(b'|') {
            self.at += 1;
            alternatives.push(self.sequence()?);
        }
        self.depth -= 1;
        if alternatives.len() == 1 {
            return Ok(alternatives.remove(0));
        }
        if alternatives.iter().any(|a| *a == Node::Sequence(vec![])) {
            return Err(self.error("an alternative is empty"));
        }
        Ok(Node::Choice(alternatives))
    }

    fn sequence(&mut self) -> Result<Node, String> {
        let mut items: Vec<Node> = Vec::new();
        loop {
            self.blanks();
            if matches!(self.peek(), None | Some(b'|' | b'}' | b']' | b')')) {
                break;
            }
            if self.peek() == Some(b'(') {
                // Not joined with optional parts beside it.
                items.push(Node::Sequence(vec![self.unordered()?]));
                continue;
            }
            let part = self.part()?;
            match items.last_mut() {
                Some(Node::Options(parts)) if !part.required => {
                    parts.push(part);
                    self.few(parts)?;
                }
                _ if part.required => items.push(part.node),
                _ => items.push(Node::Options(vec![part])),
            }
        }
        Ok(if items.len() == 1 { items.remove(0) } else { Node::Sequence(items) })
    }

    /// `(…)`: parts in any order; parts in brackets may be left out.
    fn unordered(&mut self) -> Result<Node, String> {
        self.at += 1;
        let mut parts = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                Some(b')') => break,
                None | Some(b'|' | b'}' | b']' | b'(') => return Err(self.error("expected `)'")),
                Some(_) => parts.push(self.part()?),
            }
            self.few(&parts)?;
        }
        if parts.is_empty() {
            return Err(self.error("nothing between the brackets"));
        }
        self.at += 1;
        Ok(Node::Options(parts))
    }

    fn few(&self, parts: &[Part]) -> Result<(), String> {
        if parts.len() > MAX_OPTIONS {
            return Err(self.error("more than 64 parts in any order"));
        }
        Ok(())
    }

    /// One item; required unless it stands in brackets.
    fn part(&mut self) -> Result<Part, String> {
        let (node, required) = match self.peek() {
            Some(b'{') => (self.bracketed(b'}')?, true),
            Some(b'[') => (self.bracketed(b']')?, false),
            Some(b'<') => (self.placeholder()?, true),
            Some(b'>') => return Err(self.error("`>' without its opening")),
            _ => (self.literal()?, true),
        };
        Ok(match (self.dots(), required) {
            (true, true) => Part { node: Node::Repeat(Box::new(node)), repeats: false, required },
            (repeats, _) => Part { node, repeats, required },
        })
    }

    fn bracketed(&mut self, close: u8) -> Result<Node, String> {
        self.at += 1;
        let node = self.choice()?;
        if self.peek() != Some(close) {
            return Err(self.error(&format!("expected `{}'", close as char)));
        }
        if node == Node::Sequence(vec![]) {
            return Err(self.error("nothing between the brackets"));
        }
        self.at += 1;
        Ok(node)
    }

    fn placeholder(&mut self) -> Result<Node, String> {
        let body = &self.usage[self.at + 1..];
        let Some(end) = body.find('>') else { return Err(self.error("expected `>'")) };
        let (name, kind) = body[..end].split_once(':').unwrap_or((&body[..end], "word"));
        let (name, kind) = (name.trim(), kind.trim());
        if name.is_empty() || name.contains(['<', '[', '{', '|']) {
            return Err(self.error("a placeholder needs a name"));
        }
        let kind = Kind::from_name(kind).map_err(|e| self.error(&e))?;
        self.at += end + 2;
        Ok(Node::Arg(name, kind))
    }

    fn literal(&mut self) -> Result<Node, String> {
        let body = &self.usage[self.at..];
        let end =
            body.find(|c: char| c.is_whitespace() || "{}[]()|<>".contains(c)).unwrap_or(body.len());
        let word = &body[..end];
        let word = word.strip_suffix("...").unwrap_or(word);
        if word.is_empty() {
            return Err(self.error("nothing to repeat before `...'"));
        }
        self.at += word.len();
        Ok(Node::Literal(word))
    }

    /// Takes `...` after an item.
    fn dots(&mut self) -> bool {
        let at = self.at;
        self.blanks();
        if self.usage[self.at..].starts_with("...") {
            self.at += 3;
            return true;
        }
        self.at = at;
        false
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn reads_all_forms() {
        let n = parse("{add|del} <p:prefix> [table <t:u32>] [count <n>] {via <nh:ip> | drop}...")
            .unwrap();
        let lit = Node::Literal;
        let arg = Node::Arg;
        let seq = Node::Sequence;
        let part = |node| Part { node, repeats: false, required: false };
        assert_eq!(
            n,
            seq(vec![
                Node::Choice(vec![lit("add"), lit("del")]),
                arg("p", Kind::Prefix),
                Node::Options(vec![
                    part(seq(vec![lit("table"), arg("t", Kind::U32)])),
                    part(seq(vec![lit("count"), arg("n", Kind::Word)])),
                ]),
                Node::Repeat(Box::new(Node::Choice(vec![
                    seq(vec![lit("via"), arg("nh", Kind::Ip)]),
                    lit("drop")
                ]))),
            ])
        );
        assert_eq!(parse("").unwrap(), seq(vec![]));
        assert_eq!(parse("<a>...").unwrap(), parse("<a> ...").unwrap());
        assert_eq!(parse("a...").unwrap(), Node::Repeat(Box::new(lit("a"))));
        assert_eq!(
            parse("[<a>]...").unwrap(),
            Node::Options(vec![Part { repeats: true, ..part(arg("a", Kind::Word)) }])
        );
        let required = |node| Part { required: true, ..part(node) };
        assert_eq!(
            parse("([a] <b> {c | d}) [e]").unwrap(),
            seq(vec![
                seq(vec![Node::Options(vec![
                    part(lit("a")),
                    required(arg("b", Kind::Word)),
                    required(Node::Choice(vec![lit("c"), lit("d")])),
                ])]),
                Node::Options(vec![part(lit("e"))]),
            ])
        );
    }

    #[suite::test]
    fn refuses_what_makes_no_sense() {
        for bad in [
            "{", "}", "[a", "a]", "<a", "a>", "<>", "<a:9>", "{}", "[]", "a |", "...", "{a|}",
            "<:u32>", "()", "(a", "a)", "(a|b)",
        ] {
            let e = parse(bad).unwrap_err();
            assert!(e.contains("column"), "{bad}: {e}");
        }
        let deep: &'static str = Box::leak("{".repeat(100).into_boxed_str());
        assert!(parse(deep).unwrap_err().contains("deep"));
    }

    #[suite::test]
    fn shows_without_types() {
        assert_eq!(
            show(" {add|del}  <p:prefix>\n [mode <m:a|b>] x:y "),
            "{add|del} <p> [mode {a|b}] x:y"
        );
    }
}
