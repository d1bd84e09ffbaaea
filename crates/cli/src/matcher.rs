// SPDX-License-Identifier: Apache-2.0
//! Runs a [`Program`] over the words of a line.

use crate::kind::{Kind, Value};
use crate::lex::{Shape, Token};
use crate::program::{Branch, Op, Program};

/// A part of the line that a path has taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Capture {
    /// Name of the placeholder, or the literal.
    pub name: &'static str,
    pub kind: CaptureKind,
    pub start: u32,
    pub end: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CaptureKind {
    Literal,
    Arg(Value),
    Open,
    Close,
}

/// The instructions expected at the furthest word that any path reached.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    /// Index of the word.
    pub at: usize,
    /// Instructions of the program, each different from the others.
    pub pcs: Vec<usize>,
}

impl Expected {
    fn note(&mut self, at: usize, pc: usize, ops: &[Op]) {
        if at > self.at {
            self.at = at;
            self.pcs.clear();
        }
        if at == self.at && !self.pcs.iter().any(|p| same(&ops[*p], &ops[pc])) {
            self.pcs.push(pc);
        }
    }
}

fn same(a: &Op, b: &Op) -> bool {
    match (a, b) {
        (Op::Literal(a), Op::Literal(b)) => a == b,
        (Op::Arg(a, ka), Op::Arg(b, kb)) => a == b && ka == kb,
        (Op::End, Op::End) => true,
        _ => false,
    }
}

/// The result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatchResult {
    Matched,
    No,
    /// Too many paths: the grammar is ambiguous beyond reason for this line.
    GaveUp,
}

/// Instructions executed before a run gives up.
const BUDGET: usize = 100_000;

struct Backtrack {
    pc: usize,
    at: usize,
    captures: usize,
    trail: usize,
    register: usize,
    bit: u64,
}

/// The machine; kept between lines only to reuse its memory.
#[derive(Default)]
pub(crate) struct Machine {
    pub captures: Vec<Capture>,
    registers: Vec<u64>,
    trail: Vec<(usize, u64)>,
    backtrack: Vec<Backtrack>,
}

impl Machine {
    /// Runs the program over `words`, which point into `line`; `MatchResult::Matched`
    /// if they fit its grammar.
    pub fn run(&mut self, program: &Program, line: &str, words: &[Token]) -> MatchResult {
        self.walk::<false>(program, line, words, &mut Expected::default())
    }

    /// Like `run` over all paths; also returns what was expected at the furthest word that any
    /// reached.
    pub fn explain(
        &mut self,
        program: &Program,
        line: &str,
        words: &[Token],
    ) -> (MatchResult, Expected) {
        let mut expected = Expected::default();
        let ended = self.walk::<true>(program, line, words, &mut expected);
        (ended, expected)
    }

    fn set(&mut self, register: usize, value: u64) {
        self.trail.push((register, self.registers[register]));
        self.registers[register] = value;
    }

