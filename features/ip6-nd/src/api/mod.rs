// SPDX-License-Identifier: Apache-2.0
//! Messages of the modules `ip6_nd`, `ip6_dad` and `rd_cp`.

pub mod dad;
pub mod nd;
pub mod proxy;
pub mod ra;
pub mod rd;
