// SPDX-License-Identifier: Apache-2.0
//! Columns as VPP prints them: scripts cut lines at these widths.

use std::fmt::Display;

/// Of an interface's name.
pub const NAME: usize = 32;

/// A value in the middle of a column; what doesn't divide goes in front.
pub fn centre(value: impl Display, width: usize) -> String {
    let value = value.to_string();
    let left = width.saturating_sub(value.len()).div_ceil(2);
    format!("{:left$}{value:<1$}", "", width.saturating_sub(left))
}
