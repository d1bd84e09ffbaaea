// SPDX-License-Identifier: Apache-2.0
//! Many changes in order of their keys: changes to the same block are made to a draft of it, which
//! is written once.

use super::{Edit, MAX, Open, SplitKey, Stroke, Tree, last, top};
use crate::lpm::engine::{Change, Refused};

impl Edit<'_> {
    /// The block that has all of these keys, if one has.
    fn open_for(&self, root: u32, first: u64, last: u64) -> Option<Open> {
        let top = top(self.lines, root);
        let index = if top.is_directory() { top.row(self.lines).find(first) } else { 0 };
        Some(self.open(root, index)).filter(|open| last <= open.bounds.1)
    }
}

impl Tree {
    /// See [`Engine::paint_all`](crate::lpm::engine::Engine::paint_all).
    pub(super) fn paint_sorted<K: SplitKey>(
        &self,
        changes: &[Change<K>],
    ) -> Result<(), (usize, Refused)> {
        let mut control = self.forest.control();
        let mut edit = Edit { lines: self.forest.lines.as_slice(), control: &mut control };
        let mut scratch = std::mem::take(&mut edit.control.scratch);
        // The block that is drafted, and whether it was painted at its end last.
        let mut open: Option<(Open, bool)> = None;
        let mut result = Ok(());
        for (done, change) in changes.iter().enumerate() {
            let Change { key, len, brush, .. } = *change;
            let (first, last) = (key.high(), last(key.high(), len.min(64)));
            let inside = |open: &Open| open.bounds.0 <= first && last <= open.bounds.1;
            let stays = len <= 64 && scratch.draft.len() <= MAX;
            if let Some((other, at_end)) = open.take_if(|(open, _)| !stays || !inside(open)) {
                edit.close(self.root, &other, &mut scratch.draft, at_end);
            }
            if open.is_none() && len <= 64 && edit.room(self.root) {
                open = edit.open_for(self.root, first, last).map(|open| (open, false));
                if let Some((open, _)) = &open {
                    scratch.draft.begin(edit.lines, open.block);
                }
            }
            let Some((hand, at_end)) = &mut open else {
                if let Err(refused) = edit.change(self.root, change) {
                    result = Err((done, refused));
                    break;
                }
                continue;
            };
            let (window, plan, end) =
                edit.plan(hand, Stroke { first, last, brush, grow: true }, &mut scratch);
            let below: Vec<u32> = scratch.below(&plan, brush).collect();
            *at_end = end;
            scratch.redraw(window, &plan, brush);
            below.into_iter().for_each(|root| edit.paint(root, 0, u64::MAX, brush));
        }
        if let Some((open, at_end)) = open {
            edit.close(self.root, &open, &mut scratch.draft, at_end);
        }
        edit.control.scratch = scratch;
        result
    }
}
