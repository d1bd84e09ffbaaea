// SPDX-License-Identifier: Apache-2.0
//! Back-to-back frames (RFC 2544 §26.4) with the correction of RFC 9004.

use measure::search::{BackToBack, BufferTime, Next};

use super::{Measuring, Stop};

/// Longest burst in seconds (RFC 2544 §26.4).
const LONGEST: f64 = 2.0;

/// Longest burst that the device forwards without loss, and the time that its buffer holds.
pub fn back_to_back(m: &mut Measuring<'_>) -> Result<(), Stop> {
    let throughput = m.throughput()?;
    let rate = m.highest()?;
    let most = (rate * LONGEST) as u64;
    let mut search = BackToBack::new(rate, most, 1, 1)?;
    loop {
        match search.step() {
            Next::Run(ask) => {
                let plan = m.plan(ask.rate, ask.duration);
                let (trial, _) = m.trial(&plan, (None, None))?;
                search.answer(&m.observe(ask.rate, ask.duration, &trial));
            }
            Next::Done(bursts) => {
                let frames = bursts.frames.first().copied().unwrap_or(0.0);
                m.value("b2b", "frames", frames);
                if bursts.at_limit {
                    let reason = format!("no loss in bursts of {LONGEST} s: the buffer is larger");
                    m.measurement.mark(measure::Mark::Incomplete { reason });
                }
                if let Some(time) = BufferTime::of(frames, rate, throughput.min(rate)) {
                    m.value("buffer_time", "s", time.corrected);
                }
                return Ok(());
            }
        }
    }
}
