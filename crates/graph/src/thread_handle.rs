// SPDX-License-Identifier: Apache-2.0
//! Control's handles on threads.

use crate::slot::Message;
use crate::threads::Gauges;
use std::sync::Arc;
use sync::{Queue, Waker};

/// Control's handle on a thread.
pub struct ThreadHandle {
    /// Without a bound: control never waits for a thread.
    pub mailbox: Arc<Queue<Message>>,
    pub waker: Arc<Waker>,
    pub gauges: Arc<Gauges>,
}
