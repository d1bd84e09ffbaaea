// SPDX-License-Identifier: Apache-2.0
//! Changes that have to be confirmed in time.

use std::time::Duration;

use cli::{Output, Result, Writer};

use super::diff::Diff;
use super::{file, store, until};
use crate::world::World;

/// Goes back to the last saved version in so many minutes, unless `commit` comes first. The answer
/// lists what is lost then; `run` is the number of lines that a change has just run.
///
/// # Errors
/// Nothing was saved yet.
pub(super) fn confirm_within<W: World>(
    world: &W,
    minutes: u64,
    run: Option<usize>,
) -> Result<Output> {
    let date = store()?.head(0, file::DATE)?;
    *until() = Some(world.now() + Duration::from_secs(minutes * 60));
    let unit = if minutes == 1 { "minute" } else { "minutes" };
    let mut text = Some(format!(
        "back to what was saved {date} in {minutes} {unit}, unless `commit' comes first\n\
         not saved so far, and lost then:\n"
    ));
    let mut unsaved = Diff::version(world, store()?, 0)?;
    Ok(Output::record_while(move |world: &W, out: &mut Writer| {
        if let Some(text) = text.take() {
            if let Some(run) = run {
                out.text(|out| *out += &format!("{run} lines were run\n"));
                out.field("lines_run", run);
            }
            out.text(|out| out.push_str(&text));
            out.field("rollback_in", minutes * 60);
            out.field("saved", date.as_str());
        }
        unsaved.step(world, out)
    }))
}
