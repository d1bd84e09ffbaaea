// SPDX-License-Identifier: Apache-2.0
//! Where search trees lie: one array for the trees of many tables.

use super::draft::Draft;
use super::intervals::Intervals;
use super::packed::Line;
use super::slot_alloc::{LINE, SlotAllocator};
use mem::Reserve;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sync::Qsbr;

/// Lines reserved, which is address space: 8 GiB.
const LINES: usize = 1 << 27;

/// Memory for the search trees of any number of tables; each takes what it needs, a hundred bytes
/// at least.
pub struct Forest {
    pub(super) lines: Reserve<Line>,
    pub(super) domain: Arc<Qsbr>,
    control: Mutex<Control>,
}

/// State of control, which lookups don't need.
pub(super) struct Control {
    pub places: SlotAllocator,
    pub scratch: Scratch,
}

/// For a block that is being made.
#[derive(Default)]
pub(super) struct Scratch {
    /// Its lines.
    pub draft: Draft,
    /// The intervals of some of the lines: as they are, and as they will be.
    pub row: Intervals,
    pub content: Intervals,
}

impl Forest {
    /// Without trees yet, for the readers of `domain`; on huge pages where the system has them.
    ///
    /// # Errors
    /// When address space is used up or limited: see [`Reserve::new`].
    pub fn new(domain: Arc<Qsbr>) -> io::Result<Arc<Self>> {
        Self::with_lines(domain, LINES)
    }

    pub(super) fn with_lines(domain: Arc<Qsbr>, lines: usize) -> io::Result<Arc<Self>> {
        let places = SlotAllocator::new(domain.clone(), lines as u32 * LINE);
        let control = Control { places, scratch: Scratch::default() };
        Ok(Arc::new(Self {
            lines: Reserve::with_huge_pages(lines)?,
            domain,
            control: Mutex::new(control),
        }))
    }

    /// The domain whose readers look up here.
    pub fn domain(&self) -> &Arc<Qsbr> {
        &self.domain
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.control().places.used() * size_of::<u64>()
    }

    pub(super) fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Forest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forest").field("memory", &self.memory()).finish_non_exhaustive()
    }
}
