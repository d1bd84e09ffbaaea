// SPDX-License-Identifier: Apache-2.0
//! Trace records.

use crate::hook::NumberedNode;
use crate::table::{Action, Verdict};
use graph::{NodeIndex, Trace};
use std::fmt;

/// The trace record of an ACL lookup.
#[derive(Clone, Copy)]
pub struct AclTrace {
    sw_if: u32,
    next: i64,
    table: u32,
    /// The session's index, or −1.
    session: i64,
    action: Action,
    /// The table of routes that the packet is looked up in.
    fib: u32,
    /// Of a sent packet.
    out: bool,
}

impl AclTrace {
    /// Of a packet at an interface; `tx` for one that leaves. `next` is the node of a packet that
    /// goes on, if that is known.
    pub fn new(
        (sw_if, tx): (u32, bool),
        verdict: &Verdict<'_>,
        numbered_node: NumberedNode,
        next: Option<NodeIndex>,
        fib: u32,
    ) -> Self {
        Self {
            sw_if,
            next: number(numbered_node, next),
            table: verdict.table,
            session: session(verdict),
            action: verdict.session.map_or(Action::None, |(_, session)| session.action),
            fib,
            out: tx,
        }
    }
}

/// The node that a packet goes to, 0 if it is dropped, −1 for one that isn't known.
fn number(numbered_node: NumberedNode, next: Option<NodeIndex>) -> i64 {
    match numbered_node {
        NumberedNode::Deny => 0,
        NumberedNode::Node(node) => node.0.into(),
        NumberedNode::GoOn | NumberedNode::Output | NumberedNode::Absent => {
            next.map_or(-1, |node| node.0.into())
        }
    }
}

fn session(verdict: &Verdict<'_>) -> i64 {
    verdict.session.map_or(-1, |(index, _)| index.into())
}

impl Trace for AclTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sw_if, next, table, session, action, fib, out } = self;
        let name = if *out { "OUTACL" } else { "INACL" };
        write!(
            f,
            "{name}: sw_if_index {sw_if}, next_index {next}, table_index {table}, offset {session}, action "
        )?;
        match action {
            Action::None => f.write_str("none"),
            Action::Fib { v6, id, .. } => {
                let v = if *v6 { 6 } else { 4 };
                write!(f, "set-ip{v}-fib, table {id}, fib_index {fib}")
            }
            Action::Metadata(n) => write!(f, "set-metadata, metadata {n}, fib_index {fib}"),
            Action::Redirect(n) => write!(f, "redirect, lb-index {n}"),
        }
    }
}

/// The trace record of a table lookup of a packet or a switched frame.
#[derive(Clone, Copy)]
pub struct ClassifyTrace {
    sw_if: u32,
    table: u32,
    session: i64,
    next: i64,
}

impl ClassifyTrace {
    /// `next` is the node of a packet that goes on, if that is known.
    pub fn new(
        sw_if: u32,
        verdict: Option<&Verdict<'_>>,
        numbered_node: NumberedNode,
        next: Option<NodeIndex>,
    ) -> Self {
        Self {
            sw_if,
            table: verdict.map_or(u32::MAX, |verdict| verdict.table),
            session: verdict.map_or(-1, session),
            next: number(numbered_node, next),
        }
    }
}

impl Trace for ClassifyTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sw_if, table, session, next } = self;
        write!(f, "sw_if_index {sw_if}, table {}, offset {session}, next {next}", *table as i32)
    }
}
