// SPDX-License-Identifier: Apache-2.0
//! What each structure does, and stress with real threads. The orderings are `models.rs`'s.

mod qsbr;
mod queues;
