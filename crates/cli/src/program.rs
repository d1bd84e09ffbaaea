// SPDX-License-Identifier: Apache-2.0
//! A usage string compiled to a small backtracking machine.
//!
//! One path per reading of the grammar. Where paths part, branches that expect the very word that
//! stands there go first, then the others by how particular they are (numbers and addresses before
//! bare words before the rest of the line), then the branch that skips. State that a path changes
//! (bits of options already taken, positions) sits in registers, and every change is recorded on a
//! trail, so that going back restores it.

use crate::grammar::{self, Node, Part};
use crate::kind::Kind;

/// One instruction. Instructions without a target go on with the next one.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    /// The word itself.
    Literal(&'static str),
    /// A word of a type.
    Arg(&'static str, Kind),
    /// One of these branches.
    Split(Box<[Branch]>),
    /// One of the branches whose bit is not yet set in the register.
    Options(usize, Box<[Branch]>),
    Jump(usize),
    /// A register becomes 0.
    Clear(usize),
    /// A register takes the position.
    Mark(usize),
    /// Goes on only if all these bits are set in the register.
    Need(usize, u64),
    /// Goes on only if the position has moved since the mark.
    Moved(usize),
    /// A repeated group begins.
    Open,
    /// It ends.
    Close,
    /// The line must end here.
    End,
}

/// A branch at a point where paths part.
#[derive(Debug, Clone)]
pub(crate) struct Branch {
    pub to: usize,
    /// Words that this branch may begin with.
    pub literals: Box<[&'static str]>,
    /// The bits it sets in the register of its options.
    pub bit: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub ops: Vec<Op>,
    pub registers: usize,
}

/// Grammars above this size are refused.
const MAX_OPS: usize = 4096;

impl Program {
    pub fn compile(usage: &'static str) -> Result<Self, String> {
        let node = grammar::parse(usage)?;
        let mut p = Self { ops: Vec::new(), registers: 0 };
        p.node(&node);
        p.ops.push(Op::End);
        if p.ops.len() > MAX_OPS {
            return Err(format!("usage `{usage}' is too large"));
        }
        p.order();
        Ok(p)
    }

    /// The live kinds it names.
    pub fn live(&self) -> impl Iterator<Item = &'static str> {
        self.ops.iter().filter_map(|op| match op {
            Op::Arg(_, Kind::Live(kind)) => Some(*kind),
            _ => None,
        })
    }

    /// The names of its placeholders for secrets.
    pub fn secrets(&self) -> impl Iterator<Item = &'static str> {
        self.ops.iter().filter_map(|op| match op {
            Op::Arg(name, Kind::Secret) => Some(*name),
            _ => None,
        })
    }

    /// Returns true if any placeholder takes the raw rest of the line.
    pub fn takes_rest(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, Op::Arg(_, Kind::Rest)))
    }

    fn register(&mut self) -> usize {
        self.registers += 1;
        self.registers - 1
    }

    fn push(&mut self, op: Op) -> usize {
        self.ops.push(op);
        self.ops.len() - 1
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Literal(word) => drop(self.push(Op::Literal(word))),
            Node::Arg(name, kind) => drop(self.push(Op::Arg(name, kind.clone()))),
            Node::Sequence(nodes) => nodes.iter().for_each(|n| self.node(n)),
            Node::Choice(nodes) => {
                let split = self.push(Op::Split([].into()));
                let mut ways = Vec::new();
                let mut jumps = Vec::new();
                for n in nodes {
                    ways.push(branch_to(self.ops.len(), 0));
                    self.node(n);
                    jumps.push(self.push(Op::Jump(0)));
                }
                let end = self.ops.len();
                jumps.into_iter().for_each(|j| self.ops[j] = Op::Jump(end));
                self.ops[split] = Op::Split(ways.into());
            }
            Node::Options(parts) => self.options(parts),
            Node::Repeat(body) => {
                let moved = self.register();
                let start = self.push(Op::Mark(moved));
                self.group(body);
                self.push(Op::Moved(moved));
                let after = self.ops.len() + 1;
                self.push(Op::Split([branch_to(start, 0), branch_to(after, 0)].into()));
            }
        }
    }

    fn options(&mut self, parts: &[Part]) {
        let taken = self.register();
        self.push(Op::Clear(taken));
        let choose = self.push(Op::Options(taken, [].into()));
        let mut ways = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            ways.push(branch_to(self.ops.len(), if part.repeats { 0 } else { 1 << i }));
            let moved = self.register();
            self.push(Op::Mark(moved));
            if part.repeats {
                self.group(&part.node)
            } else {
                self.node(&part.node)
            }
            self.push(Op::Moved(moved));
            self.push(Op::Jump(choose));
        }
        ways.push(branch_to(self.ops.len(), 0));
        let needed = parts.iter().enumerate().filter(|(_, part)| part.required);
        let needed = needed.fold(0, |bits, (i, _)| bits | 1 << i);
        if needed != 0 {
            self.push(Op::Need(taken, needed));
        }
        self.ops[choose] = Op::Options(taken, ways.into());
    }

    /// The body of a repetition; a single word needs no group around it.
    fn group(&mut self, body: &Node) {
        if matches!(body, Node::Literal(_) | Node::Arg(..)) {
            return self.node(body);
        }
        self.push(Op::Open);
        self.node(body);
        self.push(Op::Close);
    }

    /// Fills in the words that each branch may begin with, and puts particular branches before
    /// general ones.
    fn order(&mut self) {
        for at in 0..self.ops.len() {
            let (Op::Split(ways) | Op::Options(_, ways)) = &self.ops[at] else { continue };
            // The last branch of options and repetitions is the one that skips: it stays last.
            let skips = !matches!(&self.ops[at], Op::Split(w) if w[0].to == at + 1);
            let mut ranked: Vec<(u8, Branch)> = Vec::with_capacity(ways.len());
            for (i, w) in ways.iter().enumerate() {
                let mut first = FirstSet::default();
                self.first(w.to, &mut first);
                let rank = if skips && i + 1 == ways.len() { u8::MAX } else { first.rank };
                ranked.push((rank, Branch { literals: first.literals.into(), ..w.clone() }));
            }
            ranked.sort_by_key(|(rank, _)| *rank);
            let ways: Box<[Branch]> = ranked.into_iter().map(|(_, w)| w).collect();
            self.ops[at] = match &self.ops[at] {
                Op::Options(r, _) => Op::Options(*r, ways),
                _ => Op::Split(ways),
            };
        }
    }

    /// Finds the words and the highest rank that can stand first on a path from `at`.
    fn first(&self, at: usize, found: &mut FirstSet) {
        let mut todo = vec![at];
        while let Some(pc) = todo.pop() {
            if std::mem::replace(&mut found.seen(self.ops.len())[pc], true) {
                continue;
            }
            match &self.ops[pc] {
                Op::Literal(word) => found.literals.push(word),
                Op::Arg(_, kind) => {
                    if let Kind::OneOf(words) = kind {
                        found.literals.extend(words);
                    }
                    found.rank = found.rank.max(kind.rank());
                }
                Op::Split(ways) | Op::Options(_, ways) => todo.extend(ways.iter().map(|w| w.to)),
                Op::Jump(to) => todo.push(*to),
                Op::End => {}
                _ => todo.push(pc + 1),
            }
        }
    }
}

#[derive(Default)]
struct FirstSet {
    literals: Vec<&'static str>,
    rank: u8,
    seen: Vec<bool>,
}

impl FirstSet {
    fn seen(&mut self, ops: usize) -> &mut Vec<bool> {
        self.seen.resize(ops, false);
        &mut self.seen
    }
}

fn branch_to(to: usize, bit: u64) -> Branch {
    Branch { to, literals: [].into(), bit }
}
