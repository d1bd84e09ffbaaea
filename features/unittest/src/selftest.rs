// SPDX-License-Identifier: Apache-2.0
//! Commands that try a promise of the daemon while it runs, and fail if it isn't kept: counters
//! that grow, a clock that never goes back, a client of the binary API inside.

use ::stats::{Reader, Value};
use cli::{Error, Matches, Output};
use graph::World;
use msg::Loopback;

/// Counter sizes of the growth steps.
const SIZES: [usize; 5] = [1, 10, 100, 1_000, 10_000];

/// Counts in a counter that grows, and looks at it as a client does: nothing that was counted
/// before is lost.
pub fn counter(w: &World, m: &Matches) -> Result<Output, Error> {
    let combined = m.flag("combined");
    let name = if combined { "/test/counter/combined" } else { "/test/counter/simple" };
    let reader =
        Reader::new(&w.stats).map_err(|e| Error::failed(format!("the stats segment: {e}")))?;
    // Nobody else knows these counters, so their cells are control's here.
    for (step, size) in SIZES.iter().enumerate() {
        let (at, count) = (size - 1, *size as u64);
        if combined {
            let counter = w.stats.combined(name);
            counter.start(at);
            counter.lane(0).add(at, count, 2 * count);
        } else {
            let counter = w.stats.simple(name);
            counter.start(at);
            counter.lane(0).add(at, count);
        }
        let seen = reader.get(name).map_err(|e| Error::failed(format!("{name}: {e}")))?;
        for size in &SIZES[..=step] {
            let (at, count) = (size - 1, *size as u64);
            let kept = match &seen {
                Some(Value::Simple(rows)) => rows[0].get(at) == Some(&count),
                Some(Value::Combined(rows)) => rows[0].get(at) == Some(&(count, 2 * count)),
                _ => false,
            };
            if !kept {
                return Err(Error::failed(format!(
                    "failed: cell {at} of {name} isn't {count}: {seen:?}"
                )));
            }
        }
    }
    Ok(Output::empty())
}

/// Size of the clock jump, in nanoseconds.
const JUMP: u64 = 1_000_000;
/// Clock readings per thread.
const LOOKS: usize = 1_000;

/// Looks at the clock on every thread, again and again: it never goes back, and all threads have
/// the same one.
pub fn time(w: &World, m: &Matches) -> Result<Output, Error> {
    let before = w.clock.now();
    let jumps = m.flag("discontinuity") || m.flag("all");
    if jumps {
        w.clock.adjust(JUMP);
    }
    let least = before + if jumps { JUMP } else { 0 };
    let (clock, after) = (w.clock.clone(), w.clock.clone());
    let asked = w.query(move |_| {
        let looks: Vec<u64> = (0..LOOKS).map(|_| clock.now()).collect();
        looks.is_sorted().then(|| (looks[0], looks[LOOKS - 1]))
    });
    Ok(asked.then(move |threads| {
        let now = after.now();
        for (thread, looks) in threads.into_iter().enumerate() {
            match looks.flatten() {
                Some((first, last)) if least <= first && last <= now => {}
                seen => {
                    return Err(Error::failed(format!(
                        "failed: thread {thread} has seen the times {seen:?}, control {least} before and {now} after"
                    )));
                }
            }
        }
        Ok(Output::text("The clock is the same on all threads, and has not gone back\n"))
    }))
}

/// Connects a client to the binary API from inside, and asks what every client asks.
pub fn api(w: &World, _: &Matches) -> Result<Output, Error> {
    let mut client = Loopback::new(w, &w.api);
    let ping = w.api.table().find("control_ping");
    // Client's index and context.
    // A ping is answered in one turn.
    match ping.and_then(|id| client.begin(id, &[0; 8]).and_then(|()| client.poll()).ok()??) {
        Some(0) => Ok(Output::empty()),
        answer => Err(Error::failed(format!("failed: control_ping is answered by {answer:?}"))),
    }
}