    fn walk<const NOTE: bool>(
        &mut self,
        program: &Program,
        line: &str,
        words: &[Token],
        expected: &mut Expected,
    ) -> MatchResult {
        self.captures.clear();
        self.trail.clear();
        self.backtrack.clear();
        self.registers.clear();
        self.registers.resize(program.registers, 0);
        let (mut pc, mut at) = (0, 0);
        let mut ended = MatchResult::No;
        for _ in 0..BUDGET {
            let op = &program.ops[pc];
            let go_on = match op {
                Op::Literal(word) => {
                    let fits = words
                        .get(at)
                        .is_some_and(|w| w.shape == Shape::Word && &line[w.inner()] == *word);
                    if NOTE && !fits {
                        expected.note(at, pc, &program.ops);
                    }
                    if fits {
                        self.take(word, CaptureKind::Literal, words[at].start, words[at].end);
                        at += 1;
                    }
                    fits
                }
                Op::Arg(name, kind) => {
                    let taken = words.get(at).and_then(|w| read(kind, line, w, words));
                    if NOTE && taken.is_none() {
                        expected.note(at, pc, &program.ops);
                    }
                    if let Some((value, start, end)) = taken {
                        self.take(name, CaptureKind::Arg(value), start, end);
                        at = if *kind == Kind::Rest { words.len() } else { at + 1 };
                    }
                    taken.is_some()
                }
                Op::Split(ways) => {
                    pc = self.part(ways, usize::MAX, at, line, words.get(at));
                    continue;
                }
                Op::Options(register, ways) => {
                    pc = self.part(ways, *register, at, line, words.get(at));
                    continue;
                }
                Op::Jump(to) => {
                    pc = *to;
                    continue;
                }
                Op::Clear(register) => {
                    self.set(*register, 0);
                    true
                }
                Op::Mark(register) => {
                    self.set(*register, at as u64);
                    true
                }
                Op::Need(register, bits) => self.registers[*register] & bits == *bits,
                Op::Moved(register) => self.registers[*register] != at as u64,
                Op::Open | Op::Close => {
                    self.take(
                        "",
                        if matches!(op, Op::Open) { CaptureKind::Open } else { CaptureKind::Close },
                        0,
                        0,
                    );
                    true
                }
                Op::End => {
                    if at == words.len() {
                        if !NOTE {
                            return MatchResult::Matched;
                        }
                        ended = MatchResult::Matched;
                    }
                    if NOTE {
                        expected.note(at, pc, &program.ops);
                    }
                    false
                }
            };
            if go_on {
                pc += 1;
                continue;
            }
            let Some(backtrack) = self.backtrack.pop() else { return ended };
            for (register, value) in self.trail.drain(backtrack.trail..).rev() {
                self.registers[register] = value;
            }
            self.captures.truncate(backtrack.captures);
            if backtrack.bit != 0 {
                self.set(backtrack.register, self.registers[backtrack.register] | backtrack.bit);
            }
            (pc, at) = (backtrack.pc, backtrack.at);
        }
        if NOTE && ended == MatchResult::Matched { ended } else { MatchResult::GaveUp }
    }

    fn take(&mut self, name: &'static str, kind: CaptureKind, start: u32, end: u32) {
        self.captures.push(Capture { name, kind, start, end });
    }

    /// Pushes all branches but the best on the stack for later, and returns the target of the best.
    fn part(
        &mut self,
        ways: &[Branch],
        register: usize,
        at: usize,
        line: &str,
        word: Option<&Token>,
    ) -> usize {
        let taken = if register == usize::MAX { 0 } else { self.registers[register] };
        let named = |w: &Branch| match word {
            Some(t) if t.shape == Shape::Word => w.literals.contains(&&line[t.inner()]),
            _ => false,
        };
        let (captures, trail) = (self.captures.len(), self.trail.len());
        // Later in the list, earlier on the stack: the last pushed is the first tried.
        for wanted in [false, true] {
            for w in ways.iter().rev().filter(|w| w.bit & taken == 0 && named(w) == wanted) {
                self.backtrack.push(Backtrack {
                    pc: w.to,
                    at,
                    captures,
                    trail,
                    register,
                    bit: w.bit,
                });
            }
        }
        // The branch that skips has no bit, so there always is one.
        let best = self.backtrack.pop().expect("a way that is always open");
        if best.bit != 0 {
            self.set(register, taken | best.bit);
        }
        best.pc
    }
}

/// The value of a word, and the bytes it covers.
fn read(kind: &Kind, line: &str, word: &Token, words: &[Token]) -> Option<(Value, u32, u32)> {
    let inner = word.inner();
    let span = |v| (v, inner.start as u32, inner.end as u32);
    match (kind, word.shape) {
        (Kind::Rest, _) => Some((Value::Text, word.start, words.last()?.end)),
        (Kind::Block, Shape::Block) => Some(span(Value::Text)),
        (Kind::Block, _) | (_, Shape::Block | Shape::OpenBlock | Shape::OpenQuote) => None,
        (_, Shape::Quoted) => {
            matches!(kind, Kind::Word | Kind::String | Kind::Secret | Kind::Live(_))
                .then(|| span(Value::Text))
        }
        (_, Shape::Word) => kind.read(&line[inner.clone()]).map(span),
    }
}
