// SPDX-License-Identifier: Apache-2.0
//! Tests of each structure's behaviour, and stress tests with real threads. `models.rs` checks the
//! orderings.

mod per_thread;
mod qsbr;
mod queues;
mod token_bucket;
